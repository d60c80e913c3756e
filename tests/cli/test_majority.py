"""--quorum=majority: the host of the store of a c10d job of four hosts falls silent, or the network is cut in parts.

LAUNCH_MEMBERSHIP_ROUNDS says how often each takes its turn (1); the table tells median and worst.
"""
import os
import signal
import time

import test_succession_cuts as cuts
from members import milliseconds, print_times, print_title


class Majority(cuts.Host):
    more = ("--quorum=majority",)
    load = 0.3

    def come_back(self, runs, before, part):
        """Those who were not in the part join it, as soon as they can reach it."""
        began = time.time()
        self.wait_for_round(4, since=before)
        self.assertLess(time.time() - began, 10)
        self.end_well(*runs.values())
        self.assert_rounds(4, *self.sizes_between(part), 4)

    def sizes_between(self, part):
        """They come back one after the other, or several at once."""
        starts = self.starts()[4:-4]
        sizes = []
        while starts:
            sizes.append(starts[0].size)
            starts = starts[starts[0].size:]
        self.assertEqual(len(part), sizes[0], self.account())
        self.assertEqual(sizes, sorted(set(sizes)), self.account())
        return sizes


class Proven(cuts.Lost):
    """Its end is proven: as with --quorum=host."""
    more = ("--quorum=majority",)


class Silent(Majority):
    """The other three run again after one time-out, and the host joins them when it is back."""

    def followed(self, lose, comes_back=True):
        runs = self.four()
        began = time.time()
        undo = lose(runs[1])
        workers = self.wait_for_round(3, since=began)
        self.assertEqual([2, 3, 4], [start.node for start in workers])
        took = milliseconds(began, workers)
        for number in (2, 3, 4):
            self.wait_until_said(runs[number], f"the node that hosted the rendezvous ({self.address(1)}) is gone; "
                                               f"{self.address(2)} hosts it now")
            self.assert_says(runs[number], "restarting all workers")
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

    def frozen(self, run):
        agent = self.agent_of(run)
        run.signal(signal.SIGSTOP)
        os.kill(agent, signal.SIGSTOP)

        def wake():
            os.kill(agent, signal.SIGCONT)
            run.signal(signal.SIGCONT)

        return wake

    def cable_cut(self, _):
        self.place.cut(1)
        return lambda: self.place.plug_in(1)

    def test_the_others_run_again(self):
        print_title(f"from the loss of the host until the other three run; --heartbeat-timeout={cuts.HEARTBEAT}")
        ways = [("its interface goes down", lambda run: self.place.take_interface_down(1), False),
                ("its cable is cut", self.cable_cut, True), ("launch and agent stand still", self.frozen, True)]
        for what, lose, back in ways:
            print_times(what, self.rounds(lambda lose=lose, back=back: self.followed(lose, back)))


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
