"""What a scheduler is told by the exit code, and what launch knows of the time that it gives."""
import signal
import time

from harness import free_port, wait_for
from job import SLEEP, UP, JobCase

SAVES = "trap 'exit 0' TERM USR1\n" + UP + "while :; do sleep 0.02; done\n"
SOON = 20.0  # seconds until the scheduler of these tests ends the job


class Requeue(JobCase):
    """--requeue-on: launch ends with the code by which the scheduler starts the job again."""

    def test_the_codes_that_the_user_names(self):
        fails = self.worker('[ "$RANK" = 1 ] && exit 7\n', SLEEP)
        run = self.launch("--nproc-per-node=2", "--requeue-on=7,SIGKILL", fails)
        self.expect([75], [run])
        self.assert_says(run, r"exit code +7\n", "exit code 75 in place of 7: the scheduler should start the job again")
        with self.subTest("a signal, and a code of the user's"):
            run = self.launch("--requeue-on=7,SIGKILL", "--requeue-exit=99", self.worker("kill -9 $$\n"))
            self.expect([99], [run])
        with self.subTest("another end"):
            run = self.launch("--requeue-on=7,SIGKILL", self.worker("exit 1\n"))
            self.expect([1], [run])
            self.assertNotIn("in place of", run.err)

    def test_a_warning_that_is_obeyed(self):
        for words, sent in ((["--preempt-signal=SIGUSR1"], signal.SIGUSR1),
                            (["--preempt-signal=SIGTERM"], signal.SIGTERM)):
            with self.subTest(words=words):
                run = self.launch("--requeue-on=warned", "--nproc-per-node=2", *words, self.worker(SAVES))
                self.wait_until_up(2, run)
                run.signal(sent)
                self.expect([75], [run])
                self.assert_says(run, "exit code 75 in place of 0")
                self.forget()

    def test_a_job_that_ends_without_a_warning_has_ended(self):
        run = self.launch("--requeue-on=warned", "--preempt-signal=SIGUSR1", self.worker("exit 0\n"))
        self.expect([0], [run])


class Time(JobCase):
    """--job-end, --stop-before-end."""

    def test_workers_are_warned_before_the_time_is_up(self):
        end = int(time.time() + SOON)
        run = self.launch(f"--job-end={end}", f"--stop-before-end={SOON - 8:.0f}", "--requeue-on=warned",
                          self.worker(SAVES))
        self.expect([75], [run])
        self.assertLess(time.time(), end)
        self.assert_says(run, r"the time that this job has left: \d+ s \(--job-end\)",
                         "sent SIGTERM to the workers as an early warning")

    def test_there_is_nobody_to_warn_yet(self):
        """A node that waits for others ends as if it had got the signal."""
        end = int(time.time() + SOON)
        run = self.launch("--nnodes=2", "--node-rank=1", "--master-port", free_port(), f"--job-end={end}",
                          f"--stop-before-end={SOON - 8:.0f}", "--requeue-on=warned", self.worker(SAVES))
        self.expect([75], [run])
        self.assertLess(time.time(), end)
        self.assert_says(run, "received SIGTERM from the clock, since the time of the job is nearly up, stopping")

    def test_workers_that_have_ended_have_nothing_to_save(self):
        """The job has ended well here, and is not started again because another node takes longer."""
        end = int(time.time() + SOON)
        slow = self.worker('[ "$RANK" = 0 ] || exit 0\n', 'while [ ! -e "$TEST_FOLDER/end" ]; do sleep 0.02; done\n')
        port = free_port()
        first = self.node(0, 2, 1, slow, port=port)
        other = self.node(1, 2, 1, slow, port=port, options=[f"--job-end={end}", f"--stop-before-end={SOON - 8:.0f}",
                                                             "--requeue-on=warned"])
        self.assertTrue(wait_for(lambda: "when the workers had ended" in other.err, SOON + 20), str(other))
        (self.folder / "end").touch()
        self.expect([0, 0], [first, other])

    def test_too_late_for_a_warning(self):
        run = self.launch(f"--job-end={int(time.time() + 60)}", "--stop-before-end=120", self.worker("exit 0\n"))
        self.expect([0], [run])
        self.assert_says(run, r"this job has \d+ s \(--job-end\) left, so its workers are not warned")

    def test_the_report_has_the_time(self):
        run = self.launch(f"--job-end={int(time.time() + 7500)}", self.worker("exit 3\n"))
        self.expect([3], [run])
        self.assert_says(run, r"job's time left +2 h \d min \(--job-end\)")
        with self.subTest("it is up"):
            run = self.launch(f"--job-end={int(time.time()) - 1}", self.worker(UP, SLEEP))
            self.wait_until_up(1, run)
            run.signal(signal.SIGTERM)
            self.expect([143], [run])
            self.assert_says(run, r"job's time left +none: its time is up \(--job-end\)")

    def test_slurms_time_of_a_job_that_has_ended_is_not_this_ones(self):
        """The variables of a step, in a process that no step started."""
        run = self.launch(self.worker("exit 3\n"), env={"SLURM_JOB_ID": "8", "SLURM_STEP_ID": "0",
                                                        "SLURM_JOB_END_TIME": str(int(time.time() + 600))})
        self.expect([3], [run])
        self.assertNotIn("time left", run.err)
