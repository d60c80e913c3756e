"""The base of every test that runs programs: it starts them, collects what they said, and proves that nothing is left.

A test module derives from harness.Case; a folder's run.py calls harness.main. Standard library only.
"""
import argparse
import ctypes
import json
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time
import unittest
import uuid

import place
import processes
from running import Run, free_port, wait_for, watch  # noqa: F401  (test modules take them from here)

MARKER = "LAUNCH_TEST_ID"
ROOT = pathlib.Path(__file__).resolve().parent.parent
PR_SET_CHILD_SUBREAPER = 36


class Settings:
    """Filled once by main(): which binary, which build folder, how often repeated, whether all depths are wanted."""
    launch = ROOT / "build" / "release" / "launch"
    build = ROOT / "build"
    repeat = 1
    long = False


def long(covered_by):
    """Marks a test, or a class of them, for `scripts/test --long`: says what has its assertion in the quick suite."""
    def mark(test):
        test.long = covered_by
        return test
    return mark


class Case(unittest.TestCase):
    """Gives each test a folder of its own and fails it when a process of it outlives it.

    The tests of a class run one after the other; what tests/suite needs to know to run classes beside each other
    stands in the class.
    """

    builds = ("dev",)  # whose binary is tested; with --long the others' as well
    only = ()  # if it makes sense for some builds alone: these
    load = 0.3  # processors that it keeps busy
    alone = ""  # why nothing may run beside it
    leftover_grace = 2.0  # seconds that a killed process may need until the kernel has taken it away
    servants = set()  # pids of processes that serve all tests of this program, and belong to none

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="launch-test-"))
        (self.folder / "tmp").mkdir()
        self.marker = uuid.uuid4().hex
        self.runs = []
        # Whatever loses its parent comes to us, so it can neither hide by a new session nor by a new environment.
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def start(self, command, env=None, **options):
        # What a job keeps for its user, or cannot remove when it is killed, goes with the test's folder.
        environment = {**clean_environment(), MARKER: self.marker, "TEST_FOLDER": str(self.folder),
                       "TMPDIR": str(self.folder / "tmp"), **(env or {})}
        run = Run(command, environment, self.folder, **options)
        self.runs.append(run)
        return run

    def launch(self, *arguments, **options):
        return self.start([Settings.launch, *arguments], **options)

    def finish(self, *runs, seconds=60.0):
        """Waits for all; the exit codes. A run that does not end by itself fails the test."""
        for run in watch(runs, time.monotonic() + seconds):
            self.fail(f"still running after {seconds} s:\n{run}\n{self.tree()}")
        return [run.code for run in runs]

    def expect(self, codes, runs, seconds=60.0):
        self.assertEqual(codes, self.finish(*runs, seconds=seconds), "\n".join(str(run) for run in runs))

    def program(self, text, name="worker"):
        """An executable file with this content in the test's folder. One that is there may just be started."""
        path = self.folder / name
        if path.exists() and path.read_text() == text:
            return path
        new = self.folder / f"{name}.new"
        new.write_text(text)
        new.chmod(0o755)
        return new.rename(path)

    def need(self, present, what):
        """Skips a test for want of something; where CI=true everything must be there."""
        if not present and place.must_run_everything():
            self.fail(f"{what} is missing, and CI=true says that every test must run")
        if not present:
            self.skipTest(f"{what} is missing")

    def leftovers(self):
        ours = processes.marked(f"{MARKER}={self.marker}") | processes.descendants_of(os.getpid())
        return {pid for pid in ours - self.servants if processes.alive(pid)}

    def tree(self):
        return "\n".join(f"  {pid} {processes.command_of(pid)}" for pid in sorted(self.leftovers()))

    def tearDown(self):
        try:
            self.end_all()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def end_all(self):
        """Ends what still runs; a run that has ended must have left nothing behind."""
        if all(run.wait(0) is not None for run in self.runs):
            wait_for(lambda: not self.leftovers(), self.leftover_grace)
        left = self.tree()
        wait_for(lambda: processes.kill(self.leftovers()) or not self.leftovers(), 5)
        for run in self.runs:
            run.close()
        self.runs = []
        processes.collect_adopted()
        self.assertFalse(left, "processes were left behind:\n" + left)


def clean_environment():
    """Our environment without anything that would be taken for an instruction to a launcher."""
    dropped = ("PET_", "TORCHELASTIC_", "TORCH_ELASTIC_", "SLURM_", "OMPI_", "PMI_", "OMP_NUM_THREADS", "PYTHON_EXEC",
               "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


def repeated(test):
    """Runs a test body as often as --repeat says, and says which round failed."""
    def rounds(self):
        for number in range(1, Settings.repeat + 1):
            with self.subTest(round=number):
                try:
                    test(self)
                finally:
                    self.end_all()
    rounds.__name__, rounds.__doc__ = test.__name__, test.__doc__
    return rounds


class _Result(unittest.TextTestResult):
    """Tells of a failure at once: a list at the end is lost when a time limit cuts the tests off.

    Each test is a line of JSON in the file `--results`, so that tests/suite can add up.
    """

    file = None

    def startTest(self, test):
        super().startTest(test)
        self._outcome, self._began = "passed", (time.monotonic(), _processor_seconds())

    def stopTest(self, test):
        super().stopTest(test)
        if self.file:
            seconds, busy = (now - then for now, then in zip((time.monotonic(), _processor_seconds()), self._began))
            self.file.write(json.dumps({"test": test.id(), "outcome": self._outcome, "seconds": round(seconds, 3),
                                        "busy": round(busy, 3)}) + "\n")
            self.file.flush()

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._outcome = "skipped"

    def addError(self, test, err):
        super().addError(test, err)
        self._outcome = "failed"
        self.printErrorList("ERROR", self.errors[-1:])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._outcome = "failed"
        self.printErrorList("FAIL", self.failures[-1:])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._outcome = "failed"
            failed = issubclass(err[0], test.failureException)
            self.printErrorList("FAIL" if failed else "ERROR", (self.failures if failed else self.errors)[-1:])

    def printErrors(self):
        """Nothing is left to be told."""


def _processor_seconds():
    """Of all that this process has started and that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _arguments(needs_launch):
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", type=pathlib.Path, default=os.environ.get("LAUNCH", Settings.launch))
    parser.add_argument("--build", type=pathlib.Path, default=Settings.build, help="where build/venv is")
    parser.add_argument("--repeat", type=int, default=int(os.environ.get("LAUNCH_TEST_REPEAT", "1")))
    parser.add_argument("--long", action="store_true", help="also those that only scripts/test --long runs")
    parser.add_argument("--list", action="store_true", help="run nothing: a line of JSON for each class of tests")
    parser.add_argument("--results", type=pathlib.Path, help="where to write a line of JSON for each test")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("-f", "--failfast", action="store_true")
    parser.add_argument("tests", nargs="*", help="module, module.Class or module.Class.test; all when none is named")
    arguments = parser.parse_args()
    if needs_launch and not arguments.list and not os.access(arguments.launch, os.X_OK):
        parser.error(f"no launch binary at {arguments.launch}: build it, or name it with --launch")
    return arguments


def _tests_of(suite):
    for part in suite:
        yield from _tests_of(part) if isinstance(part, unittest.TestSuite) else [part]


def covered_by(test):
    """What stands in for this test in the quick suite; empty when it is in the quick suite itself."""
    return getattr(getattr(test, test._testMethodName), "long", "") or getattr(test, "long", "")


def _list(tests):
    classes = {}
    for test in tests:
        name = test.id().rpartition(".")[0]
        kind = type(test)
        entry = classes.setdefault(name, {"unit": name, "tests": {}, **{
            field: getattr(kind, field, default)
            for field, default in (("builds", ()), ("only", ()), ("load", 1.0), ("alone", ""))}})
        entry["tests"][test._testMethodName] = covered_by(test)
    for entry in classes.values():
        print(json.dumps(entry))


def main(folder, needs_place=False, needs_launch=True):
    """The body of a run.py."""
    arguments = _arguments(needs_launch)
    Settings.launch, Settings.build = arguments.launch.resolve(), arguments.build.resolve()
    Settings.repeat, Settings.long = arguments.repeat, arguments.long
    wanted = arguments.tests or sorted(path.stem for path in folder.glob("test_*.py"))
    tests = list(_tests_of(unittest.defaultTestLoader.loadTestsFromNames(wanted)))
    if arguments.list:
        return _list(tests)
    place.enter(needed=needs_place)
    place.forget_signals()
    # Who names a test wants it run.
    tests = [test for test in tests if arguments.long or test.id() in wanted or not covered_by(test)]
    with open(arguments.results or os.devnull, "a", encoding="utf-8") as _Result.file:
        result = unittest.TextTestRunner(verbosity=1 if arguments.quiet else 2, failfast=arguments.failfast,
                                         resultclass=_Result).run(unittest.TestSuite(tests))
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(place.SKIP_CODE if result.testsRun and len(result.skipped) == result.testsRun else 0)
