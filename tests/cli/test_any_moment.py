"""A node that is killed at any moment of its life: all are together again, or all end within the time-out.

A job of three nodes, the third of which comes a little later. Of the victim everything gets SIGKILL at once: guard,
agent, worker. Workers meet at their store and note when they lived (workers/meets.py), so a fence that leaves keys
behind shows, and so do two rounds at once. In the quick suite each kind of job has one moment; with LAUNCH_KILL_STEP
every so many milliseconds has its own, from the node's start to the end of its job. LAUNCH_KILL_BESIDE says how many
jobs run beside each other, LAUNCH_KILL_KINDS a word that the kinds have which take part.
"""
import collections
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import signal
import sys
import threading
import time
import typing

import processes
from harness import free_port, wait_for
from job import JobCase
from running import watch

WORKER = pathlib.Path(__file__).resolve().parent / "workers" / "meets.py"
STEP = int(os.environ.get("LAUNCH_KILL_STEP", "0"))
BESIDE = int(os.environ.get("LAUNCH_KILL_BESIDE", "8"))
KINDS = os.environ.get("LAUNCH_KILL_KINDS", "")
COUNT = 3
LATE = 0.3  # seconds after which the last node comes
TIMEOUT = 5  # of the rendezvous, in seconds
LONG_TIMEOUT = 40  # where all must come together, on a machine that is very busy
LIMIT = 100  # seconds from the kill after which a node hangs


@dataclasses.dataclass(frozen=True)
class Kind:
    """Nodes are numbered from 1; the one with the lowest number has rank 0."""
    backend: str
    goes_on: str  # "": neither restarts nor fewer nodes; "restarts": a worker fails once as well; "fewer": 2:3 nodes
    victim: int
    host: int
    returns: bool  # the node is started again at once

    def __str__(self):
        who = " and ".join(["host"] * (self.victim == self.host) + ["rank 0"] * (self.victim == 1)) or "ordinary node"
        return f"{self.backend}, {self.goes_on or 'no restarts'}, {who}, {'returns' if self.returns else 'stays away'}"

    @property
    def life(self):
        """Seconds that a node lives about."""
        return 2.0 if self.goes_on == "restarts" else 1.3

    def must_go_on(self, moment):
        """Whether all come together again, or those who are left, if the victim is killed then."""
        if moment <= LATE:  # before all have come
            return self.returns or self.goes_on == "fewer" and self.victim != self.host
        if self.victim == self.host:
            return False
        return self.goes_on == "fewer" or self.backend == "c10d" and self.goes_on == "restarts" and self.returns

    def options(self, number, port, timeout):
        yield from ("--nproc-per-node=1", "--heartbeat-timeout=10", "--shutdown-timeout=5")
        if self.goes_on == "restarts":
            yield "--max-restarts=1"
        if self.backend == "static":
            yield from (f"--nnodes={COUNT}", f"--node-rank={number - 1}", "--master-addr=127.0.0.1",
                        f"--master-port={port}", f"--rdzv-conf=timeout={timeout}")
        else:
            yield from (f"--nnodes={2 if self.goes_on == 'fewer' else COUNT}:{COUNT}", "--rdzv-backend=c10d",
                        f"--rdzv-endpoint=127.0.0.{self.host}:{port}", f"--local-addr=127.0.0.{number}",
                        "--rdzv-id=job", f"--rdzv-conf=is_host={int(number == self.host)},join_timeout={timeout},"
                                         "last_call_timeout=1")

    def command(self, number, port, timeout):
        fails = ["fails"] if self.goes_on == "restarts" else []
        return [*self.options(number, port, timeout), sys.executable, "-S", "-E", WORKER, number, *fails]


class Life(typing.NamedTuple):
    """What a worker has noted."""
    node: int
    pid: int
    world: int
    rank: int
    restarts: int
    first: float
    last: float
    word: str

    def meets(self, other):
        return self.first <= other.last and other.first <= self.last

    def is_of_round(self, other):
        return (self.world, self.restarts) == (other.world, other.restarts) and self.rank != other.rank


def lives_in(folder):
    for path in sorted((folder / "lives").glob("*.*")):
        words = path.read_text().split()
        if words:  # else it was killed before it had written any
            yield Life(*map(int, path.name.split(".")), *map(int, words[:3]), *map(float, words[3:5]), words[5])


class AnyMoment(JobCase):
    builds = only = ("release",)  # waits for time-outs most of the time: once is enough
    load = 1.0

    def setUp(self):
        super().setUp()
        self.ports, self.lock = set(), threading.Lock()

    def port(self):
        with self.lock:
            while (port := free_port()) in self.ports:
                pass
            self.ports.add(port)
            return port

    def kill(self, run):
        """Everything of the node, the guard last: it would end the others in its own way. False if it has ended."""
        if run.wait(0) is not None:
            return False
        run.signal(signal.SIGSTOP)
        wait_for(lambda: processes.state(run.pid) not in ("R", "S", "D"))  # else it could still start its agent
        node = [below for pid in processes.children_of(run.pid) for below in (pid, *processes.descendants_of(pid))]
        processes.kill(node)
        run.signal(signal.SIGKILL)
        return run.wait(20) == 137 and wait_for(lambda: not any(map(processes.alive, node)), 20)

    def play(self, kind, moment):
        return Play(self, kind, moment).run()

    def play_all(self, plays):
        """What became of each, in the order of `plays`: pairs of kind and seconds."""
        with concurrent.futures.ThreadPoolExecutor(BESIDE) as pool:
            results = list(pool.map(lambda play: self.play(*play), plays))
        for result in results:
            if result.wrong:
                print(result.account, flush=True)
        self.end_all()
        return results

    def sweep(self, kinds):
        """The moments of each kind until its victims have ended by themselves before."""
        results, over = [], collections.Counter()
        for beginning in itertools.count(step=4):
            plays = [(kind, STEP / 1000 * (beginning + number)) for number in range(4) for kind in kinds
                     if over[kind] < 2]
            if not plays:
                return results
            for result in self.play_all(plays):
                over[result.kind] += result.fate == "over"
                results.append(result)

    def judge(self, kinds):
        kinds = [kind for kind in kinds if KINDS in str(kind)]
        if STEP:
            results = self.sweep(kinds)
        else:
            results = self.play_all([(kind, kind.life * (7 * number % len(kinds) + 0.5) / len(kinds))
                                     for number, kind in enumerate(kinds)])
        print(f"\n  {len(results)} moments, {len(kinds)} kinds of jobs", flush=True)
        for kind in kinds:
            own = [result for result in results if result.kind == kind]
            fates = collections.Counter(result.fate for result in own)
            print(f"  {str(kind):50} " + ", ".join(f"{count} {fate}" for fate, count in sorted(fates.items())) +
                  f"; the last end {max(result.seconds for result in own):.1f} s after the kill", flush=True)
        wrong = sum(bool(result.wrong) for result in results)
        self.assertFalse(wrong, f"{wrong} moments have gone wrong; the accounts are above")


class Play:
    """One job, and what became of it."""

    def __init__(self, case, kind, moment):
        self.case, self.kind, self.moment = case, kind, moment
        self.folder = case.folder / f"{id(self)}"
        self.folder.mkdir()
        self.port = case.port()
        self.wrong, self.fate, self.seconds = [], "", 0.0

    def start(self, number, timeout):
        command = self.kind.command(number, self.port, timeout)
        return self.case.launch(*command, env={"TEST_FOLDER": str(self.folder)})

    def run(self):
        victim = self.kind.victim
        timeout = LONG_TIMEOUT if self.kind.must_go_on(self.moment) else TIMEOUT
        runs = {number: self.start(number, timeout) for number in range(1, COUNT)}
        dead, began = runs[victim], time.monotonic()

        def wait_until(moment):
            dead.wait(max(0.0, began + moment - time.monotonic()))

        if self.moment > LATE:
            wait_until(LATE)
            runs[COUNT] = self.start(COUNT, timeout)
        wait_until(self.moment)
        killed_at = time.time()
        struck = self.case.kill(dead)
        again = []
        if struck and self.kind.returns:
            again.append(self.start(victim, TIMEOUT if self.kind.goes_on == "fewer" else timeout))
        if self.moment <= LATE:
            wait_for(lambda: time.monotonic() >= began + LATE)
            runs[COUNT] = self.start(COUNT, timeout)
        del runs[victim]
        self.runs = [*runs.values(), *again]
        hanging = watch(self.runs, time.monotonic() + LIMIT)
        self.wrong += [f"hangs:\n{self.tree_of(run)}" for run in hanging]
        self.lives = list(lives_in(self.folder))
        self.look(runs.values(), again, struck)
        self.seconds = max([run.ended - killed_at for run in self.runs if run.ended] or [0.0])
        self.account = "\n".join([f"\n==== {self.kind}, at {self.moment:.2f} s: {'; '.join(self.wrong)}",
                                  *map(str, self.lives), f"node {victim}, which was killed:", str(dead),
                                  *map(str, self.runs)])
        if self.wrong:
            self.fate = "WRONG"
        return self

    def tree_of(self, run):
        pids = [run.pid, *sorted(processes.descendants_of(run.pid))]
        return "\n".join(f"  {pid} {processes.command_of(pid)}" for pid in pids)

    def look(self, others, again, struck):
        codes = [run.code for run in others]
        ended_well = {code == 0 for code in codes}
        if len(ended_well) != 1:
            self.wrong.append(f"the others end in different ways: {codes}")
        self.fate = "over" if not struck else "together" if ended_well == {True} else "ended"
        self.look_at_return(again)
        if struck and self.kind.must_go_on(self.moment) and self.fate != "together":
            self.wrong.append("they could have gone on")
        if not struck and self.fate == "over" and ended_well != {True}:
            self.wrong.append("nothing has befallen them")
        if not wait_for(lambda: not any(processes.alive(life.pid) for life in self.lives), 5):
            self.wrong.append("a worker is left")
        for one, other in itertools.combinations(self.lives, 2):
            if one.meets(other) and not one.is_of_round(other):
                self.wrong.append(f"two rounds at once: {one} beside {other}")
        self.wrong += [f"the keys of another round: {life}" for life in self.lives if life.word == "crowded"]

    def look_at_return(self, again):
        """It belongs to the others, unless these could end without it."""
        without = self.kind.goes_on == "fewer" or any(life.node == self.kind.victim and life.word == "done"
                                                      for life in self.lives)
        for run in again:
            if (run.code == 0) != (self.fate == "together") and not (self.fate == "together" and without):
                self.wrong.append(f"the one that is started again ends with {run.code}")


def kinds_of(backend, goes_on, places):
    return [Kind(backend, how, victim, host, returns) for how in goes_on for victim, host in places
            for returns in (True, False)]


class Static(AnyMoment):
    def test_together_again_or_ended_everywhere(self):
        self.judge(kinds_of("static", ("", "restarts"), ((1, 1), (2, 1))))


class C10d(AnyMoment):
    def test_together_again_or_ended_everywhere(self):
        self.judge(kinds_of("c10d", ("", "restarts", "fewer"), ((1, 1), (2, 1), (1, 2))))
