"""Command lines under torchrun and under launch, held against each other: the table, random ones, the zygote itself.

LAUNCH_COMPARE_SEED and LAUNCH_COMPARE_CASES say which random lines and how many. With torchrun itself as --launch the
comparison checks itself: it must find nothing.
"""
import dataclasses
import os
import re

import place
from compare import EACH_RUN, WANTED, BenchCase, Line, Report, Rule, Wanted, judge, not_documented
from compare_cases import NATIVE, install, table
from harness import Settings
from random_lines import random_lines, spellings
from torch_job import TorchCase

SEED = os.environ.get("LAUNCH_COMPARE_SEED", "1")
CASES = int(os.environ.get("LAUNCH_COMPARE_CASES", "500" if place.must_run_everything() else "60"))
# Of the table: what rests on more than the fork, above all on what an interpreter does at its start.
FEW = ("no script 1", "nnodes 6", "openmp 1", "passed on 1", "locale 1", "locale 2", "locale 3", "inherited 11",
       "static, one node 2", "run path 1")


class Comparison(BenchCase):
    def setUp(self):
        super().setUp()
        install(self.bench.work)
        self.itself = Settings.launch == self.torchrun().resolve()
        self.report = Report()

    def compare(self, lines, rules, itself=False):
        """Runs each line under both and reports what differs and is not wanted."""
        outcomes = {number: {} for number in range(len(lines))}
        jobs = [(number, side, line) for number, line in enumerate(lines) for side, line in self.sides(line, itself)]
        for (number, side), outcome in self.bench.run(jobs):
            mine = outcomes[number]
            mine[side] = outcome
            if len(mine) == len(self.sides(lines[number], itself)):
                self.report.add(lines[number], judge(lines[number], mine, rules, itself))
                for done in mine.values():
                    self.bench.forget(done)
        if self.report.causes:
            self.fail(str(self.report))

    @staticmethod
    def sides(line, itself):
        sides = [("torchrun", line), ("launch", line)]
        if not itself and isinstance(line.expect, Wanted) and line.expect.like:
            sides.append(("like", dataclasses.replace(line.expect.like, state=line.state)))
        return sides

    def compare_with_launch(self, lines):
        self.compare(lines, EACH_RUN if self.itself else WANTED, self.itself)


class TableCases(Comparison):
    def test_table(self):
        self.compare_with_launch(table())

    def test_help_names_every_option(self):
        torchrun = self.start([self.torchrun(), "--help"])
        launch = self.launch("--help")
        self.expect([0, 0], [torchrun, launch])
        theirs, ours = (set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", run.out)) for run in (torchrun, launch))
        self.assertEqual(set(), {name for name in theirs if "_" not in name} & set(spellings()) - ours)
        self.assertEqual(set(), set(spellings()) - theirs, "random_lines.py spells options that torchrun has not")


class RandomCases(Comparison):
    def test_random_lines(self):
        self.compare_with_launch(random_lines(SEED, CASES))


class Itself(Comparison):
    """The comparison finds what differs, and the zygote answers with what happened."""

    def test_differences_are_found(self):
        script = f'#!/bin/sh\nexport FOO=b NEW=1; umask 027; exec {self.torchrun()} "$@" more\n'
        self.bench.use_as("launch", self.program(script))
        with self.assertRaises(self.failureException):
            self.compare([Line("", (*NATIVE, "x"), {"FOO": "a"})], EACH_RUN, itself=True)
        self.assertEqual({"arguments", "command", "environment FOO", "environment NEW", "environment PWD", "umask"},
                         set(self.report.causes))

    def test_answers(self):
        def code_of(*argv, seconds=30, env=None):
            self.zygote.ask(argv=argv, env=env or {}, cwd=str(self.folder), state={}, seconds=seconds,
                            input="/dev/null", out=str(self.folder / "out"), err=str(self.folder / "err"))
            return self.zygote.answer()["code"]
        for code, text in ((0, "exit 0"), (7, "exit 7"), (143, "kill -TERM $$"), (137, "kill -KILL $$")):
            self.assertEqual(code, code_of("/bin/sh", "-c", text), text)
        self.assertIsNone(code_of("/bin/sleep", "60", seconds=0.1))
        self.assertEqual(0, code_of("/usr/bin/env", env={"A": "b\nc", "é": "\udcff"}))
        self.assertEqual(b"A=b\nc\n\xc3\xa9=\xff\n", (self.folder / "out").read_bytes())


class ZygoteIsTorchrun(Comparison):
    def test_forked_is_started(self):
        """What the zygote forks is, to workers, the torchrun that a shell starts."""
        by_name = {line.name: line for line in table()}
        # A program cannot show another command line than it was started with.
        title = Rule("command", "", lambda line, theirs, ours: "--run-path" in line.argv)
        started = self.folder / "torchrun"  # by another name the zygote does not know it, and starts it
        started.symlink_to(self.torchrun())
        self.bench.use_as("launch", started)
        self.compare([by_name[name] for name in FEW], EACH_RUN + [title], itself=True)


class Citations(TorchCase):
    def test_each_stands_in_the_document(self):
        cites = [line.expect.cite for line in table() if isinstance(line.expect, Wanted)]
        self.assertEqual([], not_documented(cites + [rule.cite for rule in WANTED]))
