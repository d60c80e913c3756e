"""launch --hosts ends with the exit code by which a scheduler starts the job again."""
import signal

from harness import wait_for
from job import UP
from test_hosts_end import EndCase


class Requeue(EndCase):
    def test_a_warned_job_that_is_to_be_started_again(self):
        saves = "trap 'exit 0' XCPU\n" + UP + "while :; do sleep 0.05; done\n"
        with self.place(2) as place:
            for code in (75, 140):
                with self.subTest(code):
                    self.forget()
                    run = self.job(place, "--preempt-signal=SIGXCPU", "--requeue-on=warned", f"--requeue-exit={code}",
                                   "--verdict=json:report.json", parts=(saves,), hosts=2)
                    run.signal(signal.SIGXCPU)
                    self.expect([code], [run])
                    self.assert_lines(run, f"^launch: exit code {code}: the scheduler should start the job again$")
                    self.assertNotIn("lost", run.err)
                    self.assertFalse((self.folder / "report.json").exists(), "nothing has failed")
                    self.expect_empty(place)

    def test_a_job_that_is_warned_before_all_hosts_have_answered(self):
        login, go = self.folder / "login", self.folder / "go"
        with self.place(2) as place:
            place.put_in_rc(2, f": > {login}\nuntil [ -e {go} ]; do sleep 0.05; done\n")
            run = self.head(place, "--hosts=n[1-2]", "--preempt-signal=SIGUSR1", "--requeue-on=warned", self.worker(UP))
            self.assertTrue(wait_for(login.exists, 20), str(run))
            run.signal(signal.SIGUSR1)
            self.expect([75], [run])
            self.assert_says(run, "received SIGUSR1; nothing was started yet",
                             "exit code 75: the scheduler should start the job again")
            go.touch()
            self.expect_empty(place)

    def test_a_job_that_cannot_begin_is_not_started_again(self):
        with self.place(2) as place:
            place.refuse_key(2)
            for words in ((), ("--check",)):
                with self.subTest(words):
                    plain, asking = (self.head(place, "--hosts=n[1-2]", *words, *more, self.worker(UP))
                                     for more in ((), ("--requeue-on=1,2,255",)))
                    self.finish(plain, asking)
                    self.assertIn(plain.code, (1, 2, 255))
                    self.assertEqual(plain.code, asking.code)
                    self.assertNotIn("start the job again", asking.err)
