"""Stories of failure as users meet them, on two nodes and without any option: tests/data/stories.txt has the screens.

interop/test_stories has those that need PyTorch.
"""

import disks
import hosts
import memory_group
import processes
from harness import Settings, free_port
from job import JobCase
from verdicts import WORKERS, Stories

STDERR = "\n  error          "


class TwoNodes(Stories, JobCase):
    builds = ("release",)

    def play(self, name, *how, code=1, says=(), size=2, any_rank=False, options=()):
        runs = self.nodes([size, size], WORKERS / "stories.py", *how, options=options)
        who = r"\n  root cause +rank \d+ \(local rank \d+\) on node [01] \(host HOST\), "
        self.check_story(name, runs, code, [who, *says], any_rank)

    def test_an_exception_in_one_rank(self):
        self.play("an exception in one rank", "one", says=["rank 3 ", STDERR + "KeyError: 'labels'\n"])

    def test_an_exception_in_all_ranks(self):
        self.play("an exception in all ranks", "all", says=[STDERR + "KeyError: 'labels'\n"], any_rank=True)

    def test_a_chained_exception(self):
        self.play("a chained exception", "chained", says=[
            "rank 3 ", STDERR + r"KeyError: 'labels' \(.*\n {17}which led to ValueError: bad batch 17\n"])

    def test_an_exit_with_a_text(self):
        self.play("sys.exit with a text", "text", says=["rank 3 .*exit code 1\n", "\n  stderr +config is wrong: "])

    def test_a_segmentation_fault(self):
        self.play("SIGSEGV", "signal", code=139, says=["rank 3 .*SIGSEGV"])

    def test_an_import_error_on_all_64_ranks(self):
        self.play("an import error on all 64 ranks", "import", size=32, any_rank=True,
                  says=[STDERR + "ModuleNotFoundError: No module named 'launch_has_no_such_module'\n", "\n  note +"])

    def test_an_import_error_on_one_node(self):
        self.play("an import error on one node", "import on one node", any_rank=True,
                  says=["on node 1 ", STDERR + "ModuleNotFoundError: No module named 'launch_has_no_such_module'\n"])

    def test_a_full_disk(self):
        try:
            disk = disks.Disk.small("64k")
        except disks.Impossible as missing:
            self.need(False, str(missing))
        try:
            self.play("a full disk", "full disk", disk.path,
                      says=["rank 3 ", STDERR + r"OSError: \[Errno 28\] No space left on device\n"])
        finally:
            disk.remove()

    def test_out_of_memory(self):
        line = [Settings.launch, "--nnodes=2", f"--master-port={free_port()}"]
        greedy = [WORKERS / "stories.py", "greedy"]
        runs = [self.start([*line, "--node-rank=0", *greedy]),
                self.start(memory_group.inside(self, *line, "--node-rank=1", *greedy))]
        self.check_story("out of memory", runs, 137, [r"rank 1 .* on node 1 .*killed by the out-of-memory killer"])

    def test_a_node_is_lost(self):
        runs = self.nodes([2, 2], WORKERS / "stories.py", "none")
        self.wait_until_up(4, *runs)
        processes.kill([self.agent_of(runs[1]), runs[1].pid])
        self.expect([1, 137], runs)
        self.check_story("a node is lost", runs[:1], 1, ["root cause +node 1 .*: its launch process died"])


class TwoHosts(Stories, JobCase):
    builds = ("release",)

    def test_a_cable_is_cut(self):
        self.need(hosts.possible(), "network namespaces (root, iproute2)")
        with hosts.Hosts(2) as place:
            port = free_port()
            line = [Settings.launch, "--nnodes=2", f"--master-addr={hosts.address(1)}", f"--master-port={port}",
                    "--heartbeat-timeout=2", "--nproc-per-node=2"]
            runs = [self.start(place.inside(rank + 1, *line, f"--node-rank={rank}", WORKERS / "stories.py", "none"))
                    for rank in (0, 1)]
            self.wait_until_up(4, *runs)
            place.cut(2)
            self.finish(*runs)
            self.check_story("a cable is cut, on the side of node 0", runs[:1], 1,
                             [r"\n  root cause +node 1 \(host HOST\): no heartbeat of its launch process for 2 s"])
            self.check_story("a cable is cut, on the side of node 1", runs[1:], 1,
                             [r"\n  reported by +node 1 \(host HOST\): lost contact with the store of node 0"])
