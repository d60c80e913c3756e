"""Failures of real PyTorch workers: what is known of them afterwards."""
import json
import os

from harness import Settings
from torch_job import SECONDS, WORKERS, TorchCase


class Failures(TorchCase):
    load = 1.1

    def begin(self, how, *options, launcher=None, nproc=2, env=None):
        python = self.python("2.13")
        path = f"{python.parent}:{os.environ['PATH']}"
        return self.start([launcher or Settings.launch, f"--nproc-per-node={nproc}", *options, WORKERS / "fails.py",
                           how], env={"PYTHON_EXEC": str(python), "PATH": path, **(env or {})})

    def fail(self, *words, **more):
        run = self.begin(*words, **more)
        self.finish(run, seconds=SECONDS)
        return run

    def assert_says(self, run, *patterns):
        for pattern in patterns:
            self.assertRegex(run.err, pattern, f"\n{run}\n{self.evidence()}")

    def evidence(self):
        """What was seen of the workers before they were told to end."""
        return "\n".join(path.read_text() for path in self.folder.glob("logs/*/attempt_0/evidence.txt"))

    def error_file(self, folder):
        (path,) = self.folder.glob(f"{folder}/*_*/attempt_0/1/error.json")
        return json.loads(path.read_text())

    def test_an_error_that_is_recorded(self):
        theirs = self.begin("recorded", f"--log-dir={self.folder}/theirs", launcher=self.torchrun())
        ours = self.begin("recorded", f"--log-dir={self.folder}/ours")
        self.expect([1, 1], [theirs, ours], seconds=SECONDS)
        errors = [self.error_file(folder)["message"] for folder in ("theirs", "ours")]
        for error in errors:
            error["extraInfo"]["timestamp"] = ""
        self.assertEqual(*errors)
        for run in (theirs, ours):
            self.assert_says(run, r'File ".*fails.py", line \d+, in step', "ValueError: bad batch")
        self.assert_says(ours, r"root cause  *rank 1 .*: exit code 1\n", r"\n  error  *ValueError: bad batch\n")

    def test_an_error_that_is_not_recorded(self):
        run = self.fail("plain", "-r", "2", f"--log-dir={self.folder}/logs")
        self.assertEqual(1, run.code)
        frame = r' *File ".*fails.py", line \d+, in step\n *raise ValueError\("bad batch"\)'
        self.assert_says(run, r"\n  error  *ValueError: bad batch\n", r"\n  traceback(.*\n)*" + frame)

    def test_the_rank_that_the_others_wait_for(self):
        run = self.fail("hangs", "-r", "2", f"--log-dir={self.folder}/logs", nproc=2)
        self.assertEqual(1, run.code)
        self.assert_says(run, r"\n  error  *.*[Tt]imed out", r"rank 0: in load_batch \(.*fails.py:\d+\)",
                         r"FAILED \(run id \S+\): rank 0 did not come; rank 1 timed out waiting\n")

    def test_the_rank_that_is_missing_is_named_without_any_option_or_tool(self):
        run = self.fail("hangs", nproc=2, env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(1, run.code)
        self.assert_says(run, r"FAILED \(run id \S+\): rank 0 did not come; rank 1 timed out waiting\n"
                         r"  did not come   rank 0: alive, sleeping \(S\).*\n"
                         r"  timed out      rank 1 \(local rank 1\) on node 0", r"\n  logs  .*/attempt_0\n")

    def test_a_watchdog_timer(self):
        run = self.fail("times_out", env={"TORCHELASTIC_ENABLE_FILE_TIMER": "1"})
        self.assertEqual(137, run.code)
        self.assert_says(run,
                         r"root cause  *rank 1 .*signal 9 \(SIGKILL\), because its watchdog timer '.*step.*' expired")
