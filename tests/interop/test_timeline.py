"""When real PyTorch workers have come: whose connection is whose, and that torchrun's nodes count as well."""
import json
import re

from harness import Settings, free_port
from torch_job import SECONDS, WORKERS, TorchCase


class Timeline(TorchCase):
    load = 1.6

    def node(self, rank, port, launcher, *options):
        return self.start([launcher, "--nnodes=2", "--nproc_per_node=2", f"--node_rank={rank}",
                           "--master_addr=127.0.0.1", f"--master_port={port}", *options,
                           WORKERS / "torch_collectives.py"], env={"PYTHON_EXEC": str(self.python("2.13"))})

    def startup_of(self, *others):
        """The event of node 0, which is launch; node 1 is started by `others`."""
        port = free_port()
        runs = [self.node(0, port, Settings.launch, f"--events={self.folder}/events"), self.node(1, port, *others)]
        self.expect([0, 0], runs, seconds=SECONDS)
        events = map(json.loads, (self.folder / "events").read_text().splitlines())
        (event,) = [event for event in events if event["event"] == "startup"]
        self.assertEqual(4, event["world_size"])
        return sorted(re.match(r"rank \d+ on node \d+", line).group() for line in event["slowest"]
                      if line.startswith("rank"))

    def test_each_connection_is_that_of_its_rank(self):
        self.assertEqual([f"rank {rank} on node {rank // 2}" for rank in range(4)], self.startup_of(Settings.launch))

    def test_a_node_of_torchrun_does_not_tell_its_ranks(self):
        self.assertEqual(["rank 0 on node 0", "rank 1 on node 0"], self.startup_of(self.torchrun()))
