"""The command lines of test_logs.py, by row of torchrun's checklist, and the programs that they run.

Where nothing else is said, both launchers end with 0 and leave the same folders, files and words. What may differ cites
its sentence in docs/torchrun.md.
"""
import collections
import dataclasses
import re

from bench import Line, Wanted
from compare import Rule

FLOOD = 10_000_000  # bytes, in lines of 50
LONG = 200_000
JOB = "logs/J_********"
ABSENT = ["absent", ""]
VARIES = "@VARIES@"
SAYS = 'echo "out $RANK"; echo "err $RANK" >&2; echo "file $TORCHELASTIC_ERROR_FILE"\n'
UP = ': > "$DUMP_FOLDER/up.$TORCHELASTIC_RESTART_COUNT.$RANK"\n'
BOTH_UP = 'until [ -e "$DUMP_FOLDER/up.$TORCHELASTIC_RESTART_COUNT.$((1 - RANK))" ]; do sleep 0.02; done\n'
ERROR = '{"message":{"message":"E%s","extraInfo":{"timestamp":"1"}}}'
ATTEMPT = 'echo "attempt $TORCHELASTIC_RESTART_COUNT"\n'
FAILS = ('if [ "$RANK" = 0 ]; then exec sleep 300; fi\n'
         f"printf '{ERROR}' \"$TORCHELASTIC_RESTART_COUNT\" > \"$TORCHELASTIC_ERROR_FILE\"; exit 3\n")
PROGRAMS = {
    "say": SAYS,
    "talk": 'echo "loss $RANK"; echo x; echo a,b; echo ,; echo Loss; echo "[default0]:q"; echo; echo "é" >&2\n',
    "third_time": SAYS + ATTEMPT + UP + BOTH_UP + '[ "$TORCHELASTIC_RESTART_COUNT" = 2 ] && exit 0\n' + FAILS,
    "fails": SAYS + UP + BOTH_UP + FAILS,
    "flood": 'yes "$RANK abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstu" | head -c "$SIZE"\n',
    "long": f"head -c {LONG} /dev/zero | tr '\\0' x; echo\n",
    "looks": 'for fd in 1 2; do [ -f "/proc/self/fd/$fd" ] && echo "$fd is a file"; done; true\n',
    "leaves": 'cd /; echo word > "$TORCHELASTIC_ERROR_FILE"\n',
    "grows": 'echo "round of $WORLD_SIZE: rank $RANK"; : > "$DUMP_FOLDER/of.$WORLD_SIZE"\n'
             '[ "$WORLD_SIZE" = 2 ] || exec sleep 300\n',
}
SAY, TALK = ("--no-python", "./say"), ("--no-python", "./talk")
BAD = Wanted("A bad value is one line on standard error and exit code 2.", (1,), (2,))
ENDS = "Exit code of the worker that failed first, 128 + signal if a signal ended it, on every node."
ANY_RANK = "A map of `--redirects` or `--tee` may name any local rank."
NO_FOLDER = "`--log-dir=/dev/null` goes together with every other option for logs"
TEMPLATES = "`PET_LOG_LINE_PREFIX_TEMPLATE`, then `TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE`"
TEMPLATE = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"


@dataclasses.dataclass(frozen=True)
class LogLine(Line):
    rules: tuple = ()  # for this line, beside RULES
    check: object = None  # (torchrun's fields, launch's) -> (cause, detail) of each fault
    varies: str = ""  # a pattern of fields that two runs of torchrun leave differently


def install(work):
    """Puts the programs that the lines name into the folder `work`."""
    work.mkdir()
    for name, text in PROGRAMS.items():
        (work / name).write_text("#!/bin/sh\n" + text, encoding="utf-8")
        (work / name).chmod(0o755)
    # One write a line: torchrun shows what it finds, with a prefix each time.
    (work / "say.py").write_text("import os\nfor descriptor, name in ((1, 'out'), (2, 'err')):\n"
                                 "    os.write(descriptor, f'{name} {os.environ[\"RANK\"]}\\n'.encode())\n", "utf-8")


def at(place, *argv, env=None, nproc=2, run_id="J", **words):
    """A static job of one node."""
    return LogLine("", ("--master-addr=127.0.0.1", "--master-port=@PORT@", f"--rdzv-id={run_id}",
                        f"--nproc-per-node={nproc}", *place, *argv), env={"OMP_NUM_THREADS": "1", **(env or {})},
                   **{"meets": "static", **words})


def line(*argv, **words):
    return at(("--log-dir=@FOLDER@/logs",), *argv, **words)


def each(*values, program=SAY, **words):
    """A line for each value, a word or a tuple of words."""
    return [line(*((value,) if isinstance(value, str) else value), *program, **words) for value in values]


def like(cite, other, theirs=(0,)):
    """torchrun ends with `theirs`; launch does what torchrun does at the line `other`."""
    return Wanted(cite, theirs, (0,), other)


def prefixed(template, **words):
    return line("-t3", *SAY, env={TEMPLATE: template}, **words)


def says(cite, words, theirs, ours):
    """A line of one worker that prints `words` to `--tee`; what the consoles show must be exactly that."""
    shown = Rule("out 0", cite, lambda line, left, right: (left, right) == (theirs, ours))
    return line("-t1", "--no-python", "printf", words, nproc=1, rules=(shown,))


def without(name, cite):
    return Rule(f"path {re.escape(JOB)}/{name}", cite, lambda line, theirs, ours: ours == ABSENT)


def nodes(*argv, nodes, **words):
    return LogLine("", ("--nnodes=2", "--nproc-per-node=2", "--rdzv-id=J", "--log-dir=@FOLDER@/logs", *argv, *SAY),
                   {"OMP_NUM_THREADS": "1"}, nodes, **words)


def flooded(_, ours):
    """Every byte is in the files, and launch has every line on the console; torchrun may tear or lose some."""
    wanted = []
    for rank in (0, 1):
        text = ours.get(f"path {JOB}/attempt_0/{rank}/stdout.log", (0, ""))[1]
        wanted += [f"[default{rank}]:{words}" for words in text.split("\n")[:-1]]
        if len(text) != FLOOD:
            yield "launch's file does not hold all", f"rank {rank}: {len(text)} bytes"
    lost = collections.Counter(wanted) - collections.Counter(ours["out 0"])
    if lost:
        yield "launch's console does not show all", f"{lost.total()} of {len(wanted)} lines are missing"


def whole(_, ours):
    """torchrun may see a part of the line first."""
    if ours["out 0"] != ["", "[default0]:" + LONG * "x"]:
        yield "launch's console does not show the line", f"{len(ours['out 0'])} lines"


def grown(theirs, ours):
    """The round of two takes the folder of the round of one with torchrun; with launch it has one of its own."""
    wanted = {"torchrun": {"1/attempt_0": "round of 2: rank 0\n", "2/attempt_0": "round of 2: rank 1\n"},
              "launch": {"1/attempt_0": "round of 1: rank 0\n", "1/attempt_1": "round of 2: rank 0\n",
                         "2/attempt_0": "round of 2: rank 1\n"}}
    for name, view in (("torchrun", theirs), ("launch", ours)):
        found = {field: value[1] for field, value in view.items() if field.endswith("/0/stdout.log")}
        expected = {f"path {JOB} {place}/0/stdout.log": text for place, text in wanted[name].items()}
        if found != expected:
            yield f"{name}'s logs of a job that has grown", f"{found}, not {expected}"


ANYTHING = Rule(".*", "", lambda line, theirs, ours: True)  # the line's own check looks
PIPES = Rule(r"out 0|path .*/stdout\.log", "With `--tee` a worker writes into a pipe to `launch`",
             lambda line, theirs, ours: "1 is a file" in str(theirs) and "is a file" not in str(ours))
UNTEED = without(r"attempt_0/filtered_\w+\.log",
                 "A file of filtered lines is made only where its stream is shown by `--tee`.")
LONGEST = 255 - len("_12345678")  # bytes of a run id in a folder's name
FITTED = "in the name of the job's folder, and of a very long id that name has as much as fits."


def below_the_top(value):
    """Without the folder of the run, which torchrun leaves out."""
    text = "\n".join(value) if isinstance(value, list) else value[1]
    return re.sub(r"(?m)^file @FOLDER@/", "file ", text)


ABSOLUTE = Rule(r"out 0|path .*\.log", "TORCHELASTIC_ERROR_FILE is an absolute path.",
                lambda line, theirs, ours: below_the_top(theirs) == below_the_top(ours))
# torchrun may see a part of the line first: `whole` looks at launch's.
WHOLE = Rule("out 0", "`--tee` shows whole lines", lambda line, theirs, ours: theirs == VARIES)
ODD_TEMPLATE = "${role_name}|${rank}|$local_rank|${x}|$$|$x|${|$rank_|${rank|$ rank| é |$"
ROWS = {
    83: [line("-r3", *SAY), line(*SAY), line("-r3", *SAY, state={"umask": 0o027}),
         line("-r3", *SAY, state={"umask": 0}), line("-r3", "say.py"), line("-r3", "--virtual-local-rank", *SAY),
         line("-r3", "--run-path", "--start-method=fork", "@WORK@/say.py"),
         nodes("-r3", "--master-addr=127.0.0.1", "--master-port=@PORT@", meets="static",
               nodes=(("--node-rank=0",), ("--node-rank=1",))),
         nodes("-r3", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:@PORT@", meets="c10d",
               nodes=(("--local-addr=127.0.0.1",), ("--local-addr=127.0.0.2",))),
         LogLine("", ("--rdzv-id=J", "-r3", "--log-dir=@FOLDER@/logs", *SAY),
                 expect=like("A given `--rdzv-id` is kept; without one, a fresh one is made.",
                             line("-r3", *SAY, nproc=1))),
         LogLine("", ("--standalone", "-r3", "--log-dir=@FOLDER@/logs", *SAY))]
        + [line("-r3", *SAY, run_id=name)
           for name in ("a b", "é日", "%s{}", "$HOME", "-x", "..", "n\nl", " i ", "  ", "é" * (LONGEST // 2))]
        + [line("-r3", *SAY, run_id=given, expect=like(FITTED, line("-r3", *SAY, run_id=fitted), (1,)))
           for given, fitted in (("a/b", "a_b"), ("i" * 400, "i" * LONGEST),
                                 ("i" + "é" * LONGEST, "i" + "é" * (LONGEST // 2 - 1)))],
    84: [line("--max-restarts=2", *words, "--no-python", "./third_time") for words in (("-r3",), ("-t3",), ())]
        + [line("-r3", "--max-restarts=1", "--no-python", "./fails", expect=Wanted(ENDS, (1,), (3,)))],
    85: each(("-r3", "--no-python", "./looks"), program=())
        + each("-r0", "-r1", "-r2", ("-r3", "-r1"), "--redirects=2"),
    86: each("-r0:1,1:2", "-r0:1,0:2", "-r=1:3,7:3", "--redirects=0:0,1:1"),
    87: each(("-t3", "--no-python", "./looks"), program=(), rules=(PIPES,))
        + each("-t1", "-t2", "-t3", "--tee=0:1,1:2", ("-r1", "-t2"), ("-r3", "-t3"), ("-t3", "--role="),
             ("-t3", "--role=r é"), ("-t3", "--virtual-local-rank"))
        + [line("-t3", "say.py"), line("-t3", "--run-path", "--start-method=fork", "@WORK@/say.py"),
           line(*SAY, env={"PET_TEE": "1", "PET_REDIRECTS": "2"}),
           line("-t0", "-r3", *SAY, env={"PET_TEE": "3", "PET_REDIRECTS": "1"}),
           line("-t1", "--no-python", "printf", "a\\n\\nb\\n"),
           says("of a line that is rewritten by carriage returns, the last state", "a\\rb\\n",
                ["", "[default0]:a", "[default0]:b"], ["", "[default0]:b"]),
           says("an unfinished line after 0.2 s, as a line", "a", ["[default0]:a"], ["", "[default0]:a"]),
           says("Bytes that are not UTF-8 are shown as they are.", "\\377\\n", ["", "[default0]:\ufffd"],
                ["", "[default0]:\\xff"]),
           says("A carriage return right before the end of a line is shown, too.", "a\\r\\n", ["", "[default0]:a"],
                ["", "[default0]:a\r"]),
           line("-t1", "--no-python", "./long", nproc=1, rules=(WHOLE,), varies="out 0", check=whole)],
    88: each("-r4", "-t0:4", "--tee=0:1,", expect=BAD)
        + [line("-r10:3,0:1", *SAY, expect=like(ANY_RANK, line("-r0:1", *SAY), (1,))),
           line("-t0:3,10:3", *SAY, expect=like(ANY_RANK, line("-t0:3", *SAY), (1,)))],
    89: [prefixed(ODD_TEMPLATE), prefixed("${role_name}${rank}: ", nproc=3), prefixed(""),
         line("-t3", "--log-line-prefix-template=${rank}:", *SAY, env={TEMPLATE: "no"},
              expect=like(TEMPLATES, prefixed("${rank}:"), (2,))),
         line("-t3", *SAY, env={"PET_LOG_LINE_PREFIX_TEMPLATE": "${rank}: ", TEMPLATE: "no"},
              expect=like(TEMPLATES, prefixed("${rank}: "))),
         prefixed("${host}/${node_rank}/$host: ", expect=like("`${node_rank}`, `${host}`, `${stream}`",
                                                              prefixed("@HOST@/0/@HOST@: "))),
         prefixed("${hostname}: ", expect=like("`--log-line-prefix-template`, and `${hostname}` in it, are known.",
                                               prefixed("@HOST@: ")))],
    90: each(*(("--local-ranks-filter=0", *words) for words in (("-t3",), ("-t1",), ("-r3",), ("-r1:2",), ())),
             ("--local-ranks-filter=0,1", "-t3"), ("--local-ranks-filter=7", "-t1"),
             ("--local-ranks-filter=-1", "-t0:3"))
        + [line("-t3", *SAY, env={"PET_LOCAL_RANKS_FILTER": "1"}),
           line("-t3", *SAY, env={"PET_LOCAL_RANKS_FILTER": ""})],
    91: each(*(("-t3", f"--duplicate-stdout-filters={text}") for text in ("loss,a,,b", ",,,x", "", "default", ",,,,")),
             ("-t3", "--duplicate-stderr-filters=é", "--duplicate-stdout-filters=a,"),
             ("-t3", "--duplicate-stdout-filters=o", "--local-ranks-filter=1"),
             ("-t0:1", "--duplicate-stdout-filters=loss"), program=TALK)
        + [line("-t3", *TALK, env={"PET_DUPLICATE_STDOUT_FILTERS": "x,,,o", "PET_DUPLICATE_STDERR_FILTERS": ""})]
        + each(("-r1", "--duplicate-stdout-filters=loss"), ("-t1", "--duplicate-stderr-filters=é"), program=TALK,
               rules=(UNTEED,)),
    92: [line("-t1", "--no-python", "./flood", env={"SIZE": str(FLOOD)}, varies="out 0", check=flooded)],
    93: [at(("--log-dir=/dev/null",), *words, *SAY) for words in (("-t3",), ("-r3",), ("--local-ranks-filter=0",))]
        + [at(("--log-dir=/dev/null",), "-t3", "--duplicate-stdout-filters=o", *SAY,
              expect=like(NO_FOLDER, at(("--log-dir=/dev/null",), *SAY), (1,)))],
    "folders": [
        *(at((f"--log-dir={name}",), "-r3", "--no-python", "@WORK@/say", folder="@FOLDER@", rules=(ABSOLUTE,))
          for name in ("x", "rel/x", "./rel/../x", "link/../x")),
        at(("--log-dir=@FOLDER@/link/../x",), "-r3", *SAY),
        at(("--log-dir=@FOLDER@/a b/é",), "-r3", *SAY),
        at(("--log-dir=@FOLDER@/x/",), "-r3", *SAY), at(("--log-dir=@FOLDER@//x/",), "-r3", *SAY),
        at(("--log-dir=rel",), *SAY[:1], "@WORK@/say", folder="@FOLDER@", rules=(ABSOLUTE,)),
        at((), *SAY), at((), "-r3", *SAY), at((), "-t1", *SAY), at(("--log-dir=",), "-r1", *SAY),
        at((), "--no-python", "./leaves"), line("--no-python", "./leaves"),
        at((), "-r1", "--no-python", "@WORK@/say", env={"TMPDIR": "tmp"}, folder="@FOLDER@"),
        *(at((), *words, env=env)
          for words in (("-r1", *SAY), ("--no-python", "./leaves"))
          for env in ({"TMPDIR": None, "TEMP": "@FOLDER@/tmp", "TMP": "@FOLDER@/dump"},
                      {"TMPDIR": "", "TEMP": "@FOLDER@/nowhere", "TMP": "@FOLDER@/./far/../tmp/"},
                      {"TMPDIR": "@WORK@/say", "TEMP": "@FOLDER@/far", "TMP": "@FOLDER@/tmp"})),
        at((), "-r1", *SAY, env={"PET_LOG_DIR": "@FOLDER@/logs"})],
    108: [LogLine("", ("--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:@PORT@", "--rdzv-id=J",
                       "--rdzv-conf=last_call_timeout=1", "--log-dir=@FOLDER@/logs", "--redirects=3", "--no-python",
                       "./grows"),
                  # Else torchrun 2.13 keeps its address to itself after the first round, and the job does not grow.
                  {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
                  (("--local-addr=127.0.0.1",), ("--local-addr=127.0.0.2",)), after="dump/of.1", rules=(ANYTHING,),
                  check=grown)],
}


def table():
    return [dataclasses.replace(line, name=f"row {row}, {number}")
            for row, lines in ROWS.items() for number, line in enumerate(lines, 1)]
