"""Jobs of PyTorch workers: each node is launch or the real torchrun, all on this machine."""
import atexit
import functools
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import forked_torchrun
import python_env
from harness import Case, Settings, clean_environment, free_port

WORKERS = pathlib.Path(__file__).resolve().parent / "workers"
SECONDS = 120  # for one job; it takes three or four, on a busy machine more


@functools.cache
def interpreters():
    """Name -> interpreter of every PyTorch that is here."""
    new = python_env.new_python(Settings.build)
    found = {"2.13": new if python_env.installed_version(new) else None, "1.13": python_env.old_python()}
    return {name: python for name, python in found.items() if python}


def forks():
    """Ranks are forked with PyTorch imported, unless LAUNCH_TEST_FORK=0."""
    return os.environ.get("LAUNCH_TEST_FORK") != "0"


@functools.cache
def rank_zygote(python):
    """Where ranks of this interpreter are forked, for all tests of this program: workers/forked_rank.py asks there."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="launch-zygote-"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(str(folder / "door"))
        door.listen(64)
        process = subprocess.Popen([python, WORKERS.parent / "gloo_zygote.py", str(door.fileno())],
                                   env=clean_environment(), pass_fds=[door.fileno()], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
    Case.servants.add(process.pid)

    def close():
        process.communicate()
        shutil.rmtree(folder)

    atexit.register(close)
    if process.stdout.readline() != b"ready\n":
        raise EOFError(f"the zygote of {python} has ended with {process.wait(60)}")
    return folder / "door"


class TorchCase(Case):
    builds = ("release",)

    def start(self, command, env=None, **options):
        """The real torchrun is forked, which saves it importing PyTorch."""
        torchrun = python_env.new_python(Settings.build).parent / "torchrun"
        if str(command[0]) == str(torchrun) and forked_torchrun.can_fork(env or {}, options):
            options["popen"] = forked_torchrun.zygote(torchrun).popen
        return super().start(command, env, **options)

    def python(self, version):
        self.need(version in interpreters(), f"PyTorch {version} (tests/interop/python_env.py installs it)")
        return interpreters()[version]

    def forking_python(self):
        """The environment by which launch and torchrun start workers that import PyTorch in no time."""
        python = self.python("2.13")
        if not forks():
            return {"PYTHON_EXEC": str(python)}
        return {"PYTHON_EXEC": str(WORKERS / "forked_rank.py"), "ZYGOTE": str(rank_zygote(python))}

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
