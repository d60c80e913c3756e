"""The command lines of test_compare.py, in the order of the subjects of torchrun's documentation, and their programs.

Each is run by torchrun and by launch. Where nothing else is said, both end with 0 and their workers see the same.
A wanted difference cites its sentence in docs/torchrun.md.
"""
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess

from bench import REFUSED, Line, Wanted

WORKERS = pathlib.Path(__file__).resolve().parent / "workers"
ODD_BYTES = b"\xff\xfe=\x01".decode("utf-8", "surrogateescape")
PY = "dump.py"
NATIVE = ("--no-python", "./fact_dump")
STATIC = ("--master-addr=127.0.0.1", "--master-port=@PORT@")
TWO = tuple((f"--node-rank={rank}",) for rank in range(2))
LOOK = "The script's own arguments are never parsed."
WORDS = "`PET_` booleans may be numbers or"
BEGINNING = "A beginning that fits both spellings of one option is accepted"
SIGNAL = "`--signals-to-handle` with a name that is no signal, or without any, is an error."
ONLY_LAST = "Of a repeated option only the last value is looked at, and none before `--help`."
BUNDLE = "`-mr=0` is `-m -r 0`."
DIGITS = "Numbers are decimal digits."
NO_FOLDER = "`--log-dir=/dev/null` goes together with every other option for logs"
ANY_RANK = "A map of `--redirects` or `--tee` may name any local rank."
BINDING = "`--numa-binding` is done between fork and exec"
PLUG_INS = "Python plug-ins of torchrun's: without effect, and says so"
START = "A worker that cannot be started is an error with stage and reason"
FILE = "A compiled program or a shell script runs without `--no-python`."


def install(work):
    """Puts the programs that the lines name into the folder `work`."""
    (work / "pkg").mkdir(parents=True)
    (work / "bin").mkdir()
    (work / "a b").mkdir()
    dump = (WORKERS / "env_dump.py").read_text(encoding="utf-8")
    for name in ("dump.py", *(f"dump{rank}.py" for rank in range(4)), "no_suffix", "a b/dump.py", "pkg/mod.py",
                 "pkg/__main__.py"):
        (work / name).write_text(dump, encoding="utf-8")
    (work / "pkg/__init__.py").write_text("", encoding="utf-8")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-Wall", "-o", work / "fact_dump", WORKERS / "fact_dump.c"],
                   check=True)
    shutil.copy(work / "fact_dump", work / "bin/fact_dump_on_path")
    (work / "script").write_text('#!/bin/sh\nexec ./fact_dump "$@"\n', encoding="utf-8")
    (work / "script").chmod(0o755)
    (work / "not_executable").write_text("#!/bin/sh\n", encoding="utf-8")


def line(*argv, **words):
    return Line("", argv, **words)


def each(*values, before=(), after=(PY,), **words):
    """A line for each value, a word or a tuple of words."""
    return [line(*before, *((value,) if isinstance(value, str) else value), *after, **words) for value in values]


def pet(*values, argv=(PY,), **words):
    """A line for each (variable, value)."""
    return [line(*argv, env={f"PET_{name}": value}, **words) for name, value in values]


def like(cite, theirs, argv, **words):
    """torchrun refuses; launch runs it as torchrun would run `argv`."""
    return Wanted(cite, theirs, (0,), Line("like", argv, **words))


def static(*argv, **words):
    return line(*STATIC, *argv, meets="static", **words)


def two(*argv, nodes=TWO, **words):
    return line("--nnodes=2", *argv, nodes=nodes, **{"meets": "static", **words})


def c10d(*argv, **words):
    return line("--rdzv-backend=c10d", *argv, meets="c10d", **words)


def state(**words):
    return line(*NATIVE, state=words)


GRAMMAR = {
    "no script": [line(expect=REFUSED), line("--nproc-per-node", "2", expect=REFUSED), line("--", expect=REFUSED)],
    "help": each("-h", "--help", "--he", ("--nproc-per-node=2", "-h"), ("--nnodes", "x", "-h"), ("-mh",), after=())
            + [line("--node-rank", "x", "-h", expect=Wanted(ONLY_LAST, (2,), (0,)))],
    "spellings": each(("--nproc-per-node", "2"), ("--nproc_per_node", "2"), "--nproc-per-node=2", "--nproc_per_node=2",
                      ("--nnodes=1", "--nproc-per-node", "2"), "--virtual_local_rank", "--signals_to_handle=SIGTERM"),
    "prefixes": each(("--nproc-per", "2"), "--nproc_per_n=2", "--stand", "--max-r=3", "--rol=x", "--ro=x",
                     "--monitor-=0.2",
                     "--redirect=0", "--te=0", "--local-a=127.0.0.1", "--local-rank=0", "--event-log=null",
                     "--signals_=SIGTERM",
                     "--shutdown-=5", "--virtual-", "--nn=1", "--start-m=fork", "--duplicate-stdo=a")
                + each("--mod", after=("pkg.mod",)) + each("--no-p", after=("./fact_dump",)),
    "ambiguous": each("--log=x", "--no", "--rdzv=x", "--m", "--s", "--duplicate-std=a", "--master=x", expect=REFUSED),
    "ambiguous by spelling": [
        line(*words, PY, expect=like(BEGINNING, (2,), (*full, PY)))
        for words, full in ((("--nproc", "2"), ("--nproc-per-node=2",)), (("--node", "0"), ("--node-rank=0",)),
                            (("--max=1",), ("--max-restarts=1",)), (("--mon=0.2",), ("--monitor-interval=0.2",)),
                            (("--shut", "5"), ("--shutdown-timeout=5",)), (("--virtual",), ("--virtual-local-rank",)))],
    "unknown": each("--bogus", "-x", "--bogus=1", "--nproc-per_node=2", "--NNODES=1", "--nnodess=1", "--local-rank0=0",
                    "--use-env", "--standalone=1", "-m3", "---", "--=x", expect=REFUSED)
               + [line("--print-completion=bash", expect=Wanted("`--print-completion`", (2,), (0,)))],
    "missing value": [line("--role", expect=REFUSED), line("--role", "--standalone", PY, expect=REFUSED),
                      line("--role", "-x", PY, expect=REFUSED), line("--role", "-1e5", PY, expect=REFUSED),
                      line("--role", "--", "x", PY, expect=REFUSED)],
    "odd values": each(("--role=-x",), ("--role", "-1"), ("--role", "-1.5"), ("--role", "-x y"), ("--role", "-"),
                       "--role=a=b", "--role== ", "--role=Straße\n2"),
    "remainder": each(("--nnodes", "5", "-h", "--standalone"), ("--nproc-per-node=3",), ("-m", "x"), "-", ("-1", "-.5"),
                      ("--t", "3", "--lr", "1"), ("x", "--", "--role=b"), before=(PY,), after=()),
    "verbatim": each(("a b", "", "x=y"), ("tab\there", "new\nline", "'quoted'", '"q"', "*", "~", "\\n"),
                     ("é", "日本", "🙂"), ("x" * 100_000,), before=(PY,), after=())
                + [line(*NATIVE, ODD_BYTES, "", " "), line("a b/dump.py", "c d"), line("./dump.py"),
                   line("@WORK@/dump.py")],
    "abbreviation in arguments": [
        line(PY, *words, expect=like(LOOK, (2,), ("--", PY, *words)))
        for words in (("--d", "3"), ("--log", "1"), ("--node", "3"), ("--no",), ("--rdzv=1",), ("x", "--max", "1"))],
    "two dashes": each(("-m", "--", "pkg.mod", "--x"), (PY, "--", "--x"), ("--", PY, "--", "--x"), (PY, "a", "--", "b"),
                       (PY, "--", "--", "x"), ("--", PY, "a"), (PY, "--"),
                       ("--nproc-per-node=2", "--", PY, "--standalone"), after=()),
    "short": each("-t0", "-r=0", ("-r", "0"), ("-t", "0"))
             + each("-mt0", ("-mr", "0"), ("-mt", "0"), ("-m",), ("-mm",), after=("pkg.mod",))
             + each("-tm", "-mt", expect=REFUSED, after=())
             + [line("-mr=0", "pkg.mod", expect=like(BUNDLE, (1,), ("-m", "-r", "0", "pkg.mod")))],
    "last wins": each(("--nproc-per-node=1", "--nproc-per-node=2"), ("--nproc_per_node=2", "--nproc-per-node", "1"),
                      ("--role=a", "--ro", "b", "--role=c"), ("--node-rank=0", "--nnodes=1", "--nnodes=1:1"))
                 + [line("--nproc-per-node=2", "--nproc-per-node=x", PY, expect=REFUSED),
                    line("--node-rank=x", "--node-rank=0", PY, expect=like(ONLY_LAST, (2,), (PY,)))],
}

VARIABLES = {
    "variables": pet(("NPROC_PER_NODE", "2"), ("ROLE", "r"), ("NNODES", "1:1"), ("MAX_RESTARTS", "2"), ("RDZV_ID", "i"),
                     ("MONITOR_INTERVAL", "0.05"), ("START_METHOD", "nonsense"), ("LOCAL_ADDR", "127.0.0.1"),
                     ("R", "9"),
                     ("SIGNALS_TO_HANDLE", "SIGTERM"), ("SHUTDOWN_TIMEOUT", "3"), ("VIRTUAL_LOCAL_RANK", "1"),
                     ("NUMA_BINDING", "x"), ("LOGS_SPECS", "x"), ("NONSENSE", "x"), ("REDIRECTS", "0"), ("TEE", "0"),
                     ("EVENT_LOG_HANDLER", "null"), ("LOCAL_RANKS_FILTER", "0"), ("TRAINING_SCRIPT", "x"))
                 + pet(("MASTER_PORT", "@PORT@"), meets="static")
                 + pet(("RDZV_ENDPOINT", "127.0.0.1:@PORT@"), meets="static")
                 + pet(("MODULE", "1"), argv=("pkg.mod",)) + pet(("NO_PYTHON", "1"), argv=("./fact_dump",)),
    "command line before variable": [
        line("--nproc-per-node=2", PY, env={"PET_NPROC_PER_NODE": "3"}), line("--role=b", PY, env={"PET_ROLE": "a"}),
        line("--nproc-per-node=2", PY, env={"PET_NPROC_PER_NODE": "x"}),
        line("--nnodes=1", PY, env={"PET_NNODES": "2"}), line("--node-rank=0", PY, env={"PET_NODE_RANK": "0"}),
        line("--shutdown-timeout=2", PY, env={"PET_SHUTDOWN_TIMEOUT": "3", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "4"})],
    "flags as variables": pet(("STANDALONE", "1"), ("STANDALONE", "0"), ("STANDALONE", "2"), ("STANDALONE", "-1"),
                              ("STANDALONE", " 1 "), ("STANDALONE", "+1"), ("NO_PYTHON", "0"), ("MODULE", "00"))
                          + [line("-m", "pkg.mod", env={"PET_MODULE": "0"})],
    "words as flags": [
        *pet(("STANDALONE", "true"), ("STANDALONE", "yes"),
             expect=like(WORDS, (1,), (PY,), env={"PET_STANDALONE": "1"})),
        *pet(("RUN_PATH", "false"), ("MODULE", "no"), expect=like(WORDS, (1,), (PY,))),
        *pet(("STANDALONE", "x"), ("STANDALONE", ""), ("MODULE", "1.0"), expect=REFUSED)],
    "bad variables": pet(("NODE_RANK", "x"), ("MASTER_PORT", ""), ("MAX_RESTARTS", "x"), ("MONITOR_INTERVAL", "x"),
                         ("SHUTDOWN_TIMEOUT", "x"), ("NNODES", ""), ("NPROC_PER_NODE", ""), ("TEE", ""), expect=REFUSED)
                     + [line("--node-rank=0", PY, env={"PET_NODE_RANK": "1.5"}),
                        line(PY, env={"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "x"}, expect=REFUSED),
                        line(PY, env={"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "3"})],
    "empty": each("--role=", "--local-addr=", "--log-dir=", "--local-ranks-filter=")
             + [line("--signals-to-handle=", PY, expect=Wanted(SIGNAL, (0,), (2,)))]
             + pet(("ROLE", ""), ("LOG_DIR", ""), ("LOCAL_ADDR", ""), ("RDZV_ID", ""))
             + each("--rdzv-endpoint=", "--rdzv-conf=", "--rdzv-id=")
             + [static("--rdzv-id=", PY)]
             + each("--nnodes=", "--nproc-per-node=", "--node-rank=", "--redirects=", "--rdzv-backend=",
                    expect=REFUSED),
}

VALUES = {
    "nnodes": each("--nnodes=1", "--nnodes=1:1", "--nnodes= 1 ", "--nnodes=+1")
              + [line("--nnodes=0_1", PY, expect=Wanted(DIGITS, (0,), (2,)))]
              + each("1:2:3", "0", "3:2", "x", "-1", "1:", ":1", "0:1", "1.0", before=("--nnodes",), expect=REFUSED),
    "nproc": each("cpu", "auto", before=("--nproc-per-node",), state={"cpus": [0, 1]})
             + each("1", "2", "3", "4", " 2 ", "+2", before=("--nproc-per-node",))
             + each("0_2", "٢", before=("--nproc-per-node",), expect=Wanted(DIGITS, (0,), (2,)))
             + each("gpu", "xpu", "foo", "0", "-1", "1.5", "CPU", "2,", before=("--nproc-per-node",), expect=REFUSED)
             + [line("--nproc-per-node=cpu", PY, state={"cpus": [0]}),
                line("--nproc-per-node=auto", PY, env={"CUDA_VISIBLE_DEVICES": "0,1"}, state={"cpus": [0, 1]})],
    "numbers": each("--max-restarts=0", "--max-restarts=2", "--monitor-interval=0.05", "--monitor-interval=1e-1",
                    "--monitor-interval= .1", "--shutdown-timeout=0", "--shutdown-timeout=5", "--max-restarts=+1")
               + each("--max-restarts=-1", "--max-restarts=x", "--monitor-interval=0", "--monitor-interval=-1",
                      "--monitor-interval=nan", "--shutdown-timeout=-1", "--shutdown-timeout=1.5", "--node-rank=1.0",
                      expect=REFUSED),
    "choices": each("--start-method=spawn", "--start-method=fork", "--start-method=forkserver",
                    "--signals-to-handle=SIGTERM,SIGUSR1", "--signals-to-handle= SIGTERM , SIGINT ",
                    "--event-log-handler=console", "--event-log-handler=null")
               + each("--start-method=x", "--numa-binding=x", "--numa-binding=", "--local-ranks-filter=a",
                      "--local-ranks-filter=0,", expect=REFUSED)
               + each("--logs-specs=x", "--event-log-handler=x", expect=like(PLUG_INS, (1,), (PY,)))
               + each("--numa-binding=node", "--numa-binding=exclusive", expect=like(BINDING, (1,), (PY,)))
               + [line("--signals-to-handle=SIGTERM,SIGBOGUS", PY, expect=Wanted(SIGNAL, (0,), (2,)))],
    "rdzv conf": each("zz=1", "a=b=c", " a = b ", "timeout=30", "rank=5", "a=1,a=2", "join_timeout=60,close_timeout=9",
                      before=("--rdzv-conf",))
                 + each("a", "=1", "a=", "x=1,", ",", "a=1,,b=2", before=("--rdzv-conf",), expect=REFUSED)
                 + [static("--rdzv-conf=backend=x", PY, expect=REFUSED),
                    static("--rdzv-conf=timeout=x", PY, expect=REFUSED), static("--rdzv-conf=rank=7,timeout=9", PY)],
    "signals and logs": each("-r3", "-t3", "-r=1", "--redirects=0:1,1:2", "-t0:3", "--tee=2",
                             ("-r1", "--log-dir=@FOLDER@/logs"), ("-t3", "--log-dir", "@FOLDER@/a b/c"),
                             "--log-dir=/dev/null",
                             ("-t3", "--local-ranks-filter=0"), "--local-ranks-filter=1", "--local_ranks_filter= 0 ,1",
                             ("-t1", "--duplicate-stdout-filters=a,,b,c"), ("-r1", "--duplicate_stderr_filters=x"),
                             before=("--nproc-per-node=2",))
                        + [line("-mt3", "pkg.mod"), line("-t10:3", PY, expect=like(ANY_RANK, (1,), (PY,)))]
                        + each("-r4", "-r0:4", "-ta", "--tee=0:1,", "--log-dir=@WORK@/dump.py",
                               "-r 3", expect=REFUSED)
                        + [line("-mt=3", PY, expect=Wanted(BUNDLE, (1,), (1,))),
                           line("--log-dir=/dev/null", "--duplicate-stderr-filters=x", PY,
                                expect=like(NO_FOLDER, (1,), ("--log-dir=/dev/null", PY)))],
}

PROGRAMS = {
    "python": [line(PY, env={"PYTHON_EXEC": "@PYTHON@"}), line(PY, env={"PYTHON_EXEC": "python3"}), line("no_suffix"),
               line(PY, env={"PYTHON_EXEC": "@WORK@/bin/fact_dump_on_path"}), line("dump${local_rank}.py"),
               line(PY, env={"PYTHON_EXEC": ""}, expect=REFUSED), line("-", "x"),
               line(PY, env={"PYTHON_EXEC": "/nowhere/python"}, expect=Wanted(START, (1,), (127,))),
               line("missing.py", expect=Wanted(START, (1,), (127, 2)))],
    "module": each(("-m", "pkg.mod", "a"), ("-m", "pkg"), ("--module", "pkg.mod", "--", "-m"), after=())
              + [line("-m", "pkg.missing", expect=Wanted("Exit code of the worker that failed first", (1,), (1,)))],
    "no python": each(NATIVE, ("--no-python", "fact_dump_on_path", "a"), ("--no_python", "@WORK@/fact_dump"),
                      ("--no-python", "./script", "a b"), ("--no-python", "python3", PY), after=())
                 + [line("-m", *NATIVE, expect=REFUSED),
                    line("--no-python", PY, env={"PET_MODULE": "1"}, expect=REFUSED),
                    line("--no-python", "./missing", expect=Wanted(START, (1,), (127,))),
                    line("--no-python", "fact_dump", expect=REFUSED),
                    line("--no-python", "./not_executable", expect=Wanted(START, (1,), (126,))),
                    line("./fact_dump", "a", expect=like(FILE, (1,), (*NATIVE, "a"))),
                    line("./script", "a", expect=like(FILE, (1,), ("--no-python", "./script", "a")))],
    "run path": each("--start-method=fork", "--start-method=spawn", before=("--run-path",),
                     after=("@WORK@/dump.py", "a"))
                + [line("--run-path", "--no-python", "-m", "--start-method=fork", "@WORK@/dump.py")],
    "macros": each(("${local_rank}", "$local_rank", "$$A", "$B", "$", "$$"),
                   ("${", "${local_rank", "$local_ranks", "$$$$"),
                   ("a${local_rank}b$local_rank.c", "$LOCAL_RANK", "${LOCAL_RANK}", "$local_rank$local_rank"),
                   ("$$local_rank", "$$$local_rank", "${local_rank}}", "$local_rank\u017f", "$\u00e9", "$ local_rank"),
                   before=("--nproc-per-node=2", PY), after=())
              + [line("--nproc-per-node=2", *NATIVE, "$local_rank", "$$"), line("-m", "pkg.mod", "$local_rank")],
}


def environment(*variables, argv=(PY,), **words):
    return [line(*argv, env=env, **words) for env in variables]


BOTH = ("--nproc-per-node=2", PY)
VIRTUAL = ("--virtual-local-rank", *BOTH)
WORKERS_SEE = {
    "openmp": environment({}, {"OMP_NUM_THREADS": "5"}, {"OMP_NUM_THREADS": ""}, argv=BOTH)
              + environment({"OMP_NUM_THREADS": "0"}),
    "nccl": environment({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING": ""},
                        {"NCCL_ASYNC_ERROR_HANDLING": "0"}),
    "passed on": environment(
        {"FOO": "1", "EMPTY": "", "EQUALS": "=a=b=", "LINES": "a\nb\n", "UTF8": "é 日本 🙂", "a.b": "c",
         "with space": "x"},
        {"RANK": "77", "LOCAL_RANK": "7", "WORLD_SIZE": "9", "GROUP_RANK": "3", "MASTER_ADDR": "h", "MASTER_PORT": "1",
         "NODE_RANK": "4", "ROLE_NAME": "x"},
        {"TORCHELASTIC_RUN_ID": "old", "TORCHELASTIC_ERROR_FILE": "@FOLDER@/error", "TORCHELASTIC_RESTART_COUNT": "3",
         "TORCHELASTIC_USE_AGENT_STORE": "False", "TORCHELASTIC_SIGNALS_TO_HANDLE": "SIGUSR1"},
        {"TORCHELASTIC_HEALTH_CHECK_PORT": "1234"}, {"TORCHELASTIC_HEALTH_CHECK_PORT": "x"},
        {"TORCHELASTIC_TIMER_FILE": "@FOLDER@/timer"}, {"TORCH_WORKER_SERVER_SOCKET": "@FOLDER@/s"},
        {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "${rank}: "}, {"LOGLEVEL": "INFO"}, {"VIRTUAL_ENV": None},
        {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}, {"TORCH_ELASTIC_WORKER_IDENTICAL": "1"}, {"HOME": None},
        {"CUDA_VISIBLE_DEVICES": ""}, {"LC_ALL": "C"})
        + environment({"ODD": ODD_BYTES}, argv=NATIVE),
    "locale": environment({"LANG": None}, {"LANG": "xx_YY"}, {"LANG": None, "PYTHONCOERCECLOCALE": "0"}, {"LANG": "C"},
                          {"LC_ALL": "C"}, argv=NATIVE),
    "virtual local rank": environment({"CUDA_VISIBLE_DEVICES": "4,6"}, {"CUDA_VISIBLE_DEVICES": " 4 , 6 "}, {},
                                      {"CUDA_VISIBLE_DEVICES": "4,6,8"}, {"CUDA_VISIBLE_DEVICES": "GPU-a,MIG-b"},
                                      argv=VIRTUAL)
                          + environment({"CUDA_VISIBLE_DEVICES": ""}, argv=("--virtual-local-rank", PY))
                          + environment({"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": ""}, argv=VIRTUAL,
                                        expect=REFUSED),
    "inherited": [state(umask=0o077), state(nice=5), state(cpus=[1]),
                  state(limits={"NOFILE": [200, 300], "CORE": [0, 0]}),
                  state(limits={"STACK": [1 << 22, 1 << 23]}),
                  state(descriptors={"5": "/dev/null", "77": "/etc/hosts"}),
                  *(state(ignored=[int(number)]) for number in (
                      signal.SIGUSR1, signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD,
                      signal.SIGTSTP, signal.SIGALRM, signal.SIGRTMIN)),
                  *(state(blocked=[int(number) for number in numbers]) for numbers in (
                      (signal.SIGUSR1, signal.SIGRTMAX), (signal.SIGTERM, signal.SIGINT),
                      (signal.SIGCHLD, signal.SIGPIPE)))],
}

EVERY = ("@WORK@/dump.py", "a", "b c", "${local_rank}", "$$x")


def sized(*sizes):
    return tuple((f"--nproc_per_node={size}", f"--node_rank={rank}") for rank, size in enumerate(sizes))


NODES = {
    "one node": each("--rdzv-id=j", run_id="j") + each("--rdzv-id= j ", run_id=" j ")
                + each("--master-addr=h", "--rdzv-backend=static", "--node-rank=1", "--local-addr=127.0.0.1")
                + each("--standalone", ("--standalone", "--rdzv-id=x", "--rdzv-endpoint=h:1", "--master-port=1"),
                       ("--standalone", "--rdzv-backend=zz"), ("--standalone", "--node-rank=1")),
    "static, one node": [
        static(PY), static("--rdzv-id=j", "--role=r", "--nproc-per-node=3", PY),
        line("--master-port=@PORT@", PY, meets="static"),
        line("--rdzv-endpoint=127.0.0.1:@PORT@", PY, meets="static"),
        line("--rdzv-endpoint= localhost:@PORT@ ", "--master-addr=h", "--master-port=1", PY, meets="static"),
        line("--rdzv-endpoint=[::1]:@PORT@", PY, meets="static"),
        line("--master-addr=[::1]", STATIC[1], PY, meets="static"),
        line("--master-addr=localhost", STATIC[1], PY, meets="static"), static("--local-addr=127.0.0.9", PY),
        static(PY, env={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}), static(*NATIVE, env={"MASTER_ADDR": "x"}),
        *each("--rdzv-endpoint=h", "--rdzv-endpoint=h:99999", "--rdzv-endpoint=h/x:1", "--rdzv-endpoint=h:x",
              "--master-port=99999", "--master-port=x", "--master-port=-1", "--rdzv-backend=zz", expect=REFUSED)],
    "c10d, one node": [
        c10d("--rdzv-endpoint=localhost:0", PY),
        c10d("--rdzv-endpoint=localhost:0", "--rdzv-id=j", "--nproc-per-node=2", PY),
        c10d("--rdzv-endpoint=localhost:0", "--node-rank=1", PY), c10d("--rdzv-endpoint=[::1]:0", PY),
        c10d(PY, alone=True),
        c10d("--rdzv-endpoint=127.0.0.1:@PORT@", "--local-addr=127.0.0.1", PY),
        c10d("--rdzv-endpoint=localhost", PY, alone=True),
        c10d("--rdzv-endpoint=localhost:0", PY, env={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}),
        c10d("--rdzv-endpoint=localhost:0", PY, env={"PET_LOCAL_ADDR": "127.0.0.3"}),
        c10d("--rdzv-endpoint=localhost:0", "--nnodes=1:3", "--rdzv-conf=last_call_timeout=1", PY),
        *(c10d(f"--rdzv-endpoint={bad}", PY, expect=REFUSED) for bad in ("h:99999", "h/x:1", "localhost:x")),
        *(c10d("--rdzv-endpoint=localhost:0", f"--rdzv-conf={bad}", PY, expect=REFUSED)
          for bad in ("read_timeout=0", "join_timeout=0", "is_host=maybe", "store_type=zz"))],
    "two nodes": [
        two(*STATIC, PY), two(*STATIC, "--rdzv-id=j", "--nproc-per-node=2", PY, "$local_rank"),
        two(*STATIC, *NATIVE, "a"),
        two("--rdzv-endpoint=127.0.0.1:@PORT@", PY), two(*STATIC, PY, env={"TORCH_ELASTIC_WORKER_IDENTICAL": "1"}),
        two("--rdzv-endpoint=localhost:@PORT@", "--rdzv-conf=timeout=30", PY), two(PY, alone=True),
        two(*STATIC, PY, nodes=(("--node-rank=0", "--nproc-per-node=3"), ("--node-rank=1", "--nproc-per-node=1"))),
        two(*STATIC, PY, nodes=(("--node-rank=0", "--nproc-per-node=1"), ("--node-rank=1", "--nproc-per-node=2"))),
        two(*STATIC, PY, nodes=(("--node-rank=0", "--role=a"), ("--node-rank=1", "--role=b", "--nproc-per-node=2"))),
        two(*STATIC, PY, nodes=(("--node-rank=1", "--nnodes=2:2"), ("--node-rank=0",))),
        line("--nnodes=1:2", *STATIC, PY, nodes=TWO, meets="static"),
        line("--nnodes=2", *STATIC, "--node-rank=1", "--rdzv-conf=timeout=2", PY, meets="static",
             expect=Wanted("`timeout=S` is kept to.", (1,), (124,))),
        two("--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:@PORT@", "--rdzv-id=j", PY, meets="c10d",
            nodes=(("--local-addr=127.0.0.2",), ("--local-addr=127.0.0.1", "--nproc-per-node=2"))),
        *(two(*STATIC, *options, *EVERY, env=env, nodes=nodes) for options, env, nodes in (
            ((), {}, sized(2, 2)), (("--rdzv_id=job7", "--role=trainer"), {}, sized(2, 1)),
            ((), {"OMP_NUM_THREADS": "3", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0", "FOO": "a=b",
                  "CUDA_VISIBLE_DEVICES": "1,0", "RANK": "77", "EMPTY": ""}, sized(2, 2)),
            ((), {"PET_ROLE": "r", "PET_RDZV_ID": "i", "TORCH_ELASTIC_WORKER_IDENTICAL": "1"}, sized(2, 2))))],
}

SUBJECTS = {**GRAMMAR, **VARIABLES, **VALUES, **PROGRAMS, **WORKERS_SEE, **NODES}


def table():
    return [dataclasses.replace(line, name=f"{subject} {number}")
            for subject, lines in SUBJECTS.items() for number, line in enumerate(lines, 1)]
