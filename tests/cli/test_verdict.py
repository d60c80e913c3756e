"""The verdict of each kind of failure, as users see it: tests/data/verdicts.txt holds them all.
"""
import json
import os
import signal

import processes
from harness import ROOT, free_port
from job import SLEEP, UNTIL_ALL_UP, UP, JobCase
from verdicts import WORKERS, Verdicts


class VerdictCase(Verdicts, JobCase):
    golden = ROOT / "tests" / "data" / "verdicts.txt"

    def two_nodes(self, *parts, options=(), worker=None):
        return self.nodes([2, 2], worker or self.worker(UP, UNTIL_ALL_UP, *parts), options=options)


class OfOneNode(VerdictCase):
    def check_one(self, name, code, *arguments):
        run = self.launch("--nproc-per-node=2", *arguments)
        self.expect([code], [run])
        self.check(name, run)

    def ends(self, how):
        return self.worker(UP, UNTIL_ALL_UP, f'if [ "$RANK" = 1 ]; then {how}; fi\n', SLEEP)

    def test_segmentation_fault(self):
        self.check_one("segmentation fault", 139, self.ends("kill -SEGV $$"))

    def test_killed_from_outside(self):
        self.check_one("killed from outside", 137, self.ends("kill -KILL $$"))

    def test_one_that_ends_because_another_one_was_told_to_is_not_the_cause(self):
        """launch waits a moment, since a signal may come for itself, too."""
        follows = 'while kill -0 "$(cat "$TEST_FOLDER/victim")" 2> /dev/null; do sleep 0.005; done\nexit 1\n'
        worker = self.worker(UP, '[ "$RANK" = 0 ] && echo "$$" > "$TEST_FOLDER/victim"\n', UNTIL_ALL_UP,
                             'if [ "$RANK" = 0 ]; then kill -TERM $$; fi\n', follows)
        run = self.launch("--nproc-per-node=2", worker)
        self.expect([143], [run])
        self.assert_says(run, r"root cause +rank 0 .*SIGTERM")
        self.assertNotIn("stopped by launch", run.err)

    def test_aborted(self):
        self.check_one("aborted", 134, self.ends("kill -ABRT $$"))

    def test_python_exception_from_its_errors(self):
        self.check_one("python exception, from its errors", 1, "-r", "2", f"--log-dir={self.folder}/logs",
                       WORKERS / "raises.py")

    def test_python_exception_from_its_error_file(self):
        self.check_one("python exception, from its error file", 1, f"--log-dir={self.folder}/logs",
                       WORKERS / "records.py")

    def test_exception_on_the_console(self):
        self.check_one("python exception, on the console", 1, WORKERS / "raises.py")

    def test_chained_exceptions(self):
        self.check_one("python exception, led to by another", 1, WORKERS / "stories.py", "chained")

    def test_what_went_to_standard_output_only_is_in_its_file(self):
        run = self.launch("-r", "3", f"--log-dir={self.folder}/logs", self.worker("echo no such dataset\nexit 3\n"))
        self.expect([3], [run])
        self.assert_says(run, r"\n  note +it wrote nothing to standard error; the log is its standard output"
                              r"\n  log +host \S+ \S+/0/stdout\.log\n")

    def test_missing_module(self):
        run = self.launch("--nproc-per-node=2", WORKERS / "lacks_module.py")
        self.expect([1], [run])
        self.assert_says(run, r"\n  note           \S*python\S* has no module launch_has_no_such_module; no other "
                              r"Python of PATH, VIRTUAL_ENV or CONDA_PREFIX has it either\n")

    def test_worker_that_cannot_be_started(self):
        self.check_one("cannot be started", 127, "--no-python", self.program("#!/no/such/interpreter\n"))

    def test_restarts_used_up(self):
        self.check_one("restarts used up", 7, "--max-restarts=2", self.ends("exit 7"))

    def test_worker_that_does_not_stop(self):
        stubborn = self.worker("trap '' TERM\n", UP, UNTIL_ALL_UP, 'if [ "$RANK" = 1 ]; then exit 3; fi\n',
                               SLEEP)
        self.check_one("a worker that does not stop", 3, "--shutdown-timeout=1", stubborn)

    def test_told_to_stop(self):
        run = self.launch("--nproc-per-node=2", self.worker(UP, SLEEP))
        self.wait_until_up(2, run)
        run.signal(signal.SIGTERM)
        self.expect([143], [run])
        self.check("told to stop", run)
        self.assertRegex(run.err, rf"told to stop by SIGTERM from pid {os.getpid()} \(python")

    def test_not_formed(self):
        run = self.node(0, 2, 1, self.worker(SLEEP), port=free_port(), options=["--rdzv-conf=timeout=1"])
        self.expect([124], [run])
        self.assertNotIn("FAILED", run.err)  # one line is enough
        errors = "".join(f"{line}\n" for line in run.err.splitlines() if "error:" in line)
        self.check_text("not formed", self.plain(errors))


class OfTwoNodes(VerdictCase):
    def test_exit_code(self):
        runs = self.two_nodes('if [ "$RANK" = 3 ]; then exit 7; fi\n', SLEEP)
        self.expect([7, 7], runs)
        self.check("exit code", *runs)

    def test_launch_killed(self):
        runs = self.two_nodes(SLEEP)
        self.wait_until_up(4, *runs)
        processes.kill([self.agent_of(runs[1]), runs[1].pid])
        self.expect([1, 137], runs)
        self.check("launch killed on a node", runs[0])

    def test_silent_node(self):
        runs = self.two_nodes(SLEEP, options=["--heartbeat-timeout=3"])
        self.wait_until_up(4, *runs)
        agent = self.agent_of(runs[1])
        os.kill(agent, signal.SIGSTOP)
        self.expect([1], runs[:1])
        self.check("silent node", runs[0])
        os.kill(agent, signal.SIGCONT)
        self.expect([1], runs[1:])

    def test_store_lost(self):
        runs = self.two_nodes(SLEEP)
        self.wait_until_up(4, *runs)
        processes.kill([self.agent_of(runs[0]), runs[0].pid])
        self.expect([137, 1], runs)
        self.check("the host of the store is lost", runs[1])

    def test_told_to_stop(self):
        runs = self.two_nodes(SLEEP)
        self.wait_until_up(4, *runs)
        runs[1].signal(signal.SIGINT)
        self.expect([130, 130], runs)
        self.check("one node told to stop", *runs)

    def test_c10d_has_the_same_verdict_everywhere(self):
        runs = self.elastic(3, self.worker(UP, UNTIL_ALL_UP, 'if [ "$RANK" = 4 ]; then exit 7; fi\n', SLEEP), nproc=2)
        self.expect([7, 7, 7], runs)
        self.check("c10d", *runs)


class ForMachines(VerdictCase):
    FAILS = 'if [ "$RANK" = 3 ]; then exit 7; fi\n'

    def test_json_on_standard_error(self):
        runs = self.two_nodes(self.FAILS, SLEEP, options=["--verdict=json"])
        self.expect([7, 7], runs)
        told = [json.loads(next(line for line in run.err.splitlines() if line.startswith("{"))) for run in runs]
        self.assertEqual(told[0], told[1])
        self.assertEqual((7, 3), (told[0]["exit_code"], told[0]["root_cause"]["rank"]))
        self.assertEqual("0-2", told[0]["followers"][0]["ranks"])
        self.assertNotIn("FAILED", runs[0].err)

    def test_json_in_a_file_beside_the_text(self):
        run = self.launch(f"--verdict=json:{self.folder}/verdict.json", self.worker("exit 7\n"))
        self.expect([7], [run])
        self.assert_says(run, "worker FAILED")
        self.assertEqual(7, json.loads((self.folder / "verdict.json").read_text())["exit_code"])

    def test_a_file_that_cannot_be_written_changes_nothing_else(self):
        run = self.launch(f"--verdict=json:{self.folder}/no/verdict.json", self.worker("exit 7\n"))
        self.expect([7], [run])
        self.assert_says(run, "worker FAILED", "cannot write the report to")

    def test_a_job_that_ends_well_has_no_verdict(self):
        run = self.launch(f"--verdict=json:{self.folder}/verdict.json", self.worker("exit 0\n"))
        self.expect([0], [run])
        self.assertEqual("", run.err)
        self.assertFalse((self.folder / "verdict.json").exists())
