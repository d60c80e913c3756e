"""Command lines made by chance, each the same again from its seed and number: valid ones, and some with one fault.

They keep away from what docs/torchrun.md names as wanted differences (the table has those), and from anything at which
torchrun waits: a second node that never comes, a node rank of its own.
"""
import random

from bench import FOLLOW, Line

VALUES = {  # option -> good values, all without effect on each other; the first one of a list is also a default
    "--role": ("default", "trainer", "a b", "é", "x=y", "$role"),
    "--max-restarts": ("0", "1", "2", "3"),
    "--monitor-interval": ("0.1", "0.05", ".2", "1e-1", "0.15"),
    "--shutdown-timeout": ("30", "0", "5"),
    "--start-method": ("spawn", "fork", "forkserver"),
    "--event-log-handler": ("null", "console"),
    "--signals-to-handle": ("SIGTERM,SIGINT,SIGHUP,SIGQUIT", "SIGTERM", "SIGTERM,SIGUSR1", "SIGINT, SIGTERM"),
    "--rdzv-conf": ("zz=1", "timeout=60", "a=b=c", " x = y ,z=2"),
    "--nnodes": ("1:1", "1"),
    "--node-rank": ("0", "0"),
    "--local-addr": ("127.0.0.1", "127.0.0.1"),
}
LOGS = {
    "--redirects": ("0", "1", "2", "3", "0:1", "0:1,1:2"),
    "--tee": ("0", "1", "2", "3", "0:3,1:1"),
    "--log-dir": ("@FOLDER@/logs", "@FOLDER@/a b/c"),
    "--local-ranks-filter": ("0", "0,1", "1"),
    "--duplicate-stdout-filters": ("loss", "a,,b,c"),
    "--duplicate-stderr-filters": ("x",),
}
MEETING = {
    "--nproc-per-node": ("1", "2", "3", "4"), "--rdzv-id": ("none", "j", "job-7", "jöb", "0"), "--rdzv-backend": (),
    "--rdzv-endpoint": (), "--master-addr": (), "--master-port": (),
}
FLAGS = ("--standalone", "--module", "--no-python", "--run-path", "--virtual-local-rank")
WITHOUT_VARIABLE = ("--logs-specs", "--numa-binding", "--help")
SHORT = {"--module": "-m", "--redirects": "-r", "--tee": "-t"}
NAMES = (*VALUES, *LOGS, *MEETING, *FLAGS, *WITHOUT_VARIABLE)

PROGRAMS = {
    (): ("dump.py", "./dump.py", "@WORK@/dump.py", "a b/dump.py", "no_suffix", "dump${local_rank}.py"),
    ("--module",): ("pkg.mod", "pkg"),
    ("--no-python",): ("./fact_dump", "@WORK@/fact_dump", "fact_dump_on_path", "./script"),
}
ARGUMENTS = (
    "a", "", "b c", "x=y", "--lr", "1e-3", "-1", "--nnodes", "5", "-h", "--help", "--standalone", "-m", "-r",
    "--role=q", "--nproc-per-node", "--nproc_per_node=9", "--x=a b", "-", "-x", "--tee", "é日本", "new\nline", "tab\t",
    "'q'", '"d"', "${local_rank}", "$local_rank", "$$", "$", "${x}", "$local_ranks", "a$local_rank.b", "\\", "*", "%s",
    "--t", "-t3",
)
VARIABLES = (
    ("OMP_NUM_THREADS", "4"), ("OMP_NUM_THREADS", ""), ("CUDA_VISIBLE_DEVICES", "3,1,0,2"), ("FOO", "a=b"),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"), ("UTF8", "é 日本 🙂"), ("LINES", "a\nb\n"), ("SPACES", "  x  "),
    ("EMPTY", ""), ("CUDA_VISIBLE_DEVICES", "GPU-a, GPU-b, GPU-c ,GPU-d"), ("RANK", "5"), ("WORLD_SIZE", "7"),
    ("MASTER_ADDR", "h"), ("TORCHELASTIC_RUN_ID", "old"), ("TORCHELASTIC_RESTART_COUNT", "2"), ("LOCAL_RANK", "x"),
    ("a.b", "=c="), ("Q", "'\""), ("TORCH_ELASTIC_WORKER_IDENTICAL", "1"), ("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"),
    ("PET_NONSENSE", "x"), ("ROLE_NAME", ""),
)
FAULTS = (
    ("--bogus",), ("-x",), ("--bogus=1",), ("--rdzv=x",), ("--master=x",), ("--m",), ("--log=x",),
    ("--nnodes", "x"), ("--nnodes=0",), ("--nnodes=3:2",), ("--nnodes", "1:2:3"), ("--nproc-per-node", "foo"),
    ("--nproc_per_node=0",), ("--nproc-per=-1",), ("-r4",), ("-t", "0:4"), ("--tee=x",), ("--rdzv-conf=a",),
    ("--rdzv_conf", "=1"), ("--node-rank=x",), ("--rdzv-backend=zz",), ("--standalone=1",),
    ("--monitor-interval", "x"), ("--monitor_interval=0",), ("--max-r=-1",), ("--max_restarts", "1.5"),
    ("--start-method=x",), ("--numa-binding=x",), ("--local-ranks-filter=a",), ("--shutdown-t=-1",),
    ("--shutdown-timeout=1s",), ("--master-port=x",), ("--nproc-per_node=2",),
    ("-m3",), ("--no-python", "-m"), ("--NNODES=1",),
)
BAD_VARIABLES = (
    ("NODE_RANK", "x"), ("NNODES", "0"), ("NPROC_PER_NODE", "foo"), ("MAX_RESTARTS", "1.5"),
    ("MONITOR_INTERVAL", "-1"), ("STANDALONE", "maybe"), ("TEE", "9"), ("RDZV_CONF", "a="), ("SHUTDOWN_TIMEOUT", "x"),
    ("RDZV_BACKEND", "zz"), ("MASTER_PORT", "x"), ("RUN_PATH", "1.5"), ("REDIRECTS", "0:9"),
    ("LOCAL_RANKS_FILTER", "x"),
)


def both(name):
    return name, "--" + name[2:].replace("-", "_")


def spellings():
    """Every long option of torchrun as it may be written in full."""
    return sorted({spelling for name in NAMES for spelling in both(name)})


def unique_prefixes(spelling):
    """What abbreviates this spelling and no other, the shortest first."""
    sizes = range(3, len(spelling))
    return [spelling[:size] for size in sizes if sum(other.startswith(spelling[:size]) for other in spellings()) == 1]


class Writer:
    """Writes options down in one of the many ways."""

    def __init__(self, rng):
        self._rng = rng
        self.chunks = []  # words that stay together
        self.env = {}

    def often(self, share):
        return self._rng.random() < share

    def spelled(self, name):
        spelling = self._rng.choice(both(name))
        return self._rng.choice(unique_prefixes(spelling) or [spelling]) if self.often(0.2) else spelling

    def words(self, name, value):
        if name in SHORT and self.often(0.6):
            return self._rng.choice([[SHORT[name] + value], [SHORT[name], value], [f"{SHORT[name]}={value}"]])
        return self._rng.choice([[self.spelled(name), value], [f"{self.spelled(name)}={value}"]])

    def give(self, name, value, others=()):
        """By the line, by the variable, by both, or twice; the value that counts is `value`, not one of `others`."""
        variable = "PET_" + name[2:].replace("-", "_").upper()
        other = self._rng.choice([*others, value])
        how = self._rng.choices(("line", "variable", "both", "twice"), (65, 20, 8, 7))[0]
        if how == "variable":
            self.env[variable] = value
            return
        if how == "both":
            self.env[variable] = other
        earlier = self.words(name, other) if how == "twice" else []
        self.chunks.append(earlier + self.words(name, value))

    def choose(self, name, values):
        value = self._rng.choice(values)
        self.give(name, value, values)
        return value

    def flag(self, name):
        if self.often(0.25):
            self.env["PET_" + name[2:].replace("-", "_").upper()] = self._rng.choice(["1", "2", "-1", " 1"])
            return
        if name in SHORT and self.often(0.6):
            self.chunks.append([SHORT[name]])
        else:
            self.chunks.append([self.spelled(name)])

    def bundle(self):
        """-m -t 3 becomes -mt 3."""
        flags = [chunk for chunk in self.chunks if chunk == ["-m"]]
        letters = [chunk for chunk in self.chunks if chunk[0][:2] in ("-r", "-t") and "=" not in chunk[0]]
        if flags and letters and self.often(0.7):
            self.chunks.remove(flags[0])
            letters[0][0] = "-m" + letters[0][0][1:]

    def options(self):
        self._rng.shuffle(self.chunks)
        return [word for chunk in self.chunks for word in chunk]


def meet(rng, writer):
    """How the node finds its place, with what follows from it for a Line."""
    way = rng.choices(("home", "standalone", "port", "endpoint", "c10d", "two"), (40, 12, 18, 8, 16, 6))[0]
    writer.give("--nproc-per-node", rng.choices(MEETING["--nproc-per-node"], (40, 35, 15, 10))[0], ("1", "2", "9"))
    run_id = writer.choose("--rdzv-id", MEETING["--rdzv-id"]) if writer.often(0.4) else ""
    if way == "home":
        return {"run_id": run_id}
    if way == "standalone":
        writer.flag("--standalone")
        return {}
    if way in ("port", "two"):
        writer.give("--master-port", "@PORT@", ("1", "29500"))
        if writer.often(0.7):
            writer.give("--master-addr", rng.choice(("127.0.0.1", "localhost")), ("h",))
    elif way == "endpoint":
        writer.give("--rdzv-endpoint", rng.choice(("127.0.0.1:@PORT@", "localhost:@PORT@")), ("h:1",))
    else:
        writer.give("--rdzv-backend", "c10d", ("static", "zz"))
        writer.give("--rdzv-endpoint", rng.choice(("localhost:0", "localhost:0", "127.0.0.1:@PORT@")), ("h:1",))
        return {"meets": "c10d"}
    if way == "two":
        nodes = tuple((f"--nnodes={rng.choice(('2', '2:2'))}", f"--node_rank={rank}") for rank in range(2))
        return {"meets": "static", "nodes": nodes}
    return {"meets": "static"}


def program(rng, writer):
    flags = rng.choices(tuple(PROGRAMS), (55, 20, 25))[0]
    for name in flags:
        writer.flag(name)
    arguments = rng.choices(ARGUMENTS, k=rng.choice((0, 0, 1, 2, 3, 5)))
    if writer.often(0.1):
        arguments.insert(rng.randint(0, len(arguments)), "--")
    before = ["--"] if writer.often(0.12) else []
    return [*before, rng.choice(PROGRAMS[flags]), *arguments]


def random_line(seed, number):
    rng = random.Random(f"{seed} {number}")
    writer = Writer(rng)
    facts = meet(rng, writer)
    words = program(rng, writer)
    taken = ("--nnodes", "--node-rank", "--local-addr") if facts.get("nodes") else ()
    for name in rng.sample(sorted(VALUES), k=rng.choice((0, 1, 1, 2, 3))):
        if name not in taken:
            writer.choose(name, VALUES[name])
    for name in rng.sample(sorted(LOGS), k=rng.choice((1, 1, 2)) if writer.often(0.2) else 0):
        writer.choose(name, LOGS[name])
    if writer.often(0.1):
        writer.flag("--virtual-local-rank")
    writer.env.update(rng.sample(VARIABLES, k=rng.choice((0, 0, 1, 2, 3))))
    if writer.often(0.1):
        writer.env.setdefault("PET_" + rng.choice(("STANDALONE", "MODULE", "RUN_PATH", "VIRTUAL_LOCAL_RANK")), "0")
    if writer.often(0.5):
        writer.bundle()
    fault = ()  # behind all others: of a repeated option launch looks at the last value only
    if writer.often(0.16):
        fault = rng.choice(FAULTS)
    elif writer.often(0.04):
        name, value = rng.choice(BAD_VARIABLES)
        writer.env["PET_" + name] = value
    state = {"umask": rng.choice((0o077, 0o002))} if writer.often(0.05) else {}
    argv = (*writer.options(), *fault, *words)
    return Line(f"random {seed}/{number}", argv, writer.env, expect=FOLLOW, state=state, **facts)


def random_lines(seed, count):
    return [random_line(seed, number) for number in range(count)]
