"""c10d jobs and restarts with workers of a few lines: who gets which rank, what is counted, and how it ends."""
import re
import signal

import processes
import wire
from harness import free_port, wait_for
from job import SLEEP, UNTIL_ALL_UP, UP, JobCase

TELL = 'echo "attempt $TORCHELASTIC_RESTART_COUNT rank $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT"\n'


def fail_before(attempt, code=7, rank=1):
    """Every rank waits for the others of its attempt; then this rank fails in the attempts before `attempt`."""
    return ('a=$TORCHELASTIC_RESTART_COUNT; : > "$TEST_FOLDER/in.$a.$RANK"\n'
            'while [ "$(ls "$TEST_FOLDER" | grep -c "^in\\.$a\\.")" -lt "$WORLD_SIZE" ]; do sleep 0.02; done\n'
            f'if [ "$RANK" = {rank} ] && [ "$a" -lt {attempt} ]; then exit {code}; fi\n')


class ElasticCase(JobCase):
    def told(self, runs):
        """(attempt, rank, size) of every worker that has spoken."""
        text = "".join(run.out for run in runs)
        return sorted((int(a), int(r), int(s)) for a, r, s in re.findall(r"attempt (\d+) rank (\d+) of (\d+)", text))


class Forming(ElasticCase):
    def test_ranks_are_dealt_out_and_all_meet_at_one_place(self):
        runs = self.elastic(3, self.worker(TELL), nproc=2)
        self.expect([0] * 3, runs)
        self.assertEqual([(0, rank, 6) for rank in range(6)], self.told(runs))
        self.assertEqual(1, len(set(re.findall(r" at (\S+)", "".join(run.out for run in runs)))))

    def test_ranks_go_by_the_addresses_that_the_nodes_name(self):
        port = free_port()
        runs = [self.elastic(1, self.worker(TELL), nnodes=2, port=port, options=[f"--local-addr={address}"])[0]
                for address in ("127.0.0.2", "127.0.0.1")]
        self.expect([0, 0], runs)
        self.assertIn("rank 1 of 2", runs[0].out)
        self.assertRegex(runs[1].out, r"rank 0 of 2 at 127\.0\.0\.1:\d+")

    def test_a_node_rank_is_ignored_and_said_so(self):
        runs = self.elastic(2, self.worker(TELL), options=["--node-rank=1"])
        self.expect([0, 0], runs)
        self.assertEqual([(0, 0, 2), (0, 1, 2)], self.told(runs))
        self.assert_says(runs[0], "--node-rank ignored: --rdzv-backend c10d assigns ranks")

    def test_where_nobody_hosts_the_store_it_is_missed(self):
        (run,) = self.elastic(1, self.worker(TELL), nnodes=2, options=["--rdzv-conf=is_host=0,join_timeout=1"])
        self.expect([124], [run])
        self.assert_says(run, r"timed out after 1 s: its store is missing: .*refused")

    def test_a_port_that_an_ended_connection_keeps_is_waited_for(self):
        port = self.port_of_an_ended_connection()
        (run,) = self.elastic(1, self.worker(TELL), nnodes=2, port=port,
                              options=["--rdzv-conf=is_host=1,join_timeout=2"])
        self.expect([124], [run])
        self.assert_says(run, f"waiting until port {port} is free")

    def test_a_node_that_comes_later_joins_in(self):
        port = free_port()
        worker = self.worker(TELL, 'while [ "$WORLD_SIZE" = 1 ]; do sleep 0.02; done\n')
        first = self.elastic(1, worker, nnodes="1:2", port=port, options=["--rdzv-conf=last_call_timeout=1"])
        self.assertTrue(wait_for(lambda: "of 1 at" in first[0].out, 20), str(first[0]))
        second = self.elastic(1, worker, nnodes="1:2", port=port, options=["--rdzv-conf=last_call_timeout=1"])
        self.expect([0, 0], [*first, *second])
        self.assertEqual([(0, 0, 1), (0, 0, 2), (0, 1, 2)], self.told([*first, *second]))

    def test_the_last_call_ends_without_the_maximum(self):
        runs = self.elastic(2, self.worker(TELL), nnodes="1:3", options=["--rdzv-conf=last_call_timeout=4"])
        self.expect([0] * 2, runs)
        self.assertEqual([(0, 0, 2), (0, 1, 2)], self.told(runs))

    def test_a_node_with_another_heartbeat_timeout_is_told_so(self):
        port = free_port()
        worker = self.worker(UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n')
        first = self.elastic(1, worker, nnodes="1:2", port=port, options=["--rdzv-conf=last_call_timeout=1"])
        self.wait_until_up(1, *first)
        second = self.elastic(1, worker, nnodes="1:2", port=port, options=["--heartbeat-timeout=60"])
        self.expect([2], second)
        why = r'conflicting --heartbeat-timeout: .* has "60 s", the job has "30 s"'
        self.assert_says(second[0], why)
        (self.folder / "go").touch()
        self.expect([0], first)
        self.assert_says(first[0], "a node is not let in: " + why)
        self.assertNotRegex(first[0].err, "restarting all workers")

    def test_a_spare_ends_well_when_it_was_not_needed(self):
        port = free_port()
        worker = self.worker(UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n')
        members = self.elastic(2, worker, port=port)
        self.wait_until_up(2, *members)
        (spare,) = self.elastic(1, worker, nnodes=2, port=port)
        self.assertTrue(wait_for(lambda: "standing by" in spare.err, 20), str(spare))
        (self.folder / "go").touch()
        self.expect([0] * 3, [*members, spare])

    def test_the_next_job_at_the_same_place_is_a_new_one(self):
        port = free_port()
        worker = self.worker(UP, UNTIL_ALL_UP, "exit 7\n")
        self.expect([7, 7], self.elastic(2, worker, port=port))
        late = self.elastic(1, worker, nnodes=2, port=port)
        self.assertTrue(wait_for(lambda: "have joined)" in late[0].err, 20), str(late[0]))
        late[0].signal(signal.SIGTERM)
        self.expect([143], late)

    def test_a_wait_in_vain_is_counted(self):
        (run,) = self.elastic(1, self.worker(UP), nnodes=2, options=["--rdzv-conf=join_timeout=1"])
        self.expect([124], [run])
        self.assert_says(run, r"timed out after 1 s: 1 of at least 2 nodes joined")


class Restarting(ElasticCase):
    def test_all_nodes_start_anew_and_count_the_same(self):
        runs = self.elastic(2, self.worker(TELL, fail_before(2)), nproc=2, options=["--max-restarts=3"])
        self.expect([0, 0], runs)
        self.assertEqual([(attempt, rank, 4) for attempt in range(3) for rank in range(4)], self.told(runs))
        for run in runs:
            self.assert_says(run, r"exit code 7; restarting all workers, restart 1 of 3", "restart 2 of 3")

    def test_static_jobs_too(self):
        runs = self.nodes([2, 1], self.worker(TELL, fail_before(1)), options=["--max-restarts=1"])
        self.expect([0, 0], runs)
        self.assertEqual([(attempt, rank, 3) for attempt in range(2) for rank in range(3)], self.told(runs))

    def test_the_window_counts_the_restarts_of_all_nodes(self):
        # In each attempt another node fails.
        worker = self.worker('a=$TORCHELASTIC_RESTART_COUNT; : > "$TEST_FOLDER/in.$a.$RANK"\n'
                             'while [ "$(ls "$TEST_FOLDER" | grep -c "^in\\.$a\\.")" -lt 3 ]; do sleep 0.02; done\n'
                             'if [ "$RANK" = "$a" ]; then exit 7; fi\n', SLEEP)
        within = ["--max-restarts=1", "--restart-window=600"]
        for form in (lambda: self.elastic(3, worker, options=within),
                     lambda: self.nodes([1, 1, 1], worker, options=within)):
            runs = form()
            with self.subTest(command=runs[0].command):
                self.expect([7] * 3, runs)
                for run in runs:
                    self.assert_says(run, r"workers, restart 1 \(1 of 1 within 10 min\)",
                                     r"not restarted  limit reached \(--max-restarts=1 within 10 min\)")
            self.forget("in.*")

    def test_a_restart_counts_that_nobody_came_to_count(self):
        # The failure is told by one that goes away before it writes the count.
        port = free_port()
        worker = self.worker(TELL, UP, 'if [ "$TORCHELASTIC_RESTART_COUNT" = 1 ]; then exit 0; fi\n', SLEEP)
        runs = self.elastic(2, worker, port=port, options=["--max-restarts=3"])
        self.wait_until_up(2, *runs)
        failure = b'{"kind":"worker","exit_code":7,"restart":true,"restarts":1,"node_rank":1,"rank":1,"what":"code 7"}'
        wire.Client(port).compare_set("/torch.rendezvous.job.0/launch/abort", b"", failure)
        self.expect([0, 0], runs)
        self.assertEqual([(attempt, rank, 2) for attempt in range(2) for rank in range(2)], self.told(runs))

    def test_the_last_failure_is_the_verdict_everywhere(self):
        worker = self.worker(fail_before(9))
        for form in (self.elastic, lambda count, *rest, **more: self.nodes([1] * count, *rest, **more)):
            runs = form(2, worker, options=["--max-restarts=1"])
            with self.subTest(command=runs[0].command):
                self.expect([7, 7], runs)
                for run in runs:
                    self.assert_says(run, r"root cause     rank 1 ",
                                     r"not restarted  limit reached \(--max-restarts=1\)")
            self.forget("in.*")

    def test_ends_that_are_not_to_be_restarted_after(self):
        run = self.launch("--nproc-per-node=2", "--max-restarts=3", "--fail-on=7", self.worker(fail_before(1)))
        self.expect([7], [run])
        self.assert_says(run, "--fail-on names it")

    def test_a_worker_that_cannot_start_is_tried_again(self):
        run = self.launch("--max-restarts=1", "--no-python", "/bin/sh/nothing")
        self.expect([127], [run])
        self.assert_says(run, "restart 1 of 1")

    def test_workers_live_that_are_started_after_others_were_killed(self):
        worker = self.worker('if [ "$TORCHELASTIC_RESTART_COUNT" = 1 ]; then exit 0; fi\n', 'trap "" TERM\n', UP,
                             UNTIL_ALL_UP, 'if [ "$RANK" = 1 ]; then exit 7; fi\n', "while :; do sleep 0.1; done\n")
        run = self.launch("--nproc-per-node=2", "--max-restarts=1", "--shutdown-timeout=1", worker)
        self.expect([0], [run])
        self.assert_says(run, "sending SIGKILL", "restart 1 of 1")

    def test_a_signal_ends_the_job_between_two_attempts_too(self):
        worker = self.worker('trap "" TERM\n', UP, UNTIL_ALL_UP, 'if [ "$RANK" = 1 ]; then exit 7; fi\n', SLEEP)
        run = self.launch("--nproc-per-node=2", "--max-restarts=3", "--shutdown-timeout=3", worker)
        self.wait_until_up(2, run)
        self.assertTrue(wait_for(lambda: not self.alive_rank(1), 20))
        run.signal(signal.SIGTERM)
        run.signal(signal.SIGINT)
        self.finish(run, seconds=40)
        self.assertIn(run.code, (130, 143), str(run))

    def alive_rank(self, rank):
        return processes.marked(f"RANK={rank}") & self.leftovers()
