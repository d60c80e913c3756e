"""Many agents on this machine form one c10d job: time, memory and the host's CPU; torchrun's 8 agents beside it.

Every agent has one worker, a small C program that stays until told. "job" is the time from the moment before the first
agent is started until the last worker has started; "floor" is what starting as many /bin/true and collecting them
takes. CPU is what was used until then, memory is the proportional one (PSS) while all workers run. A launcher's own
processes count, its workers do not. The host is whichever came first: the one with the most open files.
"job limit" is what we want to keep on an otherwise idle machine; nothing is asserted but that the job forms, that
every rank is there once, and that all end with 0.
"""
import contextlib
import ctypes
import os
import signal
import statistics
import struct
import tempfile
import time

import tools
import processes
from harness import PR_SET_CHILD_SUBREAPER

AGENTS = (8, 50, 200, 1000)
LIMITS = {200: 2, 1000: 10}  # seconds
PEER_AGENTS = 8
PATIENCE = 120  # seconds that a job may take to form, and to end, unless --patience says otherwise
RECORD = struct.Struct("<qii")  # what hold_worker.c writes
HEADER = ["agents", "floor s", "job s", "job limit", "end s", "MiB of all", "MiB an agent", "MiB of host", "host CPU s",
          "CPU s of all"]


def spawn(lines, environment, output):
    """Starts all as fast as Python can; their process numbers. What they say goes to one file."""
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, output, 1),
               (os.POSIX_SPAWN_DUP2, output, 2)]
    # Python ignores these two; launchers and workers shall not.
    return [os.posix_spawn(line[0], line, environment, file_actions=actions,
                           setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]) for line in lines]


def spawn_floor(count):
    """Seconds to start `count` programs that do nothing, and to collect them."""
    with open(os.devnull, "wb") as output:
        began = time.monotonic()
        for pid in spawn([["/bin/true"]] * count, {}, output.fileno()):
            os.waitpid(pid, 0)
        return time.monotonic() - began


def left():
    """Everything below us that lives: what loses its parent comes to us, see main()."""
    return processes.descendants_of(os.getpid())


class Job:
    """One agent for each line; one worker each, unless `count` says how many there are in all. What is left of it is
    killed when it is left."""

    def __init__(self, lines, worker, patience, count=None):
        self.patience, self.count = patience, count or len(lines)
        self.lines, self.worker = [[*line, str(worker)] for line in lines], str(worker)
        self.pids, self.running, self.failed = [], set(), {}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="launch-bench-"))
            self.output = stack.enter_context(open(os.path.join(folder, "output"), "ab+"))
            self.stamps, pipe = os.path.join(folder, "stamps"), os.path.join(folder, "hold")
            os.close(os.open(self.stamps, os.O_CREAT | os.O_WRONLY, 0o600))
            os.mkfifo(pipe)
            self.hold = os.open(pipe, os.O_RDWR)
            self.environment = {**tools.clean_environment(), "STAMP_FILE": self.stamps, "HOLD_PIPE": pipe,
                                "OMP_NUM_THREADS": "1"}
            self.cleanup = stack.pop_all()
        return self

    def collect(self):
        """Takes notice of those that have ended. True when none runs any more."""
        while self.running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if status != 0 and pid in self.running:
                self.failed[pid] = os.waitstatus_to_exitcode(status)
            self.running.discard(pid)
        return not self.running

    def fail(self, what):
        said = os.pread(self.output.fileno(), 2000, max(0, os.fstat(self.output.fileno()).st_size - 2000))
        ends = f"{len(self.failed)} failed" + (f", the first with {next(iter(self.failed.values()))}"
                                               if self.failed else "")
        raise RuntimeError(f"{self.count} agents: {what} ({ends}); the last words:\n"
                           f"{said.decode(errors='replace')}")

    def stamped(self):
        return os.path.getsize(self.stamps) // RECORD.size

    def settled(self):
        """All workers are there, or some agent has ended though nobody was told to."""
        self.collect()
        return self.stamped() >= self.count or len(self.running) < len(self.lines)

    def form(self):
        """Seconds until the last worker has started."""
        count = self.count
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.pids = spawn(self.lines, self.environment, self.output.fileno())
        self.running = set(self.pids)
        if not tools.wait_for(self.settled, self.patience) or self.stamped() != count:
            self.fail(f"{self.stamped()} workers started in {self.patience} s or until an agent ended")
        with open(self.stamps, "rb") as file:
            stamps, ranks, worlds = zip(*RECORD.iter_unpack(file.read()))
        if sorted(ranks) != list(range(count)) or set(worlds) != {count}:
            self.fail(f"ranks {sorted(set(range(count)) - set(ranks))} are missing, the world sizes are {set(worlds)}")
        return (max(stamps) - began) / 1e9

    def agents(self):
        return {pid for pid in left() if processes.command_of(pid) != self.worker}

    def host(self):
        """The processes of the launcher that hosts the store."""
        server = max(self.agents(), key=processes.open_files)
        return next(pids for pids in map(processes.launcher, self.pids) if server in pids)

    def used(self):
        """MiB of all agents, MiB of the host, CPU seconds of the host, CPU seconds of all agents."""
        agents, host = self.agents(), self.host()
        cpu = [sum(map(processes.cpu_seconds, pids)) for pids in (host, agents)]
        return [sum(map(processes.memory_kib, pids)) / 1024 for pids in (agents, host)] + cpu

    def end(self):
        """Lets all workers go; seconds until the last agent has ended."""
        began = time.monotonic()
        self.release()
        if not tools.wait_for(self.collect, self.patience) or self.failed:
            self.fail(f"{len(self.running)} agents have not ended after {self.patience} s, or not all with 0")
        return time.monotonic() - began

    def release(self):
        if self.hold is not None:
            os.close(self.hold)
            self.hold = None

    def __exit__(self, *_):
        tools.wait_for(lambda: processes.kill(left()) or not left(), 10)
        processes.collect_adopted()
        self.release()
        self.cleanup.close()


def measure(lines, worker, patience):
    """What HEADER names, from the second column on, without the limit."""
    floor = spawn_floor(len(lines))
    with Job(lines, worker, patience) as job:
        seconds = job.form()
        memory, host, host_cpu, cpu = job.used()
        return floor, seconds, job.end(), memory, memory / len(lines), host, host_cpu, cpu


def launch_job(arguments, count, worker):
    lines = list(tools.job_lines(arguments.launch, count, 1, "c10d", "--local-addr=127.0.0.1"))
    return measure(lines, worker, arguments.patience)


def peer_job(arguments, torchrun, count, worker):
    lines = list(tools.job_lines(torchrun, count, 1, "c10d", "--no-python", "--local-addr=127.0.0.1"))
    return measure(lines, worker, arguments.patience)


def row(name, results, limit):
    floor, seconds, *rest = [f"{statistics.median(values):.3f}" for values in zip(*results)]
    return [name, floor, seconds, f"< {limit}" if limit else "-", *rest]


def main():
    parser = tools.parser(__doc__)
    parser.add_argument("--agents", type=int, nargs="+", help="how many agents, in place of " + str(AGENTS))
    parser.add_argument("--no-peer", action="store_true", help="without torchrun")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds for a job to form, and to end")
    arguments = tools.start(parser.parse_args())
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    rounds = 1 if arguments.quick else arguments.rounds or 3
    torchrun = arguments.build / "venv" / "bin" / "torchrun"
    peers = torchrun.exists() and not arguments.no_peer
    worker = tools.compiled("hold_worker.c", arguments.build)
    rows = []
    try:
        for count in arguments.agents or AGENTS[:2 if arguments.quick else None]:
            measurements = {f"launch, {count}": lambda: launch_job(arguments, count, worker)}
            if peers and count == PEER_AGENTS:
                measurements[f"torchrun, {count}"] = lambda: peer_job(arguments, torchrun, count, worker)
            for name, results in tools.in_turns(rounds, measurements).items():
                rows.append(row(name, results, LIMITS.get(count)))
    finally:  # what was found before a job failed
        print(f"\n{os.cpu_count()} processors, medians of {rounds} turns")
        tools.table(HEADER, rows)


if __name__ == "__main__":
    main()
