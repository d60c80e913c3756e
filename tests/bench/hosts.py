"""What one command for many hosts costs: from the command to the start of the last worker.

1. launch --hosts on eight hosts with two workers each, beside Hydra's mpiexec, Open MPI's mpirun and DeepSpeed's
   launcher. All log in to the same sshds, in network namespaces, each with a user and a home of its own. "ssh alone" is
   the floor: eight ssh at once, which start the workers and nothing else. Most of a login is the exchange of keys, so
   everything is measured a second time with one that costs less.
2. launch --hosts where hosts start other hosts (--fanout=8, one worker each; a host is a process of this machine). The
   floor is as many launches of one job, started by a loop. The memory is the peak of the head until all workers run.

The worker is a small C program that notes the time first thing in main. All take turns; medians and ratios are printed.
"""
import contextlib
import ctypes
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

import agents
import deepspeed_env
import tools
import processes
from harness import PR_SET_CHILD_SUBREAPER

# Before this folder, in which this file has the name of another one.
sys.path[:0] = [str(tools.ROOT / "tests" / folder) for folder in ("clusters", "cli")]

import hosts_place  # noqa: E402
import mpi_starters  # noqa: E402
import ssh_place  # noqa: E402

HOSTS, WORKERS = 8, 2  # workers on each
TURNS, TURNS_OF_SLOW = 20, 3
SLOW = {"deepspeed"}  # seconds of a processor on each host
CHEAP = "curve25519-sha256"  # the exchange of keys of the second time; OpenSSH 9 prefers one against quantum computers
FANOUT = 8
PATIENCE = 240  # seconds for many hosts to start, and to end


@contextlib.contextmanager
def folder_in_memory():
    """Where everything is that a turn writes: ext4 looks for five seconds at each file that an earlier turn deleted."""
    with tempfile.TemporaryDirectory(prefix="launch-bench-") as folder:
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
        try:
            (pathlib.Path(folder) / "tmp").mkdir()
            yield pathlib.Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


class Place(hosts_place.HostsPlace):
    """Hosts that know one exchange of keys, if one is named."""

    exchange = ""

    def options_of_sshd(self, number):
        return {**super().options_of_sshd(number), **({"KexAlgorithms": self.exchange} if self.exchange else {})}


class Logins:
    """The eight hosts, and the command lines that start the workers on them, or why there is none."""

    def __init__(self, stack, arguments, exchange):
        self.folder = stack.enter_context(folder_in_memory())
        self.place = Place(self.folder, arguments.launch, HOSTS, {"TMPDIR": str(self.folder / "tmp")})
        self.place.exchange = exchange
        stack.enter_context(self.place)
        self.stamps = self.folder / "stamps"
        self.stopwatch = tools.compiled("stopwatch.c", arguments.build)
        self.worker = tools.compiled("stamp_worker.c", arguments.build)
        self.lines = {"launch": [arguments.launch, f"--hosts=n[1-{HOSTS}]", f"--nproc-per-node={WORKERS}", self.worker],
                      "ssh alone": self.ssh_alone(), "hydra": self.mpi("Debian's MPICH"),
                      "open mpi": self.mpi("Debian's Open MPI"), "deepspeed": self.deepspeed(arguments.build)}

    def ssh_alone(self):
        script = self.folder / "ssh-alone"
        each = f"STAMP_FILE={self.stamps}; export STAMP_FILE; {f'{self.worker} & ' * WORKERS}wait"
        script.write_text(f"#!/bin/sh\nfor host in {' '.join(self.names())}; do ssh $host '{each}' & done\nwait\n")
        script.chmod(0o755)
        return [script]

    def mpi(self, name):
        mpi = mpi_starters.starter(name)
        if not mpi.program:
            return f"{name} is not installed"
        env = {} if mpi.hydra else {"STAMP_FILE": self.stamps}  # Hydra passes everything on
        return [*mpi.line(hosts=self.names(), ranks=HOSTS * WORKERS, on_each=WORKERS, env=env), self.worker]

    def deepspeed(self, build):
        program = deepspeed_env.starter(build)
        if not program or not shutil.which("pdsh"):
            return "tests/bench/deepspeed_env.py installs it, and scripts/install_dependencies clusters its pdsh"
        (self.folder / "hostfile").write_text("".join(f"{name} slots={WORKERS}\n" for name in self.names()))
        (self.folder / ".deepspeed_env").write_text(f"STAMP_FILE={self.stamps}\n")
        return [program, "--hostfile", self.folder / "hostfile", "--no_python", "--no_local_rank", self.worker]

    def names(self):
        return [self.place.name(number) for number in range(1, HOSTS + 1)]

    def measure(self, name):
        """Milliseconds from the command's start to the start of the last worker, on hosts where nothing runs."""
        if not self.place.wait_until_empty():
            raise RuntimeError(f"before {name}, these are left on the hosts:\n{self.place.shown()}")
        self.stamps.unlink(missing_ok=True)
        command = [str(word) for word in self.place.on_login(self.stopwatch, *self.lines[name])]
        done = subprocess.run(command, env={**self.place.environment(), "STAMP_FILE": str(self.stamps)},
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=600)
        if done.returncode != 0:
            raise RuntimeError(f"{name} ended with {done.returncode}: {done.stdout}{done.stderr}")
        times = [stamp for (stamp,) in struct.iter_unpack("<q", self.stamps.read_bytes())]
        if len(times) != HOSTS * WORKERS:
            raise RuntimeError(f"{name} started {len(times)} of {HOSTS * WORKERS} workers: {done.stdout}{done.stderr}")
        return (max(times) - int(done.stdout.splitlines()[-1].split()[0])) / 1e6


def leave_out(what, why):
    print(f"LEFT OUT: {what}: {why}", file=sys.stderr, flush=True)


def turns_of(arguments, name):
    slow = name in SLOW
    if arguments.quick:
        return 1 if slow else 2
    return min(arguments.rounds or TURNS, TURNS_OF_SLOW if slow else TURNS)


def over_ssh(arguments, exchange):
    """name -> milliseconds of each turn; the slow ones have fewer, among the first."""
    with contextlib.ExitStack() as stack:
        logins = Logins(stack, arguments, exchange)
        missing = {name: line for name, line in logins.lines.items() if isinstance(line, str)}
        for name, why in missing.items():
            leave_out(name, why)
        results = {name: [] for name in logins.lines if name not in missing and not (exchange and name in SLOW)}
        for number in range(max(turns_of(arguments, name) for name in results)):
            for name, times in results.items():
                if number < turns_of(arguments, name):
                    times.append(logins.measure(name))
        return results


def show_over_ssh(arguments, exchange):
    results = over_ssh(arguments, exchange)
    found = tools.medians(results)
    print(f"\nmilliseconds from the command to the last of {HOSTS * WORKERS} workers on {HOSTS} hosts, over ssh with "
          f"{exchange or 'its own exchange of keys'}")
    tools.table(["started by", "median", "least", "most", "launch/it"],
                [[name, *(f"{value:.0f}" for value in (found[name], min(times), max(times))),
                  tools.ratio(found["launch"], found[name])] for name, times in results.items()])


class Tree:
    """Jobs of `count` hosts that are processes of this machine."""

    def __init__(self, arguments, folder, count):
        self.launch, self.count, self.folder = arguments.launch, count, folder
        self.worker = tools.compiled("hold_worker.c", arguments.build)

    def head(self):
        """Seconds to the last worker, to the end, and MiB of the head."""
        line = [self.launch, f"--hosts=h[1-{self.count}]", f"--fanout={FANOUT}", "--nproc-per-node=1",
                "--start-with=exec:exec {command}"]
        return self.run([[str(word) for word in line]])

    def floor(self):
        return self.run(list(tools.job_lines(self.launch, self.count, 1, "static")))

    def run(self, lines):
        with agents.Job(lines, self.worker, PATIENCE, self.count) as job:
            job.environment["PATH"] = f"{self.folder}:{os.environ['PATH']}"  # where hosts look for launch
            job.environment["TMPDIR"] = str(self.folder / "tmp")
            seconds = job.form()
            memory = sum(map(processes.peak_kib, processes.launcher(job.pids[0]))) / 1024
            return seconds, job.end(), memory


def measure_tree(arguments, count):
    """The line of the table."""
    rounds = 1 if arguments.quick else min(arguments.rounds or 3, 3)
    with folder_in_memory() as folder:
        (folder / "launch").symlink_to(arguments.launch)
        tree = Tree(arguments, folder, count)
        results = tools.in_turns(rounds, {"head": tree.head, "floor": tree.floor})
    (seconds, end, memory), (floor, floor_end, _) = ([statistics.median(column) for column in zip(*results[name])]
                                                     for name in ("head", "floor"))
    return [count, f"{seconds:.2f}", f"{floor:.2f}", tools.ratio(seconds, floor), f"{end:.2f}", f"{floor_end:.2f}",
            f"{memory:.1f}"]


def show_trees(arguments):
    # What loses its parent comes to us, so that all of a job is seen.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    counts = (40,) if arguments.quick else (200, 1000) if arguments.full else (200,)
    rows = [measure_tree(arguments, count) for count in counts]
    print(f"\nhosts that start others, --fanout={FANOUT}: seconds to the last worker, and to the end of all")
    tools.table(["hosts", "launch --hosts", "floor", "ratio", "end", "floor's end", "MiB of the head"], rows)


def main():
    parser = tools.parser(__doc__)
    parser.add_argument("--full", action="store_true", help="1,000 hosts that start others, too")
    parser.add_argument("--only", choices=("ssh", "tree"), help="one of the two parts")
    arguments = tools.start(parser.parse_args())
    if arguments.only != "tree":
        if missing := ssh_place.missing():
            leave_out("all that is over ssh", f"{missing} is missing")
        else:
            for exchange in ("",) if arguments.quick else ("", CHEAP):
                show_over_ssh(arguments, exchange)
    if arguments.only != "ssh":
        show_trees(arguments)
    print(f"processors: {os.cpu_count()}")


if __name__ == "__main__":
    main()
