"""Kernels, and filters of containers, that refuse calls which launch would use: it does without them."""
import pathlib
import sys

from harness import Settings
from job import SLEEP, UP, JobCase
from refusals import NUMBERS

FILTER = pathlib.Path(__file__).with_name("refusals.py")


class Refused(JobCase):
    builds = ("release",)

    def under(self, error, calls, *words):
        return self.start([sys.executable, FILTER, error, ",".join(calls), Settings.launch, "--nproc-per-node=2",
                           "--no-python", *words])

    def each(self):
        """Each call alone, and all of them together."""
        for error in ("ENOSYS", "EPERM"):
            for call in NUMBERS:
                if (error, call) != ("EPERM", "clone3"):  # below
                    yield error, [call]
        yield "ENOSYS", list(NUMBERS)
        yield "EINVAL", ["clone_pidfd", "clone3:ENOSYS"]  # as qemu-user does
        yield "ENOSYS", ["clone_pidfd:EINVAL", *NUMBERS]  # no pidfd at all, as before Linux 5.2

    def test_a_job_ends_well(self):
        worker = self.worker('echo "rank $RANK"\n')
        for error, calls in self.each():
            with self.subTest(error=error, calls=calls):
                run = self.under(error, calls, "--tee=3", f"--log-dir={self.folder}/logs", worker)
                self.expect([0], [run])
                self.assertEqual(["[default0]:rank 0", "[default1]:rank 1"], sorted(run.out.splitlines()), run)

    def test_a_failure_is_seen_and_nothing_is_left(self):
        # `ls` does not get along with these kernels, so the workers do without it.
        worker = self.worker('if [ "$RANK" = 1 ]; then while [ ! -e "$TEST_FOLDER/up.0" ]; do sleep 0.02; done\n',
                             "kill -SEGV $$; fi\n", UP, SLEEP)
        for error, calls in self.each():
            with self.subTest(error=error, calls=calls):
                run = self.under(error, calls, worker)
                self.expect([139], [run])
                self.assert_says(run, r"root cause +rank 1 .*signal 11 \(SIGSEGV\)")
                self.assert_says(run, "other workers +rank 0: signal 15 .*, stopped by launch")
                (self.folder / "up.0").unlink()
                self.end_all()  # nothing is left behind

    def test_explain_names_what_is_missing(self):
        run = self.under("ENOSYS", list(NUMBERS), "--explain", self.worker("exit 0\n"))
        self.expect([0], [run])
        for what in ("pidfd_open", "pidfd_send_signal", "close_range"):
            self.assertRegex(run.out, rf"(?m)^Note: this system gives launch no {what}\(\) "
                                      r"\(Function not implemented\): ")

    def test_the_filter_of_an_old_docker(self):
        """The C library of Debian 12 starts no thread then; musl, of the static program, does."""
        run = self.under("EPERM", ["clone3"], self.worker("exit 0\n"))
        if self.finish(run) != [0]:
            self.expect([1], [run])
            self.assert_says(run, "cannot start a thread for the workers' standard error: Operation not permitted; a "
                                  "filter of system calls, such as that of an old Docker, is in the way")
