"""tests/suite itself: what runs beside what, time limits, what is left, and what the end tells."""
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
import unittest.mock

import builds
import long_parts
import mutants
import place
import processes
import report
import units
from running import wait_for
from scheduler import Scheduler, Task


class Scheduling(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="launch-suite-")
        self.folder = pathlib.Path(self._folder.name)

    def tearDown(self):
        self._folder.cleanup()

    def task(self, name, script="", **more):
        """Writes when it began and ended, and between these waits a little or runs `script`."""
        text = f"date +%s.%N >> {name}.times; {script or 'sleep 0.2'}; code=$?; date +%s.%N >> {name}.times; exit $code"
        return Task(name, ["sh", "-c", f"cd {self.folder}; {text}"], self.folder / f"{name}.log", **more)

    def run_all(self, *tasks, cores=2):
        return [(task.name, task.code, task.why) for task in Scheduler(tasks, cores).run()]

    def overlap(self, one, other):
        (begin, end), (other_begin, other_end) = (
            map(float, (self.folder / f"{name}.times").read_text().split()) for name in (one, other))
        return begin < other_end and other_begin < end

    def test_what_waits_runs_beside_and_what_computes_has_its_processors(self):
        until_all_wait = ("set -e; i=0; until [ $(ls waits*.times | wc -l) = 8 ]; do i=$((i + 1)); [ $i -lt 500 ]; "
                          "sleep 0.02; done")
        ended = self.run_all(*(self.task(f"waits{number}", until_all_wait, load=0.2) for number in range(8)))
        self.assertEqual({0}, {code for _, code, _ in ended})
        long = "sleep 2"
        self.run_all(self.task("a", long, load=1.0), self.task("b", long, load=1.5), self.task("c", long, load=0.5))
        self.assertFalse(self.overlap("a", "b"))
        self.assertTrue(self.overlap("a", "c") or self.overlap("b", "c"))

    def test_what_is_alone_is_last_and_has_nobody_beside_it(self):
        ended = self.run_all(self.task("alone", alone="measures"), self.task("other", alone="measures"),
                             self.task("a"), self.task("build", builds=True, script="sleep 0.5"))
        self.assertEqual({"a", "build"}, {name for name, _, _ in ended[:2]})
        for name in ("a", "build", "other"):
            self.assertFalse(self.overlap("alone", name), name)

    def test_builds_run_one_after_the_other_beside_tests(self):
        self.run_all(self.task("one", "sleep 1", builds=True), self.task("two", builds=True),
                     self.task("test", "sleep 1", load=2.0))
        self.assertFalse(self.overlap("one", "two"))
        self.assertTrue(self.overlap("one", "test"))

    def test_needs_come_first_and_their_failure_is_told(self):
        ended = self.run_all(self.task("last", needs=("test",)), self.task("test", needs=("build",)),
                             self.task("build", "exit 3"), self.task("free"))
        self.assertEqual([("build", 3, ""), ("test", None, "build has failed"), ("last", None, "test has failed")],
                         [entry for entry in ended if entry[0] != "free"])
        self.assertIn(("free", 0, ""), ended)

    def test_what_takes_too_long_is_ended_with_all_that_it_started(self):
        script = "setsid sh -c 'echo $$ > hidden; trap \"\" TERM; while :; do sleep 0.05; done' & wait"
        began = time.monotonic()
        ended = self.run_all(self.task("slow", script, limit=3.0))
        self.assertEqual([("slow", "still running after 3 s")], [(name, why) for name, _, why in ended])
        self.assertLess(time.monotonic() - began, 20)
        hidden = int((self.folder / "hidden").read_text())
        self.assertTrue(wait_for(lambda: not processes.alive(hidden), 5))

    def test_the_one_that_takes_longest_begins_first(self):
        self.run_all(self.task("short", order=1, load=2.0), self.task("long", order=9, load=2.0))
        begins = [float((self.folder / f"{name}.times").read_text().split()[0]) for name in ("long", "short")]
        self.assertEqual(sorted(begins), begins)


class Reports(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="launch-suite-")
        self.folder = pathlib.Path(self._folder.name)
        self.unit = units.Unit("cli", "test_x.X", "dev", ["cli/test_x.X.test_a", "cli/test_x.X.test_b"])

    def tearDown(self):
        self._folder.cleanup()

    def told(self, code, *entries, no_skips=False, why=""):
        results, log = self.folder / "results", self.folder / "log"
        results.write_text("".join(json.dumps({"test": f"test_x.X.{test}", "outcome": outcome, "seconds": 1.5}) + "\n"
                                   for test, outcome in entries))
        log.write_text("what it has said\n")
        made = report.Report(no_skips)
        task = Task("x", [], log, code=code, why=why)
        line = made.add(self.unit, task, results)
        return made, line

    def test_all_is_well(self):
        made, line = self.told(0, ("test_a", "passed"), ("test_b", "passed"))
        self.assertEqual((2, 0, 0), made.counts())
        self.assertTrue(line.startswith("ok"), line)
        self.assertEqual([], list(made.failures()))

    def test_a_failure_is_told_once_with_the_command_that_repeats_it(self):
        made, line = self.told(1, ("test_a", "passed"), ("test_b", "failed"))
        self.assertEqual((1, 1, 0), made.counts())
        self.assertTrue(line.startswith("FAILED"), line)
        text = "\n".join(made.failures())
        self.assertEqual(1, text.count("what it has said"))
        self.assertIn("again: scripts/test cli/test_x.X.test_b", text)

    def test_what_did_not_run_to_its_end_has_failed(self):
        made, _ = self.told(143, ("test_a", "passed"), why="still running after 900 s")
        self.assertEqual((1, 1, 0), made.counts())
        self.assertIn("still running after 900 s", "\n".join(made.failures()))
        made, _ = self.told(1, ("test_a", "passed"), ("test_b", "passed"))  # as when it crashes after its tests
        self.assertEqual((2, 1, 0), made.counts())
        made, _ = self.told(None, why="build dev launch has failed")
        self.assertEqual((0, 2, 0), made.counts())

    def test_of_a_program_that_crashes_the_running_test_has_failed(self):
        names = [f"core/a_test.A.{name}" for name in ("One", "Two", "Three")]
        self.unit = units.Unit("core", "core_tests", "dev", names)
        made = report.Report(False)
        log = self.folder / "log"
        log.write_text("[ RUN      ] A.One\n[       OK ] A.One (2 ms)\n[ RUN      ] A.Two\nSegmentation fault\n")
        made.add(self.unit, Task("x", [], log, code=139), self.folder / "none")
        self.assertEqual((1, 1, 0), made.counts())
        self.assertIn("again: scripts/test core/a_test.A.Two", "\n".join(made.failures()))
        log.write_text("[ RUN      ] A.One\n[  SKIPPED ] A.One (0 ms)\n[ RUN      ] A.Two\n[  FAILED  ] A.Two (1 ms)\n"
                       "[  FAILED  ] A.Two\n")
        made = report.Report(False)
        made.add(self.unit, Task("x", [], log, code=1), self.folder / "none")
        self.assertEqual((0, 1, 1), made.counts())

    def test_of_a_program_all_is_told_of_its_failures_and_little_of_the_rest(self):
        self.unit = units.Unit("core", "core_tests", "dev", [f"core/a_test.A.T{number}" for number in range(2000)])
        said = [f"[ RUN      ] A.T{number}\n[       OK ] A.T{number} (0 ms)\n" for number in range(2000)]
        for number in (7, 1000):
            said[number] = f"[ RUN      ] A.T{number}\nwrong: {number}\n[  FAILED  ] A.T{number} (0 ms)\n"
        log = self.folder / "log"
        log.write_text("".join(said) + "[  FAILED  ] A.T7\n[  FAILED  ] A.T1000\n")
        made = report.Report(False)
        made.add(self.unit, Task("x", [], log, code=1), self.folder / "none")
        text = "\n".join(made.failures())
        self.assertIn("wrong: 7\n", text)
        self.assertIn("wrong: 1000\n", text)
        self.assertNotIn("A.T500 ", text)
        self.assertIn("again: scripts/test core/a_test.A.T1000 core/a_test.A.T7", text)

    def test_one_with_parameters_has_its_own_name(self):
        self.unit = units.Unit("sim", "sim_tests", "release", ["sim/a_test.A.One", "sim/a_test.A.Two"])
        log = self.folder / "log"
        log.write_text("[ RUN      ] All/A.One/0\n[       OK ] All/A.One/0 (2 ms)\n[ RUN      ] All/A.One/1\n"
                       "[  FAILED  ] All/A.One/1, where GetParam() = (1, 2) (3 ms)\n")
        made = report.Report(False)
        made.add(self.unit, Task("x", [], log, code=1), self.folder / "none")
        self.assertEqual((1, 1, 0), made.counts())
        self.assertIn("again: scripts/test sim/a_test.A.One", "\n".join(made.failures()))

    def test_many_failures_of_a_program_are_repeated_by_their_files(self):
        names = [f"core/{file}_test.A.T{number}" for file in "ab" for number in range(3)]
        self.unit = units.Unit("core", "core_tests", "dev", names)
        self.assertEqual(["core/a_test.", "core/b_test."], report.words_for(self.unit, names))
        self.assertEqual(["core/"], report.words_for(self.unit, ["core/core_tests"]))

    def test_what_all_of_it_skips_or_says_nothing(self):
        made, line = self.told(place.SKIP_CODE, ("test_a", "skipped"), ("test_b", "skipped"))
        self.assertEqual(((0, 0, 2), []), (made.counts(), list(made.failures())), line)
        made, line = self.told(place.SKIP_CODE)
        self.assertEqual((0, 0, 2), made.counts(), line)
        made, line = self.told(place.SKIP_CODE, ("test_a", "skipped"), ("test_b", "skipped"), no_skips=True)
        self.assertEqual((0, 2, 0), made.counts(), line)
        made, line = self.told(0)
        self.assertEqual((0, 2, 0), made.counts(), "it says that all is well, and has run nothing")

    def test_a_build_that_fails_is_told_at_the_end_and_once(self):
        made, _ = self.told(None, why="build dev launch has failed")
        log = self.folder / "build.log"
        log.write_text("x.cpp:1: error\n")
        made.faults.append(Task("build dev launch", [], log, code=1))
        text = "\n".join(made.failures())
        self.assertIn("== FAILED: build dev launch\nx.cpp:1: error\n\n== NOT RUN: 1 unit of tests: build dev", text)
        self.assertNotIn("again:", text)

    def test_skipped_counts_as_failed_only_if_nothing_may_be_left_out(self):
        self.assertEqual((1, 0, 1), self.told(0, ("test_a", "passed"), ("test_b", "skipped"))[0].counts())
        self.assertEqual((1, 1, 0),
                         self.told(0, ("test_a", "passed"), ("test_b", "skipped"), no_skips=True)[0].counts())

    def test_figures_are_lines_that_begin_with_two_blanks(self):
        made, _ = self.told(0, ("test_a", "passed"), ("test_b", "passed"))
        (self.folder / "log").write_text("test_a ... ok\n  kills 3\n   traceback 4\n")
        self.assertEqual(["cli/test_x.X (dev): kills 3"], made.figures())


class Finding(unittest.TestCase):
    def test_all_files_of_tests_are_found(self):
        found = {test.partition(".")[0] for unit in units.all_units() for test in unit.tests}
        for folder in ("core", "io", "sim", "house", "cli", "interop"):
            pattern = "*_test.cpp" if folder in units.BINARIES else "test_*.py"
            files = {f"{folder}/{path.stem}" for path in (units.ROOT / "tests" / folder).glob(pattern)}
            self.assertEqual(set(), files - found)

    def test_each_mutant_has_its_line_in_the_program(self):
        self.assertEqual([], mutants.lost())

    def test_both_lists_of_tests_with_threads_are_equal(self):
        text = (units.ROOT / "tests/CMakeLists.txt").read_text(encoding="utf-8")
        listed = text.partition("foreach(subject background")[2].partition(")")[0].split()
        self.assertEqual(set(units.THREADED), {f"{subject}_test" for subject in ["background", *listed]})

    def test_only_dev_of_ci_is_built_without_lines(self):
        def has_lines(ci, preset):
            with unittest.mock.patch.dict(os.environ, CI=ci):
                return "=-g0" not in builds.step(preset, "launch").command[-1]

        self.assertEqual([False, True, True, True], [has_lines("true", preset) for preset in ("dev", "tsan", "release")]
                         + [has_lines("", "dev")])

    def test_words_choose_tests(self):
        everything = units.all_units()
        (one,) = units.matching(everything, ["house/test_suite.Finding.test_words"])
        self.assertEqual(["house/test_suite.Finding.test_words_choose_tests"], one.tests)
        command = list(map(str, one.command(pathlib.Path("r"), False)))
        self.assertEqual([sys.executable, "test_suite.Finding.test_words_choose_tests"], [command[0], command[-1]])
        (one,) = units.matching(everything, ["core/agent_test.Agent.OneNodeHasNoBarrier"])[:1]
        self.assertIn("--gtest_filter=Agent.OneNodeHasNoBarrier:*/Agent.OneNodeHasNoBarrier/*",
                      one.command(pathlib.Path("r"), False))


class LongParts(unittest.TestCase):
    """Pieces that run beside the others, and the record of what they gave."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="launch-suite-")
        self.folder = pathlib.Path(self._folder.name)
        self._state, long_parts.STATE = long_parts.STATE, self.folder / "state.json"

    def tearDown(self):
        long_parts.STATE = self._state
        self._folder.cleanup()

    def piece(self, name, script):
        return long_parts.Piece(name, tasks=[Task(name, ["sh", "-c", f"cd {self.folder}; {script}"],
                                                  self.folder / f"{name.replace('/', '-')}.log")])

    def test_what_builds_comes_first_and_what_is_well_stays_so(self):
        record = long_parts.Record(False)
        aside = long_parts.Aside([self.piece("fuzz/build", "sleep 0.2; touch built"),
                                  self.piece("fuzz/a", "test -e built && echo '  found nothing'"),
                                  self.piece("fuzz/b", "exit 1")], record)
        aside.start()
        aside.join()
        self.assertTrue(aside.failed)
        again = long_parts.Record(False)
        self.assertEqual(["fuzz/b"], again.bad())
        self.assertTrue(again.good(self.piece("fuzz/a", "")))
        self.assertEqual(["  found nothing"], json.loads(long_parts.STATE.read_text())["fuzz/a"]["figures"])
        self.assertEqual(0, long_parts.Record(True).count())

    def test_without_its_build_nothing_is_run(self):
        record = long_parts.Record(False)
        aside = long_parts.Aside([self.piece("fuzz/build", "exit 1"), self.piece("fuzz/a", "")], record)
        aside.start()
        aside.join()
        self.assertEqual((["fuzz/build"], 1), (record.bad(), record.count()))

    def test_what_was_stopped_will_be_run_again(self):
        record = long_parts.Record(False)
        aside = long_parts.Aside([self.piece("fuzz/a", "touch begun; exec sleep 100")], record)
        aside.start()
        self.assertTrue(wait_for((self.folder / "begun").exists))
        aside.stop()
        aside.join(20)
        self.assertFalse(aside.is_alive())
        self.assertEqual(0, record.count())
