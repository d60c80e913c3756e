"""Nodes of a static job that are killed before it has formed, between two attempts, or whenever."""
import os
import signal

import processes
import wire
from harness import free_port, wait_for
from job import UNTIL_ALL_UP, UP
from test_lost_nodes import LostCase

UNTIL_TOLD = 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n'


class StaticCase(LostCase):
    count = 3
    options = ()

    def setUp(self):
        super().setUp()
        self.port = free_port()

    def come(self, rank, *parts, options=()):
        """Starts the launch of a node; without parts, its worker ends well once all have come together."""
        name = "worker" if parts else "meets"
        if not (self.folder / name).exists():  # a program that runs is not to be written again
            self.worker(*(parts or (UP, UNTIL_ALL_UP)), name=name)
        return self.node(rank, self.count, 1, self.folder / name, port=self.port,
                         options=["--shutdown-timeout=2", *self.options, *options])

    def store(self):
        client = []

        def connected():
            try:
                client.append(wire.Client(self.port))
            except (ConnectionError, TimeoutError):
                pass
            return client

        self.assertTrue(wait_for(connected, 20), "there is no store")
        self.addCleanup(client[0].close)
        return client[0]

    def has(self, store, key):
        store.send(bytes([wire.CHECK]) + wire.keys(key))
        return store.read(1) == b"\0"

    def await_in(self, *ranks):
        """Until these nodes can be counted in."""
        store = self.store()
        for rank in ranks:
            self.assertTrue(wait_for(lambda rank=rank: self.has(store, f"/none/torchelastic/role_info/{rank}"), 20),
                            f"node {rank} is not in:\n" + "\n".join(str(run) for run in self.runs))
        store.close()

    def await_out(self, rank):
        store = self.store()
        for key in (f"torchelastic/role_info/{rank}", f"launch/node/{rank}"):
            self.assertTrue(wait_for(lambda key=key: not self.has(store, f"/none/{key}"), 20),
                            f"node {rank} is still in:\n" + "\n".join(str(run) for run in self.runs))
        store.close()

    def kill(self, run):
        """All at once, at whatever it is."""
        run.signal(signal.SIGSTOP)
        processes.kill(processes.children_of(run.pid))
        run.signal(signal.SIGKILL)
        self.finish(run)


class BeforeItHasFormed(StaticCase):
    def test_a_killed_node_is_missing_and_may_be_started_again(self):
        first, killed = self.come(0), self.come(1)
        self.await_in(0, 1)
        self.kill(killed)
        third = self.come(2)
        self.await_in(2)
        self.await_out(1)
        self.assert_nobody_ends([first, third], seconds=0.5)
        self.assertEqual([], self.up())
        self.expect([0, 0, 0], [first, self.come(1), third])

    def test_a_killed_node_that_stays_away_is_named(self):
        runs = [self.come(rank, options=["--rdzv-conf=timeout=6"]) for rank in (0, 1)]
        self.await_in(0, 1)
        self.kill(runs[1])
        runs[1] = self.come(2, options=["--rdzv-conf=timeout=6"])
        self.expect([124, 124], runs)
        self.assert_says(runs[0], "2 of 3 nodes are in, node 1 did not come")
        self.assertEqual([], self.up())

    def test_node_0_is_waited_for_and_may_be_started_again(self):
        killed, second = self.come(0), self.come(1)
        self.await_in(0, 1)
        self.kill(killed)
        self.assertTrue(wait_for(lambda: "gone before the job had formed; looking for it again" in second.err, 20),
                        str(second))
        self.expect([0, 0, 0], [self.come(0), second, self.come(2)])

    def test_a_frozen_node_is_missing_and_comes_in_again(self):
        options = ["--heartbeat-timeout=2"]
        first, frozen = self.come(0, options=options), self.come(1, options=options)
        self.await_in(0, 1)
        agent = self.agent_of(frozen)
        os.kill(agent, signal.SIGSTOP)
        self.await_out(1)
        os.kill(agent, signal.SIGCONT)
        self.await_in(1)
        self.expect([0, 0, 0], [first, frozen, self.come(2, options=options)])

    def test_a_frozen_node_0_is_waited_for(self):
        options = ["--heartbeat-timeout=2"]
        frozen, second = self.come(0, options=options), self.come(1, options=options)
        self.await_in(0, 1)
        agent = self.agent_of(frozen)
        os.kill(agent, signal.SIGSTOP)
        self.assertTrue(wait_for(lambda: "looking for it again" in second.err, 20), str(second))
        os.kill(agent, signal.SIGCONT)
        self.expect([0, 0, 0], [frozen, second, self.come(2, options=options)])

    def test_a_stranger_with_a_rank_that_is_taken_ends_no_job_that_runs(self):
        runs = [self.come(rank, UP, UNTIL_TOLD) for rank in range(3)]
        self.wait_until_up(3, *runs)
        self.expect([2], [self.come(1)])
        self.assert_nobody_ends(runs, seconds=0.5)
        (self.folder / "go").touch()
        self.expect([0, 0, 0], runs)


class AtAnyTime(StaticCase):
    """A node is killed at some time after its start, and started again at once."""

    options = ["--heartbeat-timeout=2", "--rdzv-conf=timeout=5"]

    def test_the_nodes_come_together_or_all_end(self):
        rounds = int(os.environ.get("LAUNCH_KILL_ROUNDS", "6"))
        for number in range(rounds):
            with self.subTest(round=number):
                self.port = free_port()
                victim = number % self.count
                runs = [self.come(rank) for rank in range(self.count)]
                wait_for(lambda run=runs[victim]: run.wait(0) is not None, 0.25 * (number + 1) / rounds)
                if runs[victim].wait(0) is None:
                    self.kill(runs[victim])
                others = [run for run in runs if run is not runs[victim]]
                codes = self.finish(*others, self.come(victim))[:2]
                self.assertIn(codes.count(0), (0, 2), "\n".join(str(run) for run in self.runs))
                self.end_all()
                self.forget()

