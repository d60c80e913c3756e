"""--progress: steps in the workers' output, for launch-ctl and events, while the output stays as it is."""
import json
import re

from harness import Settings, wait_for
from job import SLEEP, UP
from test_control import ControlCase
from test_terminal import TerminalCase

STEPS = 'echo "step $((RANK + 7))"\n'
BAR = r"""
import os, sys
sys.stderr.write("\r  5%|5    | 50/1000 [00:05<01:35,  9.93it/s]")
sys.stderr.write("\r  6%|5    | 60/1000 [00:06<01:34,  9.93it/s]")
sys.stderr.flush()
os.write(1, f"{os.isatty(1)} {os.isatty(2)}\n".encode())
open(os.environ["TEST_FOLDER"] + "/up.0", "w").close()
while not os.path.exists(os.environ["TEST_FOLDER"] + "/go"):
    pass
"""


class Progress(ControlCase):
    def steps(self, run):
        """The step of each worker, once all that is known."""
        def known():
            workers = [worker for report in self.reports("status") for worker in report["workers"]]
            return [worker.get("step") for worker in workers]

        self.assertTrue(wait_for(lambda: None not in known(), 10), run)
        return known()

    def test_wherever_the_output_goes(self):
        ways = {"console": (), "files": ("--redirects=3",), "both": ("--tee=3",), "muted": ("--local-ranks-filter=0",),
                "no folder": ("--log-dir=/dev/null",)}
        for name, options in ways.items():
            with self.subTest(name):
                self.forget("up.*")
                run = self.job(STEPS, UP, SLEEP, options=("--progress=step ([0-9]+)", *options))
                self.assertEqual([7, 8], self.steps(run))
                self.assertRegex(self.ask("status").out, r"\nsteps 7 to 8; behind: rank 0\n(.*\n)+ +1 .*iB +8\b")
                self.stop(run)

    def test_a_bar_that_nothing_ends(self):
        run = self.launch("--progress=tqdm", self.program(BAR, "bar.py"))
        self.wait_until_up(1, run)
        self.assertEqual([60], self.steps(run))
        (self.folder / "go").touch()
        self.expect([0], [run])

    def test_what_is_shown_and_what_the_files_have_stays(self):
        worker = self.worker("echo a\nprintf 'step 1\\r'\nprintf 'b\\rc' >&2\nprintf '\\377\\000\\n'\n")
        for options in ((), ("--redirects=1",), ("--tee=1",)):
            texts = []
            for progress in ((), ("--progress=step ([0-9]+)",)):
                logs = self.folder / f"logs{len(list(self.folder.glob('logs*')))}"
                run = self.launch(*progress, *options, f"--log-dir={logs}", worker)
                self.expect([0], [run])
                # The worker's last line has no end, so launch's own line may stand behind it.
                said = re.sub(r"launch: output of the workers[^\n]*\n", "", run.err)
                texts.append((run.out, said, [path.read_bytes() for path in sorted(logs.rglob("std*.log"))]))
            self.assertEqual(*texts, options)

    def test_events(self):
        events = self.folder / "events"
        run = self.launch("--nproc-per-node=2", "--progress=step ([0-9]+)", f"--events={events}", self.worker(STEPS))
        self.expect([0], [run])
        (progress,) = [event for event in map(json.loads, events.read_text().splitlines())
                       if event["event"] == "progress"]
        self.assertEqual([7, 8, None], [progress[key] for key in ("least_step", "most_step", "rate")])

    def test_a_restart_begins_anew(self):
        run = self.launch("--max-restarts=1", "--progress=step ([0-9]+)", self.worker(
            'echo step $((9 - TORCHELASTIC_RESTART_COUNT))\n', UP,
            '[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && exit 1\n', SLEEP))
        self.wait_until_up(1, run)
        self.assertTrue(wait_for(lambda: (self.reports("status") or [{}])[0].get("restart") == 1, 20), run)
        self.assertTrue(wait_for(lambda: self.steps(run) == [8], 10), run)
        self.stop(run)

    def test_a_wrong_pattern(self):
        run = self.launch("--progress=step", self.worker())
        self.expect([2], [run])
        self.assertIn("--progress step: it has no group; expected a regular expression", run.err)


class OnATerminal(TerminalCase):
    def test_a_worker_has_one(self):
        run = self.on_terminal(Settings.launch, "--progress=tqdm", self.program(BAR, "bar.py"), stdout=self.terminal,
                               stderr=self.terminal)
        (self.folder / "go").touch()
        self.expect([0], [run])
        self.assertTrue(wait_for(lambda: b"True True\r\n" in b"".join(self.shown), 10), self.shown)
