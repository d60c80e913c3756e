"""The record of torchrun itself: it can be read as it was written, and says what has changed."""
import dataclasses

import kinds
import records
from bench import Line
from compare import Report, shortened
from harness import Case

VARIABLES = ("RANK", "LOCAL_RANK", "ROLE_RANK")
ERROR_FILE = "environment TORCHELASTIC_ERROR_FILE"


def worker(rank, **more):
    own = {f"environment {name}": str(rank) for name in VARIABLES}
    return {**own, ERROR_FILE: f"/a/{rank}/error.json", "umask": 18, "own group": True, **more}


def entry(line, *workers, ends=(0,), **more):
    return records.as_read({"asked": kinds.asked(line), "ends": ends, "workers": workers, **more})


class Records(Case):
    builds = ("release",)

    def setUp(self):
        super().setUp()
        self.kind = kinds.Table([Line(f"x {number}", ("a", str(number)), {"N": None}) for number in range(4)])
        one, two, three, four = self.kind.lines
        self.entries = {
            "x 0": entry(one, worker(0), worker(1, umask=2), worker(2)),
            "x 1": entry(two, worker(0, cpus=[1]), {"own group": False}),
            "x 2": entry(three, ends=[2], said="no \udcff", like=entry(four, worker(0, umask=7))),
            "x 3": entry(four, worker(3), worker(4)),
        }
        records.write(self.folder, self.kind, self.entries)

    def changes(self, name, found):
        return list(records.changes(self.entries[name], found))

    def test_read_as_written(self):
        self.assertEqual(self.entries, records.read(self.folder, self.kind))

    def test_every_recorded_file_is_as_it_would_be_written(self):
        for kind in kinds.all_kinds():
            entries = records.read(records.FOLDER, kind)
            self.assertEqual({line.name for line in kind.lines}, set(entries), "record it again: " + records.AGAIN)
            records.write(self.folder, kind, entries)
            for path in (records.FOLDER / kind.name).iterdir():
                self.assertEqual(path.read_text(), (self.folder / kind.name / path.name).read_text(), path)

    def test_a_changed_line_names_the_command(self):
        find = records.of(self.kind, self.folder)
        line = self.kind.lines[0]
        self.assertEqual(self.entries["x 0"], find(line))
        for other in (dataclasses.replace(line, env={"N": "1"}), dataclasses.replace(line, name="y 0")):
            with self.assertRaisesRegex(records.Missing, "record.* it.*: python3 tests/interop/record.py table"):
                find(other)

    def test_changes_are_told(self):
        changed = entry(self.kind.lines[0], worker(0, NEW="1"), worker(1, umask=2), worker(2, umask=5), ends=[1])
        self.assertEqual([("ends", "recorded [0], now [1]"), ("NEW", "rank 0: recorded None, now '1'"),
                          ("umask", "rank 2: recorded 18, now 5")], self.changes("x 0", changed))
        self.assertEqual([], self.changes("x 0", self.entries["x 0"]))
        fewer = {**self.entries["x 1"], "workers": []}
        self.assertEqual(["workers"], [cause for cause, _ in self.changes("x 1", fewer)])
        like = {**self.entries["x 2"], "like": entry(self.kind.lines[3], worker(0))}
        self.assertEqual([("at the line alike, umask", "rank 0: recorded 7, now 18")], self.changes("x 2", like))
        report = Report()
        for line in self.kind.lines[:2]:
            report.add(line, [("umask", "recorded 1, now 2")])
        self.assertIn("2 x umask\n    e.g. x 0:", str(report))

    def test_long_values_are_told_apart(self):
        for one, other in (("x" * 2000, "x" * 1999 + "y"), (["x"] * 200, ["x"] * 199 + ["y"])):
            self.assertNotEqual(shortened(one), shortened(other))
            self.assertLess(len(shortened(one)), 100)
