"""Command lines under launch against the record of torchrun: the table, and random ones; the comparison itself.

With --long all of it under the living torchrun as well; LAUNCH_COMPARE_SEED and LAUNCH_COMPARE_CASES then say which
random lines and how many. With torchrun itself as --launch the comparison checks itself: it must find nothing.
"""
import os

import compare_cases
import kinds
import records
from bench import Wanted
from compare import EACH_RUN, WANTED, Rule, judge, not_documented, options_in
from compare_cases import table
from comparison import Comparison, Living
from harness import Settings, long
from random_lines import spellings
from torch_job import TorchCase

SEED = os.environ.get("LAUNCH_COMPARE_SEED", kinds.SEED)
CASES = int(os.environ.get("LAUNCH_COMPARE_CASES", kinds.CASES))
# Of the table: what rests on more than the fork, above all on what an interpreter does at its start.
FEW = ("no script 1", "nnodes 6", "openmp 1", "passed on 1", "locale 1", "locale 2", "locale 3", "inherited 11",
       "static, one node 2", "run path 1")
RECORDED = "test_compare against the record, and test_living"


def subjects(kind, *parts):
    """The lines of some subjects."""
    return [line for line in kind.lines if any(line.name.rpartition(" ")[0] in part for part in parts)]


class Table(Comparison):
    load = 1.8

    def hold_subjects(self, *parts):
        kind = kinds.table()
        self.hold(kind, subjects(kind, *parts))

    def test_grammar(self):
        self.hold_subjects(compare_cases.GRAMMAR)

    def test_variables(self):
        self.hold_subjects(compare_cases.VARIABLES)

    def test_values(self):
        self.hold_subjects(compare_cases.VALUES)

    def test_programs_and_what_workers_see(self):
        self.hold_subjects(compare_cases.PROGRAMS, compare_cases.WORKERS_SEE)

    def test_help_names_every_option(self):
        launch = self.launch("--help")
        self.expect([0], [launch])
        kind = kinds.table()
        theirs = set(records.of(kind)(kind.by_name["help 1"])["options"])
        ours = options_in(launch.out)
        self.assertEqual(set(), {name for name in theirs if "_" not in name} & set(spellings()) - ours)
        self.assertEqual(set(), set(spellings()) - theirs, "random_lines.py spells options that torchrun has not")


class Nodes(Comparison):
    load = 1.8

    def test_nodes(self):
        kind = kinds.table()
        self.hold(kind, subjects(kind, compare_cases.NODES))


class RandomCases(Comparison):
    load = 1.8

    def test_random_lines(self):
        kind = kinds.random()
        self.hold(kind, kind.lines)


@long(RECORDED)
class LivingTable(Living):
    load = 1.8

    def test_table(self):
        kind = kinds.table(self.itself)
        self.live(kind, kind.lines)


@long(RECORDED)
class LivingRandom(Living):
    load = 1.8

    def test_random_lines(self):
        kind = kinds.random(SEED, CASES, self.itself)
        self.live(kind, kind.lines)


CHANGED = {"arguments", "command", "environment FOO", "environment NEW", "environment PWD", "umask"}


def changing(case, launcher):
    """A launcher whose workers have other variables, another umask and one argument more."""
    return case.program(f'#!/bin/sh\nexport FOO=b NEW=1; umask 027; exec {launcher} "$@" more\n')


class Changed(kinds.Table):
    """torchrun against a changed torchrun, or one that is started in another way."""

    def __init__(self, lines, *rules):
        super().__init__(lines, itself=True)
        self._rules = [*EACH_RUN, *rules]

    def judge(self, line, left, outcome):
        return judge(line, left, outcome, self._rules, itself=True)


class Itself(Comparison):
    """The comparison finds what differs, and the zygote answers with what happened."""

    def test_differences_are_found(self):
        self.bench.use_as("launch", changing(self, Settings.launch))
        kind = kinds.table()
        with self.assertRaises(self.failureException):
            self.hold(kind, [kind.by_name["verbatim 6"]])
        self.assertEqual(CHANGED, set(self.report.causes))

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


@long("nothing: it is of the living torchrun alone")
class ZygoteIsTorchrun(Living):
    def test_forked_is_started(self):
        """What the zygote forks is, to workers, the torchrun that a shell starts."""
        # A program cannot show another command line than it was started with.
        title = Rule("command", "", lambda line, theirs, ours: "--run-path" in line.argv)
        started = self.folder / "torchrun"  # by another name the zygote does not know it, and starts it
        started.symlink_to(self.torchrun())
        self.bench.use_as("launch", started)
        by_name = {line.name: line for line in table()}
        lines = [by_name[name] for name in FEW]
        self.live(Changed(lines, title), lines)


class Citations(TorchCase):
    def test_each_stands_in_the_document(self):
        cites = [line.expect.cite for line in table() if isinstance(line.expect, Wanted)]
        self.assertEqual([], not_documented(cites + [rule.cite for rule in WANTED]))
