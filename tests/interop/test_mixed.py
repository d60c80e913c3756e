"""One static job of launch and the real torchrun, in every role: each must take the other for one of its own."""
from harness import Settings, long, repeated
from torch_job import WORKERS, TorchCase


class Mixed(TorchCase):
    load = 1.0

    def assert_works(self, sizes, launchers, *options):
        python = self.python("2.13")
        runs = self.job(sizes, *options, WORKERS / "torch_collectives.py", python=python, launchers=launchers)
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
        runs = self.job([1, 1], failing, python=self.python("2.13"), launchers=[Settings.launch, self.torchrun()])
        self.expect([7, 1], runs, seconds=60)
