"""Proportional memory (PSS) of the agent with 8 sleeping workers, and how often an idle launch wakes up."""
import os
import shutil
import signal
import subprocess
import time

import tools
import processes

WORKERS = 8


class Started:
    """A launcher with sleeping workers; ends them when left. `self.agents` are the launcher's own processes."""

    def __init__(self, *commands, workers=WORKERS, more=()):
        environment = {**tools.clean_environment(), "OMP_NUM_THREADS": "1", **dict(more)}
        self.commands, self.environment, self.workers = commands, environment, workers

    def __enter__(self):
        self.running = [subprocess.Popen([str(word) for word in command], env=self.environment,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
                        for command in self.commands]
        if not tools.wait_for(lambda: len(self.sleepers()) == self.workers, 60):
            self.__exit__()
            raise RuntimeError(f"{self.commands} did not start {self.workers} workers")
        time.sleep(1)  # what comes after the start is no part of the steady state
        return self

    def family(self):
        return set.union(*[{child.pid} | processes.descendants_of(child.pid) for child in self.running])

    def sleepers(self):
        return {pid for pid in self.family() if processes.command_of(pid).startswith("sleep ")}

    def agents(self):
        return self.family() - self.sleepers()

    def __exit__(self, *_):
        for child in self.running:
            child.send_signal(signal.SIGTERM)
        for child in self.running:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                processes.kill(self.family())
                child.wait()


def memory_of(*commands, workers=WORKERS, only_first=False, more=()):
    """MiB of all processes of the launchers (Hydra: mpiexec and its proxy), or of the first command's alone. `more`:
    variables of the environment."""
    with Started(*commands, workers=workers, more=more) as job:
        agents = processes.launcher(job.running[0].pid) if only_first else job.agents()
        return sum(processes.memory_kib(pid) for pid in agents) / 1024


def wake_ups(command, seconds, more=()):
    """How often the launcher's processes are woken in so many seconds, and the processor time that they take."""
    with Started(command, more=more) as job:
        pids = processes.launcher(job.running[0].pid)
        before = [(processes.context_switches(pid), processes.cpu_seconds(pid)) for pid in pids]
        time.sleep(seconds)
        after = [(processes.context_switches(pid), processes.cpu_seconds(pid)) for pid in pids]
        return tuple(sum(column) for column in zip(*[(a - b, c - d) for (a, c), (b, d) in zip(after, before)]))


def two_nodes(launch, build):
    """Node 1 runs a copy of the binary: on two machines the nodes would share no page either."""
    copy = build / "bench" / "launch-of-node-1"
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(launch, copy)
    port = tools.free_port()
    return [[binary, "--nnodes=2", f"--nproc-per-node={WORKERS}", f"--node-rank={rank}", "--master-addr=127.0.0.1",
             f"--master-port={port}", "sleep", "600"] for rank, binary in enumerate((launch, copy))]


def measurements(arguments):
    one = [arguments.launch, f"--nproc-per-node={WORKERS}", "sleep", "600"]
    found = {"launch, one node": lambda: memory_of(one),
             "launch, host of a 2-node job": lambda: memory_of(*two_nodes(arguments.launch, arguments.build),
                                                               workers=2 * WORKERS, only_first=True)}
    hydra = shutil.which("mpiexec.hydra")
    if hydra:
        found["hydra (mpiexec + proxy)"] = lambda: memory_of([hydra, "-n", WORKERS, "sleep", "600"])
    torchrun = arguments.build / "venv" / "bin" / "torchrun"
    if torchrun.exists():
        found["torchrun"] = lambda: memory_of([torchrun, "--no-python", f"--nproc-per-node={WORKERS}", "sleep", "600"])
    return found


def main():
    arguments = tools.start(tools.parser(__doc__).parse_args())
    rounds = 1 if arguments.quick else arguments.rounds or 3
    found = tools.medians(tools.in_turns(rounds, measurements(arguments)))
    base = found["launch, one node"]
    print(f"\nMiB of proportional memory with {WORKERS} sleeping workers a node (medians)")
    tools.table(["agent", "PSS", "times launch"], [[name, f"{mib:.2f}", tools.ratio(mib, base)]
                                                  for name, mib in found.items()])
    seconds = 1 if arguments.quick else 5
    single = [arguments.launch, f"--nproc-per-node={WORKERS}", "sleep", "600"]
    switches, cpu = wake_ups(single, seconds)
    print(f"\nlaunch, one node, woke up {switches} times in {seconds} s and used {cpu * 1e6:.0f} us")
    print(f"processors: {os.cpu_count()}")


if __name__ == "__main__":
    main()
