"""One exit code for the job: the one of the first cause, on every node."""
import signal

import wording
from harness import wait_for
from job import NOTE_TIME, SLEEP, UNTIL_ALL_UP, UP, JobCase

LIMIT = 6.0  # seconds between the failure and the last exit; the measured time is printed


class ExitCodes(JobCase):
    def fail_on(self, rank, how):
        """2 nodes of 2 workers, of which one ends in a bad way once all are up and the others sleep."""
        worker = self.worker(UP, f'if [ "$RANK" = {rank} ]; then\n', UNTIL_ALL_UP, NOTE_TIME, how, "\nfi\n", SLEEP)
        return self.nodes([2, 2], worker)

    def assert_quick(self, runs):
        latest = max(run.ended for run in runs) - self.time_of_failure()
        print(f"\n  {self._testMethodName}: {latest * 1000:.0f} ms from the failure to the last exit", flush=True)
        self.assertLess(latest, LIMIT)

    def test_success_of_all_workers_is_zero(self):
        self.expect([0, 0], self.nodes([2, 2], self.worker("exit 0\n")))

    def test_success_says_nothing(self):
        run = self.launch("--nproc-per-node", "2", self.worker("exit 0\n"), env={"OMP_NUM_THREADS": "1"})
        self.expect([0], [run])
        self.assertEqual(("", ""), (run.out, run.err))

    def test_exit_code_of_a_worker_on_node_1_is_that_of_both_nodes(self):
        runs = self.fail_on(3, "exit 7")
        self.expect([7, 7], runs)
        for run in runs:
            self.assert_says(run, wording.failed(3, 1, 1), wording.exit_code(7))
        self.assert_quick(runs)

    def test_exit_code_of_a_worker_on_node_0_is_that_of_both_nodes(self):
        runs = self.fail_on(1, "exit 7")
        self.expect([7, 7], runs)
        for run in runs:
            self.assert_says(run, wording.failed(1, 1, 0), wording.exit_code(7))
        self.assert_quick(runs)

    def test_signal_of_a_worker_gives_128_and_its_number(self):
        runs = self.fail_on(2, "kill -SEGV $$")
        self.expect([139, 139], runs)
        for run in runs:
            self.assert_says(run, wording.failed(2, 0, 1), wording.signal_name(11, "SIGSEGV"))
        self.assert_quick(runs)

    def test_killed_worker_gives_137(self):
        runs = self.fail_on(0, "kill -KILL $$")
        self.expect([137, 137], runs)
        for run in runs:
            self.assert_says(run, wording.signal_name(9, "SIGKILL"))

    def test_exit_code_255_is_kept(self):
        self.expect([255, 255], self.fail_on(3, "exit 255"))

    def test_workers_that_were_told_to_stop_are_not_the_cause(self):
        """The others leave with a code of their own when they are asked to stop."""
        worker = self.worker(UP, 'if [ "$RANK" = 1 ]; then\n', UNTIL_ALL_UP, "exit 7\nfi\n",
                             "trap 'exit 9' TERM\nwhile :; do sleep 0.02; done\n")
        runs = self.nodes([2, 2], worker)
        self.expect([7, 7], runs)

    def test_worker_that_ends_well_early_leaves_the_others_alone(self):
        worker = self.worker('[ "$RANK" = 0 ] && exit 0\nsleep 0.5\n', UP)
        self.expect([0, 0], self.nodes([2, 2], worker))
        self.assertEqual([1, 2, 3], self.up())

    def test_node_that_is_done_waits_for_its_peers_and_learns_of_their_failure(self):
        worker = self.worker('[ "$GROUP_RANK" = 0 ] && exit 0\nsleep 0.5\nexit 5\n')
        self.expect([5, 5], self.nodes([1, 1], worker))

    def test_host_of_the_store_that_is_killed_takes_the_job_with_it(self):
        runs = self.nodes([2, 2], self.worker(UP, SLEEP))
        self.wait_until_up(4, *runs)
        runs[0].signal(signal.SIGKILL)
        self.finish(*runs)
        self.assertTrue(wait_for(lambda: not self.leftovers(), 10), self.tree())
        self.assertNotIn(runs[1].code, (0, None), str(runs[1]))
