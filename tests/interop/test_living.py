"""A few of all recorded lines under the living torchrun, so that the record cannot rot unseen; the date chooses them.

LAUNCH_LIVING_DATE and LAUNCH_LIVING_CASES say which and how many.
"""
import datetime
import os
import random
import sys

import kinds
import records
from comparison import Living

DATE = os.environ.get("LAUNCH_LIVING_DATE") or datetime.date.today().isoformat()
CASES = int(os.environ.get("LAUNCH_LIVING_CASES", "20"))


def choose(date, count):
    """(kind, its lines) of each kind that has some of the lines that are chosen."""
    every = [(kind, line) for kind in kinds.all_kinds() for line in kind.lines]
    chosen = random.Random(date).sample(every, count)
    for kind in dict.fromkeys(kind for kind, _ in chosen):
        yield kind, [line for other, line in chosen if other is kind]


class Some(Living):
    """torchrun does as recorded, and launch as torchrun."""

    load = 1.5

    def test_lines_chosen_by_the_date(self):
        print(f"LAUNCH_LIVING_DATE={DATE} LAUNCH_LIVING_CASES={CASES}", file=sys.stderr)
        for kind, lines in choose(DATE, CASES):
            print(f"  {kind.name}: {'; '.join(line.name for line in lines)}", file=sys.stderr)
            self.run_both(kind, lines, records.of(kind))
        self.tell()
