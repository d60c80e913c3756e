"""What launch-ctl's door, --progress and --metrics cost: each on against off, in one run, by turns.

The door: launch without one has a LAUNCH_DOORS where no folder can be made. Milliseconds from the command to the first
worker, and from the start of a worker that fails at once to the end of launch; memory with 8 sleeping workers,
proportional (PSS); how often the idle launch is woken; and the rate of the output.

Output: workers write lines of 100 bytes as fast as they can, one a write or 4 KiB a write, to standard error, which
passes launch byte by byte; with --tee, to a pipe and to /dev/null; and with --redirects to files that launch writes.
Rates are from the first line until launch has ended, so all of it is shown. "tap" is a stream that --progress brings
through launch, beside the same stream with --tee, which passes launch anyway; and beside one that goes straight to the
console, which is no launch's doing. Processor time is that of launch, without the workers.
"""
import collections
import os
import statistics
import struct
import subprocess
import tempfile
import time

import memory
import tools

DOOR, NO_DOOR = "with a door", "without a door"
DOORS = {NO_DOOR: {"LAUNCH_DOORS": "/proc/launch"}, DOOR: {}}  # variables of the environment
PROGRESS, METRICS = ["--progress=tqdm"], ["--metrics=:0"]
COMBINATIONS = {"off": [], "progress": PROGRESS, "metrics": METRICS, "both": PROGRESS + METRICS}
TEE = ["--tee=3", "--log-dir={folder}"]
FILES = ["--redirects=3", "--log-writer=launch", "--log-dir={folder}"]

Way = collections.namedtuple("Way", "options stream console")
WAYS = {"stderr to a pipe": Way([], 2, "pipe"), "stderr to /dev/null": Way([], 2, "null"),
        "stderr to a file": Way([], 2, "file"), "--tee to a pipe": Way(TEE, 1, "pipe"),
        "--tee to /dev/null": Way(TEE, 1, "null"), "files": Way(FILES, 1, "null")}
Load = collections.namedtuple("Load", "workers block")
LOADS = {"1 worker, lines": Load(1, 100), "1 worker, 4 KiB": Load(1, 4096), "4 workers, lines": Load(4, 100),
         "4 workers, 4 KiB": Load(4, 4096)}
Flow = collections.namedtuple("Flow", "rate cpu")  # MB/s, ms of processor a GB


# ---- the door

def start_and_end(stopwatch, worker, launch, more):
    """Milliseconds from the command to the worker, and from the worker, which fails at once, to launch's end."""
    with tempfile.TemporaryDirectory(prefix="launch-bench-") as folder:
        stamps = os.path.join(folder, "stamps")
        environment = {**tools.clean_environment(), "STAMP_FILE": stamps, "OMP_NUM_THREADS": "1", **more}
        done = subprocess.run([stopwatch, launch, worker, "7"], env=environment, capture_output=True, text=True,
                              check=False, timeout=60)
        with open(stamps, "rb") as file:
            (stamp,) = struct.unpack("<q", file.read())
    began, ended = map(int, done.stdout.split())
    return (stamp - began) / 1e6, (ended - stamp) / 1e6


def door_rows(arguments, rounds):
    stopwatch = tools.compiled("stopwatch.c", arguments.build)
    worker = tools.compiled("stamp_worker.c", arguments.build)
    times = tools.in_turns(50 * rounds, {
        name: lambda more=more: start_and_end(stopwatch, worker, arguments.launch, more)
        for name, more in DOORS.items()})
    single = [arguments.launch, f"--nproc-per-node={memory.WORKERS}", "sleep", "600"]
    sizes = tools.medians(tools.in_turns(rounds, {
        name: lambda more=more: memory.memory_of(single, more=more) for name, more in DOORS.items()}))
    seconds = 1 if arguments.quick else 10
    for name, more in DOORS.items():
        woken, _ = memory.wake_ups(single, seconds, more)
        starts, ends = (statistics.median(column) for column in zip(*times[name]))
        yield [name, f"{starts:.2f}", f"{ends:.2f}", f"{sizes[name]:.2f}", f"{woken / seconds:.1f}"]
    for name, options in COMBINATIONS.items():
        if options:
            woken, _ = memory.wake_ups([*single[:2], *options, *single[2:]], seconds)
            yield [f"{DOOR}, {name}", "-", "-", f"{memory.memory_of([*single[:2], *options, *single[2:]]):.2f}",
                   f"{woken / seconds:.1f}"]


# ---- the output

def flow(program, launch, options, way, load, size, more=()):
    """One turn: all of `size` bytes from the first line to the end of launch."""
    with tempfile.TemporaryDirectory(prefix="launch-bench-") as folder:
        stamps = os.path.join(folder, "stamps")
        environment = {**tools.clean_environment(), "STAMP_FILE": stamps, "OMP_NUM_THREADS": "1", **dict(more)}
        words = [option.format(folder=folder) for option in [*way.options, *options]]
        command = [launch, f"--nproc-per-node={load.workers}", "--quiet", *words, program, "write", way.stream,
                   size // load.workers, load.block]
        reader = way.console == "pipe" and subprocess.Popen([program, "read"], stdin=subprocess.PIPE)
        console = reader.stdin if reader else open("/dev/null" if way.console == "null" else f"{folder}/shown", "wb")
        with console, open(os.path.join(folder, "said"), "w+b") as said:
            streams = {1: {"stdout": console, "stderr": said}, 2: {"stdout": said, "stderr": console}}[way.stream]
            started = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                                       **streams)
            _, status, used = os.wait4(started.pid, 0)
            ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            started.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            if status != 0:
                raise RuntimeError(f"{command} ended with {started.returncode}: {said.read().decode(errors='replace')}")
        if reader:
            reader.wait()
        with open(stamps, "rb") as file:
            reports = list(struct.iter_unpack("<qq", file.read()))
    took = ended - min(began for began, _ in reports)
    own = used.ru_utime + used.ru_stime - sum(cpu for _, cpu in reports) / 1e9
    return Flow(size / 1e6 / (took / 1e9), own * 1e3 / (size / 1e9))


def middle(turns):
    return Flow(*(statistics.median(column) for column in zip(*turns)))


def rate_rows(measure, rounds, size):
    for load_name, load in LOADS.items():
        bytes_of_load = size // 4 if load.block == 100 else size
        for way_name, way in WAYS.items():
            turns = {name: lambda way=way, load=load, options=options: measure(options, way, load, bytes_of_load)
                     for name, options in COMBINATIONS.items()}
            turns[NO_DOOR] = lambda way=way, load=load: measure([], way, load, bytes_of_load, DOORS[NO_DOOR])
            found = {name: middle(each) for name, each in tools.in_turns(rounds, turns).items()}
            off, on = found["off"], [found[name] for name in COMBINATIONS if name != "off"]
            yield [f"{load_name}, {way_name}", f"{off.rate:.0f}", *(tools.ratio(one.rate, off.rate) for one in on),
                   tools.ratio(off.rate, found[NO_DOOR].rate), f"{off.cpu:.0f}",
                   *(tools.ratio(one.cpu, off.cpu) for one in on)]


def tap_rows(measure, rounds, size):
    """Standard output: by --progress through launch, by --tee, and straight to the console."""
    for load_name, load in LOADS.items():
        bytes_of_load = size // 4 if load.block == 100 else size
        for console in ("pipe", "null"):
            ways = {"tap": (PROGRESS, Way([], 1, console)), "tee": ([], Way(TEE, 1, console)),
                    "straight": ([], Way([], 1, console))}
            found = tools.in_turns(rounds, {
                name: lambda options=options, way=way, load=load: measure(options, way, load, bytes_of_load)
                for name, (options, way) in ways.items()})
            tap, tee, straight = (middle(found[name]) for name in ways)
            yield [f"{load_name}, to {'a pipe' if console == 'pipe' else '/dev/null'}",
                   *(f"{one.rate:.0f}" for one in (tap, tee, straight)), tools.ratio(tap.rate, tee.rate),
                   f"{tap.cpu:.0f}", f"{tee.cpu:.0f}"]


def main():
    parser = tools.parser(__doc__)
    parser.add_argument("--megabytes", type=int, help="of each turn; a quarter of it as lines")
    arguments = tools.start(parser.parse_args())
    rounds = 1 if arguments.quick else arguments.rounds or 7
    size = (arguments.megabytes or (4 if arguments.quick else 200)) * 1_000_000
    program = tools.compiled("flood.c", arguments.build)

    def measure(options, way, load, size, more=()):
        return flow(program, arguments.launch, options, way, load, size, more)

    print(f"\nmedians of {50 * rounds} starts and of {rounds} looks at memory")
    tools.table(["launch", "start ms", "crash to exit ms", "PSS MiB", "woken per s"],
                list(door_rows(arguments, rounds)))
    print(f"\nMB/s without --progress and --metrics, and with them times that; medians of {rounds} turns")
    tools.table(["output", "MB/s", "progress", "metrics", "both", "door/none", "CPU ms/GB", "progress", "metrics",
                 "both"], list(rate_rows(measure, rounds, size)))
    print("\nMB/s of standard output: with --progress; with --tee; straight to the console")
    tools.table(["output", "tap", "tee", "straight", "tap/tee", "tap CPU ms/GB", "tee CPU ms/GB"],
                list(tap_rows(measure, rounds, size)))
    print(f"processors: {os.cpu_count()}")


if __name__ == "__main__":
    main()
