"""Adds up what tests have told, and says at the end what a person needs to know."""
import collections
import json
import re

import place
import units

GOOD, BAD, SKIPPED = "passed", "failed", "skipped"
OUTCOMES = {"OK": GOOD, "FAILED": BAD, "SKIPPED": SKIPPED}
# One with parameters is "PREFIX/CLASS.TEST/3".
GTEST_LINE = re.compile(r"^\[ *(RUN|OK|FAILED|SKIPPED) *\] (?:\w+/)?(\w+\.\w+)(?:/\w+)?(?:,.*?)?(?: \((\d+) ms\))?$",
                        re.M)
SLOWEST = 10


class Report:
    """Of each unit that has ended: its tests with outcome and seconds; of each build: how long it took."""

    def __init__(self, no_skips):
        self._no_skips = no_skips
        self.tests = []  # (seconds, name, outcome, unit)
        self.broken = []  # (unit, task): what failed, or told of nothing
        self.faults = []  # builds and the like that failed
        self.logs = []
        self.spans = collections.OrderedDict()  # part -> [first begin, last end, seconds of processors]
        self.work = []  # (seconds of processors, unit)

    def span(self, part, task):
        end = task.began + task.seconds
        known = self.spans.setdefault(part, [task.began, end, 0.0])
        known[:] = min(known[0], task.began), max(known[1], end), known[2] + task.worked

    def add(self, unit, task, results):
        """Takes in a unit; its line of progress."""
        self.logs.append((unit.label, task.log))
        self.work.append((task.worked, unit.label))
        found = list(read(unit, results, task.log))
        if task.good and unit.folder == "bench":  # it is one test by itself
            found = [(task.seconds, unit.tests[0], GOOD)]
        skipped = task.code == place.SKIP_CODE  # all of it
        good = skipped or (task.good and found)
        if skipped or not good and unit.folder not in units.BINARIES:
            told = {name for _, name, _ in found}
            found += [(0.0, name, SKIPPED if skipped else BAD) for name in sorted(set(unit.tests) - told)]
        if not good and all(outcome != BAD for _, _, outcome in found):
            found.append((task.seconds, f"{unit.folder}/{unit.name}", BAD))  # it failed outside of a test
        self.tests += [(seconds, name, outcome, unit) for seconds, name, outcome in found]
        counts = collections.Counter(outcome for _, _, outcome in found)
        wrong = counts[BAD] or self._no_skips and counts[SKIPPED]
        if wrong:
            self.broken.append((unit, task))
        told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in (GOOD, BAD, SKIPPED) if counts[outcome])
        return f"{'FAILED' if wrong else 'ok':6} {unit.label:58} {task.seconds:6.1f} s  {told or task.why}"

    def counts(self):
        found = collections.Counter(outcome for _, _, outcome, _ in self.tests)
        if self._no_skips:
            found[BAD] += found.pop(SKIPPED, 0)
        return found[GOOD], found[BAD], found[SKIPPED]

    def failures(self):
        """What failing units and builds have said, each once, with the command that runs a unit alone."""
        for task in self.faults:
            yield f"\n== FAILED: {task.name}" + (f": {task.why}" if task.why else "")
            yield shorten(text_of(task.log))
        never = collections.Counter(task.why for _, task in self.broken if task.code is None)
        for why, count in never.items():
            yield f"\n== NOT RUN: {count} {'unit' if count == 1 else 'units'} of tests: {why}"
        for unit, task in self.broken:
            if task.code is None:
                continue
            names = sorted({name for _, name, outcome, of in self.tests if of is unit and outcome != GOOD})
            yield f"\n== FAILED: {unit.label}" + (f": {task.why}" if task.why else "")
            text = text_of(task.log)
            yield shorten(of_failures(text) if unit.folder in units.BINARIES else text)
            yield "   again: scripts/test " + " ".join(words_for(unit, names))

    def figures(self):
        """What tests have measured: they write it to standard output, by lines that begin with two blanks."""
        return [f"{label}: {line.strip()}" for label, log in self.logs for line in text_of(log).splitlines()
                if re.match(r"  \S.*\d", line)]

    def slowest(self):
        for seconds, name, _, unit in sorted(self.tests, key=lambda entry: entry[0], reverse=True)[:SLOWEST]:
            yield f"{seconds:6.1f} s  {name}{f' ({unit.build})' if unit.build else ''}"

    def busiest(self):
        for seconds, label in sorted(self.work, reverse=True)[:SLOWEST]:
            yield f"{seconds:6.1f} s  {label}"


def text_of(log):
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


def words_for(unit, names):
    """That choose these tests of the unit, or all of it if there are many of them."""
    known = [name for name in names if name in unit.tests]
    if 0 < len(known) <= 3:
        return known
    if unit.folder not in units.BINARIES:
        return [f"{unit.folder}/{unit.name}"]
    return sorted({name.partition(".")[0] + "." for name in known}) or [f"{unit.folder}/"]


def of_failures(text):
    """Of what GoogleTest has written: the tests that failed, that in which the program ended, and the end."""
    parts, begin = [], None
    for line in GTEST_LINE.finditer(text):
        if line[1] == "FAILED" and begin is not None:
            parts.append(text[begin:line.end()])
        begin = line.start() if line[1] == "RUN" else None
    rest = text[begin or 0:]
    return "\n".join([*parts, rest[-5_000:] if begin is None else rest])


def shorten(text, most=30_000):
    """The beginning and the end of a long text."""
    if len(text) <= most:
        return text.rstrip()
    return f"{text[:most // 3]}\n[… {len(text) - most} characters left out …]\n{text[-2 * most // 3:]}".rstrip()


def read(unit, results, log):
    """(seconds, test, outcome) of all tests that have ended, and of the one in which the program ended."""
    if unit.folder in units.BINARIES:
        yield from _gtest(unit, text_of(log))
    elif results.exists():
        for line in results.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            yield entry["seconds"], f"{unit.folder}/{entry['test']}", entry["outcome"]


def _gtest(unit, text):
    files = {test.partition(".")[2]: test for test in unit.tests}
    running = None
    for word, name, milliseconds in GTEST_LINE.findall(text):
        running = name if word == "RUN" else None
        if word != "RUN" and milliseconds:
            yield int(milliseconds) / 1000, files.get(name, f"{unit.folder}/{name}"), OUTCOMES[word]
    if running:
        yield 0.0, files.get(running, f"{unit.folder}/{running}"), BAD
