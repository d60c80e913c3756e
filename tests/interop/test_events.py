"""`--event-log-handler console`: launch writes the same lines as torchrun, but for ids and times."""
import kinds
from comparison import Comparison, Living
from harness import long


class SameEvents(Comparison):
    def test_events(self):
        kind = kinds.events()
        self.hold(kind, kind.lines)


@long("test_events.SameEvents against the record, and test_living")
class LivingEvents(Living):
    def test_events(self):
        kind = kinds.events()
        self.live(kind, kind.lines)
