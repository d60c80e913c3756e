"""Every exit code and every signal of a worker, and every signal to launch in every state of a job, as a table."""
import signal

from harness import free_port, wait_for
from job import UP, JobCase

ENDING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
PASSED = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP]
# A process survives these, or stops, unless it has asked for another end.
HARMLESS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH, signal.SIGSTOP, signal.SIGTSTP,
            signal.SIGTTIN, signal.SIGTTOU}
AT_ONCE = 16


class Codes(JobCase):
    builds = only = ("release",)  # waits for time-outs most of the time: once is enough

    def codes_of(self, scripts):
        found = []
        for first in range(0, len(scripts), AT_ONCE):
            runs = [self.launch("--no-python", "sh", "-c", script) for script in scripts[first:first + AT_ONCE]]
            found += self.finish(*runs)
        return found

    def test_all_256_exit_codes(self):
        self.assertEqual(list(range(256)), self.codes_of([f"exit {code}" for code in range(256)]))

    def test_every_signal(self):
        numbers = [number for number in range(1, 65) if number not in HARMLESS and number not in (32, 33)]
        # $$ in an argument is one $, as with torchrun, whose arguments are templates.
        found = self.codes_of([f"kill -{number} $$$$; exec sleep 300" for number in numbers])
        self.assertEqual([128 + number for number in numbers], found)


class Matrix(JobCase):
    """States: in the rendezvous, workers running, workers being stopped, in the exit barrier."""

    builds = only = ("release",)  # waits for time-outs most of the time: once is enough

    GO = 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n'
    CALM = "".join(f"trap : {number.name[3:]}\n" for number in PASSED if number != signal.SIGTSTP)

    def in_rendezvous(self):
        port = free_port()
        worker = self.worker("exit 0\n")
        run = self.node(0, 2, 1, worker, port=port)
        self.assertTrue(wait_for(lambda: "have joined)" in run.err, 10), str(run))
        return run, lambda: [self.node(1, 2, 1, worker, port=port)]

    def running(self):
        run = self.launch(self.worker(self.CALM, UP, self.GO))
        self.wait_until_up(1, run)
        return run, lambda: []

    def stopping(self):
        """A worker has failed, the other one takes its time."""
        slow = (self.CALM + 'trap ": > \\"$TEST_FOLDER/told\\"" TERM HUP INT QUIT\n' + UP + self.GO)
        run = self.launch("--nproc-per-node=2", "--shutdown-timeout=60", self.worker(
            'if [ "$RANK" = 1 ]; then while [ ! -e "$TEST_FOLDER/up.0" ]; do sleep 0.02; done; exit 7; fi\n', slow))
        self.assertTrue(wait_for((self.folder / "told").exists, 10), str(run))
        return run, lambda: []

    def in_barrier(self):
        runs = self.nodes([1, 1], self.worker(self.CALM, UP, 'if [ "$RANK" = 1 ]; then\n', self.GO, "fi\n"))
        self.assertTrue(wait_for(lambda: "1 of 2 have finished" in runs[0].err, 10), str(runs[0]))
        return runs[0], lambda: [runs[1]]

    def code(self, state, number):
        self.forget("go", "told")
        run, complete = state()
        run.signal(number)
        if number in PASSED:
            wait_for(lambda: f"{number.name}" in run.err, 0.2)
        else:
            wait_for(lambda: f"received {number.name}" in run.err, 10)
        run.signal(signal.SIGCONT)
        (self.folder / "go").touch()
        others = complete() if number in PASSED or state == self.in_barrier else []
        self.finish(run, *others, seconds=30)
        return run.code

    def test_every_signal_in_every_state(self):
        states = {"rendezvous": self.in_rendezvous, "running": self.running, "stopping": self.stopping,
                  "exit barrier": self.in_barrier}
        expected = {name: [7 if name == "stopping" else 128 + number for number in ENDING]
                    + [7 if name == "stopping" else 0 for _ in PASSED] for name in states}
        found = {name: [self.code(state, number) for number in [*ENDING, *PASSED]] for name, state in states.items()}
        print("\n  " + " " * 14 + "".join(f"{number.name[3:]:>7}" for number in [*ENDING, *PASSED]))
        for name, codes in found.items():
            print(f"  {name:14}" + "".join(f"{code:7}" for code in codes), flush=True)
        self.assertEqual(expected, found)
