"""A c10d job of launch and the real torchrun whose keep-alive is short: who says nothing for three seconds is dead.

torchrun's agents write no heartbeat while they wait for each other's ranks, so every node has to be quick then. A job
is named by the kinds of its nodes, t and l: the host, the second one, and the one that comes after it.
"""
import signal

from harness import long, repeated
from test_membership import Membership

CONF = "last_call_timeout=1,keep_alive_interval=1,keep_alive_max_attempt=3"


class KeepAlive(Membership):
    load = 0.6
    conf_of = {"t": CONF, "l": CONF}

    def go(self, index, number):
        """A node goes away: killed, or told to stop."""
        if number == signal.SIGKILL:
            return self.kill(index)
        self.known = self.notes()
        self.nodes[index].signal(number)
        self.assertIsNotNone(self.nodes[index].wait(30), self.said())

    def all_end(self, size, *gone):
        (self.job / "go").touch()
        codes = self.finish(*self.nodes)
        stayed = [code for index, code in enumerate(codes) if index not in gone]
        self.assertEqual([0] * len(stayed), stayed, self.said())
        out = "".join(run.out for run in self.nodes)
        self.assertEqual(size, out.count(f" of {size} attempt 0"), self.said())
        self.assertNotIn("WRONG", out)


class Joins(KeepAlive):
    """The second one comes when the first one runs by itself."""

    def joins(self, kinds):
        self.form(kinds[0], "1:2")
        self.come(kinds[1])
        self.settled(2)
        self.all_end(2)

    @repeated
    def test_launch_joins_torchrun(self):
        self.joins("tl")

    @long("Replaced.test_torchrun_by_launch_after_sigterm: torchrun in a job that launch hosts")
    @repeated
    def test_torchrun_joins_launch(self):
        self.joins("lt")


class Replaced(KeepAlive):
    """The second one goes, and the third one comes at once."""

    def is_replaced(self, kinds, number):
        self.form(kinds[:2], "1:2")
        self.go(1, number)
        self.come(kinds[2])
        self.settled(2)
        self.all_end(2, 1)

    @long("Spare.test_launch_for_launch: there the host waits for a dead launch, too")
    @repeated
    def test_launch_by_launch(self):
        self.is_replaced("tll", signal.SIGKILL)

    @long("test_torchrun_by_launch_after_sigterm")
    @repeated
    def test_torchrun_by_launch(self):
        self.is_replaced("ltl", signal.SIGKILL)

    @long("test_torchrun_by_launch_after_sigterm")
    @repeated
    def test_torchrun_by_torchrun(self):
        self.is_replaced("ltt", signal.SIGKILL)

    @long("Spare.test_launch_for_launch: there the launch says nothing when it goes")
    @repeated
    def test_launch_by_launch_after_sigterm(self):
        self.is_replaced("tll", signal.SIGTERM)

    @repeated
    def test_torchrun_by_launch_after_sigterm(self):
        self.is_replaced("ltl", signal.SIGTERM)

    @long("test_torchrun_by_launch_after_sigterm")
    @repeated
    def test_torchrun_by_torchrun_after_sigterm(self):
        self.is_replaced("ltt", signal.SIGTERM)


class Spare(KeepAlive):
    """The third one stands by until the second one goes."""

    def enters(self, kinds, number):
        self.form(kinds[:2], 2)
        self.come(kinds[2])
        self.stands_by(2)
        self.go(1, number)
        self.settled(2)
        self.all_end(2, 1)

    @repeated
    def test_launch_for_launch(self):
        self.enters("tll", signal.SIGKILL)

    @long("Replaced.test_torchrun_by_launch_after_sigterm: the same, but for who waits for whom")
    @repeated
    def test_launch_for_torchrun(self):
        self.enters("ltl", signal.SIGKILL)

    @long("Replaced.test_torchrun_by_launch_after_sigterm: torchrun in a job that launch hosts")
    @repeated
    def test_torchrun_for_launch(self):
        self.enters("llt", signal.SIGKILL)

    @long("test_launch_for_launch")
    @repeated
    def test_launch_for_launch_after_sigterm(self):
        self.enters("tll", signal.SIGTERM)

    @long("test_launch_for_launch; Replaced.test_torchrun_by_launch_after_sigterm")
    @repeated
    def test_launch_for_torchrun_after_sigterm(self):
        self.enters("ltl", signal.SIGTERM)

    @long("test_launch_for_launch; Replaced.test_torchrun_by_launch_after_sigterm")
    @repeated
    def test_torchrun_for_launch_after_sigterm(self):
        self.enters("llt", signal.SIGTERM)
