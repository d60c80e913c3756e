"""Many agents on this machine run a c10d job; the one that hosts the store is killed.

"again" is the time from the kill until the last worker of the next round has started, of all agents but that one. It is
compared with "job", the time that the first round took, which starts the agents as well. Nothing is asserted but that
every rank of both rounds is there once, and that all the others end with 0.
"""
import ctypes
import os
import statistics
import time

import agents
import processes
import tools
from harness import PR_SET_CHILD_SUBREAPER

AGENTS = (8, 100, 1000)
HEADER = ["agents", "job s", "again s", "again / job", "MiB of the next host"]


class LosingJob(agents.Job):
    def lose_host(self):
        """Seconds until all the others run again."""
        others, host = self.count - 1, self.host()
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        processes.kill(host)
        for pid in host.intersection(self.pids):
            os.waitpid(pid, 0)
            self.running.discard(pid)
            self.pids.remove(pid)
        if not tools.wait_for(lambda: self.stamped() >= self.count + others, self.patience):
            self.fail(f"{self.stamped() - self.count} of {others} run again after {self.patience} s")
        with open(self.stamps, "rb") as file:
            stamps, ranks, worlds = zip(*list(agents.RECORD.iter_unpack(file.read()))[self.count:])
        if sorted(ranks) != list(range(others)) or set(worlds) != {others}:
            self.fail(f"the world sizes are {set(worlds)}, the ranks {sorted(ranks)[:10]}...")
        return (max(stamps) - began) / 1e9


def play(arguments, count, worker):
    lines = tools.job_lines(arguments.launch, count, 1, "c10d", "--local-addr=127.0.0.1")
    lines = [[word.replace(f"--nnodes={count}", f"--nnodes={count // 2}:{count}") for word in line] for line in lines]
    with LosingJob(lines, worker, arguments.patience) as job:
        seconds = job.form()
        again = job.lose_host()
        host = job.used()[1]
        job.end()
        return seconds, again, host


def row(count, results):
    seconds, again, host = (statistics.median(values) for values in zip(*results))
    return [count, f"{seconds:.3f}", f"{again:.3f}", tools.ratio(again, seconds), f"{host:.1f}"]


def main():
    parser = tools.parser(__doc__)
    parser.add_argument("--agents", type=int, nargs="+", help="how many agents, in place of " + str(AGENTS))
    parser.add_argument("--patience", type=float, default=agents.PATIENCE, help="seconds for a job to form, and to end")
    arguments = tools.start(parser.parse_args())
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    rounds = 1 if arguments.quick else arguments.rounds or 3
    worker = tools.compiled("hold_worker.c", arguments.build)
    rows = []
    try:
        for count in arguments.agents or AGENTS[:1 if arguments.quick else None]:
            rows.append(row(count, [play(arguments, count, worker) for _ in range(rounds)]))
    finally:  # what was found before a job failed
        print(f"\n{os.cpu_count()} processors, medians of {rounds} turns")
        tools.table(HEADER, rows)


if __name__ == "__main__":
    main()
