"""Jobs that start at the same second on the same two nodes: each has a port of its own, and meets nobody else's nodes.

LAUNCH_CROWD says how many (20).
"""
import collections
import os
import shutil
import time

from harness import Settings, wait_for
from slurm_case import SlurmCase

JOBS = int(os.environ.get("LAUNCH_CROWD", "20"))


class Crowd(SlurmCase):
    load = 2.0
    crashes = 0

    def told(self):
        """job -> what its workers have said, as the words of a line each."""
        jobs = collections.defaultdict(list)
        for path in self.folder.glob("met.*"):
            jobs[path.name.split(".")[1]].append(path.read_text().split())
        return jobs

    def open_gate(self, name):
        """Lets all go on that wait for it, or will; the test holds it open."""
        self.gates.append(os.open(self.folder / name, os.O_RDWR))

    def test_jobs_at_once(self):
        """All of them are there at the same time: no worker ends before the last job has met."""
        self.gates = []
        self.addCleanup(self.close_gates)
        worker = self.worker('echo "$RANK $WORLD_SIZE $TORCHELASTIC_RUN_ID $MASTER_ADDR $MASTER_PORT" > '
                             '"$TEST_FOLDER/new.$SLURM_JOB_ID.$SLURM_NODEID"\n'
                             'cd "$TEST_FOLDER" && mv "new.$SLURM_JOB_ID.$SLURM_NODEID" '
                             '"met.$SLURM_JOB_ID.$SLURM_NODEID"\n: < end\n')
        script = self.program('#!/bin/sh\n: > "$TEST_FOLDER/waits.$SLURM_JOB_ID"\n: < "$TEST_FOLDER/begin"\n'
                              f"exec srun {Settings.launch} {worker}\n", "job.sh")
        while not self.play(script):
            self.crashes += 1
            print("\n  a daemon of Slurm has crashed: once more", flush=True)
            self.clear()

    def close_gates(self):
        while self.gates:
            os.close(self.gates.pop())

    def clear(self):
        self.finish(*self.runs, seconds=10)
        for run in self.runs:
            run.close()
        self.runs.clear()
        self.close_gates()
        self.forget("met.*", "waits.*", "new.*", "out.*", "begin", "end")
        shutil.rmtree(self.folder / "slurm")

    def play(self, script):
        """False if a daemon of Slurm has crashed, as Debian's slurmd does now and then, whose jobs never end."""
        for name in ("begin", "end"):
            os.mkfifo(self.folder / name)
        with self.place(2, cpus=4 * JOBS) as slurm:
            crashed = lambda: self.crashes < 2 and any(daemon.poll() is not None for daemon in slurm.daemons)
            there = lambda pattern, count: crashed() or len(list(self.folder.glob(pattern))) == count
            run = self.batch(slurm, "-N2", "--ntasks-per-node=1", f"--array=1-{JOBS}", "-o",
                             self.folder / "out.%A_%a", script)
            self.assertTrue(wait_for(lambda: there("waits.*", JOBS), 60), str(run))
            began = time.monotonic()
            self.open_gate("begin")
            everybody = bool(wait_for(lambda: there("met.*", 2 * JOBS), 60 + JOBS))
            met = time.monotonic() - began
            if crashed():
                return False
            if everybody:
                self.open_gate("end")
                self.assertTrue(wait_for(lambda: crashed() or run.wait(0) is not None, 60 + JOBS), str(run))
                if crashed():
                    return False
            self.check(run, everybody, f"met within {met:.1f} s", began)
        return True

    def check(self, run, everybody, met, began):
        said = "".join(path.read_text() for path in sorted(self.folder.glob("out.*")))
        self.assertEqual((True, 0), (everybody, run.code), f"{self.told()}\n{said}")
        ports = set()
        for job, lines in self.told().items():
            (port,) = {line[-1] for line in lines}
            self.assertEqual([[str(rank), "2", f"{job}.0", "n1", port] for rank in (0, 1)], sorted(lines))
            ports.add(port)
        self.assertEqual(JOBS, len(ports))
        shared = said.count("another job's store is at ")
        print(f"\n  {JOBS} jobs on two nodes {met}, {shared} of them not at their first port; "
              f"all ended after {time.monotonic() - began:.1f} s", flush=True)
