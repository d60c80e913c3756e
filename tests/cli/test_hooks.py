"""Commands that each node runs around its workers: --before-workers and --after-workers."""
import os
import signal

import processes
from harness import wait_for
from job import SLEEP, UP, JobCase

NOTE = 'echo "{} $RANK $LOCAL_RANK $TORCHELASTIC_RESTART_COUNT" >> "$TEST_FOLDER/order"\n'
WORKER = NOTE.format("worker")
BEFORE = "--before-workers=" + NOTE.format("before")
AFTER = "--after-workers=" + NOTE.format("after $LAUNCH_EXIT_CODE")
STAY = 'echo $$ > "$TEST_FOLDER/hook"; while :; do sleep 0.02; done'


class HookCase(JobCase):
    def order(self):
        path = self.folder / "order"
        return path.read_text().splitlines() if path.exists() else []

    def wait_for_hook(self, run):
        """The pid of the shell of a hook that stays."""
        path = self.folder / "hook"
        if not wait_for(lambda: path.exists() and path.read_text().endswith("\n"), 20):
            self.fail(f"the hook did not start\n{run}")
        return int(path.read_text())


class Hooks(HookCase):
    def test_run_around_the_workers_with_the_environment_of_local_rank_0(self):
        run = self.launch("--nproc-per-node=2", BEFORE, AFTER, self.worker(WORKER))
        self.expect([0], [run])
        self.assertEqual("before 0 0 0", self.order()[0])
        self.assertEqual(["worker 0 0 0", "worker 1 1 0"], sorted(self.order()[1:3]))
        self.assertEqual(["after 0 0 0 0"], self.order()[3:])

    def test_run_at_every_restart(self):
        run = self.launch("--max-restarts=1", BEFORE, AFTER, self.worker(WORKER, "exit 7\n"))
        self.expect([7], [run])
        self.assertEqual([f"{what} 0 0 {turn}" for turn in (0, 1) for what in ("before", "worker", "after 7")],
                         self.order())

    def test_what_they_say_is_shown_and_kept(self):
        run = self.launch("--redirects=3", "--log-dir", self.folder / "logs", "--before-workers=echo one; echo two >&2",
                          "--after-workers=printf three", self.worker())
        self.expect([0], [run])
        self.assert_says(run, "(?m)^launch: before-workers: one$", "(?m)^launch: before-workers: two$",
                         "(?m)^launch: after-workers: three$")
        kept = {path.name: path.read_text() for path in (self.folder / "logs").glob("*/attempt_0/*.log")}
        self.assertEqual({"before_workers.log": "one\ntwo\n", "after_workers.log": "three"}, kept)

    def test_nothing_is_read_from_the_standard_input(self):
        run = self.launch("--before-workers=cat", self.worker())
        self.expect([0], [run], seconds=20)

    def test_a_hook_before_that_fails_is_a_failure_to_start(self):
        run = self.launch("--before-workers=echo no disk; exit 3", AFTER, self.worker(WORKER))
        self.expect([1], [run], seconds=20)
        self.assert_says(run, "the command of --before-workers failed: exit code 3; its last line: no disk")
        self.assertEqual(["after 1 0 0 0"], self.order(), "no worker was started")

    def test_a_hook_before_that_fails_once_costs_a_restart(self):
        run = self.launch("--max-restarts=1", '--before-workers=test "$TORCHELASTIC_RESTART_COUNT" = 1',
                          self.worker(WORKER))
        self.expect([0], [run], seconds=20)
        self.assertEqual(["worker 0 0 1"], self.order())

    def test_a_hook_before_that_takes_too_long_is_killed(self):
        run = self.launch("--hook-timeout=0.5", "--before-workers=echo $$ > $TEST_FOLDER/hook; sleep 300 & wait",
                          self.worker(WORKER))
        self.expect([1], [run], seconds=20)
        self.assert_says(run, r"ran for longer than 0\.5 s \(--hook-timeout\) and was killed|"
                              r"ran for longer than 500 ms \(--hook-timeout\) and was killed")
        self.assertEqual([], self.order())

    def test_a_hook_after_that_fails_or_takes_too_long_changes_no_exit_code(self):
        for code, after, warning in ((0, "exit 5", "failed: exit code 5"), (7, "exit 5", "failed: exit code 5"),
                                     (0, "sleep 300", "ran for longer than")):
            with self.subTest(code=code, after=after):
                run = self.launch("--hook-timeout=0.5", f"--after-workers={after}", self.worker(f"exit {code}\n"))
                self.expect([code], [run], seconds=20)
                self.assert_says(run, "warning: the command of --after-workers " + warning)

    def test_what_a_hook_leaves_behind_is_ended(self):
        stay = "setsid sleep 300 & sleep 300 &"
        for option in ("--before-workers", "--after-workers"):
            with self.subTest(option=option):
                run = self.launch(f"{option}={stay}", self.worker())
                self.expect([0], [run], seconds=20)
                self.assertEqual(set(), self.leftovers(), self.tree())


class Stops(HookCase):
    def test_a_signal_during_the_hook_before_ends_it_and_the_job(self):
        run = self.launch(f"--before-workers={STAY}", self.worker(WORKER))
        self.wait_for_hook(run)
        run.signal(signal.SIGTERM)
        self.expect([143], [run], seconds=20)
        self.assertEqual([], self.order(), "no worker was started")

    def test_a_hook_before_that_ignores_the_signal_is_killed(self):
        run = self.launch("--shutdown-timeout=1", f"--before-workers=trap '' TERM; {STAY}", self.worker(WORKER))
        self.wait_for_hook(run)
        run.signal(signal.SIGTERM)
        self.expect([143], [run], seconds=20)
        self.assertEqual([], self.order())

    def test_after_a_signal_the_hook_after_runs(self):
        run = self.launch(AFTER, self.worker(UP, SLEEP))
        self.wait_until_up(1, run)
        run.signal(signal.SIGTERM)
        self.expect([143], [run], seconds=20)
        self.assertEqual(["after 143 0 0 0"], self.order())

    def test_the_third_ctrl_c_kills_a_hook_after(self):
        run = self.launch("--hook-timeout=0", f"--after-workers=trap '' INT TERM; {STAY}", self.worker())
        self.wait_for_hook(run)
        run.signal(signal.SIGINT)
        hook = "the command of --after-workers"
        self.assertTrue(wait_for(lambda: f"{hook} goes on (again: it gets 3 s at most" in run.err, 5), str(run))
        for said in (f"{hook} gets 3 s at most", f"killing {hook}"):
            run.signal(signal.SIGINT)
            self.assertTrue(wait_for(lambda said=said: said in run.err, 5), str(run))
        self.expect([130], [run], seconds=20)
        self.assert_says(run, "(its|their) time is up: .*; sending SIGKILL")

    def test_a_signal_for_workers_does_not_reach_a_hook_after(self):
        run = self.launch(f"--after-workers={STAY}", self.worker())
        hook = self.wait_for_hook(run)
        run.signal(signal.SIGUSR1)
        said = "received SIGUSR1, but there is no worker to pass it on to"
        self.assertTrue(wait_for(lambda: said in run.err, 10), str(run))
        self.assertTrue(processes.alive(hook), str(run))
        os.kill(hook, signal.SIGKILL)
        self.expect([0], [run], seconds=20)
        self.assert_says(run, "the command of --after-workers failed: signal 9")

    def test_when_agent_or_guard_is_killed_no_hook_is_left(self):
        for option in ("--before-workers", "--after-workers"):
            for whom in ("agent", "guard"):
                with self.subTest(option=option, whom=whom):
                    self.forget("hook")
                    run = self.launch(f"{option}=setsid sleep 300 & {STAY}", self.worker())
                    hook = self.wait_for_hook(run)
                    os.kill(self.agent_of(run) if whom == "agent" else run.pid, signal.SIGKILL)
                    self.assertNotEqual([0], [self.finish(run, seconds=20)[0]])
                    self.assertTrue(wait_for(lambda hook=hook: not processes.alive(hook), 10), str(run))
                    self.assertTrue(wait_for(lambda: not self.leftovers(), 10), self.tree())


class SeveralNodes(HookCase):
    def test_a_hook_before_that_fails_on_one_node_ends_the_job_on_all(self):
        runs = self.nodes([1, 1], self.worker(UP, SLEEP), options=['--before-workers=test "$RANK" = 0'])
        self.expect([1, 1], runs, seconds=30)
        for run in runs:
            self.assert_says(run, "node 1.*the command of --before-workers failed: exit code 1")

    def test_each_node_runs_its_own(self):
        runs = self.nodes([1, 2], self.worker(WORKER), options=[BEFORE, AFTER])
        self.expect([0, 0], runs, seconds=30)
        self.assertEqual(["before 0 0 0", "before 1 0 0"],
                         sorted(line for line in self.order() if line.startswith("before")))
        self.assertEqual(2, len([line for line in self.order() if line.startswith("after 0")]))


    def test_the_others_wait_for_a_slow_hook_and_its_node_is_not_taken_for_lost(self):
        slow = '--after-workers=test "$RANK" = 0 || sleep 5'
        for code in (0, 7):
            with self.subTest(code=code):
                runs = self.nodes([1, 1], self.worker(f"exit {code}\n"), options=[slow, "--heartbeat-timeout=2"])
                self.expect([code, code], runs, seconds=30)
                for run in runs:
                    self.assertNotIn("no report", run.err, str(run))


class Options(HookCase):
    def test_an_empty_command_is_an_error(self):
        run = self.launch("--before-workers=", self.worker())
        self.expect([2], [run], seconds=20)
        self.assert_says(run, "--before-workers: the value is empty")

    def test_a_time_out_without_a_command_has_no_effect(self):
        run = self.launch("--hook-timeout=5", self.worker())
        self.expect([0], [run], seconds=20)
        self.assert_says(run, "--hook-timeout has no effect without --before-workers or --after-workers")

    def test_explain_shows_them(self):
        text = self.output_of("--explain", "--before-workers=mount /data", self.worker())
        self.assertIn("before the workers  /bin/sh -c 'mount /data'", text)
