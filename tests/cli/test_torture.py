"""Families of processes that do not want to be found, under every kind of death: nothing survives, no stranger is hurt.

A round is its seed. LAUNCH_TORTURE_ROUNDS says how many (10), LAUNCH_TORTURE_SEED the first one (1).
"""
import os
import pathlib
import random
import signal
import subprocess
import time

import processes
from harness import wait_for
from job import JobCase

SOURCE = pathlib.Path(__file__).resolve().parent / "workers" / "tree.c"
DEATHS = ("success", "failure", "worker killed", "SIGTERM", "SIGINT twice", "guard SIGKILL", "agent SIGKILL",
          "guard SIGSEGV", "agent SIGSEGV")
GRACE = 2.0  # seconds after the end in which everything has to be gone


class Torture(JobCase):
    def build(self):
        tree = self.folder / "tree"
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-static", "-o", str(tree), str(SOURCE)], check=True)
        return tree

    def workers(self):
        """Their pids, as they have told."""
        return [int((self.folder / f"up.{rank}").read_text()) for rank in (0, 1)]

    def end(self, run, death, chance):
        agent = self.agent_of(run)
        if death in ("success", "failure"):
            for rank in (0, 1):
                path = self.folder / f"end.{rank}.new"
                path.write_text(str(7 if death == "failure" and rank == 1 else 0))
                path.rename(self.folder / f"end.{rank}")
        elif death == "worker killed":
            os.kill(chance.choice(self.workers()), chance.choice([signal.SIGKILL, signal.SIGSEGV]))
        elif death == "SIGTERM":
            run.signal(signal.SIGTERM)
        elif death == "SIGINT twice":
            run.signal(signal.SIGINT)
            run.signal(signal.SIGINT)
        else:
            whom, how = death.split()
            os.kill(run.pid if whom == "guard" else agent, getattr(signal, how))

    def one_round(self, tree, seed):
        chance = random.Random(seed)
        death = chance.choice(DEATHS)
        limit = 2000 if chance.randrange(12) == 0 else 100
        self.forget("end.*")
        run = self.launch("--nproc-per-node=2", "--shutdown-timeout=1", tree, seed, limit)
        said = f"seed {seed}, {death}, at most {limit} processes"
        self.wait_until_up(2, run)
        self.assertTrue(wait_for(lambda: all(path.read_text() for path in self.folder.glob("up.*")), 5))
        self.end(run, death, chance)
        self.assertIsNotNone(run.wait(20), f"{said}: launch does not end\n{run}")
        gone = wait_for(lambda: not self.leftovers() - {self.bystander.pid}, GRACE)
        self.assertTrue(gone, f"{said}: left behind\n{self.tree()}\n{run}")
        self.assertIsNone(self.bystander.poll(), f"{said}: a stranger was killed\n{run}")
        run.close()
        self.runs.remove(run)

    def test_nothing_survives(self):
        tree = self.build()
        rounds, first = (int(os.environ.get(f"LAUNCH_TORTURE_{name}", value)) for name, value in
                         (("ROUNDS", 10), ("SEED", 1)))
        self.bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        try:
            began = time.monotonic()
            for seed in range(first, first + rounds):
                self.one_round(tree, seed)
                processes.collect_adopted()  # the bystander lives, and stays
            print(f"\n  {rounds} rounds in {time.monotonic() - began:.0f} s", flush=True)
        finally:
            self.bystander.kill()
            self.bystander.wait()
