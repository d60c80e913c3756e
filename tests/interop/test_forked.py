"""The torchrun that forked_torchrun.py forks is, to the user and to its workers, the one that a shell starts."""
import json
import os
import re
import signal

import forked_torchrun
import processes
from harness import free_port, wait_for
from torch_job import SECONDS, WORKERS, TorchCase

PER_RUN = {"DUMP_FOLDER", "SIDE", "MASTER_PORT", "TORCHELASTIC_ERROR_FILE"}  # differs from one run to the next
WAITS = """#!/bin/sh
trap ': > "$SIDE.asked"; exit 0' TERM INT
echo up
while :; do sleep 0.05; done
"""


class ForkedTorchrun(TorchCase):
    """Each test does the same to both."""
    load = 1.1

    def both(self, *arguments, env=None, **options):
        started = self.folder / "torchrun"  # by another name it is not forked
        started.symlink_to(self.torchrun())
        runs = [self.start([launcher, *arguments], env={"SIDE": f"{self.folder}/{side}", **(env or {})}, **options)
                for side, launcher in (("forked", self.torchrun()), ("started", started))]
        self.assertEqual([True, False], [isinstance(run._process, forked_torchrun.Forked) for run in runs])
        return runs

    def expect_both(self, code, runs):
        self.expect([code, code], runs, seconds=SECONDS)
        self.assertEqual(*map(self.said, runs), "\n".join(map(str, runs)))

    @staticmethod
    def said(run):
        """What lines of the log and ends of tracebacks begin with, without what each run has of its own, in any order:
        two threads of torchrun write them. A signal may meet torchrun while it starts a thread that tells what is teed:
        then that is one more error."""
        heads = re.findall(r"(?m)^(?:[EWI]\d{4} [^\]]*\]|[\w.]+(?:Error|Exception|Interrupt)\b.*)", run.err)
        return sorted(re.sub(r"\d+", "N", head) for head in heads if not head.startswith("KeyError: <Thread(TailLog_"))

    def waiting(self, **options):
        """Both, when they watch their workers: what is teed is told only then."""
        runs = self.both("--no-python", "--tee=3", self.program(WAITS), **options)
        self.assertTrue(wait_for(lambda: all("up" in run.out for run in runs), SECONDS), "\n".join(map(str, runs)))
        return runs

    def asked(self):
        """Sides whose worker was asked to end."""
        return {path.stem for path in self.folder.glob("*.asked")}

    def facts(self, side):
        """What the worker of this side saw."""
        facts = json.loads((self.folder / side / "0.json").read_text())
        for name in PER_RUN:
            facts["environment"].pop(name)
        facts["own"] = facts.pop("session") == facts["pid"], facts.pop("group") == facts.pop("pid")
        facts["descriptors"] = {number: entry["kind"] for number, entry in facts["descriptors"].items()}
        return facts

    def test_what_a_worker_is_given(self):
        worker = self.program(f'#!/bin/sh\nexport DUMP_FOLDER="$SIDE"; mkdir "$SIDE"\n'
                              f'exec {self.python("2.13")} {WORKERS / "env_dump.py"} "$@"\n')
        with open(self.program("", "input"), encoding="utf-8") as file:
            runs = self.both("--no-python", f"--master-port={free_port()}", "--rdzv-id=job", worker, "a b",
                             env={"FOO": "a=b"}, cwd=self.folder / "tmp", stdin=file, start_new_session=True)
            own = [run.pid for run in runs]
            self.assertTrue(wait_for(lambda: own == [os.getsid(pid) for pid in own], 10), "no sessions of their own")
        self.expect_both(0, runs)
        self.assertEqual(*map(self.facts, ("forked", "started")))

    def test_how_a_failure_ends(self):
        runs = self.both("--no-python", self.program("#!/bin/sh\nexit 7\n"), env={"LOGLEVEL": "INFO"})
        self.expect_both(1, runs)
        self.assertTrue(any(head.startswith("I") for head in self.said(runs[0])), runs[0])

    def test_how_a_usage_error_ends(self):
        self.expect_both(2, self.both("--nnodes"))

    def test_sigterm(self):
        runs = self.waiting()
        for run in runs:
            run.signal(signal.SIGTERM)
        self.expect_both(runs[1].wait(SECONDS), runs)
        self.assertEqual({"forked", "started"}, self.asked())

    def test_ctrl_c(self):
        runs = self.waiting(start_new_session=True)
        for run in runs:
            os.killpg(run.pid, signal.SIGINT)
        self.expect_both(runs[1].wait(SECONDS), runs)
        self.assertEqual({"forked", "started"}, self.asked())

    def test_sigkill(self):
        runs = self.waiting()
        for run in runs:
            run.signal(signal.SIGKILL)
        self.expect([137, 137], runs)

        def workers():  # and, for a moment, what one of them is about to execute
            return [pid for pid in self.leftovers() if "worker" in processes.command_of(pid)]

        # Nobody asks them to end, and both are known to be left.
        self.assertTrue(wait_for(lambda: len(workers()) == 2, SECONDS), self.tree())
        wait_for(lambda: processes.kill(self.leftovers()) or not self.leftovers())
