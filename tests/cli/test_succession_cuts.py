"""The host of the store of a c10d job of four hosts is lost in each way, cut off, or started again with the same line.

LAUNCH_MEMBERSHIP_ROUNDS says how often each takes its turn (1); the table tells median and worst.
"""
import json
import os
import re
import signal
import time

import hosts
import processes
from harness import wait_for
from members import ROUNDS, START, TELL_END, UNTIL_GO, MembersCase, milliseconds, print_times, print_title

HEARTBEAT = 5
ENDS_WITHIN = 2 * HEARTBEAT + 2  # seconds: a node looks for a host that is only silent once more
# No worker of one round sees one of another.
LOOK_AROUND = ('for pid in $(sed -n "s/^start [^ ]* [^ ]* [^ ]* \\([0-9]\\) .* \\([0-9]*\\)$/\\1:\\2/p" '
               '"$TEST_FOLDER/told" 2>/dev/null | grep -v "^$WORLD_SIZE:" | cut -d: -f2); do\n'
               'kill -0 "$pid" 2>/dev/null && ! grep -q "^State:.Z" "/proc/$pid/status" && '
               'echo "beside $1 $pid" >> "$TEST_FOLDER/told"\ndone\n')


class Host(MembersCase):
    more = ("--quorum=host",)
    machines = 4
    builds = only = ("release",)  # waits for time-outs most of the time: once is enough

    def setUp(self):
        super().setUp()
        self.need(hosts.possible(), "network namespaces (root, iproute2)")
        self.script = self.worker(TELL_END, LOOK_AROUND, START, UNTIL_GO)

    def address(self, number):
        return hosts.address(number)

    def four(self):
        runs = self.form(4, f"--heartbeat-timeout={HEARTBEAT}", f"--events={self.folder}/events")
        self.assertEqual(0, next(start.rank for start in self.starts() if start.node == 1))
        return runs

    def assert_told_of_move(self, runs, restart="restarting all workers"):
        """On the console of each of them, and in their events: node 2 hosts the store in place of node 1."""
        for run in runs:
            self.wait_until_said(run, f"the node that hosted the rendezvous ({self.address(1)}) is gone; "
                                      f"{self.address(2)} hosts it now")
            self.assert_says(run, restart)
        wait_for(lambda: len(self.moves()) >= len(runs), 10)
        self.assertEqual([(self.address(1), self.address(2), 1)] * len(runs), self.moves())

    def moves(self):
        """That the events of all nodes tell of, as far as they are written."""
        lines = (self.folder / "events").read_text().splitlines(keepends=True)
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        return [(event["from"], event["to"], event["term"]) for event in events if event["event"] == "host_moved"]

    def rounds(self, play):
        """Plays it in turn, each time on new hosts; what it gives back."""
        results = []
        for _ in range(ROUNDS):
            with hosts.Hosts(self.machines) as self.place:
                results.append(play())
                self.assertEqual([], self.told("beside"), self.account())
                self.next_job()
        return results


class Lost(Host):
    """Its end is proven: the other three run again."""

    def followed(self, lose, code):
        runs = self.four()
        began = time.time()
        lose(runs[1])
        workers = self.wait_for_round(3, since=began)
        self.assertEqual([2, 3, 4], [start.node for start in workers])
        self.assert_told_of_move([runs[number] for number in (2, 3, 4)],
                                 rf"{re.escape(self.address(1))}.*restarting all workers")
        self.assertEqual([code], self.finish(runs[1]))
        self.end_well(runs[2], runs[3], runs[4])
        self.assert_rounds(4, 3)
        return milliseconds(began, workers)

    def test_the_others_run_again(self):
        print_title("from the loss of the host until the other three run")
        ways = [("launch gets SIGKILL", lambda run: run.signal(signal.SIGKILL), 137),
                ("agent gets SIGKILL", lambda run: processes.kill([self.agent_of(run)]), 137),
                ("launch gets SIGTERM", lambda run: run.signal(signal.SIGTERM), 143)]
        for what, lose, code in ways:
            print_times(what, self.rounds(lambda lose=lose, code=code: self.followed(lose, code)))


class Silent(Host):
    """It may live: nobody follows, and the others end."""

    def not_followed(self, lose):
        runs = self.four()
        began = time.time()
        undo = lose(runs[1])
        others = [runs[number] for number in (2, 3, 4)]
        self.finish(*others, seconds=30)
        for run in others:
            self.assertNotEqual(0, run.code, str(run))
            self.assertNotIn("hosts it now", run.err)
            self.assert_says(run, "(lost contact with .*store|store.* does not answer)")
        lasted = max(run.ended for run in others) - began
        self.assertLess(lasted, ENDS_WITHIN)
        self.assert_rounds(4)
        if undo:
            undo()
        runs[1].signal(signal.SIGTERM)
        self.finish(runs[1], seconds=30)
        return lasted * 1000

    def frozen(self, run):
        agent = self.agent_of(run)
        run.signal(signal.SIGSTOP)
        os.kill(agent, signal.SIGSTOP)

        def wake():
            os.kill(agent, signal.SIGCONT)
            run.signal(signal.SIGCONT)

        return wake

    def test_the_others_end(self):
        print_title("from the loss of the host until the last of the others has ended")
        ways = [("its interface goes down", lambda run: self.place.take_interface_down(1)),
                ("its cable is cut", lambda run: self.place.cut(1)), ("launch and agent stand still", self.frozen)]
        for what, lose in ways:
            print_times(what, self.rounds(lambda lose=lose: self.not_followed(lose)))


class Parted(Host):
    """Only the part with the host runs on, if it has enough nodes; the others end, and may be started anew."""

    def only_one_part(self, split, part):
        runs = self.four()
        began = time.time()
        split()
        workers = part and self.wait_for_round(len(part), since=began)
        self.assertEqual(part, [start.node for start in workers])
        others = [number for number in (2, 3, 4) if number not in part]
        for number in others:
            self.finish(runs[number], seconds=30)
            self.assertNotEqual(0, runs[number].code, str(runs[number]))
        if not part:
            self.wait_until_said(runs[1], "waiting for more nodes (1 of 2 to 4 have joined)")
            runs[1].signal(signal.SIGTERM)
            self.finish(runs[1])
            self.assert_rounds(4)
            return 0.0
        self.end_well(*(runs[number] for number in part))
        self.assert_rounds(4, len(part))
        return milliseconds(began, workers)

    def split_in_three(self):
        self.place.split_off(3)
        self.place.drop_packets(4)

    def test_the_part_with_the_host_runs(self):
        print_title("from the cut until the part with the host runs")
        cuts = [("two and two", lambda: self.place.split_off(3, 4), [1, 2]),
                ("three with the host, and one", lambda: self.place.split_off(4), [1, 2, 3]),
                ("the host alone, and three", lambda: self.place.split_off(1), []),
                ("two with the host, one, one", self.split_in_three, [1, 2])]
        for what, split, part in cuts:
            print_times(what, self.rounds(lambda split=split, part=part: self.only_one_part(split, part)))


class Again(Host):
    """The launch of the lost host is started again with the same line, while the job lives elsewhere."""

    def test_it_joins_the_job_that_lives(self):
        print_title("from the new start of the host's launch until all four run")
        print_times("as a member", self.rounds(self.comes_back))

    def comes_back(self):
        line = f"--heartbeat-timeout={HEARTBEAT}"
        runs = self.form(4, line, nnodes="1:4")
        killed = time.time()
        runs.pop(1).signal(signal.SIGKILL)
        self.wait_for_round(3, since=killed)
        again = self.member(1, line, nnodes="1:4")
        workers = self.wait_for_round(4, since=again.started)
        self.assertEqual({1, 2, 3, 4}, {start.node for start in workers})
        self.assert_says(again, f"the job job lives elsewhere: {re.escape(self.address(2))} hosts it now")
        self.end_well(again, *runs.values())
        self.assert_rounds(4, 3, 4)
        return milliseconds(again.started, workers)

    def test_it_stands_by_if_its_place_is_taken(self):
        with hosts.Hosts(4) as self.place:
            runs = self.form(3, "--max-restarts=1", nnodes="3")
            spare = self.member(4, "--max-restarts=1", nnodes="3")
            self.wait_until_said(spare, "standing by")
            killed = time.time()
            first = runs.pop(1)
            processes.kill([self.agent_of(first)])
            self.wait_for_round(3, since=killed)
            self.finish(first)
            again = self.member(1, "--max-restarts=1", nnodes="3")
            self.wait_until_said(again, "standing by")
            self.end_well(again, spare, *runs.values())
            self.assert_rounds(3, 3)

    def test_a_job_that_it_has_founded_before_it_was_told_ends(self):
        """Nobody could tell it: it was cut off."""
        with hosts.Hosts(4) as self.place:
            line = f"--heartbeat-timeout={HEARTBEAT}"
            runs = self.form(4, line, nnodes="1:4")
            killed = time.time()
            runs.pop(1).signal(signal.SIGKILL)
            self.wait_for_round(3, since=killed)
            self.place.cut(1)
            again = self.member(1, line, nnodes="1:4")
            (founded,) = self.wait_for_round(1, since=again.started)
            self.place.plug_in(1)
            self.wait_for_round(4, since=founded.time)
            self.assertTrue(wait_for(lambda: not processes.alive(founded.pid), 5), self.account())
            self.end_well(again, *runs.values())
