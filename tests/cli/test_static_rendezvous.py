"""Nodes that meet by node rank: what goes wrong is said on the nodes concerned, and no worker starts."""
import os
import signal
import socket

import wire
import wording
from harness import free_port, wait_for
from job import UP, JobCase


class Mistakes(JobCase):
    def tearDown(self):
        started = self.up()
        super().tearDown()
        self.assertEqual([], started, "workers were started")

    def start_nodes(self, *nodes, timeout=5):
        """`nodes`: pairs of node rank and the number of nodes that it believes in."""
        port = free_port()
        return [self.node(rank, count, 1, self.worker(UP), port=port, options=[f"--rdzv-conf=timeout={timeout}"])
                for rank, count in nodes]

    def test_node_rank_used_twice(self):
        runs = self.start_nodes((0, 3), (1, 3), (1, 3))
        codes = self.finish(*runs, seconds=20)
        self.assertEqual(2, codes[0], str(runs[0]))
        self.assertIn(2, codes[1:], f"{runs[1]}{runs[2]}")
        self.assertNotIn(0, codes)
        concerned = runs[1] if codes[1] == 2 else runs[2]
        for run in (runs[0], concerned):
            self.assert_says(run, r"(?i)node[- ]rank 1\b|--node[-_]rank")

    def test_nodes_disagree_about_their_number(self):
        for of_node_0, of_node_1 in ((2, 3), (3, 2)):
            with self.subTest(node_0=of_node_0, node_1=of_node_1):
                runs = self.start_nodes((0, of_node_0), (1, of_node_1))
                self.expect([2, 2], runs, seconds=20)
                for run in runs:
                    self.assert_says(run, "--nnodes", r"\b2\b", r"\b3\b")

    def test_nodes_disagree_about_how_long_silence_lasts(self):
        port = free_port()
        runs = [self.node(rank, 2, 1, self.worker(UP), port=port, options=[f"--heartbeat-timeout={seconds}"])
                for rank, seconds in enumerate((5, 60))]
        self.expect([2, 2], runs, seconds=20)
        for run in runs:
            self.assert_says(run, r'conflicting --heartbeat-timeout: node \d has "\d+ s", the job has "\d+ s"')

    def test_node_rank_beyond_what_node_0_believes(self):
        runs = self.start_nodes((0, 2), (2, 3))
        self.expect([2, 2], runs, seconds=20)

    def test_missing_node_is_named_by_every_node(self):
        runs = self.start_nodes((0, 4), (1, 4), timeout=5)
        self.expect([124, 124], runs, seconds=20)
        for run in runs:
            self.assert_says(run, wording.missing_nodes(2, 3))

    def test_missing_node_0_is_named(self):
        (run,) = self.start_nodes((1, 2), timeout=1)
        self.expect([124], [run], seconds=10)
        self.assert_says(run, r"(?i)node(s| ranks?)?:? +0\b", r"127\.0\.0\.1")
        self.assertLess(run.seconds, 8)

    def test_name_of_the_master_that_does_not_resolve(self):
        run = self.launch("--nnodes=2", "--node-rank=1", "--master-addr=no-such-host.invalid", "--master-port=29400",
                          "--rdzv-conf=timeout=2", self.worker(UP))
        self.expect([124], [run], seconds=15)
        self.assert_says(run, r"no-such-host\.invalid")
        self.assertLess(run.seconds, 12)

    def test_busy_port_names_the_port_and_its_holder(self):
        with socket.socket() as other:
            other.bind(("0.0.0.0", 0))
            other.listen()
            port = other.getsockname()[1]
            for sizes in (1, 2):
                with self.subTest(nodes=sizes):
                    run = self.node(0, sizes, 1, self.worker(UP), port=port)
                    self.expect([1], [run], seconds=20)
                    self.assert_says(run, wording.busy_port(port, os.getpid()))


class Meeting(JobCase):
    def test_another_client_of_the_store_does_not_delay_the_end(self):
        port = free_port()
        runs = self.nodes([1, 1], self.worker(UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n'), port=port)
        self.wait_until_up(2, *runs)
        stranger = wire.Client(port)
        self.assertEqual(1, stranger.add("stranger", 1))
        (self.folder / "go").touch()
        self.expect([0, 0], runs, seconds=10)

    def test_a_port_that_an_ended_connection_keeps_is_waited_for(self):
        port = self.port_of_an_ended_connection()
        run = self.node(0, 2, 1, self.worker(UP), port=port)
        self.assertTrue(wait_for(lambda: f"waiting until port {port} is free" in run.err, 10), str(run))
        run.signal(signal.SIGTERM)
        self.expect([143], [run], seconds=10)

    def test_the_wait_is_said_and_ends_when_the_other_node_comes(self):
        for first in (0, 1):
            with self.subTest(first=first):
                port = free_port()
                early = self.node(first, 2, 1, self.worker("exit 0\n"), port=port)
                self.assertTrue(wait_for(lambda: wording.own_lines(early.err), 20), "nothing said while waiting")
                self.assert_says(early, wording.WAITING)
                late = self.node(1 - first, 2, 1, self.worker("exit 0\n"), port=port)
                self.expect([0, 0], [early, late], seconds=20)

    def test_many_nodes(self):
        runs = self.nodes([1] * 16, self.worker(UP))
        self.expect([0] * 16, runs)
        self.assertEqual(list(range(16)), self.up())

    def test_two_jobs_of_one_node_at_once(self):
        """Each is still there when the other one starts."""
        meet = ': > "$TEST_FOLDER/port.$MASTER_PORT"\n' \
               'while [ "$(ls "$TEST_FOLDER" | grep -c "^port")" -lt 2 ]; do sleep 0.02; done\n'
        self.expect([0, 0], [self.launch("--nproc-per-node=2", self.worker(meet)) for _ in range(2)], seconds=20)

    def test_one_node_at_the_same_port_again_at_once(self):
        port = free_port()
        for _ in range(5):
            self.expect([0, 0], self.nodes([1, 1], self.worker("exit 0\n"), port=port), seconds=20)

    def test_ipv6(self):
        self.need(socket.has_ipv6 and os.path.exists("/proc/net/if_inet6"), "IPv6")
        for address in ("::1", "[::1]"):
            with self.subTest(address=address):
                self.meet_at([f"--master-addr={address}", f"--master-port={free_port()}"])
        self.meet_at([f"--rdzv-endpoint=[::1]:{free_port()}"])

    def test_endpoint_instead_of_master(self):
        self.meet_at([f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--master-addr=no-such-host.invalid"])

    def test_name_instead_of_address(self):
        self.meet_at(["--master-addr=localhost", f"--master-port={free_port()}"])

    def test_host_name_of_this_machine(self):
        self.meet_at([f"--master-addr={socket.gethostname()}", f"--master-port={free_port()}"])

    def meet_at(self, options):
        runs = [self.launch("--nnodes=2", f"--node-rank={rank}", *options, self.worker("exit 0\n")) for rank in (0, 1)]
        self.expect([0, 0], runs, seconds=20)
