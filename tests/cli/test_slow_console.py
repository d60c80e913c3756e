"""A console that takes less than the workers write: what waits for it is in the files, and holds up no job for long."""
import signal

import processes
from console import Console
from harness import wait_for
from job import UP, JobCase


class SlowConsole(JobCase):
    builds = only = ("release",)
    MUCH = ('[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exec sleep 300\n'
            'awk \'BEGIN { for (i = 0; i < 800000; i++) print "line", i, "of a worker that writes a lot" }\'\n')

    def begin(self, *parts):
        """A job whose console is read slowly, once its first worker has ended."""
        self.console = Console(reads=False)
        run = self.launch("--tee=1", f"--log-dir={self.folder}/logs", "--max-restarts=1", self.worker(UP, *parts),
                          stdout=self.console.writer)
        self.console.handed_over()
        self.addCleanup(self.console.close)
        return run

    def slowly(self, condition):
        """Whether that comes true while less than a megabyte in a second is read."""
        def read_a_little():
            self.console.take(1 << 13, 0.01)
            return condition()
        return wait_for(read_a_little, 60)

    def test_a_restart_does_not_wait_for_it_for_long(self):
        started = 'echo "$TORCHELASTIC_RESTART_COUNT" >> "$TEST_FOLDER/attempts"\n'
        run = self.begin(started, self.MUCH, "exit 3\n")
        attempts = self.folder / "attempts"
        self.assertTrue(self.slowly(lambda: attempts.exists() and "1" in attempts.read_text()), str(run))
        self.assertLess(self.console.size, 20_000_000)
        self.assert_says(run, "the console has not taken all yet: what the workers wrote is in ")
        self.console.read_on()
        run.signal(signal.SIGTERM)
        self.expect([143], [run])

    def test_a_signal_ends_the_wait_at_the_end_of_the_job(self):
        run = self.begin(self.MUCH, ': > "$TEST_FOLDER/done"\n')
        self.assertTrue(self.slowly(lambda: (self.folder / "done").exists()), str(run))
        self.assertTrue(self.slowly(lambda: not processes.descendants_of(run.pid) - processes.launcher(run.pid)))
        run.signal(signal.SIGINT)
        self.assertTrue(self.slowly(lambda: run.wait(0) is not None), str(run))
        self.assertLess(self.console.size, 20_000_000)
        self.assert_says(run, "the console has not taken all yet")
