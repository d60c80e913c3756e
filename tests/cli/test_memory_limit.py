"""A worker that the kernel ends for want of memory: the report says so."""
import pathlib
import sys
import uuid

from harness import Settings
from job import JobCase


def own_group():
    """The memory control group of this process as a folder, version 1 or 2; None where there is none to be found."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for top in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
            folder = pathlib.Path(top + path)
            if controllers in ("memory", "") and ((folder / "memory.limit_in_bytes").exists()
                                                  or (folder / "memory.max").exists()):
                return folder
    return None


class MemoryLimit(JobCase):
    def test_the_out_of_memory_killer_is_named(self):
        above = own_group()
        group = above and above / f"launch-{uuid.uuid4().hex[:8]}"
        try:
            group.mkdir()
            limit = next(group / name for name in ("memory.limit_in_bytes", "memory.max") if (group / name).exists())
            limit.write_text(str(512 << 20))
        except (AttributeError, OSError, StopIteration) as error:
            self.skipTest(f"no memory control group can be made here: {error}")  # tests/core has recorded ones
        self.addCleanup(group.rmdir)
        greedy = self.program(f"#!{sys.executable}\nx = bytearray(1 << 30)\nx[:] = b'1' * len(x)\n", "greedy")
        parent = self.worker(f"{greedy}\nexit $?\n")
        for worker, words in ((greedy, r"signal 9 \(SIGKILL\), killed by the out-of-memory killer"),
                              (parent, "exit code 137; the out-of-memory killer has ended another process since the "
                                       "workers were started")):
            run = self.start(["sh", "-c", f'echo 0 > {group}/cgroup.procs && exec "$@"', "sh", Settings.launch,
                              "--no-python", worker])
            self.expect([137], [run])
            self.assert_says(run, words + "; memory limit 512 MiB; peak")
