"""Workers without Python, started as they are: no --no-python."""
import os
import subprocess

from harness import repeated
from torch_job import WORKERS, TorchCase


class Native(TorchCase):
    load = 0.5

    def native_worker(self):
        program = self.folder / "native_worker"
        if not program.exists():
            subprocess.run([os.environ.get("CC", "cc"), "-O1", "-Wall", "-o", program, WORKERS / "native_worker.c"],
                           check=True)
        return program

    @repeated
    def test_c_program(self):
        for sizes in ([4], [2, 2], [3, 1]):
            with self.subTest(sizes=sizes):
                self.expect_ranks(sizes, self.job(sizes, self.native_worker(), "--nnodes=9"))

    @repeated
    def test_shell_script(self):
        for sizes in ([4], [2, 2], [3, 1]):
            with self.subTest(sizes=sizes):
                runs = self.job(sizes, WORKERS / "shell_worker", "${local_rank}")
                self.expect_ranks(sizes, runs)
                self.assertRegex(runs[0].out, r"(?m)local 1 arguments 1 1$")
