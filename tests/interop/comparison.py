"""The bases of the tests that hold launch against torchrun: against the record of it, or against the living one."""
import records
from bench import BenchCase
from compare import Report
from harness import Settings


class Comparison(BenchCase):
    """Holds lines of one kind at a time; `report` has what differs."""

    at_once = 6  # launchers: they wait less than torchrun does, and cost little

    def setUp(self):
        super().setUp()
        self.report = Report()

    def hold(self, kind, lines):
        """launch against the record."""
        find = records.of(kind)
        entries = {line.name: find(line) for line in lines}  # before anything is run: it may be missing
        for number in range(Settings.repeat):
            bench = self.bench.below(f"{kind.name}-{number}")
            kind.install(bench.work)
            for line, outcomes in bench.together(lines, lambda line: [("launch", line)], self.at_once):
                self.report.add(line, kind.judge(line, entries[line.name], outcomes["launch"]))
        self.tell()

    def tell(self):
        if self.report.causes:
            self.fail(str(self.report))


class Living(Comparison):
    """Runs each line under torchrun and under launch."""

    real = True

    @property
    def itself(self):
        """torchrun is in launch's place: the comparison checks itself, and must find nothing."""
        return Settings.launch == self.torchrun().resolve()

    def live(self, kind, lines):
        for number in range(Settings.repeat):
            self.run_both(kind, lines, number=number)
        self.tell()

    def run_both(self, kind, lines, find=None, number=0):
        """launch against torchrun, and if `find` gives records, torchrun against these."""
        bench = self.bench.below(f"{kind.name}-{number}")
        kind.install(bench.work)
        for line, outcomes in bench.together(lines, lambda line: [*kind.theirs(line), ("launch", line)], kind.at_once):
            entry = records.as_read(kind.entry(line, outcomes))
            if find:
                # A PyTorch with CUDA has other words for its refusals.
                self.report.add(line, [(f"torchrun, not as recorded: {cause}", detail)
                                       for cause, detail in records.changes(find(line), entry)
                                       if not cause.endswith("said")])
            self.report.add(line, kind.judge(line, entry, outcomes["launch"]))
