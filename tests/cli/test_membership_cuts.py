"""Four hosts of a c10d job that can go on with two: hosts are killed, cut off, frozen or parted from each other.

LAUNCH_MEMBERSHIP_ROUNDS says how often each kind of loss takes its turn (1); the table tells median and worst.
"""
import os
import re
import signal
import time

import hosts
import processes
from harness import wait_for
from members import ROUNDS, START, TELL_END, UNTIL_GO, MembersCase, milliseconds, print_times, print_title

HEARTBEAT = 5
KNOWN = HEARTBEAT * 1.25 + 1  # seconds until the others run without a silent node, on a busy machine
SLOW_STOP = "trap 'sleep 0.5; exit 0' TERM\n"
STOPPING = 500  # milliseconds that such a worker takes
# A worker of a round of two looks whether a process of the round of four is still there.
LOOK_AROUND = ('if [ "$WORLD_SIZE" = 2 ]; then\n'
               'for pid in $(sed -n "s/^start [^ ]* [^ ]* [^ ]* 4 .* //p" "$TEST_FOLDER/told"); do\n'
               'kill -0 "$pid" 2>/dev/null && echo "beside $1 $pid" >> "$TEST_FOLDER/told"\ndone\nfi\n')


class HostsCase(MembersCase):
    builds = only = ("release",)  # waits for time-outs most of the time: once is enough

    def setUp(self):
        super().setUp()
        self.need(hosts.possible(), "network namespaces (root, iproute2)")
        self.script = self.worker(TELL_END, START, UNTIL_GO)

    def address(self, number):
        return hosts.address(number)

    def new_place(self):
        self.place = hosts.Hosts(4)
        self.place.__enter__()
        self.addCleanup(self.place.__exit__)


class Losing(HostsCase):
    # Each takes a node away and gives back what has to be undone before the test can end.

    def launch_killed(self, number, run):
        run.signal(signal.SIGKILL)

    def agent_killed(self, number, run):
        processes.kill([self.agent_of(run)])

    def agent_frozen(self, number, run):
        agent = self.agent_of(run)
        os.kill(agent, signal.SIGSTOP)
        return lambda: os.kill(agent, signal.SIGCONT)

    def cable_cut(self, number, run):
        self.place.cut(number)

    def packets_dropped(self, number, run):
        self.place.drop_packets(number)

    def one_round(self, lose, number):
        """Node `number` of four is lost; milliseconds until the other three run again."""
        runs = self.form(4, f"--heartbeat-timeout={HEARTBEAT}")
        before = self.wait_for_round(4)
        began = time.time()
        undo = lose(number, runs[number])
        workers = self.wait_for_round(3, since=began)
        self.assertEqual({1, 2, 3, 4} - {number}, {start.node for start in workers})
        self.assert_order_kept(before, workers)
        lost = runs.pop(number)
        (rank,) = (start.rank for start in before if start.node == number)
        for run in runs.values():
            self.assert_says(run, rf"(node {rank}|{re.escape(self.address(number))}) .*restarting all workers")
        self.end_well(*runs.values())
        self.assert_rounds(4, 3)
        if undo:
            undo()
        if lost.wait(0) is None:  # it looks for the others
            lost.signal(signal.SIGTERM)
        self.finish(lost, seconds=30)
        return milliseconds(began, workers)

    def measure(self, *ends):
        print_title("from the loss of a node until the other three run")
        for what, lose, most in ends:
            times = []
            for turn in range(ROUNDS):
                with hosts.Hosts(4) as self.place:
                    times.append(self.one_round(lose, 2 + turn % 3))
                    self.next_job()
            print_times(what, times)
            self.assertLess(max(times), most)

    def test_a_killed_node_is_known_at_once(self):
        self.measure(("launch gets SIGKILL", self.launch_killed, 4000), ("agent gets SIGKILL", self.agent_killed, 4000))

    def test_slow_workers_are_waited_for(self):
        self.script = self.worker(SLOW_STOP, START, UNTIL_GO)
        self.measure(("launch gets SIGKILL, workers stop in 0.5 s", self.launch_killed, 4000 + STOPPING))

    def test_a_silent_node_is_known_after_the_heartbeat_timeout(self):
        most = KNOWN * 1000
        self.measure(("agent is frozen", self.agent_frozen, most), ("cable is cut", self.cable_cut, most),
                     ("packets are dropped", self.packets_dropped, most))


class NoTwoRoundsAtOnce(HostsCase):
    """Of a node that is cut off one worker fails meanwhile, as real ones do; the other one does not end by SIGTERM."""
    more = ("--quorum=host",)

    STUBBORN = ('if [ "$1$LOCAL_RANK" = 31 ]; then trap "" TERM; while :; do\n'
                'date +%s.%N > "$TEST_FOLDER/new"; mv "$TEST_FOLDER/new" "$TEST_FOLDER/beat"; sleep 0.02; done; fi\n')

    def old_and_new(self, cut, seconds):
        """When the last worker of the node was alive, and when the first one of the others starts again."""
        self.new_place()
        self.script = self.worker(START, self.STUBBORN, UNTIL_GO)
        options = [f"--heartbeat-timeout={HEARTBEAT}", "--nproc-per-node=2", "--max-restarts=3",
                   "--shutdown-timeout=12"]
        runs = {number: self.member(number, *options, nnodes="2:3") for number in (1, 2, 3)}
        self.wait_for_round(6)
        began = time.time()
        cut(3)
        self.assertFalse(wait_for(lambda: any(run.wait(0) is not None for run in runs.values()), seconds))
        (self.folder / "fail.3").touch()
        workers = self.wait_for_round(4, since=began)
        self.finish(runs.pop(3), seconds=30)
        self.end_well(*runs.values())
        return float((self.folder / "beat").read_text()), min(start.time for start in workers)

    def test_after_a_cable_was_cut(self):
        """The kernel then says that there is no route, which is no orderly end."""
        self.assertLess(*self.old_and_new(lambda number: self.place.cut(number), 1))

    def test_while_the_node_tells_of_its_failure(self):
        self.assertLess(*self.old_and_new(lambda number: self.place.drop_packets(number), 3.6))


class Parted(HostsCase):
    """Only the part with the host runs on."""
    more = ("--quorum=host",)

    def setUp(self):
        super().setUp()
        self.new_place()

    def test_only_the_half_with_the_store_goes_on(self):
        self.part(TELL_END)
        ends = self.ends()
        self.assertEqual({1, 2, 3, 4}, ends.keys(), self.account())
        self.assertLess(max(ends.values()), min(start.time for start in self.starts() if start.size == 2))

    def test_workers_of_the_other_half_that_do_not_stop_are_killed_in_time(self):
        self.part("trap '' TERM\n")

    def part(self, *first):
        """Nodes 3 and 4 are parted from 1 and 2, which run again; `first` is what workers of 3 and 4 begin with."""
        self.script = self.worker('if [ "$1" -gt 2 ]; then\n', *first, "else\n", TELL_END, "fi\n", LOOK_AROUND, START,
                                  UNTIL_GO)
        (self.folder / "told").touch()
        runs = self.form(4, f"--heartbeat-timeout={HEARTBEAT}")
        before = self.wait_for_round(4)
        parted = time.time()
        self.place.split_off(3, 4)
        workers = self.wait_for_round(2, since=parted)
        self.assertEqual([], self.told("beside"), self.account())
        self.assertEqual({1, 2}, {start.node for start in workers})
        self.assert_order_kept(before, workers)
        self.assertLess(milliseconds(parted, workers), KNOWN * 1000)
        for code in self.finish(runs[3], runs[4], seconds=30):
            self.assertNotEqual(0, code, self.account())
        self.end_well(runs[1], runs[2])
        self.assert_rounds(4, 2)

    def test_when_the_host_of_the_store_is_cut_off_nobody_runs_on(self):
        runs = self.form(4, f"--heartbeat-timeout={HEARTBEAT}")
        cut = time.time()
        self.place.cut(1)
        others = [runs[number] for number in (2, 3, 4)]
        self.finish(*others, seconds=30)
        for run in others:
            self.assertNotEqual(0, run.code, str(run))
            self.assertLess(run.ended - cut, 2 * HEARTBEAT + 2, "it looks for the host once more")
            self.assert_says(run, "(lost contact with .*store|store.* does not answer)")
        self.wait_until_said(runs[1], "waiting for more nodes (1 of 2 to 4 have joined)")
        runs[1].signal(signal.SIGTERM)
        self.expect([143], [runs[1]])
        self.assertEqual({1, 2, 3, 4}, self.ends().keys(), self.account())
        self.assert_rounds(4)


class Flapping(HostsCase):
    def setUp(self):
        super().setUp()
        self.new_place()

    def test_a_cable_with_a_loose_contact_loses_nobody_for_good(self):
        runs = self.form(4, f"--heartbeat-timeout={HEARTBEAT}")
        for _ in range(4):
            self.place.cut(3)
            self.wait_for_an_end(runs, 1)
            self.place.plug_in(3)
            self.wait_for_an_end(runs, 1)
        whole = wait_for(lambda: sorted((start.rank, start.size) for start in self.running()) ==
                         [(rank, 4) for rank in range(4)], 20)
        self.assertTrue(whole, self.account())
        self.assert_undisturbed(runs.values(), 2 * HEARTBEAT)
        self.end_well(*runs.values())

    def wait_for_an_end(self, runs, seconds):
        self.assertFalse(wait_for(lambda: any(run.wait(0) is not None for run in runs.values()), seconds),
                         self.account())

    def running(self):
        return [start for start in self.starts() if processes.alive(start.pid)]
