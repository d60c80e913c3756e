"""What is kept of the workers before a failure ends them."""
import os
import pathlib
import sys
import time

import processes
from harness import wait_for
from job import JobCase

WORKERS = pathlib.Path(__file__).parent / "workers"
# What py-spy prints, without py-spy: the names of the functions are in the arguments of the process it looks at.
FAKE_PY_SPY = f"""#!{sys.executable} -IS
import os, sys
pid = sys.argv[sys.argv.index("--pid") + 1]
rank = [entry[5:] for entry in open(f"/proc/{{pid}}/environ").read().split("\\0") if entry.startswith("RANK=")][0]
place = "load_batch (data.py:12)" if rank == "0" else "all_reduce (distributed.py:7)"
print(f'Process {{pid}}: python\\nPython v3.11.2 (/usr/bin/python3.11)\\n\\nThread {{pid}} (idle): "MainThread"')
print(f"    {{place}}\\n    <module> (train.py:30)")
"""
HANGING_PY_SPY = f"#!/bin/sh\nexec {sys.executable} {WORKERS}/never_ends.py py-spy\n"


class Evidence(JobCase):
    def hang(self, *options, nproc=4, env=None, fake=FAKE_PY_SPY):
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        if fake:
            (tools / "py-spy").write_text(fake)
            (tools / "py-spy").chmod(0o755)
        path = f"{tools}:/usr/bin:/bin"
        return self.launch(f"--nproc-per-node={nproc}", "-r", "3", f"--log-dir={self.folder}/logs", *options,
                           WORKERS / "hangs.py", env={"PATH": path, **(env or {})})

    def evidence(self):
        """The text beside the logs; empty when none was kept."""
        return "".join(path.read_text() for path in self.folder.glob("logs/*_*/attempt_0/evidence.txt"))

    def test_an_abort_is_looked_into_and_the_outlier_comes_first(self):
        run = self.hang()
        self.expect([134], [run])
        self.assert_says(run, r"at failure     *rank 0: in load_batch \(data.py:12\)\n"
                              r" *ranks 1-2: in all_reduce \(distributed.py:7\)")
        self.assertIn("rank 2, Python stacks:", self.evidence())
        self.assertRegex(self.evidence(), r"rank 0: pid \d+ \(\S+\), sleeping")

    def test_two_nodes_together(self):
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "py-spy").write_text(FAKE_PY_SPY)
        (tools / "py-spy").chmod(0o755)
        runs = self.nodes([2, 2], WORKERS / "hangs.py", env={"PATH": f"{tools}:/usr/bin:/bin"})
        self.expect([134, 134], runs)
        for run in runs:
            self.assert_says(run, r"at failure  *rank 0: in load_batch", r"\n *ranks 1-2: in all_reduce")

    def test_a_plain_failure_keeps_states_only(self):
        run = self.hang(env={"DIE_BY": "11"})
        self.expect([139], [run])
        self.assertNotIn("at failure", run.err)
        self.assertNotIn("Python stacks", self.evidence())
        self.assertRegex(self.evidence(), r"rank 0: pid \d+")
        self.assertRegex(self.evidence(), r"rank 1(: pid \d+| and higher ranks: not looked at)")

    def test_stacks_always_on_request(self):
        run = self.hang("--evidence=stacks", env={"DIE_BY": "11"})
        self.expect([139], [run])
        self.assert_says(run, r"at failure  *rank 0: in load_batch")

    def test_none_keeps_nothing(self):
        run = self.hang("--evidence=none")
        self.expect([134], [run])
        self.assertEqual("", self.evidence())
        self.assertNotIn("at failure", run.err)

    def test_faulthandler_where_there_is_no_py_spy(self):
        run = self.hang("--evidence=states:SIGUSR2", fake=None, env={"REGISTER": "1"})
        self.expect([134], [run])
        self.assert_says(run, r"at failure  *rank 0: in load_batch \(", r"\n *ranks 1-2: in all_reduce \(")

    def test_a_worker_without_a_handler_is_not_signalled(self):
        run = self.hang("--evidence=states:SIGUSR2", fake=None)
        self.expect([134], [run])
        self.assert_says(run, r"ranks 0-2: signal 15 \(SIGTERM\), stopped by launch")

    def test_a_tool_that_hangs_holds_nobody_up(self):
        began = time.monotonic()
        run = self.hang(fake=HANGING_PY_SPY)
        self.expect([134], [run], seconds=40)
        self.assertLess(time.monotonic() - began, 30)
        self.assertIn("py-spy did not finish", self.evidence())

    def test_a_killed_guard_does_not_wait_for_stacks(self):
        run = self.hang(fake=HANGING_PY_SPY)
        self.assertTrue(wait_for(lambda: any("py-spy" in processes.command_of(pid) for pid in self.leftovers()), 20),
                        str(run))
        processes.kill([run.pid])
        self.expect([137], [run])
        self.assertTrue(wait_for(lambda: not self.leftovers(), 4), self.tree())

    def test_stopped_workers_are_named(self):
        until_stopped = """
state() { cut -d" " -f3 "/proc/$(cat "$TEST_FOLDER/pid")/stat"; }
if [ "$RANK" = 0 ]; then echo $$ > "$TEST_FOLDER/pid"; : > "$TEST_FOLDER/up.0"; kill -STOP $$; fi
while [ ! -e "$TEST_FOLDER/up.0" ] || [ "$(state)" != T ]; do sleep 0.02; done
exit 7
"""
        worker = self.worker(until_stopped)
        run = self.launch("--nproc-per-node=2", "--shutdown-timeout=1", worker)
        self.expect([7], [run])
        self.assert_says(run, r"at failure  *rank 0: stopped \(T\)")
