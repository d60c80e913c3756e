"""Whatever befalls a node of a c10d job, no worker of the old round runs beside one of the next.

Three hosts, two workers each, one of which does not end by SIGTERM on the host that is struck. Of that host the other
worker fails some seconds later, as real ones do when their network is gone, or, while its disk stalls, one elsewhere.
Workers write down when they lived.

LAUNCH_CUT_ROUNDS says how often each kind takes its turn (1), LAUNCH_CUT_KINDS which (a comma between two).
"""
import itertools
import os
import pathlib
import random
import signal
import time
import typing

import disks
import hosts
import processes
from harness import Settings, wait_for
from members import MembersCase

WORKERS = pathlib.Path(__file__).parent / "workers"
HEARTBEAT = 5
COUNT = int(os.environ.get("LAUNCH_CUT_ROUNDS", 1))
KINDS = [kind for kind in os.environ.get("LAUNCH_CUT_KINDS", "").split(",") if kind]
LATE = 1.5  # seconds that a machine which was frozen may take to end its workers once it wakes, on a busy machine


class Life(typing.NamedTuple):
    """When a worker lived."""
    node: int
    world: int
    rank: int
    first: float
    last: float

    def meets(self, other):
        return self.first <= other.last and other.first <= self.last


def belong_together(one, other):
    return one.world == other.world and one.rank != other.rank


class TwoRoundsCase(MembersCase):
    builds = only = ("release",)  # waits for time-outs most of the time: once is enough

    def setUp(self):
        super().setUp()
        self.need(hosts.possible(), "network namespaces (root, iproute2)")

    def address(self, number):
        return hosts.address(number)

    def member(self, number, *options, nnodes="2:3"):
        stubborn = "stubborn" if number == 3 else "mild"
        line = [Settings.launch, f"--nnodes={nnodes}", "--rdzv-backend=c10d", "--rdzv-id=job", "--nproc-per-node=2",
                f"--rdzv-endpoint={self.address(1)}:{self.port}", f"--local-addr={self.address(number)}",
                f"--rdzv-conf=is_host={int(number == 1)},last_call_timeout=1", f"--heartbeat-timeout={HEARTBEAT}",
                "--max-restarts=9", "--shutdown-timeout=12", *options, WORKERS / "beats.py", number, stubborn]
        return self.start(self.place.inside(number, *self.inside(number), *line), **self.streams(number))

    def inside(self, _):
        """What stands before the command line of a host."""
        return []

    def streams(self, _):
        """Where a host's launch writes, if not as others do."""
        return {}

    def play(self, kind, strike, undo=None, after=7.0):
        """`strike` befalls host 3; `undo` is called `after` seconds. What became of it, for the table."""
        if KINDS and kind not in KINDS:
            return
        worst = 0.0
        for _ in range(COUNT):
            with hosts.Hosts(3) as self.place:
                worst = max(worst, self.one_round(strike, undo, after))
                self.look_at_round()
                self.next_job()
        print(f"  {kind:40} {COUNT} rounds; after waking at most {worst:.2f} s", flush=True)

    def look_at_round(self):
        """What else is to be true of it."""

    def one_round(self, strike, undo, after):
        self.runs_by_node = {number: self.member(number) for number in (1, 2, 3)}
        self.wait_for_round(6)
        struck, began = time.time(), time.monotonic()
        woken = None
        strike()
        late = random.uniform(0, 4)
        self.wait(late)
        (self.folder / f"fail.{self.failing}").touch()
        if undo:
            self.wait(after - late)
            woken = time.monotonic()
            undo()
        self.wait_until_whole(6 if undo else 4, struck)
        (self.folder / "go").touch()
        self.finish(*(run for number, run in self.runs_by_node.items() if number != 3 or undo), seconds=40)
        if not undo and self.runs_by_node[3].wait(0) is None:  # it looks for the others
            self.runs_by_node[3].signal(signal.SIGTERM)
        self.finish(self.runs_by_node[3], seconds=40)
        return self.look_at_lives(began, woken)

    def wait_until_whole(self, size, since):
        """There may have been others of this size: a worker may fail again."""
        def ranks():
            alive = [start for start in self.starts(since) if processes.alive(start.pid)]
            return sorted(start.rank for start in alive if start.size == size)

        self.assertTrue(wait_for(lambda: ranks() == list(range(size)), 40), self.account())

    def wait(self, seconds):
        self.assertFalse(wait_for(lambda: any(self.runs_by_node[number].wait(0) is not None for number in (1, 2)),
                                  seconds), self.account())

    def look_at_lives(self, began, woken):
        lives = []
        for path in (self.folder / "beats").iterdir():
            world, rank, first, last = path.read_text().split()
            lives.append(Life(int(path.name.split(".")[0]), int(world), int(rank), float(first), float(last)))
        self.forget("beats/*", "fail.*")
        worst = 0.0
        for one, other in itertools.combinations(lives, 2):
            if belong_together(one, other) or not one.meets(other):
                continue
            old = min(one, other, key=lambda life: life.first)
            self.assertIsNotNone(woken, f"{one} beside {other}, struck at {began}\n{self.account()}")
            self.assertIn(old.node, self.frozen, f"{one} beside {other}, struck at {began}\n{self.account()}")
            self.assertLess(old.last - woken, LATE, f"{one} beside {other}, woken at {woken}\n{self.account()}")
            worst = max(worst, old.last - woken)
        return worst

    frozen = ()
    failing = 3  # the host of which a worker fails

    def freeze(self, number):
        """All that runs on this host; the guard first, which would take a stopped agent for Ctrl-Z."""
        run = self.runs_by_node[number]
        self.frozen = (number,)
        self.asleep = [run.pid, *sorted(processes.descendants_of(run.pid))]
        for pid in self.asleep:
            os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        for pid in reversed(self.asleep):
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass


class Links(TwoRoundsCase):
    def test_a_cable_is_pulled(self):
        self.play("cable", lambda: self.place.cut(3))

    def test_the_cable_is_back_after_seven_seconds(self):
        self.play("cable back", lambda: self.place.cut(3), lambda: self.place.plug_in(3))

    def test_the_interface_goes_down(self):
        self.play("interface", lambda: self.place.take_interface_down(3))

    def test_the_address_is_removed(self):
        self.play("address", lambda: self.place.remove_address(3))


class Ways(TwoRoundsCase):
    def test_packets_are_dropped(self):
        self.play("dropped", lambda: self.place.drop_packets(3))

    def test_packets_are_dropped_one_way(self):
        self.play("dropped to the host", lambda: self.place.lead_astray(3, 1))
        self.play("dropped from the host", lambda: self.place.lead_astray(1, 3))


class Refusals(TwoRoundsCase):
    def test_the_way_is_prohibited(self):
        self.play("prohibited", lambda: self.place.refuse_way(3, 1, "prohibit"))

    def test_there_is_no_way(self):
        self.play("unreachable", lambda: self.place.refuse_way(3, 1, "unreachable"))

    def test_a_firewall_resets(self):
        self.play("reset", lambda: self.place.put_firewall(3, before=1))


class Frozen(TwoRoundsCase):
    def test_the_node_is_frozen(self):
        self.play("node frozen", lambda: self.freeze(3), self.thaw, after=9.0)

    def test_the_host_is_frozen(self):
        self.play("host frozen", lambda: self.freeze(1), self.thaw, after=7.0)


class Disks(TwoRoundsCase):
    """All that launch writes on host 3 is on a disk that stalls, for longer than others wait for a word."""

    failing = 2

    def one_round(self, strike, undo, after):
        try:
            self.disk = disks.Disk.freezable("16M")
        except disks.Impossible as why:
            self.need(False, f"a file system of its own ({why})")
        try:
            with open(self.disk.path / "messages", "wb") as self.messages:
                return super().one_round(strike, undo, after)
        finally:
            self.disk.remove()

    def inside(self, number):
        return self.disk.inside() if number == 3 else []

    def streams(self, number):
        return {"stderr": self.messages} if number == 3 else {}

    def member(self, number, *options, nnodes="2:3"):
        place = self.disk.folder
        on_disk = ["--shutdown-timeout=2", f"--log-dir={place}", "--redirects=3", f"--events={place}/events",
                   f"--verdict=json:{place}/verdict"]
        return super().member(number, *options, *(on_disk if number == 3 else []), nnodes=nnodes)

    def look_at_round(self):
        """Nobody was given up: the one restart was of all, and there was no other round after it."""
        again = [start for start in self.starts() if start.restarts > 0]
        self.assertEqual([(rank, 6, 1) for rank in range(6)],
                         sorted((start.rank, start.size, start.restarts) for start in again), self.account())

    def test_a_disk_stalls(self):
        self.play("disk stalled", lambda: self.disk.freeze(), lambda: self.disk.thaw(), after=11.0)
