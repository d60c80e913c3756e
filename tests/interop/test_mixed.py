"""One static job of launch and the real torchrun, in every role: each must take the other for one of its own."""
import processes
import wire
from harness import Settings, long, repeated, wait_for
from torch_job import WORKERS, TorchCase


class Mixed(TorchCase):
    load = 1.0

    def assert_works(self, sizes, launchers, *options):
        runs = self.job(sizes, *options, WORKERS / "torch_collectives.py", env=self.forking_python(),
                        launchers=launchers)
        self.expect_ranks(sizes, runs)

    @long("test_three_nodes_hosted_by_launch: launch hosts and leads workers of torchrun")
    @repeated
    def test_launch_is_node_0(self):
        self.assert_works([2, 2], [Settings.launch, self.torchrun()])

    @long("test_three_nodes_hosted_by_torchrun: torchrun hosts and leads workers of launch")
    @repeated
    def test_launch_is_node_1(self):
        self.assert_works([2, 2], [self.torchrun(), Settings.launch])

    def test_with_blanks_in_the_run_id(self):
        self.assert_works([1, 1], [self.torchrun(), Settings.launch], "--rdzv-id= s ")

    @repeated
    def test_three_nodes_hosted_by_launch(self):
        self.assert_works([1, 2, 1], [Settings.launch, self.torchrun(), Settings.launch])

    @repeated
    def test_three_nodes_hosted_by_torchrun(self):
        self.assert_works([1, 1, 2], [self.torchrun(), Settings.launch, Settings.launch])

    @repeated
    def test_torchrun_fails_when_a_worker_of_launch_fails(self):
        """torchrun knows no abort key; its workers see the peers' end, and nobody may hang."""
        failing = self.program("import os, sys, time\nimport torch.distributed as dist\n"
                               "dist.init_process_group('gloo')\ndist.barrier()\n"
                               "sys.exit(7) if os.environ['RANK'] == '0' else dist.barrier()\n", "failing.py")
        runs = self.job([1, 1], failing, env=self.forking_python(), launchers=[Settings.launch, self.torchrun()])
        self.expect([7, 1], runs, seconds=60)

    def test_launch_ends_when_a_worker_of_torchrun_fails(self):
        """The others compute, and would notice only in their next collective. `launch` hosts, and knows."""
        worker = self.program('#!/bin/sh\n: > "$TEST_FOLDER/up.$RANK"\n'
                              'while [ "$(ls "$TEST_FOLDER" | grep -c "^up\\.")" -lt 3 ]; do sleep 0.02; done\n'
                              '[ "$RANK" = 1 ] && exit 7\nexec sleep 300\n', "worker.sh")
        runs = self.job([1, 1, 1], "--no-python", worker,
                        launchers=[Settings.launch, self.torchrun(), Settings.launch])
        self.expect([1, 1, 1], runs, seconds=60)
        for run in (runs[0], runs[2]):
            self.assertIn("node 1: its torchrun ended before its workers had succeeded", run.err)

    def in_barrier(self, port):
        """How many nodes have ended well, as the store says; nothing before one has, or without a store."""
        try:
            with wire.Client(port) as store:
                return store.get("/none/torchelastic/agent/terminal_state/num_members")
        except OSError:
            return b""

    def test_a_torchrun_that_has_ended_well_is_no_loss(self):
        worker = self.program('#!/bin/sh\n[ "$RANK" = 1 ] && exit 0\n'
                              'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n', "worker.sh")
        runs = self.job([1, 1], "--no-python", worker, launchers=[Settings.launch, self.torchrun()])
        (port,) = (int(word.partition("=")[2]) for word in runs[0].command if word.startswith("--master_port="))
        self.assertTrue(wait_for(lambda: self.in_barrier(port) == b"1", 60), f"{runs[0]}\n{runs[1]}")
        processes.kill([runs[1].pid])
        self.assertIsNone(runs[0].wait(2), str(runs[0]))
        (self.folder / "go").touch()
        self.expect([0, 137], runs, seconds=60)
