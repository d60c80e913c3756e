"""--quorum=majority: the host of the store of a c10d job of four hosts falls silent, or the network is cut in parts.

LAUNCH_MEMBERSHIP_ROUNDS says how often each takes its turn (1); the table tells median and worst.
"""
import os
import signal
import time

import hosts
import processes
import test_succession_cuts as cuts
from harness import wait_for
from members import START, TELL_END, UNTIL_GO, milliseconds, print_times, print_title


class Majority(cuts.Host):
    more = ("--quorum=majority",)
    load = 0.3

    def come_back(self, runs, before, part):
        """Those who were not in the part join it, as soon as they can reach it."""
        began = time.time()
        workers = self.wait_for_round(4, since=before)
        self.assertLess(max(start.time for start in workers) - began, 10)
        self.end_well(*runs.values())
        sizes = [start.size for start in self.starts()]  # they come back one after the other, or several at once
        self.assertEqual([4] * 4 + [len(part)] * len(part), sizes[:4 + len(part)], self.account())
        self.assertEqual(sorted(sizes[4:]), sizes[4:], self.account())
        self.assertEqual({0}, {start.restarts for start in self.starts()})


class Proven(cuts.Lost):
    """Its end is proven: as with --quorum=host."""
    more = ("--quorum=majority",)

    def test_workers_of_the_others_have_time_to_save(self):
        """Though no store answers any more."""
        self.script = self.worker(TELL_END.replace("trap '", "trap 'sleep 1; "), START, UNTIL_GO)
        with hosts.Hosts(4) as self.place:
            runs = self.four()
            began = time.time()
            runs.pop(1).signal(signal.SIGKILL)
            self.wait_for_round(3, since=began)
            self.assertEqual({2, 3, 4}, set(self.ends()), self.account())
            self.end_well(*runs.values())


class Again(cuts.Again):
    more = ("--quorum=majority",)


class TwoInARow(Majority):
    """The node that hosts the store is lost, and then the one that hosts it in its place."""

    def lost_twice(self, lose):
        runs = self.four()
        times = []
        for number, left in ((1, [2, 3, 4]), (2, [3, 4])):
            began = time.time()
            lose(number, runs[number])
            workers = self.wait_for_round(len(left), since=began)
            self.assertEqual(left, [start.node for start in workers])
            times.append(milliseconds(began, workers))
            self.wait_until_said(runs[4], f"({self.address(number)}) is gone; {self.address(left[0])} hosts it now")
        self.end_well(runs[3], runs[4])
        self.assert_rounds(4, 3, 2)
        for number in (1, 2):
            if runs[number].wait(0) is None:
                runs[number].signal(signal.SIGTERM)
        return max(times)

    def test_the_others_run_again(self):
        print_title(f"from a loss until the others run, the longer of two; --heartbeat-timeout={cuts.HEARTBEAT}")
        ways = [("both are killed", lambda _, run: run.signal(signal.SIGKILL)),
                ("the cables of both are cut", lambda number, _: self.place.cut(number))]
        for what, lose in ways:
            print_times(what, self.rounds(lambda lose=lose: self.lost_twice(lose)))


class Spare(Majority):
    """It takes the place of the host."""
    machines = 5

    def is_taken(self, lose):
        runs = self.four()
        runs[5] = self.member(5, f"--heartbeat-timeout={cuts.HEARTBEAT}")
        self.wait_until_said(runs[5], "standing by")
        began = time.time()
        lose(runs[1])
        workers = self.wait_for_round(4, since=began)
        self.assertEqual([2, 3, 4, 5], [start.node for start in workers])
        if runs[1].wait(0) is None:
            runs[1].signal(signal.SIGTERM)
        self.end_well(*(runs[number] for number in (2, 3, 4, 5)))
        # The others do not wait for it: workers of a round without it may have been started before it came.
        without = [start for start in self.starts() if start.size == 3]
        self.assertLessEqual(len(without), 3, self.account())
        self.assertEqual([4] * 8, [start.size for start in self.starts() if start not in without], self.account())
        self.assertEqual({0}, {start.restarts for start in self.starts()})
        return milliseconds(began, workers)

    def test_the_spare_fills_the_place(self):
        print_title(f"from the loss of the host until four run again; --heartbeat-timeout={cuts.HEARTBEAT}")
        ways = [("launch is killed", lambda run: run.signal(signal.SIGKILL)),
                ("its cable is cut", lambda _: self.place.cut(1))]
        for what, lose in ways:
            print_times(what, self.rounds(lambda lose=lose: self.is_taken(lose)))


class Silent(Majority):
    """The other three run again after one time-out, and the host joins them when it is back."""

    def followed(self, lose, comes_back=True):
        runs = self.four()
        began = time.time()
        undo = lose(runs[1])
        workers = self.wait_for_round(3, since=began)
        self.assertEqual([2, 3, 4], [start.node for start in workers])
        took = milliseconds(began, workers)
        self.assert_told_of_move([runs[number] for number in (2, 3, 4)])
        if comes_back:
            before = time.time()
            undo()
            self.come_back(runs, before, [2, 3, 4])
            return took
        self.wait_until_said(runs[1], "looking for the job at")
        runs[1].signal(signal.SIGTERM)
        self.assertEqual([143], self.finish(runs[1]))
        self.end_well(runs[2], runs[3], runs[4])
        self.assert_rounds(4, 3)
        return took

    def agent_stands_still(self, run):
        """Its guard ends the workers."""
        agent = self.agent_of(run)
        os.kill(agent, signal.SIGSTOP)
        return lambda: os.kill(agent, signal.SIGCONT)

    def cable_cut(self, _):
        self.place.cut(1)
        return lambda: self.place.plug_in(1)

    def test_the_others_run_again(self):
        print_title(f"from the loss of the host until the other three run; --heartbeat-timeout={cuts.HEARTBEAT}")
        ways = [("its interface goes down", lambda run: self.place.take_interface_down(1), False),
                ("its cable is cut", self.cable_cut, True), ("its agent stands still", self.agent_stands_still, True)]
        for what, lose, back in ways:
            print_times(what, self.rounds(lambda lose=lose, back=back: self.followed(lose, back)))


    def test_a_host_that_stood_still_as_a_whole_ends_its_workers_when_it_wakes(self):
        with hosts.Hosts(4) as self.place:
            runs = self.four()
            (old,) = [start.pid for start in self.starts() if start.node == 1]
            still = [old, self.agent_of(runs[1]), runs[1].pid]
            began = time.time()
            for pid in still:
                os.kill(pid, signal.SIGSTOP)
            self.wait_for_round(3, since=began)
            before = time.time()
            for pid in still:
                os.kill(pid, signal.SIGCONT)
            self.assertTrue(wait_for(lambda: not processes.alive(old), 1.5), self.account())
            self.come_back(runs, before, [2, 3, 4])


class Parted(Majority):
    """Exactly one part runs; the others wait, say why, and join it when they reach it again."""

    def only_one_part(self, split, part):
        runs = self.four()
        began = time.time()
        split()
        workers = self.wait_for_round(len(part), since=began)
        self.assertEqual(part, [start.node for start in workers])
        others = [number for number in (1, 2, 3, 4) if number not in part]
        for number in others:
            self.wait_until_said(runs[number], "this node is cut off from the others, or these are too few to go on; "
                                               "looking for the job at ")
        before = time.time()
        self.place.come_together()
        self.come_back(runs, before, part)
        return milliseconds(began, workers)

    def split_in_three(self):
        self.place.split_off(3)
        self.place.drop_packets(4)

    def test_the_part_that_the_rule_names_runs(self):
        print_title(f"from the cut until the part runs; --heartbeat-timeout={cuts.HEARTBEAT}")
        splits = [("two and two", lambda: self.place.split_off(3, 4), [1, 2]),
                  ("three with the host, and one", lambda: self.place.split_off(4), [1, 2, 3]),
                  ("the host alone, and three", lambda: self.place.split_off(1), [2, 3, 4]),
                  ("two with the host, one, one", self.split_in_three, [1, 2])]
        for what, split, part in splits:
            print_times(what, self.rounds(lambda split=split, part=part: self.only_one_part(split, part)))
