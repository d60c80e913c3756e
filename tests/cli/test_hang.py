"""--hang-timeout: a job of which no worker gets on is reported, restarted or ended; one that works is left alone."""
import json
import signal

import served
import test_evidence
from harness import free_port, wait_for
from job import JobCase

TIMEOUT = 1.5
# Each rank does what its part says; `up` tells that it has begun.
WORKER = """
import os, select, sys, time
folder, rank = os.environ["TEST_FOLDER"], int(os.environ["RANK"])
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])

def pause(seconds):
    select.select([], [], [], seconds)

def up():
    open(f"{{folder}}/up.{{rank}}", "w").close()

def wait_for_ever():
    os.read(os.pipe()[0], 1)

def until_later():
    end = time.monotonic() + {seconds}
    while time.monotonic() < end:
        yield

up()
{part}
"""
WAITS = "wait_for_ever()\n"
WORKS = {
    "evaluates": "for _ in until_later():\n    sum(range(1000))\n",
    "writes a checkpoint": """
for _ in until_later():
    with open(f"{folder}/checkpoint.{rank}", "wb") as file:
        file.write(bytes(20000))
    pause(0.05)
""",
    "reads slowly": """
for _ in until_later():
    with open(sys.executable, "rb", buffering=0) as file:
        file.read(4000)
    pause(0.05)
""",
    "writes a line": "for _ in until_later():\n    print('still here')\n    pause(0.4)\n",
    "writes a line of errors": "for _ in until_later():\n    print('here', file=sys.stderr)\n    pause(0.4)\n",
    "starts processes": "for _ in until_later():\n    os.system('sleep 0.05')\n",
}
SAYS = r"launch: warning: no progress for [\d.]+ s on any node \(--hang-timeout\); the workers are here:\n"


class HangCase(JobCase):
    def setUp(self):
        super().setUp()
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "py-spy").write_text(test_evidence.FAKE_PY_SPY)
        (tools / "py-spy").chmod(0o755)

    def launch(self, *arguments, **options):
        env = {"PATH": f"{self.folder}/tools:/usr/bin:/bin", **options.pop("env", {})}
        return super().launch("--shutdown-timeout=5", *arguments, env=env, **options)

    def python(self, part, seconds=300):
        return self.program(WORKER.format(part=part, seconds=seconds), "worker.py")

    def hang(self, *options, part=WAITS, nproc=3):
        return self.launch(f"--nproc-per-node={nproc}", f"--hang-timeout={TIMEOUT}", f"--events={self.folder}/events",
                           *options, self.python(part))

    def events(self, name):
        text = (self.folder / "events").read_text()
        return [event for event in map(json.loads, text.splitlines()) if event["event"] == name]

    def wait_until_said(self, run, what=SAYS):
        self.assertTrue(wait_for(lambda: what in run.err, 20), run)

    def stop(self, *runs):
        for run in runs:
            run.signal(signal.SIGTERM)
        self.expect([143] * len(runs), runs)


class Reports(HangCase):
    def test_once_with_the_places_of_all_ranks(self):
        run = self.hang()
        self.wait_until_up(3, run)
        self.wait_until_said(run, "no progress for")
        self.assertFalse(wait_for(lambda: run.err.count("no progress for") > 1, 3 * TIMEOUT), run)
        self.assert_says(run, SAYS + r"launch: warning:   ranks 1-2: in all_reduce \(distributed.py:7\).*\n"
                                     r"launch: warning:   rank 0: in load_batch \(data.py:12\)")
        (event,) = self.events("hang")
        self.assertGreaterEqual(event["quiet_s"], TIMEOUT)
        self.assertEqual(2, len(event["places"]))
        self.stop(run)

    def test_of_two_nodes_node_0_tells_it(self):
        runs = self.nodes([1, 2], self.python(WAITS), options=(f"--hang-timeout={TIMEOUT}",))
        self.wait_until_up(3, *runs)
        self.wait_until_said(runs[0], "rank 0: in load_batch")
        self.assert_says(runs[0], SAYS + r".*ranks 1-2: in all_reduce.*\n.*rank 0: in load_batch")
        self.assertNotIn("no progress", runs[1].err)
        self.stop(*runs)

    def test_in_the_log_files_too(self):
        run = self.hang("--redirects=3", f"--log-dir={self.folder}/logs")
        self.wait_until_said(run, "no progress for")
        self.stop(run)

    def test_with_steps_they_count_alone(self):
        busy = "print('step', 7)\nfor _ in until_later():\n    print('loss')\n    pause(0.1)\n"
        run = self.hang("--progress=step ([0-9]+)", part=busy, nproc=1)
        self.wait_until_said(run, "no progress for")
        self.stop(run)

    def test_a_node_that_cannot_say_is_told_of(self):
        port = free_port()
        worker = self.python(WAITS)
        runs = [self.node(rank, 2, 1, worker, options=options, port=port)
                for rank, options in enumerate([(f"--hang-timeout={TIMEOUT}",), ()])]
        self.wait_until_said(runs[0], "node 1 did not say")
        self.assertFalse(wait_for(lambda: "no progress for" in runs[0].err, TIMEOUT))
        self.stop(*runs)


class StalledFiles(HangCase):
    """The files of the workers' output are on a file system that stalls for longer than the time-out."""

    builds = only = ("release",)
    server = None

    def tearDown(self):
        if self.server:
            self.server.remove()
        super().tearDown()

    def with_files(self, *options, part):
        try:
            self.server = served.Served("")
        except served.Impossible as why:
            self.need(False, f"a file system of its own ({why})")
        run = self.hang(f"--log-dir={self.folder}/logs", *options, part=part, nproc=1)
        self.wait_until_up(1, run)
        self.server.replace(self.folder / "logs" / "latest" / "attempt_0" / "0" / "stdout.log")
        self.server.stall()
        return run

    def test_steps_count_all_the_same(self):
        steps = "for number, _ in enumerate(until_later()):\n    print(f'step {number}', flush=True)\n    pause(0.2)\n"
        run = self.with_files("--tee=1", "--progress=step ([0-9]+)", "--on-hang=fail", part=steps)
        self.assertFalse(wait_for(lambda: "no progress" in run.err or run.wait(0) is not None, 4 * TIMEOUT), run)
        self.stop(run)

    def test_that_is_no_sign_of_life(self):
        run = self.with_files("--redirects=3", part=WAITS)
        self.wait_until_said(run, "no progress for")
        self.stop(run)


class NoHang(HangCase):
    def test_workers_that_work(self):
        runs = []
        for name, part in WORKS.items():
            text = WORKER.format(part=f"if rank == 0: wait_for_ever()\n{part}\nos._exit(7)", seconds=3 * TIMEOUT)
            runs.append(self.launch(f"--hang-timeout={TIMEOUT}", "--nproc-per-node=2",
                                    self.program(text, f"{name.replace(' ', '_')}.py")))
        self.expect([7] * len(runs), runs)
        for name, run in zip(WORKS, runs):
            self.assertNotIn("no progress", run.err, name)

    def test_commands_around_the_workers(self):
        run = self.launch(f"--hang-timeout={TIMEOUT}", "--on-hang=fail", f"--before-workers=sleep {3 * TIMEOUT}",
                          f"--after-workers=sleep {3 * TIMEOUT}", self.python("pass\n"))
        self.expect([0], [run])
        self.assertNotIn("no progress", run.err)

    def test_steps(self):
        steps = "for number, _ in enumerate(until_later()):\n    print(f'step {number}')\n    pause(0.3)\n"
        run = self.launch(f"--hang-timeout={TIMEOUT}", "--progress=step ([0-9]+)", self.python(steps, 3 * TIMEOUT))
        self.expect([0], [run])
        self.assertNotIn("no progress", run.err)

    def test_one_node_works(self):
        part = "if rank == 0: wait_for_ever()\nfor _ in until_later(): pass\nos._exit(7)"
        runs = self.nodes([1, 1], self.python(part, 3 * TIMEOUT), options=(f"--hang-timeout={TIMEOUT}",))
        self.expect([7, 7], runs)
        self.assertNotIn("no progress", runs[0].err)

    def test_nodes_that_wait_for_others(self):
        (run,) = self.elastic(1, self.python(WAITS), nnodes="2", options=("--hang-timeout=0.5",))
        self.assertFalse(wait_for(lambda: "no progress" in run.err, 2))
        self.stop(run)


class Deeds(HangCase):
    def test_a_restart(self):
        run = self.hang("--on-hang=restart", "--max-restarts=1", part="if attempt == 0: wait_for_ever()\n")
        self.expect([0], [run])
        self.assert_says(run, SAYS, r"no progress for [\d.]+ s \(--hang-timeout\); restarting all workers, "
                                    r"restart 1 of 1")

    def test_a_restart_of_two_nodes(self):
        part = "if attempt == 0 and rank == 1: wait_for_ever()\n"
        runs = self.nodes([1, 1], self.python(part),
                          options=(f"--hang-timeout={TIMEOUT}", "--on-hang=restart", "--max-restarts=1"))
        self.expect([0, 0], runs)
        self.assertEqual(2, sum("restart 1 of 1" in run.err for run in runs))

    def test_no_more_restarts(self):
        run = self.hang("--on-hang=restart", "--max-restarts=1")
        self.expect([1], [run])
        self.assert_says(run, r"root cause +no progress for [\d.]+ s \(--hang-timeout\)\n",
                         r"not restarted +limit reached \(--max-restarts=1\)")

    def test_the_end(self):
        run = self.hang("--on-hang=fail", "--max-restarts=3")
        self.expect([1], [run])
        self.assert_says(run, r"root cause +no progress for", r"not restarted +--on-hang=fail ends the job",
                         r"at failure +rank 0: in load_batch \(data.py:12\)\n +ranks 1-2: in all_reduce")

    def test_wrong_lines(self):
        run = self.launch("--hang-timeout=9", "--on-hang=restart", self.python(WAITS))
        self.expect([2], [run])
        self.assertIn("--on-hang restart: expected --max-restarts as well", run.err)
