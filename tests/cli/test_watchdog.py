"""Torchrun's file timers: a worker whose timer has expired is ended, and nobody else is."""
import signal

import processes
from harness import wait_for
from job import JobCase, SLEEP

ON = {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"}
# ask PID EXPIRATION SIGNAL [SCOPE]
ASK = """ask() {
  printf '{"version": 1, "pid": %s, "scope_id": "%s", "expiration_time": %s, "signal": %s}\\n' \\
    "$1" "${4:-step}" "$2" "$3" > "$TORCHELASTIC_TIMER_FILE"
}
"""


class Watchdog(JobCase):
    def timer_file(self):
        return self.folder / "timers"

    def job(self, *parts, options=(), **variables):
        """A job with the watchdog on."""
        environment = {**ON, "TORCHELASTIC_TIMER_FILE": str(self.timer_file()), **variables}
        return self.launch(*options, self.worker(ASK, *parts), env=environment)

    def test_an_expired_timer_ends_its_worker_and_the_job(self):
        self.timer_file().write_text("left by somebody")
        run = self.job('[ "$RANK" = 1 ] && ask $$ 1720000000.5 9\n', SLEEP, options=["--nproc-per-node=2"])
        self.expect([137], [run])
        self.assert_says(run, r"watchdog timer 'step' of rank 1 \(pid \d+\) expired: sending SIGKILL",
                         r"root cause     rank 1 .*signal 9 \(SIGKILL\), because its watchdog timer 'step' expired\n")
        self.assertFalse(self.timer_file().exists())

    def test_a_timer_expires_while_the_job_runs(self):
        run = self.job('ask $$ "$(($(date +%s) + 1)).25" 15\n', SLEEP)
        self.expect([143], [run])
        self.assert_says(run, r"signal 15 \(SIGTERM\), because its watchdog timer 'step' expired")

    def test_without_a_name_the_pipe_is_a_fresh_one(self):
        worker = self.worker('[ -p "$TORCHELASTIC_TIMER_FILE" ] || exit 5\n'
                             'echo "$TORCHELASTIC_TIMER_FILE" > "$TEST_FOLDER/name"\n')
        run = self.launch(worker, env={**ON, "TMPDIR": str(self.folder)})
        self.expect([0], [run])
        self.assertRegex((self.folder / "name").read_text(), rf"^{self.folder}/watchdog_timer_[0-9a-f-]{{36}}\n$")
        self.assertEqual([], list(self.folder.glob("watchdog_timer_*")))

    def test_a_timer_that_was_released_or_renewed_does_no_harm(self):
        run = self.job("soon=$(($(date +%s) + 3))\n",
                       "ask $$ $soon 9\nask $$ $soon 9 other\n",
                       "ask $$ -1 0\nask $$ $((soon + 300)) 9 other\n",
                       "sleep 4\nexit 0\n")
        self.expect([0], [run])
        self.assertNotIn("expired", run.err)

    def test_a_process_outside_the_job_is_not_hurt(self):
        bystander = self.start(["sleep", "300"])
        run = self.job(f"ask {bystander.pid} 1 9 foreign\nask $PPID 1 9 agent\nask 1 1 9 init\n",
                       "ask $$ 2 9 own\n", SLEEP)
        self.expect([137], [run])
        self.assert_says(run, rf"watchdog timer 'foreign' of pid {bystander.pid} expired, but that is no process of "
                              "this job", "watchdog timer 'agent' of pid", "its watchdog timer 'own' expired")
        self.assertTrue(processes.alive(bystander.pid))
        bystander.signal(signal.SIGKILL)
        self.expect([137], [bystander])

    def test_a_child_of_a_worker_is_ended_alone(self):
        run = self.job("sleep 300 &\nask $! 1 9\nwait $!\n", 'echo $? > "$TEST_FOLDER/code"\nexit 3\n')
        self.expect([3], [run])
        self.assertEqual("137", (self.folder / "code").read_text().strip())
        self.assert_says(run, r"watchdog timer 'step' of pid \d+ expired: sending SIGKILL")
        self.assertNotIn("because its watchdog timer", run.err)

    def test_rubbish_is_told_and_does_no_harm(self):
        long_line = "head -c 9000 /dev/zero | tr '\\0' x"
        rubbish = "printf 'rubbish\\n\\n[]\\n{}\\n\\001\\n'\n" + long_line + "\necho\n"
        run = self.job("{\n", rubbish, 'for i in $(seq 100); do echo "{$i"; done\n', '} > "$TORCHELASTIC_TIMER_FILE"\n',
                       "ask $$ 1 9\n", SLEEP)
        self.expect([137], [run])
        self.assert_says(run, "no JSON object in the request for a watchdog timer rubbish", "no version 1",
                         "longer than 4096 bytes", "its watchdog timer 'step' expired")
        self.assertLessEqual(run.err.count("in the request"), 10)

    def test_a_restart_begins_without_timers(self):
        run = self.job('[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0\n', "ask $$ 1 9\n", SLEEP,
                       options=["--max-restarts=1"])
        self.expect([0], [run])
        self.assert_says(run, "its watchdog timer 'step' expired; restarting all workers")

    def test_it_is_off_unless_the_variable_is_1(self):
        for value in ("true", "0", ""):
            run = self.job('[ ! -e "$TORCHELASTIC_TIMER_FILE" ]\n', TORCHELASTIC_ENABLE_FILE_TIMER=value)
            self.expect([0], [run])

    def test_a_pipe_that_cannot_be_made_is_an_error_before_any_worker(self):
        run = self.job(': > "$TEST_FOLDER/started"\n', TORCHELASTIC_TIMER_FILE="/nowhere/timers")
        self.expect([1], [run])
        self.assert_says(run, "error: cannot create the pipe /nowhere/timers .*: No such file or directory; "
                              "name another")
        self.assertFalse((self.folder / "started").exists())

    def test_the_pipe_goes_when_the_job_is_told_to_stop(self):
        run = self.job(': > "$TEST_FOLDER/started"\n', SLEEP)
        self.assertTrue(wait_for((self.folder / "started").exists))
        self.assertTrue(self.timer_file().is_fifo())
        run.signal(signal.SIGTERM)
        self.expect([143], [run])
        self.assertFalse(self.timer_file().exists())

    def test_a_health_port_is_said_to_have_no_effect(self):
        run = self.launch(self.worker("exit 0\n"), env={"TORCHELASTIC_HEALTH_CHECK_PORT": "1234"})
        self.expect([0], [run])
        self.assert_says(run, "TORCHELASTIC_HEALTH_CHECK_PORT=1234 has no effect")
