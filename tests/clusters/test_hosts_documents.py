"""The lines of docs/hosts.md, as they stand, on hosts that stand for those of the reader."""
import re

from code_blocks import blocks_with
from harness import Settings
from hosts_case import HostsCase

TRAIN = """#!/bin/sh
echo "rank $RANK of $WORLD_SIZE, node $GROUP_RANK, $(hostname), $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME $*"
"""


def shape_of(screen):
    """What is wrong, whole but for numbers; and of what is right, which hosts and checks."""
    shape = []
    for row in screen:
        level, hosts, check, *_ = (*row.split(), "", "", "")
        if (level, check) == ("ok", "clock"):
            hosts = "*"  # some clocks are known more exactly than others, and have a row of their own
        shape.append(f"{level} {hosts} {check}" if level == "ok" else re.sub(r"\b\d+ s\b", "N s", row))
    return [row for index, row in enumerate(shape) if row != "ok * clock" or row not in shape[:index]]


class Documents(HostsCase):
    builds = only = ("release",)  # libfaketime and the address sanitizer wait for each other

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

    def test_a_check(self):
        """The screen of the document is one that really comes."""
        (block,) = blocks_with("docs/hosts.md", "$ launch --check")
        (command, *screen) = block.text.strip().splitlines()
        work = self.folder / "work"
        work.mkdir()
        (work / "train.py").write_text("")
        with self.place(8) as place:
            place.skew_clock(2, 31)
            place.empty_folder(3, work)
            place.fill_folder(5, "/dev/shm")
            place.name_itself(6, "127.0.1.1")
            place.cut(8)
            line = command.removeprefix("$ ").replace("launch", f"'{place.program_of_head}'", 1)
            run = self.start(place.on_login("sh", "-c", line), env=place.environment(), cwd=work)
            self.expect([1], [run], seconds=90)
            place.plug_in(8)

            self.assertEqual(shape_of(screen), shape_of(run.out.splitlines()), str(run))
            self.expect_empty(place)

    def test_the_script(self):
        (script,) = blocks_with("docs/hosts.md", "#!/bin/bash\nNODES")
        (line,) = blocks_with("docs/hosts.md", "launch --hosts 10.0.0.[1-3]")
        wanted = [f"rank {rank} of 6, node {rank // 2}, n{rank // 2 + 1}, eth0 eth0 " for rank in range(6)]
        with self.place(3) as place:
            self.assertEqual(wanted, self.lines(*(self.shell(place, number, script.text) for number in (1, 2, 3))))
            self.assertEqual(wanted, self.lines(self.shell(place, place.count + 1, line.text)))
            self.expect_empty(place)
