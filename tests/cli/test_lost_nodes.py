"""Nodes whose launch goes away without a word, or sleeps; and how those who wait are kept informed."""
import os
import pty
import re
import signal
import time

import processes
from harness import free_port, wait_for
from job import SLEEP, UP, JobCase


class LostCase(JobCase):
    def running_job(self, nodes=3, options=()):
        runs = self.nodes([1] * nodes, self.worker(UP, SLEEP), options=["--shutdown-timeout=2", *options])
        self.wait_until_up(nodes, *runs)
        return runs

    def kill(self, run):
        """All at once, as when a host loses its power."""
        agent = self.agent_of(run)
        run.signal(signal.SIGSTOP)
        processes.kill([agent])
        run.signal(signal.SIGKILL)

    def assert_nobody_ends(self, runs, seconds):
        self.assertFalse(wait_for(lambda: any(run.wait(0) is not None for run in runs), seconds),
                         "\n".join(str(run) for run in runs))


class Lost(LostCase):
    def test_a_killed_launch_ends_the_job_and_says_so(self):
        for victim in (1, 0):
            with self.subTest(victim=victim):
                runs = self.running_job()
                runs[victim].signal(signal.SIGKILL)
                killed = time.time()
                self.expect([137, 137, 137], runs, seconds=20)
                for run in runs:
                    self.assertLess(run.ended - killed, 10)
                    said = lambda run=run: re.search(rf"node {victim} \(host \S+\): launch was killed", run.err)
                    self.assertTrue(wait_for(said, 5), str(run))
                self.forget()

    def test_a_lost_agent_ends_the_job_on_the_other_nodes(self):
        runs = self.running_job()
        processes.kill([self.agent_of(runs[1])])
        killed = time.time()
        self.assertEqual([1, 137, 1], self.finish(*runs, seconds=20))
        self.assert_says(runs[1], "the agent of this launch .* was ended by signal 9")
        for run in (runs[0], runs[2]):
            self.assert_says(run, r"node 1 \(host \S+\): its launch process died without a report")
            self.assertLess(run.ended - killed, 10)

    def test_a_second_lost_node_is_not_waited_for(self):
        runs = self.running_job(4, ["--heartbeat-timeout=3"])
        agents = [self.agent_of(run) for run in runs]
        os.kill(agents[3], signal.SIGSTOP)  # it hears of the other one's end, but does not tell of its own
        self.kill(runs[2])
        killed = time.time()
        self.assertEqual([1, 1], self.finish(*runs[:2], seconds=20))
        for run in runs[:2]:
            self.assertLess(run.ended - killed, 8)
            self.assert_says(run, r"root cause     node 2 ", r"no report      from node 3\b")
        os.kill(agents[3], signal.SIGCONT)
        self.finish(runs[3])

    def test_without_the_store_every_node_ends(self):
        runs = self.running_job()
        self.kill(runs[0])
        self.assertEqual([137, 1, 1], self.finish(*runs, seconds=20))
        for run in runs[1:]:
            self.assert_says(run, "lost contact with the store of node 0")

    def test_a_silent_agent_is_given_up_after_the_heartbeat_timeout(self):
        for silent in (1, 0):
            with self.subTest(silent=silent):
                runs = self.running_job(options=["--heartbeat-timeout=3"])
                agent = self.agent_of(runs[silent])
                os.kill(agent, signal.SIGSTOP)
                others = [run for run in runs if run is not runs[silent]]
                self.expect([1, 1], others, seconds=20)
                for run in others:
                    self.assert_says(run, "no heartbeat of its launch process for 3 s" if silent
                                     else "the store does not answer")
                os.kill(agent, signal.SIGCONT)
                self.expect([1], [runs[silent]], seconds=20)
                if silent:
                    self.assert_says(runs[silent], r"(launch|process) was frozen for \d")
                self.forget()

    def test_a_short_sleep_harms_nobody(self):
        runs = self.nodes([1] * 3, self.worker(UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n'),
                          options=["--heartbeat-timeout=4"])
        self.wait_until_up(3, *runs)
        for run in runs:
            agent = self.agent_of(run)
            os.kill(agent, signal.SIGSTOP)
            self.assert_nobody_ends(runs, seconds=1)
            os.kill(agent, signal.SIGCONT)
        self.assert_nobody_ends(runs, seconds=1)
        (self.folder / "go").touch()
        self.expect([0, 0, 0], runs)

    def test_a_node_that_has_ended_well_may_go(self):
        runs = self.nodes([1, 1, 1], self.worker(UP, 'if [ "$RANK" != 1 ]; then\n',
                                                 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\nfi\n'))
        self.wait_until_up(3, *runs)
        self.assertTrue(wait_for(lambda: "1 of 3 have finished" in runs[1].err, 20), str(runs[1]))
        self.kill(runs[1])
        (self.folder / "go").touch()
        self.assertEqual([0, 137, 0], self.finish(*runs))


    def test_a_node_that_has_ended_well_ends_with_a_job_that_has_lost_its_store(self):
        runs = self.nodes([1, 1, 1], self.worker(UP, 'if [ "$RANK" != 1 ]; then exec sleep 300; fi\n'))
        self.wait_until_up(3, *runs)
        self.assertTrue(wait_for(lambda: "1 of 3 have finished" in runs[1].err, 20), str(runs[1]))
        self.kill(runs[0])
        self.expect([137, 1, 1], runs)
        for run in runs[1:]:
            self.assert_says(run, "reported by .* lost contact with the store of node 0")


class Elastic(LostCase):
    def hosted_by_the_first(self, count, *command, **how):
        """A c10d job whose first launch hosts the store; started at once, any of them may."""
        (first,) = self.elastic(1, *command, **how)
        self.assertTrue(wait_for(lambda: "have joined)" in first.err, 20), str(first))
        return [first, *self.elastic(count - 1, *command, **how)]

    def test_the_others_form_anew_without_a_node_that_was_killed(self):
        tell = 'echo "rank $RANK of $WORLD_SIZE"; if [ "$WORLD_SIZE" = 2 ]; then exit 0; fi\n'
        runs = self.hosted_by_the_first(3, self.worker(tell, UP, SLEEP), nnodes="2:3", port=free_port(), options=[
            "--shutdown-timeout=2", "--rdzv-conf=last_call_timeout=4,keep_alive_interval=1"])
        self.wait_until_up(3, *runs)
        last = [run for run in runs if "rank 2 of 3" in run.out][0]
        victim = last if last is not runs[0] else [run for run in runs if "rank 1 of 3" in run.out][0]
        self.kill(victim)
        others = [run for run in runs if run is not victim]
        self.expect([0, 0], others)
        self.assertEqual({"0", "1"}, {rank for run in others for rank in re.findall(r"rank (\d) of 2", run.out)})
        self.finish(victim)

    def test_a_node_that_has_ended_well_may_go(self):
        worker = self.worker('echo "rank $RANK"\n: > "$TEST_FOLDER/up.$RANK.$TORCHELASTIC_RESTART_COUNT"\n',
                             'while [ ! -e "$TEST_FOLDER/go" ] && [ ! -e "$TEST_FOLDER/end.$RANK" ]; '
                             'do sleep 0.02; done\n')
        runs = self.hosted_by_the_first(3, worker, nnodes=3, port=free_port(), options=["--max-restarts=1"])
        self.assertTrue(wait_for(lambda: all("rank" in run.out for run in runs), 20), str(runs[0]))
        (self.folder / f"end.{runs[2].out.split()[1]}").touch()
        self.assertTrue(wait_for(lambda: "1 of 3 have finished" in runs[2].err, 20), str(runs[2]))
        self.kill(runs[2])
        self.assert_nobody_ends(runs[:2], seconds=3)
        (self.folder / "go").touch()
        self.expect([0, 0, 137], runs)
        self.assertEqual(3, len(list(self.folder.glob("up.*"))), "workers were restarted")

    def test_a_node_that_has_ended_well_ends_with_a_job_that_has_lost_its_store(self):
        worker = self.worker(': > "$TEST_FOLDER/up.$RANK"\necho "rank $RANK"\n',
                             'while [ ! -e "$TEST_FOLDER/end.$RANK" ]; do sleep 0.02; done\n')
        runs = self.hosted_by_the_first(3, worker, nnodes="2:3", port=free_port(),
                                        options=["--rdzv-conf=last_call_timeout=20", "--shutdown-timeout=2",
                                                 "--quorum=none"])
        self.assertTrue(wait_for(lambda: all("rank" in run.out for run in runs), 20), str(runs[0]))
        (self.folder / f"end.{runs[2].out.split()[1]}").touch()
        self.assertTrue(wait_for(lambda: "1 of 3 have finished" in runs[2].err, 20), str(runs[2]))
        self.kill(runs[0])
        self.expect([137, 1, 1], runs)
        for run in runs[1:]:
            self.assert_says(run, "reported by .* lost contact with the job's store")

    def test_two_jobs_share_a_store_and_the_host_of_the_other_may_end(self):
        port = free_port()
        (first,) = self.elastic(1, self.worker("exit 0\n", name="a"), run_id="a", nnodes=2, port=port)
        self.assertTrue(wait_for(lambda: "have joined)" in first.err, 20), str(first))
        (second,) = self.elastic(1, self.worker("exit 0\n", name="b"), run_id="b", nnodes=2, port=port)
        self.assertTrue(wait_for(lambda: "have joined)" in second.err, 20), str(second))
        self.assert_says(second, r"is --rdzv-id b right\? this store also serves a; waiting for ")
        first.signal(signal.SIGTERM)
        self.assertEqual([143], self.finish(first))
        late = self.elastic(1, self.worker("exit 0\n", name="b"), run_id="b", nnodes=2, port=port)
        self.expect([0, 0], [second, *late])
        self.assert_says(second, "lost before a round formed; looking for it again")

    def test_two_jobs_at_one_place_form_separate_groups(self):
        port = free_port()
        tell = 'echo "job $TORCHELASTIC_RUN_ID rank $RANK of $WORLD_SIZE"\n'
        runs = {job: self.elastic(2, self.worker(tell, UP.replace("RANK", "TORCHELASTIC_RUN_ID.$RANK"),
                                                 'while [ "$(ls "$TEST_FOLDER" | grep -c "^up\\.")" -lt 4 ]; '
                                                 'do sleep 0.02; done\n', name=job), run_id=job, port=port)
                for job in "ab"}
        self.expect([0] * 4, runs["a"] + runs["b"])
        for job, members in runs.items():
            self.assertEqual([f"job {job} rank {rank} of 2" for rank in (0, 1)],
                             sorted(line for run in members for line in run.out.splitlines()))


class Waiting(JobCase):
    def test_on_a_terminal_the_line_is_written_anew(self):
        port = free_port()
        worker = self.worker("exit 0\n")
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        os.set_blocking(ours, False)
        run = self.node(0, 2, 1, worker, port=port, stderr=theirs)
        os.close(theirs)
        shown = [b""]

        def text():
            try:
                shown[0] += os.read(ours, 65536)
            except OSError:  # nothing new, or nobody writes any more
                pass
            return shown[0].decode()

        self.assertTrue(wait_for(lambda: text().count("\r") >= 3, 20), repr(text()))
        self.assertRegex(text(), r"\rlaunch: waiting for node 1 \(1 of 2 have joined\).*\x1b\[K")
        self.assertNotIn("\n", text())
        self.expect([0, 0], [run, self.node(1, 2, 1, worker, port=port)])
        self.assertTrue(text().endswith("\r\x1b[K"), repr(text()))

    def test_the_end_of_the_others_is_waited_for_and_said(self):
        runs = self.nodes([1, 1], self.worker('if [ "$RANK" = 1 ]; then\n',
                                              'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\nfi\n'))
        self.assertTrue(wait_for(lambda: "1 of 2 have finished" in runs[0].err, 20), str(runs[0]))
        (self.folder / "go").touch()
        self.expect([0, 0], runs)


class Unread(LostCase):
    """Standard error of node 1 is a full pipe: whoever writes there waits for its reader."""

    def job(self, *parts):
        end, pipe = os.pipe()
        self.addCleanup(os.close, end)
        os.set_blocking(end, False)
        os.set_blocking(pipe, False)
        self.filled = sum(iter(lambda: self.fill(pipe), 0))
        os.set_blocking(pipe, True)
        port = free_port()
        worker = self.worker('trap \': > "$TEST_FOLDER/told.$RANK"\' USR1\n', UP,
                             'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n', *parts)
        runs = [self.node(rank, 2, 1, worker, port=port, options=["--heartbeat-timeout=2"], **where)
                for rank, where in enumerate(({}, {"stderr": pipe}))]
        os.close(pipe)
        self.wait_until_up(2, *runs)
        return end, runs

    def fill(self, pipe):
        try:
            return os.write(pipe, b"." * 4096)
        except BlockingIOError:
            return 0

    def make_it_speak(self, run, times):
        told = self.folder / "told.1"
        for _ in range(times):
            run.signal(signal.SIGUSR1)
            self.assertTrue(wait_for(told.exists, 20), str(run))
            told.unlink()

    def text_of(self, pipe):
        """What is in the pipe after that which filled it."""
        said = [b""]

        def closed():
            try:
                piece = os.read(pipe, 65536)
            except BlockingIOError:
                return False
            said[0] += piece
            return not piece

        self.assertTrue(wait_for(closed, 20), repr(said[0][-1000:]))
        self.assertEqual(b"." * self.filled, said[0][:self.filled])
        return said[0][self.filled:].decode()

    def test_the_job_goes_on_and_ends_well(self):
        end, runs = self.job()
        self.make_it_speak(runs[1], 3)
        self.assert_nobody_ends(runs, seconds=3)
        (self.folder / "go").touch()
        self.expect([0, 0], runs, seconds=20)
        self.assertEqual("", self.text_of(end))  # nobody has read in time

    def test_a_reader_that_wakes_late_hears_all(self):
        end, runs = self.job('if [ "$RANK" = 1 ]; then exit 3; fi\n', SLEEP)
        self.make_it_speak(runs[1], 2)
        (self.folder / "go").touch()
        self.expect([3], runs[:1], seconds=20)
        self.assertFalse(wait_for(lambda: runs[1].wait(0) is not None, 1), str(runs[1]))
        text = self.text_of(end)
        self.expect([3], runs[1:], seconds=5)
        self.assertTrue(text.startswith("launch: passed SIGUSR1 on to the workers\n" * 2), text)
        self.assertRegex(text, r"root cause     rank 1\b.*exit code 3")

    def test_without_a_reader_a_failed_launch_ends_all_the_same(self):
        _, runs = self.job('if [ "$RANK" = 1 ]; then exit 3; fi\n', SLEEP)
        (self.folder / "go").touch()
        self.expect([3, 3], runs, seconds=20)
        self.assertGreater(runs[1].ended - runs[0].ended, 5)
