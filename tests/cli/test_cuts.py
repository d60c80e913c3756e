"""Four hosts, and one of them goes: how long until every other launch has ended its workers and itself.

LAUNCH_CUT_ROUNDS says how often each kind of end takes its turn (1); the table tells median and worst.
"""
import os
import signal
import statistics
import time

import hosts
import processes
from harness import Settings, free_port, wait_for
from job import SLEEP, UP, JobCase

HEARTBEAT = 5
SILENT = 9000  # milliseconds until the end of a job of which a node stopped responding, on a busy machine


class Cuts(JobCase):
    builds = only = ("release",)  # waits for time-outs most of the time: once is enough

    def setUp(self):
        super().setUp()
        self.need(hosts.possible(), "network namespaces (root, iproute2)")

    # Each does its worst to a node and gives back what has to be undone before the test can end.

    def worker_fails(self, place, number, run):
        (self.folder / f"fail.{number - 1}").touch()

    def agent_killed(self, place, number, run):
        processes.kill([self.agent_of(run)])

    def launch_killed(self, place, number, run):
        run.signal(signal.SIGKILL)

    def agent_frozen(self, place, number, run):
        agent = self.agent_of(run)
        os.kill(agent, signal.SIGSTOP)
        return lambda: os.kill(agent, signal.SIGCONT)

    def cable_cut(self, place, number, run):
        place.cut(number)

    def packets_dropped(self, place, number, run):
        place.drop_packets(number)

    def one_round(self, place, end, number):
        port = free_port()
        self.forget("fail.*")
        worker = self.worker(UP, 'while [ ! -e "$TEST_FOLDER/fail.$RANK" ]; do sleep 0.002; done\nexit 7\n')
        runs = [self.start(place.inside(rank + 1, Settings.launch, "--nnodes=4", f"--node-rank={rank}",
                                        f"--master-addr={hosts.address(1)}", f"--master-port={port}",
                                        f"--heartbeat-timeout={HEARTBEAT}", worker)) for rank in range(4)]
        self.wait_until_up(4, *runs)
        began = time.time()
        undo = end(place, number, runs[number - 1])
        others = [run for run in runs if run is not runs[number - 1]]
        self.finish(*others, seconds=30)
        last = max(run.ended for run in others)
        for run in others:
            self.assertNotEqual(0, run.code, str(run))
            self.assertTrue(run.err.strip(), "nothing was said")
        if undo:
            undo()
        self.finish(runs[number - 1], seconds=30)
        self.assertTrue(wait_for(lambda: not self.leftovers(), 5), self.tree())
        for run in runs:
            run.close()
            self.runs.remove(run)
        return (last - began) * 1000

    def test_the_others_know(self):
        rounds = int(os.environ.get("LAUNCH_CUT_ROUNDS", 1))
        ends = [("a worker fails", self.worker_fails, 4000), ("agent gets SIGKILL", self.agent_killed, 4000),
                ("launch gets SIGKILL", self.launch_killed, 4000), ("agent is frozen", self.agent_frozen, SILENT),
                ("cable is cut", self.cable_cut, SILENT), ("packets are dropped", self.packets_dropped, SILENT)]
        print(f"\n  milliseconds until all other nodes have ended, {rounds} rounds: median, worst", flush=True)
        for what, end, most in ends:
            for whose, number in (("node 2", 3), ("node 0, the store's host", 1)):
                times = []
                for _ in range(rounds):
                    with hosts.Hosts(4) as place:
                        times.append(self.one_round(place, end, number))
                print(f"  {what + ', ' + whose:50} {statistics.median(times):8.0f} {max(times):8.0f}", flush=True)
                self.assertLess(max(times), most)

    def test_a_nap_of_nearly_the_timeout_harms_nobody(self):
        with hosts.Hosts(4) as place:
            port = free_port()
            runs = [self.start(place.inside(rank + 1, Settings.launch, "--nnodes=4", f"--node-rank={rank}",
                                            f"--master-addr={hosts.address(1)}", f"--master-port={port}",
                                            f"--heartbeat-timeout={HEARTBEAT}", self.worker(UP, SLEEP)))
                    for rank in range(4)]
            self.wait_until_up(4, *runs)
            for run in (runs[0], runs[2]):
                agent = self.agent_of(run)
                os.kill(agent, signal.SIGSTOP)
                nap = 0.7 * HEARTBEAT  # sim/nap_sim_test has the exact limit
                self.assertFalse(wait_for(lambda: any(one.wait(0) is not None for one in runs), nap))
                os.kill(agent, signal.SIGCONT)
                self.assertFalse(wait_for(lambda: any(one.wait(0) is not None for one in runs), 2),
                                 "\n".join(map(str, runs)))
            runs[0].signal(signal.SIGTERM)
            self.expect([143] * 4, runs)
