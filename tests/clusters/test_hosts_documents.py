"""The lines of docs/hosts.md, as they stand, on hosts that stand for those of the reader."""
import re

from code_blocks import blocks_with
from harness import Settings
from hosts_case import HostsCase

TRAIN = """#!/bin/sh
echo "rank $RANK of $WORLD_SIZE, node $GROUP_RANK, $(hostname), $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME $*"
"""


class Documents(HostsCase):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        for name in ("launch", "torchrun"):
            (self.folder / "bin" / name).symlink_to(Settings.launch)
        self.program(TRAIN, "train.py")

    def shell(self, place, number, text):
        """Runs the text of a block on that host. A program of the reader's is a script here."""
        text = re.sub(r"\b10\.0\.0\.", place.address(0)[:-1], text).replace("per-node=8", "per-node=2")
        text = text.replace("train.py", "--no-python ./train.py")
        env = {**place.environment(), "PATH": f"{self.folder}/bin:{place.environment()['PATH']}"}
        return self.start(place.inside(number, "bash", "-c", text), env=env, cwd=self.folder)

    def lines(self, *runs, seconds=60):
        self.expect([0] * len(runs), runs, seconds=seconds)
        return sorted(line for run in runs for line in re.findall("rank .*", run.out))

    def test_the_line(self):
        (block,) = blocks_with("docs/hosts.md", "launch --hosts n[1-8]")
        with self.place(8) as place:
            found = self.lines(self.shell(place, place.count + 1, block.text))
            self.assertEqual(sorted(f"rank {rank} of 16, node {rank // 2}, n{rank // 2 + 1}, eth0 eth0 --lr 3"
                                    for rank in range(16)), found)
            self.expect_empty(place)

    def test_the_script(self):
        (script,) = blocks_with("docs/hosts.md", "#!/bin/bash\nNODES")
        (line,) = blocks_with("docs/hosts.md", "launch --hosts 10.0.0.[1-3]")
        wanted = [f"rank {rank} of 6, node {rank // 2}, n{rank // 2 + 1}, eth0 eth0 " for rank in range(6)]
        with self.place(3) as place:
            self.assertEqual(wanted, self.lines(*(self.shell(place, number, script.text) for number in (1, 2, 3))))
            self.assertEqual(wanted, self.lines(self.shell(place, place.count + 1, line.text)))
            self.expect_empty(place)
