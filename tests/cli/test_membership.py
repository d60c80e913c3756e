"""Nodes of a c10d job on one machine that come, leave, are killed or sleep: who runs again, with whom, and how soon.

LAUNCH_MEMBERSHIP_ROUNDS says how often each measured change takes its turn (1); the table tells median and worst.
"""
import os
import re
import signal
import time

import processes
from harness import wait_for
from members import ROUNDS, SOON, START, TELL_END, UNTIL_GO, MembersCase, milliseconds, print_times, print_title

BETWEEN_RESTARTS = "--join=between-restarts"


class Killing(MembersCase):
    def kill_launch(self, run):
        run.signal(signal.SIGKILL)

    def kill_agent(self, run):
        processes.kill([self.agent_of(run)])


class Spares(Killing):
    def spare(self, number, *options, nnodes):
        run = self.member(number, *options, nnodes=nnodes)
        self.wait_until_said(run, "standing by")
        return run

    def replaced(self, kill):
        """Node 2 of two is lost while node 3 stands by; milliseconds until all run again."""
        options = ["--max-restarts=1"]
        runs = self.form(2, *options, nnodes="2")
        spare = self.spare(3, *options, nnodes="2")
        self.assertEqual({1, 2}, {start.node for start in self.starts()})
        killed = time.time()
        kill(runs[2])
        workers = self.wait_for_round(2, since=killed)
        self.assertEqual({1, 3}, {start.node for start in workers})
        self.end_well(runs[1], spare)
        self.assert_rounds(2, 2)
        return milliseconds(killed, workers)

    def test_a_spare_runs_at_once(self):
        print_title("from the kill of a member until its spare runs")
        for what, kill in (("launch gets SIGKILL", self.kill_launch), ("agent gets SIGKILL", self.kill_agent)):
            times = []
            for _ in range(ROUNDS):
                times.append(self.replaced(kill))
                self.next_job()
            print_times(what, times)
            self.assertLess(max(times), SOON)

    def test_it_takes_the_place_in_the_same_change(self):
        runs = self.form(3, nnodes="2:3")
        spare = self.spare(4, nnodes="2:3")
        killed = time.time()
        self.kill_launch(runs[3])
        self.assertEqual({1, 2, 4}, {start.node for start in self.wait_for_round(3, since=killed)})
        self.end_well(runs[1], runs[2], spare)
        self.assert_rounds(3, 3)

    def test_the_others_stand_by_on(self):
        runs = self.form(3, nnodes="2:3")
        spares = {number: self.spare(number, nnodes="2:3") for number in (4, 5)}
        killed = time.time()
        self.kill_agent(runs[2])
        self.assertLess({1, 3}, {start.node for start in self.wait_for_round(3, since=killed)})
        self.assert_undisturbed([runs[1], runs[3], *spares.values()], 1)
        self.end_well(runs[1], runs[3], *spares.values())
        self.assert_rounds(3, 3)


class BelowMinimum(Killing):
    def test_a_node_waits_until_a_new_one_comes(self):
        runs = self.form(2)
        (old,) = (start.pid for start in self.starts() if start.node == 1)
        self.kill_launch(runs[2])
        self.wait_until_said(runs[1], "waiting for more nodes (1 of 2 to 4 have joined)")
        self.assertFalse(processes.alive(old), self.tree())
        self.assert_undisturbed([runs[1]], 1)
        late = self.member(3)
        self.assertEqual({1, 3}, {start.node for start in self.wait_for_round(2, since=late.started)})
        self.end_well(runs[1], late)
        self.assert_rounds(2, 2)

    def test_who_waits_may_be_told_to_stop(self):
        runs = self.form(2)
        self.kill_agent(runs[2])
        self.wait_until_said(runs[1], "waiting for more nodes (1 of 2 to 4 have joined)")
        runs[1].signal(signal.SIGTERM)
        self.expect([143], [runs[1]])
        self.assert_rounds(2)


class Joining(Killing):
    def test_all_start_anew_with_a_node_that_comes(self):
        runs = self.form(2)
        for number in (3, 4):
            before = self.wait_for_round(number - 1)
            runs[number] = self.member(number)
            workers = self.wait_for_round(number, since=runs[number].started)
            self.assertLess(milliseconds(runs[number].started, workers), SOON)
            self.assert_order_kept(before, workers)
        self.end_well(*runs.values())
        self.assert_rounds(2, 3, 4)

    def test_two_that_come_at_once_both_get_in(self):
        runs = self.form(2)
        runs.update({number: self.member(number) for number in (3, 4)})
        self.wait_for_round(4)
        self.end_well(*runs.values())
        self.assertEqual([4] * 4, [start.size for start in self.starts()][-4:], self.account())

    def test_a_node_may_come_and_go_often(self):
        runs = self.form(3)
        for turn in range(5):
            killed = time.time()
            (self.kill_agent if turn % 2 else self.kill_launch)(runs[3])
            self.assertEqual({1, 2}, {start.node for start in self.wait_for_round(2, since=killed)})
            runs[3] = self.member(3)
            self.wait_for_round(3, since=runs[3].started)
        self.end_well(*runs.values())
        self.assert_rounds(3, *[2, 3] * 5)

    def test_a_node_that_is_started_again_at_once_gets_back_in(self):
        runs = self.form(3)
        self.kill_launch(runs[3])
        runs[3] = self.member(3)
        self.assertTrue(wait_for(lambda: [start.size for start in self.starts(runs[3].started)][-3:] == [3] * 3, 20),
                        self.account())
        self.end_well(*runs.values())

    def test_between_restarts_it_waits_for_a_restart(self):
        options = [BETWEEN_RESTARTS, "--max-restarts=1"]
        runs = self.form(2, *options)
        runs[3] = self.member(3, *options)
        self.assert_undisturbed(runs.values(), 2)
        failed = time.time()
        (self.folder / "fail.2").touch()
        self.wait_for_round(3, since=failed)
        self.end_well(*runs.values())
        self.assertEqual([(2, 0)] * 2 + [(3, 1)] * 3, [(start.size, start.restarts) for start in self.starts()])

    def test_between_restarts_it_waits_for_a_loss(self):
        runs = self.form(3, BETWEEN_RESTARTS)
        runs[4] = self.member(4, BETWEEN_RESTARTS)
        self.assert_undisturbed(runs.values(), 2)
        killed = time.time()
        self.kill_launch(runs.pop(3))
        workers = self.wait_for_round(3, since=killed)
        self.assertEqual({1, 2, 4}, {start.node for start in workers})
        self.assertLess(milliseconds(killed, workers), SOON)
        self.end_well(*runs.values())
        self.assert_rounds(3, 3)

    def test_logs_of_before_are_kept(self):
        self.script = self.worker('echo "one of $WORLD_SIZE"\n', START, UNTIL_GO)
        options = {number: ["--redirects=3", f"--log-dir={self.folder}/logs{number}"] for number in (1, 2, 3)}
        runs = {number: self.member(number, *options[number]) for number in (1, 2)}
        self.wait_for_round(2)
        runs[3] = self.member(3, *options[3])
        self.wait_for_round(3)
        expected = {1: ["one of 2\n", "one of 3\n"], 2: ["one of 2\n", "one of 3\n"], 3: ["one of 3\n"]}
        self.assertEqual(expected, self.logs())
        self.end_well(*runs.values())
        self.assertEqual(expected, self.logs())

    def logs(self):
        """What the workers of each node have written, start by start."""
        return {number: [path.read_text() for path in sorted((self.folder / f"logs{number}").glob(
            "job_????????/attempt_*/0/stdout.log"))] for number in (1, 2, 3)}


class Budget(Killing):
    def test_the_loss_after_the_last_change_is_the_end(self):
        runs = self.form(4, "--max-membership-restarts=1")
        killed = time.time()
        self.kill_launch(runs.pop(4))
        self.wait_for_round(3, since=killed)
        self.kill_agent(runs.pop(3))
        self.expect([1, 1], [*runs.values()])
        for run in runs.values():
            self.assert_says(run, "--max-membership-restarts")
        self.assert_rounds(4, 3)

    def test_a_node_that_comes_uses_it_up_too(self):
        runs = self.form(2, "--max-membership-restarts=1")
        runs[3] = self.member(3, "--max-membership-restarts=1")
        self.wait_for_round(3)
        self.kill_launch(runs.pop(3))
        self.expect([1, 1], [*runs.values()])
        for run in runs.values():
            self.assert_says(run, "--max-membership-restarts")
        self.assert_rounds(2, 3)

    def test_when_it_is_spent_a_node_that_comes_stands_by(self):
        runs = self.form(2, "--max-membership-restarts=0")
        runs[3] = self.member(3, "--max-membership-restarts=0")
        self.assert_undisturbed(runs.values(), 2)
        self.end_well(*runs.values())
        self.assert_rounds(2)


class Leaving(Killing):
    def test_a_node_that_is_told_to_stop_leaves_the_others_alone(self):
        runs = self.form(3)
        before = self.wait_for_round(3)
        told = time.time()
        leaver = runs.pop(3)
        leaver.signal(signal.SIGTERM)
        workers = self.wait_for_round(2, since=told)
        self.assertEqual({1, 2}, {start.node for start in workers})
        self.assertLess(milliseconds(told, workers), SOON)
        self.assert_order_kept(before, workers)
        self.expect([143], [leaver])
        for run in runs.values():
            self.assert_says(run, rf"{re.escape(self.address(3))}\b.* leaves\b.*SIGTERM")
        self.end_well(*runs.values())
        self.assert_rounds(3, 2)

    def test_nobody_runs_again_before_all_workers_of_the_last_round_have_ended(self):
        self.script = self.worker("trap 'sleep 1; echo \"end $(date +%s.%N) $1 $$\" >> \"$TEST_FOLDER/told\"; exit 0' "
                                  "TERM\n", START, UNTIL_GO)
        runs = self.form(3)
        told = time.time()
        runs[3].signal(signal.SIGTERM)
        workers = self.wait_for_round(2, since=told)
        ends = self.ends()
        self.assertEqual({1, 2, 3}, set(ends))
        self.assertLess(max(ends.values()), min(start.time for start in workers))
        self.expect([143], [runs[3]])
        self.end_well(runs[1], runs[2])
        self.assert_rounds(3, 2)

    def test_a_node_lost_in_the_exit_barrier_makes_all_start_anew(self):
        self.script = self.worker(START, 'while [ ! -e "$TEST_FOLDER/go" ]; do\n'
                                         '[ -e "$TEST_FOLDER/done.$1" ] && exit 0\nsleep 0.05\ndone\n')
        runs = self.form(3)
        for number in (1, 3):
            (self.folder / f"done.{number}").touch()
        for number in (1, 3):
            self.wait_until_said(runs[number], "waiting for the other nodes (2 of 3 have finished)")
        self.forget("done.*")
        killed = time.time()
        runs[3].signal(signal.SIGKILL)
        workers = self.wait_for_round(2, since=killed)
        self.assertEqual({1, 2}, {start.node for start in workers})
        self.finish(runs[3])
        self.end_well(runs[1], runs[2])

    def warn_and_save(self, *warned):
        """A job of 3 of which these nodes are warned; their workers take a second to save, and end."""
        self.script = self.worker("trap 'sleep 1; exit 0' USR1\n", START, UNTIL_GO)
        runs = self.form(3, "--preempt-signal=SIGUSR1")
        for number in warned:
            runs[number].signal(signal.SIGUSR1)
        return runs

    def test_a_node_that_was_warned_leaves_when_its_workers_have_saved(self):
        told = time.time()
        runs = self.warn_and_save(3)
        workers = self.wait_for_round(2, since=told)
        self.assertEqual({1, 2}, {start.node for start in workers})
        self.expect([0], [runs[3]])
        for number in (1, 2):
            self.assert_says(runs[number], r"leaves: after an early warning by SIGUSR1: its workers have ended")
        self.end_well(runs[1], runs[2])
        self.assert_rounds(3, 2)

    def test_where_all_are_warned_all_have_their_time_to_save(self):
        runs = self.warn_and_save(3, 2, 1)
        self.expect([0, 0, 0], runs.values())
        self.assert_rounds(3)

    def lose_the_store(self, kill):
        runs = self.form(3, "--quorum=none")
        killed = time.time()
        kill(runs.pop(1))
        self.finish(*runs.values(), seconds=20)
        for run in runs.values():
            self.assertNotEqual(0, run.code, str(run))
            self.assertLess(run.ended - killed, 5)
            self.assert_says(run, r"lost contact with .*store|node 0 \(host \S+\): launch was killed")
        self.assert_rounds(3)

    def test_when_the_launch_with_the_store_is_killed_every_node_ends(self):
        self.lose_the_store(self.kill_launch)

    def test_when_the_agent_with_the_store_is_killed_every_node_ends(self):
        self.lose_the_store(self.kill_agent)


class FirstRank(Killing):
    """Ranks go by addresses; here the last node has the lowest one."""

    def setUp(self):
        super().setUp()
        self.script = self.worker('echo "master $MASTER_ADDR" >> "$TEST_FOLDER/told"\n', START, UNTIL_GO)

    def address(self, number):
        return f"127.0.0.{9 - number}"

    def test_the_next_node_takes_its_place(self):
        runs = self.form(4)
        before = self.wait_for_round(4)
        self.assertEqual([4, 3, 2, 1], [start.node for start in before])
        killed = time.time()
        self.kill_agent(runs.pop(4))
        workers = self.wait_for_round(3, since=killed)
        self.assert_order_kept(before, workers)
        self.assertLess(milliseconds(killed, workers), SOON)
        self.end_well(*runs.values())
        self.assert_rounds(4, 3)
        self.assertEqual([[self.address(4)]] * 4 + [[self.address(3)]] * 3, self.told("master"))

    def test_two_that_are_lost_at_once(self):
        """The news of one may be under way to the other: that connection is reset, which proves no end."""
        runs = self.form(4, "--heartbeat-timeout=5")
        killed = time.time()
        self.kill_launch(runs.pop(4))
        self.kill_agent(runs.pop(2))
        workers = self.wait_for_round(2, since=killed)
        self.assertEqual([3, 1], [start.node for start in workers])
        self.assertLess(milliseconds(killed, workers), SOON)
        self.end_well(*runs.values())

    def test_where_it_may_not_leave_the_others_end_with_one_verdict(self):
        runs = self.form(3, "--max-membership-restarts=0")
        leaver = runs.pop(3)
        leaver.signal(signal.SIGTERM)
        self.expect([143, 1, 1], [leaver, *runs.values()])
        verdicts = [run.err[run.err.index("FAILED"):] for run in runs.values()]
        self.assertEqual(verdicts[0], verdicts[1])
        self.assertRegex(verdicts[0], r"no report      from node 0\n")


class Sleeping(Killing):
    def setUp(self):
        super().setUp()
        self.script = self.worker(TELL_END, START, UNTIL_GO)

    def test_less_than_the_timeout_harms_nobody(self):
        runs = self.form(3, "--heartbeat-timeout=5", "--quorum=host")
        for run in (runs[3], runs[1]):
            agent = self.agent_of(run)
            os.kill(agent, signal.SIGSTOP)
            self.assert_undisturbed(runs.values(), 3.5)  # sim/nap_sim_test has the exact limit
            os.kill(agent, signal.SIGCONT)
            self.assert_undisturbed(runs.values(), 2)
        self.end_well(*runs.values())
        self.assert_rounds(3)

    def test_who_slept_too_long_comes_back_as_a_new_node(self):
        runs = self.form(3, "--heartbeat-timeout=2")
        agent = self.agent_of(runs[3])
        slept = time.time()
        os.kill(agent, signal.SIGSTOP)
        (worker,) = (start.pid for start in self.starts() if start.node == 3)
        workers = self.wait_for_round(2, since=slept)
        self.assertNotIn(processes.state(worker), ("R", "S", "D"), "its guard has killed it before")
        self.assertEqual({1, 2}, {start.node for start in workers})
        self.assert_undisturbed(runs.values(), 1)
        woken = time.time()
        os.kill(agent, signal.SIGCONT)
        workers = self.wait_for_round(3, since=woken)
        self.assertLess(max(self.ends().values()), min(start.time for start in workers))
        self.end_well(*runs.values())
        self.assert_rounds(3, 2, 3)

    def test_when_the_host_has_slept_too_long_all_meet_again(self):
        runs = self.form(3, "--heartbeat-timeout=5")
        agent = self.agent_of(runs[1])
        os.kill(agent, signal.SIGSTOP)
        self.assertTrue(wait_for(lambda: {2, 3} <= self.ends().keys(), 20), self.account())
        woken = time.time()
        os.kill(agent, signal.SIGCONT)
        workers = self.wait_for_round(3, since=woken)
        self.assertEqual({1, 2, 3}, {start.node for start in workers})
        self.end_well(*runs.values())

    def test_without_the_host_of_the_store_every_node_ends(self):
        runs = self.form(3, "--heartbeat-timeout=2", "--quorum=host")
        agent = self.agent_of(runs[1])
        slept = time.time()
        os.kill(agent, signal.SIGSTOP)
        others = [runs[2], runs[3]]
        self.finish(*others, seconds=20)
        for run in others:
            self.assertNotEqual(0, run.code, str(run))
            self.assertLess(run.ended - slept, 2 * 2 + 2)
            self.assert_says(run, "(lost contact with .*store|store.* does not answer)")
        os.kill(agent, signal.SIGCONT)
        self.wait_until_said(runs[1], "waiting for more nodes (1 of 2 to 4 have joined)")
        runs[1].signal(signal.SIGTERM)
        self.expect([143], [runs[1]])
        self.assert_rounds(3)
