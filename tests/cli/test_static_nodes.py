"""Nodes of a static job that are killed before it has formed, or between two attempts. Whenever: test_any_moment."""
import json
import os
import signal
import socket
import subprocess

import processes
import wire
from harness import free_port, wait_for
from job import UNTIL_ALL_UP, UP
from test_lost_nodes import LostCase

UNTIL_TOLD = 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n'
FAILS_IF_TOLD = 'while [ ! -e "$TEST_FOLDER/fail.$RANK" ]; do sleep 0.02; done\nexit 7\n'
STOPS_IF_TOLD = 'trap \': > "$TEST_FOLDER/stops.$RANK"; while [ ! -e "$TEST_FOLDER/stop.$RANK" ]; do sleep 0.02; ' \
                'done; exit 0\' TERM\n'


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
        if run.wait(0) is not None:
            return
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
        runs = [self.come(rank, options=["--rdzv-conf=timeout=12"]) for rank in (0, 1)]
        self.await_in(0, 1)
        self.kill(runs[1])
        runs[1] = self.come(2, options=["--rdzv-conf=timeout=12"])
        self.expect([124, 124], runs)
        self.assert_says(runs[0], "2 of 3 nodes have joined, node 1 has not")
        self.assertEqual([], self.up())

    def test_a_failure_elsewhere_is_told_like_any_other(self):
        # Of a node that has heard that all are there: its worker may fail before the news has come to the others.
        waits = self.come(0)
        self.await_in(0)
        failure = b'{"kind":"worker","exit_code":3,"node_rank":1,"rank":1,"local_rank":0,"host":"other","what":"exit"}'
        self.store().compare_set("/none/launch/abort", b"", failure)
        self.expect([3], [waits])
        self.assert_says(waits, r"root cause     rank 1 ", r"host other")

    def test_node_0_is_waited_for_and_may_be_started_again(self):
        killed, second = self.come(0), self.come(1)
        self.await_in(0, 1)
        self.kill(killed)
        self.assertTrue(wait_for(lambda: "lost before the job formed; looking for it again" in second.err, 20),
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

    def claim_and_fall_silent(self, rank, holder):
        """As an agent whose host loses its power: its connection stays, and nothing comes from there any more."""
        claim = {"key": f"/none/launch/node/{rank}", "holder": holder, "begun": "/none/launch/begun", "undo": []}
        store = self.store()
        store.send(bytes([wire.LEAVE_WILL]) + wire.text(json.dumps({"words": [], "gone": [], "claim": claim})))
        self.assertEqual(b"\0", store.read(1))
        self.assertEqual(holder.encode(), store.compare_set(claim["key"], "", holder))

    def test_a_node_whose_host_has_lost_its_power_may_be_started_again_before_that_is_noticed(self):
        options = ["--heartbeat-timeout=2"]
        first = self.come(0, options=options)
        dead = subprocess.Popen(["true"])
        dead.wait()
        self.claim_and_fall_silent(1, f"host {socket.gethostname()} (pid {dead.pid}, 0000beef)")
        again = self.come(1, options=options)
        self.assertTrue(wait_for(lambda: "node rank 1 is still claimed by" in again.err, 20), str(again))
        self.expect([0, 0, 0], [first, again, self.come(2, options=options)])

    def test_a_stranger_with_a_rank_that_is_taken_ends_no_job_that_runs(self):
        runs = [self.come(rank, UP, UNTIL_TOLD) for rank in range(3)]
        self.wait_until_up(3, *runs)
        self.expect([2], [self.come(1)])
        self.assert_nobody_ends(runs, seconds=0.5)
        (self.folder / "go").touch()
        self.expect([0, 0, 0], runs)


class BetweenTwoAttempts(StaticCase):
    """A worker has failed, and some nodes still stop theirs, when a node is lost. Nobody comes in its place."""

    options = ["--max-restarts=3"]

    def running(self, *parts):
        runs = [self.come(rank, *parts, UP, FAILS_IF_TOLD, options=["--shutdown-timeout=60"])
                for rank in range(self.count)]
        self.wait_until_up(self.count, *runs)
        return runs

    def touch(self, name):
        (self.folder / name).touch()

    def await_file(self, name):
        self.assertTrue(wait_for((self.folder / name).exists, 20), "\n".join(str(run) for run in self.runs))

    def expect_loss(self, runs, who):
        self.expect([1] * len(runs), runs, seconds=20)
        for run in runs:
            self.assert_says(run, who)

    def test_the_loss_of_a_node_that_stops_its_workers_ends_the_job(self):
        runs = self.running('[ "$RANK" = 1 ] && ', STOPS_IF_TOLD)
        self.touch("fail.2")
        self.await_file("stops.1")
        self.kill(runs[1])
        self.expect_loss([runs[0], runs[2]], r"root cause +node 1 .*: its launch process died without a report")

    def test_the_loss_of_node_0_ends_the_job(self):
        runs = self.running('[ "$RANK" = 0 ] && ', STOPS_IF_TOLD)
        self.touch("fail.2")
        self.await_file("stops.0")
        self.kill(runs[0])
        self.expect_loss(runs[1:], "lost contact with the store( of node 0)?")

    def test_who_still_stops_its_workers_hears_of_a_loss_afterwards(self):
        runs = self.running('[ "$RANK" != 2 ] && ', STOPS_IF_TOLD)
        self.touch("fail.2")
        self.await_file("stops.0")
        self.await_file("stops.1")
        self.kill(runs[1])
        self.assert_nobody_ends([runs[0]], seconds=0.5)
        self.touch("stop.0")
        self.expect_loss([runs[0], runs[2]], r"root cause +node 1 .*: its launch process died without a report")

    def test_who_takes_long_to_stop_its_workers_is_still_heard_of(self):
        self.options = ["--max-restarts=1", "--heartbeat-timeout=2"]
        runs = self.running('[ "$RANK" = 1 ] && ', STOPS_IF_TOLD, '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0\n')
        self.touch("fail.2")
        self.await_file("stops.1")
        self.assert_nobody_ends(runs, seconds=4)
        self.touch("stop.1")
        self.expect([0, 0, 0], runs)

    def test_a_node_that_ended_well_before_it_was_lost_is_not_waited_for(self):
        runs = self.running('[ "$RANK" = 1 ] && ', UP, '[ "$RANK" = 1 ] && ', UNTIL_ALL_UP,
                            '[ "$RANK" = 1 ] && exit 0\n')
        store = self.store()
        ended = lambda: self.has(store, "/none/torchelastic/agent/terminal_state/num_members")
        self.assertTrue(wait_for(ended, 20), str(runs[1]))
        store.close()
        self.kill(runs[1])
        self.touch("fail.2")
        self.expect_loss([runs[0], runs[2]], r"root cause +node 1 .*: its launch process died without a report")
