"""What carrying the workers' output to the console costs a launcher, what it loses, and how long a line is on its way.

Four workers, small C programs, write numbered lines of 100 bytes to standard output; another one reads the launcher's
console, a pipe, and checks every line. launch, torchrun and Hydra's mpiexec take turns; launch with files alone, with
--metrics, and with standard error that passes it byte by byte or is inherited, too; there, lines of different workers
may tear each other, as they do without a launcher.

Throughput: as fast as it goes, in batches of 64 KiB that end amid a line, as stdio's do, and in a write for each line,
as `python -u` does. CPU is that of the launcher's own processes, without the workers, from the moment when all workers
stand before their first line until all that will come has come; the workers live until then. "written" is when the last
worker had got rid of its lines, "arrived" when the console had them. What is torn is lost, too; what a launcher holds
back until more comes or it ends, as torchrun does, is neither.

Latency: 1,000 lines a second from each worker, from just before the write until the console's read has returned.

Ends with 1 when launch loses, tears, doubles or reorders a line on the console or in a worker's file.
"""
import collections
import os
import pathlib
import select
import shutil
import statistics
import struct
import subprocess
import tempfile
import time

import tools
import processes

WORKERS = 4
LINE = 100  # bytes
PER_SECOND = 1000
SECONDS = 300  # for the slowest launcher, at full size
STAMP = 8  # bytes
TEE, FILES_ONLY, COUNTED = "launch --tee 3", "launch -r 3", "launch --tee 3 --metrics"

# How a launcher is called; what stands before each worker's lines on its console, None where it shows nothing.
Way = collections.namedtuple("Way", "command prefixes has_files")
Check = collections.namedtuple("Check", "lost torn doubled disordered median p99")
Result = collections.namedtuple("Result", "cpu user written arrived console files")


def ways(arguments):
    """name -> Way; Hydra's prefix is its own affair, so anything may stand before a line of it."""
    size = f"--nproc-per-node={WORKERS}"
    elastic = [f"[default{rank}]:" for rank in range(WORKERS)]
    found = {TEE: Way([arguments.launch, size, "--tee=3"], elastic, True),
             FILES_ONLY: Way([arguments.launch, size, "-r", "3"], None, True)}
    found[COUNTED] = Way([*found[TEE].command, "--metrics=:0", "--quiet"], elastic, True)
    for how in ("pass", "inherit"):
        found[f"launch --stderr={how}"] = Way(
            ["sh", "-c", 'exec "$@" 2>&1', "sh", arguments.launch, size, f"--stderr={how}", "--omp-threads=1",
             "sh", "-c", 'exec "$0" "$@" >&2'], [""] * WORKERS, False)
    torchrun = arguments.build / "venv" / "bin" / "torchrun"
    if torchrun.exists():
        found["torchrun --tee 3"] = Way([torchrun, "--no-python", size, "--tee=3"], elastic, True)
    hydra = shutil.which("mpiexec.hydra")
    if hydra:
        found["hydra -l"] = Way([hydra, "-l", "-n", WORKERS], [], False)
    return found


class Console:
    """Takes the lines from a pipe, which it closes here, and checks them."""

    def __init__(self, program, source, lines, quiet, prefixes):
        self.lines = lines
        words = [program, "read", WORKERS, lines, quiet, *prefixes]
        with source:
            self.process = subprocess.Popen([str(word) for word in words], stdin=source, stdout=subprocess.PIPE,
                                            text=True)

    def all_came(self):
        """When the last of it came, in nanoseconds: known once everything did, or nothing more does."""
        return int(self.process.stdout.readline())

    def check(self):
        """What became of the lines, once the other end is closed."""
        with self.process:
            whole, *counts, median, p99 = map(int, self.process.stdout.readline().split())
        return Check(WORKERS * self.lines - whole, *counts, median / 1e6, p99 / 1e6)


class Job:
    """A launcher whose workers wait at one gate before they write, and at another one after."""

    def __init__(self, folder, way, program, lines, pace):
        self.folder, self.program = folder, program
        for name in ("ready", "start", "end"):
            os.mkfifo(folder / name)
        self.fifos = [os.open(folder / "ready", os.O_RDWR)]  # both ends are ours: no worker waits for us to open it
        self.said = open(folder / "said", "w+b")
        command = [*way.command, *[f"--log-dir={folder}/logs"] * way.has_files, program, "write", folder, lines, pace]
        self.process = subprocess.Popen([str(word) for word in command], env=tools.clean_environment(),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.said)
        self.exit_descriptor = os.pidfd_open(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        processes.kill(self.family() if self.process.poll() is None else ())
        self.process.wait()
        self.said.close()
        for descriptor in (self.exit_descriptor, *self.fifos):
            os.close(descriptor)

    def family(self):
        return {self.process.pid} | processes.descendants_of(self.process.pid)

    def agents(self):
        """The launcher's own processes."""
        return {pid for pid in self.family() if not processes.command_of(pid).startswith(f"{self.program} ")}

    def reports(self):
        """The times, in nanoseconds, that the workers report when they have come to the next gate."""
        text = b""
        while len(text) < WORKERS * STAMP:
            ready, _, _ = select.select([self.fifos[0], self.exit_descriptor], [], [], SECONDS)
            if self.fifos[0] not in ready:
                raise RuntimeError(f"{self.process.args} ended or hangs: {self.words()}")
            text += os.read(self.fifos[0], WORKERS * STAMP - len(text))
        return [stamp for (stamp,) in struct.iter_unpack("<q", text)]

    def open_gate(self, name):
        self.fifos.append(os.open(self.folder / name, os.O_RDWR))  # a writer, for as long as the job lasts

    def finish(self):
        if self.process.wait(SECONDS) != 0:
            raise RuntimeError(f"{self.process.args} ended with {self.process.returncode}: {self.words()}")

    def words(self):
        self.said.seek(0)
        return self.said.read().decode(errors="replace")


def cpu(pids):
    """Seconds of processor, and the part of them outside the kernel."""
    return [sum(map(seconds, pids)) for seconds in (processes.cpu_seconds, processes.user_seconds)]


def check_files(program, files, lines, quiet):
    with subprocess.Popen(["cat", *files], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as cat:
        content = Console(program, cat.stdout, lines, quiet, [""] * WORKERS)
        content.all_came()
        return content.check()


def measure(program, way, lines, pace, quiet):
    """One turn of one launcher."""
    with tempfile.TemporaryDirectory(prefix="launch-bench-") as name:
        folder = pathlib.Path(name)
        with Job(folder, way, program, lines, pace) as job:
            job.reports()
            agents = job.agents()
            before = cpu(agents)
            expected = 0 if way.prefixes is None else lines
            console = Console(program, job.process.stdout, expected, quiet, way.prefixes or [])
            began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            job.open_gate("start")
            written, arrived = max(job.reports()), console.all_came()
            files = list(folder.glob("logs/**/stdout.log"))
            if way.has_files:  # a launcher that writes them itself may show a line first
                tools.wait_for(lambda: sum(file.stat().st_size for file in files) >= WORKERS * lines * LINE)
            used, of_user = (after - start for after, start in zip(cpu(agents), before))
            job.open_gate("end")
            job.finish()
            in_files = check_files(program, files, lines, quiet) if way.has_files else None
            return Result(used, of_user, (written - began) / 1e9, (arrived - began) / 1e9, console.check(), in_files)


def middle(results, pick):
    return statistics.median(map(pick, results))


def faults(check):
    """Lines that are lost, torn, doubled or disordered."""
    return sum(check[:4]) if check else 0


def throughput_rows(results, count):
    used = {name: middle(turns, lambda turn: turn.cpu) for name, turns in results.items()}
    for name, turns in results.items():
        shows = name != FILES_ONLY
        rate = count / used[name] if shows and used[name] else None
        worst = [max(getattr(turn.console, field) for turn in turns) for field in Check._fields[:4]]
        in_files = max(faults(turn.files) for turn in turns)
        yield [name, f"{used[name] * 1e3:.1f}", tools.ratio(used[name], used[TEE]),
               f"{middle(turns, lambda turn: turn.user) * 1e3:.0f}", f"{rate:.0f}" if rate else "-",
               f"{middle(turns, lambda turn: turn.written):.3f}",
               f"{middle(turns, lambda turn: turn.arrived):.3f}" if shows else "-", *worst,
               in_files if turns[0].files else "-"]


def latency_rows(results, count):
    delays = {name: [middle(turns, lambda turn: turn.console.median), middle(turns, lambda turn: turn.console.p99)]
              for name, turns in results.items()}
    for name, turns in results.items():
        cells = [cell for value, base in zip(delays[name], delays[TEE])
                 for cell in (f"{value:.3f}", tools.ratio(value, base))]
        yield [name, *cells, f"{middle(turns, lambda turn: turn.cpu) * 1e6 / count:.2f}",
               max(faults(turn.console) for turn in turns)]


def main():
    parser = tools.parser(__doc__)
    parser.add_argument("--lines", type=int, help="of each worker")
    arguments = tools.start(parser.parse_args())
    program = tools.compiled("log_lines.c", arguments.build)
    rounds = 1 if arguments.quick else arguments.rounds or 3
    lines = arguments.lines or (20_000 if arguments.quick else 1_000_000)
    paced = PER_SECOND * (1 if arguments.quick else 10)
    quiet = 500 if arguments.quick else 3000  # milliseconds

    def in_turns(found, lines, pace):
        return tools.in_turns(rounds, {name: lambda way=way: measure(program, way, lines, pace, quiet)
                                       for name, way in found.items()})

    found = ways(arguments)
    measured = []
    for pace in ("batches", "lines"):
        measured.append(in_turns(found, lines, pace))
        print(f"\n{WORKERS} x {lines} lines of {LINE} bytes in {pace}; medians of {rounds} turns, faults of the worst")
        tools.table(["", "CPU ms", "times launch", "of it user", "lines/CPU s", "written s", "arrived s", "lost",
                     "torn", "doubled", "disordered", "faults in files"],
                    throughput_rows(measured[-1], WORKERS * lines))
    measured.append(in_turns({name: way for name, way in found.items() if name != FILES_ONLY}, paced, "paced"))
    print(f"\nmilliseconds of a line's way, {WORKERS} x {PER_SECOND} lines a second; medians of {rounds} turns")
    tools.table(["", "median", "times launch", "99th percentile", "times launch", "CPU us/line", "faults"],
                latency_rows(measured[-1], WORKERS * paced))
    print(f"processors: {os.cpu_count()}")
    ours = [turn for results in measured for name in (TEE, FILES_ONLY, COUNTED) for turn in results.get(name, [])]
    raise SystemExit(any(faults(turn.console) or faults(turn.files) for turn in ours))


if __name__ == "__main__":
    main()
