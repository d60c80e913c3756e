"""An agent that stands still: its guard ends the workers before the other nodes go on, and hears the third Ctrl-C."""
import os
import signal
import time

import processes
from harness import wait_for
from job import SLEEP, UP, JobCase
from members import START, UNTIL_GO, MembersCase

PATIENCE = 4  # seconds of --heartbeat-timeout
NOTE = 'echo $$ > "$TEST_FOLDER/pid.$RANK"\n'
STUBBORN = "trap '' TERM INT HUP QUIT\n" + UP + "while :; do sleep 1; done\n"
HELPER = "setsid sleep 300 &\n"
# A worker of a round of two looks whether a process of the round of three still runs, though its parent may not have
# been told of its end.
LOOK_AROUND = ('if [ "$WORLD_SIZE" = 2 ]; then\n'
               'for pid in $(sed -n "s/^start [^ ]* [^ ]* [^ ]* 3 .* //p" "$TEST_FOLDER/told"); do\n'
               'state=$(sed -n "s/^State:[^A-Z]*\\(.\\).*/\\1/p" "/proc/$pid/status" 2>/dev/null)\n'
               'case "$state" in ""|Z|X) ;; *) echo "beside $1 $pid $state" >> "$TEST_FOLDER/told" ;; esac\n'
               'done\nfi\n')


class FrozenCase(JobCase):
    """The agent is stopped; its guard lives."""

    def freeze(self, run):
        agent = self.agent_of(run)
        os.kill(agent, signal.SIGSTOP)
        self.addCleanup(self.thaw, agent)
        return agent

    def thaw(self, agent):
        try:
            os.kill(agent, signal.SIGCONT)
        except ProcessLookupError:
            pass


class Frozen(FrozenCase):
    def pid_of(self, rank):
        path = self.folder / f"pid.{rank}"
        self.assertTrue(wait_for(lambda: path.exists() and path.read_text().endswith("\n"), 20))
        return int(path.read_text())

    def test_its_workers_are_ended_and_it_says_why_when_it_wakes(self):
        runs = self.nodes([1, 2], self.worker(HELPER, NOTE, UP, SLEEP), options=[f"--heartbeat-timeout={PATIENCE}"])
        self.wait_until_up(3, *runs)
        workers = [self.pid_of(rank) for rank in (1, 2)]
        agent = self.freeze(runs[1])
        below = processes.descendants_of(agent)
        self.assertLessEqual(set(workers), below)
        self.assertTrue(wait_for(lambda: not any(map(processes.alive, below)), 20), self.tree())
        self.expect([1], runs[:1])
        self.assert_says(runs[0], r"node 1 \(host \S+\): no heartbeat of its launch process for 4 s")
        said = r"the agent of this launch \(pid \d+\) has been frozen for \S+ s"
        self.assertTrue(wait_for(lambda: "has been frozen for" in runs[1].err, 10), str(runs[1]))
        self.assert_says(runs[1], said)
        self.assertEqual("T", processes.state(agent))
        self.thaw(agent)
        self.expect([1], runs[1:])
        self.assert_says(runs[1], r"its launch process was frozen for \S+ s, so its guard ended the workers")

    def test_a_job_of_one_node_goes_on(self):
        run = self.launch("--heartbeat-timeout=1", self.worker(UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05\n'
                                                                   'done\n'))
        self.wait_until_up(1, run)
        agent = self.freeze(run)
        self.assertFalse(wait_for(lambda: run.err, 2), str(run))
        self.thaw(agent)
        (self.folder / "go").touch()
        self.expect([0], [run])


class FrozenMember(MembersCase):
    def test_no_worker_of_it_runs_beside_the_next_round(self):
        self.script = self.worker(START, LOOK_AROUND, UNTIL_GO)
        runs = self.form(3, f"--heartbeat-timeout={PATIENCE}", "--nproc-per-node=1", nnodes="2:3")
        agent = self.agent_of(runs[3])
        stopped = time.time()
        os.kill(agent, signal.SIGSTOP)
        try:
            self.wait_for_round(2, since=stopped)
        finally:
            os.kill(agent, signal.SIGCONT)
        self.assertEqual([], self.told("beside"), self.account())
        last = max(start.time for start in self.starts() if start.size == 2)
        self.wait_for_round(3, since=last, seconds=30)
        self.wait_until_said(runs[3], "has been frozen for")
        self.end_well(*runs.values())
        self.assertEqual({0}, {start.restarts for start in self.starts()}, self.account())


class ThirdSignal(FrozenCase):
    def press(self, run, number=signal.SIGINT):
        """Sends it and waits until the guard has taken it: two of them at once would be one."""
        run.signal(number)
        self.assertTrue(wait_for(lambda: run.wait(0) is not None or not processes.is_pending(run.pid, number), 20))

    def test_ends_all_though_the_agent_is_stopped(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                self.forget()
                run = self.launch("--nproc-per-node=2", "--shutdown-timeout=60", self.worker(HELPER, STUBBORN))
                self.wait_until_up(2, run)
                self.freeze(run)
                for _ in range(3):
                    self.press(run, number)
                self.expect([128 + number], [run], seconds=20)
                self.assert_says(run, r"told to stop three times, but the agent of this launch .* does not answer")

    def test_ends_all_though_the_agent_has_heard_the_first(self):
        run = self.launch("--shutdown-timeout=60", self.worker(HELPER, STUBBORN))
        self.wait_until_up(1, run)
        self.press(run)
        self.assertTrue(wait_for(lambda: "received SIGINT" in run.err, 20), str(run))
        self.freeze(run)
        self.press(run)
        self.press(run)
        self.expect([130], [run], seconds=20)

    def test_two_leave_a_stopped_agent_alone(self):
        run = self.launch("--shutdown-timeout=60", self.worker(STUBBORN))
        self.wait_until_up(1, run)
        agent = self.freeze(run)
        self.press(run)
        self.press(run)
        self.assertIsNone(run.wait(2), str(run))
        self.thaw(agent)
        self.assertTrue(wait_for(lambda: "received SIGINT" in run.err, 20), str(run))
        self.press(run)
        self.press(run)
        self.expect([130], [run], seconds=20)
