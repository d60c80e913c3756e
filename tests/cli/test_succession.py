"""The node that hosts the rendezvous of a c10d job is lost or leaves, and the others go on.

LAUNCH_MEMBERSHIP_ROUNDS says how often each measured change takes its turn (1); the table tells median and worst.
LAUNCH_SUCCESSION_TRIALS says how often the host is told to leave, where one lost node in twenty would be a fault (3).
"""
import json
import os
import signal
import time

import processes
from members import ROUNDS, SOON, START, UNTIL_GO, MembersCase, milliseconds, print_times, print_title
from test_control import ControlCase

TRIALS = int(os.environ.get("LAUNCH_SUCCESSION_TRIALS", 3))
GONE = "the node that hosted the rendezvous (127.0.0.1) is gone; 127.0.0.{} hosts it now, at 127.0.0.{}:"


class Succession(MembersCase):
    more = ("--quorum=host",)

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
            self.wait_until_said(runs[number], GONE.format(2, 2))
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
        """Nobody can know that the second one has ended, too: the others wait until its workers must have."""
        runs = self.form(4, "--heartbeat-timeout=3", nnodes="1:4")
        killed = time.time()
        self.kill_both(runs[1])
        self.kill_both(runs[2])
        workers = self.wait_for_round(2, since=killed)
        self.assertGreater(milliseconds(killed, workers), 3000)
        self.end_well(runs[3], runs[4])

    def test_workers_that_fail_with_the_host_end_nothing(self):
        """As those of gloo and NCCL do, whose peers have ended."""
        runs = self.form(3, "--max-restarts=0")
        workers = self.wait_for_round(3)
        killed = time.time()
        self.kill_both(runs[1])
        for worker in workers[1:]:
            os.kill(worker.pid, signal.SIGKILL)
        self.wait_for_round(2, since=killed)
        self.end_well(runs[2], runs[3])
        self.assert_rounds(3, 2)

    def test_a_node_that_is_told_to_stop_with_the_host_is_not_waited_for(self):
        runs = self.form(3, "--heartbeat-timeout=30", nnodes="1:4")
        told = time.time()
        for number in (1, 2):
            runs[number].signal(signal.SIGTERM)
        workers = self.wait_for_round(1, since=told)
        self.assertLess(milliseconds(told, workers), SOON)
        self.assertEqual([143, 143], self.finish(runs[1], runs[2]))
        self.end_well(runs[3])

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

    def test_nobody_is_lost_when_the_host_leaves(self):
        for _ in range(TRIALS):
            runs = self.form(4)
            told = time.time()
            runs[1].signal(signal.SIGTERM)
            self.wait_for_round(3, since=told)
            self.assertEqual([143], self.finish(runs[1]))
            self.end_well(runs[2], runs[3], runs[4])
            self.assert_rounds(4, 3)
            self.next_job()

    def test_where_all_are_told_to_stop_all_have_their_time(self):
        """The workers of the host end at once, those of the others save."""
        self.script = self.worker('saved() { sleep 5; echo "saved $1" >> "$TEST_FOLDER/told"; exit 0; }\n',
                                  '[ "$1" = 1 ] || trap "saved $1" TERM\n', START, UNTIL_GO)
        runs = self.form(3)
        for run in runs.values():
            run.signal(signal.SIGTERM)
        self.expect([143] * 3, runs.values(), seconds=20)
        self.assertEqual({"2", "3"}, {node for node, *_ in self.told("saved")})
        self.assert_rounds(3)

    def test_where_all_are_warned_all_have_their_time(self):
        """They need longer than the loss of a host would leave them."""
        self.script = self.worker('saved() { sleep 6; echo "saved $1" >> "$TEST_FOLDER/told"; exit 0; }\n',
                                  'if [ "$1" = 1 ]; then trap "exit 0" USR1; else trap "saved $1" USR1; fi\n',
                                  START, UNTIL_GO)
        runs = self.form(3, "--preempt-signal=USR1", "--heartbeat-timeout=4")
        for run in runs.values():
            run.signal(signal.SIGUSR1)
        self.expect([0] * 3, runs.values(), seconds=20)
        self.assertEqual({"2", "3"}, {node for node, *_ in self.told("saved")})
        self.assert_rounds(3)

    def test_a_host_that_stands_still_is_not_followed(self):
        runs = self.form(3, "--heartbeat-timeout=2")
        agent = self.agent_of(runs[1])
        runs[1].signal(signal.SIGSTOP)
        os.kill(agent, signal.SIGSTOP)
        self.finish(runs[2], runs[3], seconds=20)
        for number in (2, 3):
            self.assertNotEqual(0, runs[number].code, str(runs[number]))
            self.assertNotIn("hosts it now", runs[number].err)
        self.assert_rounds(3)
        processes.kill([agent])
        runs[1].signal(signal.SIGKILL)
        self.finish(runs[1])

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
        for event in moved:
            self.assertRegex(event["at"], r"^127\.0\.0\.2:\d+$")
            self.assertIn(f"127.0.0.2 hosts it now, at {event['at']}", runs[2].err)

    def test_a_job_that_lacks_nodes_ends_with_its_host(self):
        runs = self.form(2, "--max-restarts=1", nnodes="2")
        self.kill_both(runs[1])
        self.expect([1], [runs[2]], seconds=20)
        self.assertIn("1 of at least 2 nodes are left", runs[2].err)

    def test_a_host_that_is_told_to_stop_ends_a_job_that_would_lack_nodes(self):
        runs = self.form(2, "--max-restarts=1", nnodes="2")
        runs[1].signal(signal.SIGTERM)
        self.expect([143, 143], [runs[1], runs[2]], seconds=20)


class Stopped(MembersCase, ControlCase):
    more = ("--quorum=host",)

    def test_no_round_follows_where_launch_ctl_stops_the_job(self):
        runs = self.form(3, nnodes="1:4")
        self.ask("stop", "job")
        self.expect([143] * 3, runs.values(), seconds=20)
        self.assert_rounds(3)
