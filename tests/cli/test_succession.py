"""The node that hosts the rendezvous of a c10d job is lost or leaves, and the others go on.

LAUNCH_MEMBERSHIP_ROUNDS says how often each measured change takes its turn (1); the table tells median and worst.
"""
import json
import signal
import time

import processes
from members import ROUNDS, MembersCase, milliseconds, print_times, print_title

GONE = "the node that hosted the rendezvous (127.0.0.1) is gone; 127.0.0.{} hosts it now"


class Succession(MembersCase):
    def kill_launch(self, run):
        run.signal(signal.SIGKILL)

    def kill_agent(self, run):
        processes.kill([self.agent_of(run)])

    def kill_both(self, run):
        agent = self.agent_of(run)
        run.signal(signal.SIGSTOP)
        processes.kill([agent])
        run.signal(signal.SIGKILL)

    def lost(self, kill):
        """Node 1 of three is lost; milliseconds until the others run again."""
        runs = self.form(3)
        killed = time.time()
        kill(runs[1])
        workers = self.wait_for_round(2, since=killed)
        for number in (2, 3):
            self.wait_until_said(runs[number], GONE.format(2))
        self.end_well(runs[2], runs[3])
        self.assert_rounds(3, 2)
        return milliseconds(killed, workers)

    def test_the_others_go_on_without_the_host(self):
        print_title("from the kill of the host until the others run again")
        ways = [("launch gets SIGKILL", self.kill_launch), ("agent gets SIGKILL", self.kill_agent),
                ("both get SIGKILL", self.kill_both)]
        for what, kill in ways:
            times = []
            for _ in range(ROUNDS):
                times.append(self.lost(kill))
                self.next_job()
            print_times(what, times)

    def test_two_hosts_in_a_row(self):
        runs = self.form(4, nnodes="1:4")
        for number, left in ((1, 3), (2, 2), (3, 1)):
            killed = time.time()
            self.kill_both(runs[number])
            self.wait_for_round(left, since=killed)
        self.end_well(runs[4])
        self.assert_rounds(4, 3, 2, 1)

    def test_two_hosts_at_once(self):
        runs = self.form(4, nnodes="1:4")
        killed = time.time()
        self.kill_both(runs[1])
        self.kill_both(runs[2])
        self.wait_for_round(2, since=killed)
        self.end_well(runs[3], runs[4])

    def test_a_spare_takes_the_place_of_the_host(self):
        options = ["--max-restarts=1"]
        runs = self.form(2, *options, nnodes="2")
        spare = self.member(3, *options, nnodes="2")
        self.wait_until_said(spare, "standing by")
        killed = time.time()
        self.kill_both(runs[1])
        self.assertEqual({2, 3}, {start.node for start in self.wait_for_round(2, since=killed)})
        self.end_well(runs[2], spare)
        self.assert_rounds(2, 2)

    def test_the_host_leaves_when_it_is_told_to(self):
        events = self.folder / "events"
        runs = self.form(3, f"--events={events}")
        told = time.time()
        runs[1].signal(signal.SIGTERM)
        self.wait_for_round(2, since=told)
        self.assertEqual([143], self.finish(runs[1]))
        self.end_well(runs[2], runs[3])
        self.assert_rounds(3, 2)
        moved = [event for event in map(json.loads, events.read_text().splitlines()) if event["event"] == "host_moved"]
        self.assertEqual([("127.0.0.1", "127.0.0.2", 1)] * 2,
                         [(event["from"], event["to"], event["term"]) for event in moved])

    def test_a_job_that_lacks_nodes_ends_with_its_host(self):
        runs = self.form(2, "--max-restarts=1", nnodes="2")
        self.kill_both(runs[1])
        self.expect([1], [runs[2]], seconds=20)
        self.assertIn("1 of at least 2 nodes are left", runs[2].err)

    def test_a_host_that_is_told_to_stop_ends_a_job_that_would_lack_nodes(self):
        runs = self.form(2, "--max-restarts=1", nnodes="2")
        runs[1].signal(signal.SIGTERM)
        self.expect([143, 143], [runs[1], runs[2]], seconds=20)
