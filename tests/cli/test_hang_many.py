"""A job of 64 workers of which one hangs where it loads its data: it is named, and the job goes on by a restart."""
import json
import re

from test_control import ControlCase

RANKS, HANGS = 64, 7
PLACES = [r"ranks 0-6, 8-63: in all_reduce \(\S+/worker\.py:\d+\)", r"rank 7: in load_batch \(\S+/worker\.py:\d+\)"]
# Python's own faulthandler shows where it is, so the test needs no other tool.
WORKER = f"""
import faulthandler, os, signal
faulthandler.register(signal.SIGUSR2)
rank = int(os.environ["RANK"])

def load_batch():
    os.read(os.pipe()[0], 1)

def all_reduce():
    os.read(os.pipe()[0], 1)

open(os.environ["TEST_FOLDER"] + f"/up.{{rank}}", "w").close()
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    load_batch() if rank == {HANGS} else all_reduce()
os.write(1, b"trained\\n")
"""


class ManyWorkers(ControlCase):
    load = 1.0

    def stop(self, *runs):
        self.assertEqual(2, len(self.reports("stop")))
        self.expect([143] * 2, runs)

    def start_job(self, *options):
        runs = self.nodes([RANKS // 2] * 2, "--no-python", "/usr/bin/env", "python3", "-S",
                          self.program(WORKER, "worker.py"),
                          options=("--evidence=states:SIGUSR2", "--redirects=2", f"--log-dir={self.folder}/logs",
                                   *options))
        self.wait_until_up(RANKS, *runs)
        return runs

    def assert_two_lines(self, lines):
        self.assertEqual(len(PLACES), len(lines), lines)
        for pattern, line in zip(PLACES, lines):
            self.assertRegex(line, f"^{pattern}$")

    def test_stacks_are_two_lines(self):
        runs = self.start_job()
        stacks = self.ask("stacks").out.splitlines()
        self.stop(*runs)
        self.assert_two_lines(stacks)

    def test_a_restart_ends_the_hang(self):
        runs = self.start_job("--hang-timeout=4", "--on-hang=restart", "--max-restarts=1",
                              f"--events={self.folder}/events")
        self.expect([0] * 2, runs)
        self.assertEqual(1, runs[0].err.count("on any node (--hang-timeout)"), runs[0].err)
        said = re.split(r"the workers are here:\n", runs[0].err)[1].splitlines()[:2]
        self.assert_two_lines([line.removeprefix("launch: warning:   ") for line in said])
        for run in runs:
            self.assertIn("restart 1 of 1", run.err)
            self.assertEqual(RANKS // 2, run.out.count("trained\n"))
        events = [json.loads(line) for line in (self.folder / "events").read_text().splitlines()]
        self.assertEqual(1, sum(event["event"] == "hang" for event in events))
