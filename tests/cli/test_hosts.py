"""Nodes on hosts of their own: what one machine cannot show."""
import re

import hosts
from harness import Settings, free_port, wait_for
from job import SLEEP, UP, JobCase


class OnHosts(JobCase):
    def setUp(self):
        super().setUp()
        self.need(hosts.possible(), "network namespaces (root, iproute2)")

    def node_on(self, place, number, rank, *command, nnodes=2, port, options=()):
        """The launch of node `rank` on host `number`; host 1 is the master."""
        line = [Settings.launch, f"--nnodes={nnodes}", f"--node-rank={rank}", f"--master-addr={hosts.address(1)}",
                f"--master-port={port}", *options, *command]
        return self.start(place.inside(number, *line))

    def test_two_hosts_form_a_job(self):
        with hosts.Hosts(2) as place:
            port = free_port()
            runs = [self.node_on(place, rank + 1, rank, self.worker(UP), port=port) for rank in (0, 1)]
            self.expect([0, 0], runs, seconds=20)
            self.assertEqual([0, 1], self.up())

    def test_node_rank_0_on_both_hosts(self):
        """Each opens a store of its own; the one whose address nobody typed must not wait there for ever."""
        for first in (1, 2):
            with self.subTest(first=first), hosts.Hosts(2) as place:
                port = free_port()
                runs = [self.node_on(place, number, 0, self.worker(UP), port=port) for number in (first, 3 - first)]
                self.expect([2, 2], runs, seconds=20)
                for run in runs:
                    self.assert_says(run, r"--node-rank 0 is used twice")
                self.assertEqual([], self.up(), "workers were started")

    def test_swapped_hosts_are_named_while_they_wait(self):
        with hosts.Hosts(2) as place:
            port = free_port()
            runs = [self.node_on(place, 2 - rank, rank, self.worker(UP), port=port,
                                 options=["--rdzv-conf=timeout=8"]) for rank in (0, 1)]
            address = hosts.address(1).replace(".", r"\.")
            says = [rf"the master address {address} \(--master-addr\) is another machine's, though this is node 0",
                    rf"the master address {address} \(--master-addr\) is this machine, where node 0 does not answer"]
            for run, what in zip(runs, says):
                self.assertTrue(wait_for(lambda: re.search(what, run.err), 5), str(run))
                self.assertIsNone(run.wait(0), "it does not go on waiting")
            self.expect([124, 124], runs, seconds=20)
            self.assertEqual([], self.up(), "workers were started")

    def test_a_failure_is_known_on_the_other_host(self):
        with hosts.Hosts(2) as place:
            port = free_port()
            runs = [self.node_on(place, 1, 0, self.worker(UP, SLEEP, name="sleeper"), port=port),
                    self.node_on(place, 2, 1, self.worker("exit 7\n"), port=port)]
            self.expect([7, 7], runs, seconds=20)
            self.assert_says(runs[0], r"rank 1\b")
