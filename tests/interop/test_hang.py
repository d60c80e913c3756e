"""--hang-timeout with real PyTorch: a hang is named and healed, and none of twenty jobs that work is taken for one."""
import os
import re

from harness import Settings, free_port, long
from torch_job import WORKERS, TorchCase

QUICK = "NoHang and ManyWorkers in cli/test_hang.py and cli/test_hang_many.py, with the same signs of work"
TIMEOUT, PHASE = 4, 13  # seconds; a phase is three times as long as what a hang may take
LONGEST = 600  # of a job, on a busy machine
BATCH = 5  # jobs beside each other: they wait most of the time
# Each is a phase of workers/hang_phases.py: what stands before its line, options, variables.
PLAIN = ((), (), {})
WITH_LOGS = ((), ("--redirects=3", "--log-dir={folder}/logs"), {})
ACCELERATED = (("{accelerated}",), (), {"ACCELERATOR": "/dev/nvidia0"})
JOBS = {
    "imports": PLAIN, "slow_checkpoint": PLAIN, "heartbeat": WITH_LOGS, "heartbeat_on_stderr": PLAIN,
    "download": PLAIN, "tokenising": PLAIN, "shell_commands": PLAIN, "busy_child": PLAIN, "fresh_memory": PLAIN,
    "mapped_file": PLAIN, "stopped": PLAIN, "debugged": PLAIN, "one_call": PLAIN, "many_children": PLAIN,
    "imports_torch": PLAIN, "evaluation": PLAIN, "evaluation_spin": ACCELERATED, "torch_checkpoint": PLAIN,
    "torch_checkpoint_spin": ACCELERATED, "compilation": PLAIN, "loader": PLAIN, "loader_spin": ACCELERATED,
}
# A file that looks like a GPU, seen by this program alone.
GPU = """mount -t tmpfs none "$0" && cd /dev && cp -a null zero full random urandom tty "$0/" && cd - > /dev/null &&
ln -s /proc/self/fd "$0/fd" && mkdir -m 1777 "$0/shm" && : > "$0/nvidia0" && mount --move "$0" /dev && exec "$@"
"""
TRAIN = """
import os, sys
import torch, torch.distributed as dist
from torch.utils.data import DataLoader

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if dist.get_rank() == 5 and index == 3 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.read(os.pipe()[0], 1)
        return torch.full((4,), float(index))

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
for batch in DataLoader(Data(), batch_size=1):
    model(batch).sum().backward()
dist.barrier()
print("OK rank", dist.get_rank(), "of", dist.get_world_size(), flush=True)
dist.barrier()
dist.destroy_process_group()
"""


class HangCase(TorchCase):
    load = 2.0

    def environment(self):
        """Where py-spy is."""
        python = self.python("2.13")
        self.need((python.parent / "py-spy").exists(), "py-spy in build/venv")
        return {"PATH": f"{python.parent}:{os.environ['PATH']}", "PYTHON_EXEC": str(python)}


@long("ManyWorkers in cli/test_hang_many.py")
class Hang(HangCase):
    def test_a_rank_that_hangs_in_its_data_is_named_and_the_job_ends_well(self):
        port = free_port()
        line = ["--nnodes=2", "--nproc-per-node=4", "--master-addr=127.0.0.1", f"--master-port={port}",
                "--hang-timeout=20", "--on-hang=restart", "--max-restarts=1"]
        runs = [self.launch(*line, f"--node-rank={node}", self.program(TRAIN, "train.py"), env=self.environment())
                for node in range(2)]
        self.finish(*runs, seconds=LONGEST)
        self.expect_ranks([4, 4], runs)
        said = runs[0].err.partition("the workers are here:\n")[2].splitlines()[:2]
        self.assertRegex(said[0], r"ranks 0-4, 6-7: in \S+ \(")
        self.assertRegex(said[1], r"rank 5: in Data\.__getitem__ \(train\.py:\d+\)")
        self.assertIn("restart 1 of 1", runs[1].err)


class NoHang(HangCase):
    def phase(self, name, before=(), options=(), env=None):
        words = {"folder": self.folder}
        folder = self.folder / f"dev.{name}"
        folder.mkdir()
        before = ["unshare", "--mount", "sh", "-c", GPU, folder] if before else []
        line = ["--standalone", "--nproc-per-node=2", f"--hang-timeout={TIMEOUT}",
                *[option.format(**words) for option in options]]
        return self.start([*before, Settings.launch, *line, WORKERS / "hang_phases.py", name, str(PHASE)],
                          env={**self.environment(), **(env or {})})

    def assert_no_alarm(self, names):
        runs = {name: self.phase(name, *JOBS[name]) for name in names}
        self.finish(*runs.values(), seconds=LONGEST)
        for name, run in runs.items():
            with self.subTest(job=name):
                self.assertEqual(0, run.code, str(run))
                self.assertGreater(run.seconds, PHASE - 1)
                self.assertNotIn("no progress", run.err)

    def test_a_hang_is_found(self):
        run = self.phase("hang")
        self.finish(run, seconds=120)
        self.assertRegex(run.err, r"no progress for [\d.]+ s on any node(?s:.)*rank 0: in pause")


def add_tests():
    names = list(JOBS)
    for start in range(0, len(names), BATCH):
        batch = names[start:start + BATCH]

        def body(self, batch=batch):
            self.assert_no_alarm(batch)
        body.__name__ = "test_" + "_and_".join(re.sub("_", "", name) for name in (batch[0], batch[-1]))
        setattr(NoHang, body.__name__, long(QUICK)(body))


add_tests()
