"""Jobs of PyTorch workers: each node is launch or the real torchrun, all on this machine."""
import functools
import pathlib
import re

import python_env
from harness import Case, Settings, free_port

WORKERS = pathlib.Path(__file__).resolve().parent / "workers"
SECONDS = 120  # for one job; it takes three or four, on a busy machine more


@functools.cache
def interpreters():
    """Name -> interpreter of every PyTorch that is here."""
    new = python_env.new_python(Settings.build)
    found = {"2.13": new if python_env.torch_version(new) else None, "1.13": python_env.old_python()}
    return {name: python for name, python in found.items() if python}


class TorchCase(Case):
    builds = ("release",)

    def python(self, version):
        self.need(version in interpreters(), f"PyTorch {version} (tests/interop/python_env.py installs it)")
        return interpreters()[version]

    def torchrun(self):
        return self.python("2.13").parent / "torchrun"

    def job(self, sizes, *command, python=None, launchers=None, env=None):
        """Starts one launcher a node, `sizes` workers each; `launchers` says which, launch where it is left out."""
        port = free_port()
        env = {**(env or {}), **({"PYTHON_EXEC": str(python)} if python else {})}
        launchers = launchers or [Settings.launch] * len(sizes)
        return [self.start([launcher, f"--nnodes={len(sizes)}", f"--nproc_per_node={size}", f"--node_rank={rank}",
                            "--master_addr=127.0.0.1", f"--master_port={port}", *command], env=env)
                for rank, (size, launcher) in enumerate(zip(sizes, launchers))]

    def expect_ranks(self, sizes, runs):
        """Every node ends with 0 and every rank has said OK once, on the node that it belongs to."""
        self.expect([0] * len(runs), runs, seconds=SECONDS)
        first = 0
        for size, run in zip(sizes, runs):
            said = sorted(int(rank) for rank in re.findall(rf"OK rank (\d+) of {sum(sizes)}\b", run.out))
            self.assertEqual(list(range(first, first + size)), said, str(run))
            first += size
