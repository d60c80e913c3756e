"""Real PyTorch workers in a real Slurm, and a reader's batch script whose nodes are those of torchrun and of launch."""
import re
import sys

from harness import ROOT, Settings
from slurm_case import SlurmCase

sys.path.append(str(ROOT / "tests" / "interop"))
import python_env  # noqa: E402

# They leave after a barrier, and take nothing of PyTorch down: see tests/recipes/report.py.
TRAIN = """import gc, os
gc.disable()  # half of the time of importing PyTorch
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
value = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(value)
os.write(1, b"rank %d of %d: sum %d\\n" % (dist.get_rank(), dist.get_world_size(), int(value.item())))
dist.barrier()
os._exit(0)
"""
BATCH = """#!/bin/bash
#SBATCH --job-name=mixed
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
nodes_array=($nodes)
head_node=${nodes_array[0]}
head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address)

"""
C10D = BATCH + """srun torchrun \\
--nnodes $SLURM_NNODES \\
--nproc_per_node 1 \\
--rdzv_id $RANDOM \\
--rdzv_backend c10d \\
--rdzv_endpoint $head_node_ip:29500 \\
train.py
"""
STATIC = BATCH + """export MASTER_ADDR=$head_node MASTER_PORT=29500
srun --kill-on-bad-exit=1 bash -c 'torchrun --nnodes=$SLURM_NNODES --nproc_per_node=1 --node_rank=$SLURM_NODEID \\
  --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT train.py'
"""


class Mixed(SlurmCase):
    load = 2.0

    def torch_place(self):
        """Four nodes whose PATH begins with a folder of our own, then with that of PyTorch's environment."""
        python = python_env.new_python(Settings.build)
        self.need(python_env.installed_version(python), "PyTorch 2.13 (tests/interop/python_env.py installs it)")
        (self.folder / "bin").mkdir()
        self.program(TRAIN, "train.py")
        slurm = self.place(4)
        slurm.env["PATH"] = f"{self.folder}/bin:{python.parent}:{slurm.environment()['PATH']}"
        slurm.env["OMP_NUM_THREADS"] = "1"
        return slurm

    def assert_all_summed(self, text):
        said = sorted(re.findall(r"^rank .*", text, flags=re.M))
        self.assertEqual([f"rank {rank} of 4: sum 10" for rank in range(4)], said, text)

    def run_mixed(self, script, *turns):
        """On two of the nodes, and with --long in each turn on those that it names, torchrun is another name of launch.

        Node 1 hosts.
        """
        self.program(script, "job.sh")
        torchrun = python_env.new_python(Settings.build).parent / "torchrun"
        with self.torch_place() as slurm:
            for ours in turns if Settings.long else turns[:1]:
                theirs = sorted({"n1", "n2", "n3", "n4"} - set(ours.split()))
                with self.subTest(launch=ours, torchrun=" ".join(theirs)):
                    self.program(f'#!/bin/sh\ncase " {ours} " in\n*" $(hostname) "*)\n'
                                 f'  echo "$(hostname): launch"; exec {Settings.launch} "$@" ;;\nesac\n'
                                 f'echo "$(hostname): torchrun"; exec {torchrun} "$@"\n', "bin/torchrun")
                    out = self.folder / f"{ours}.out"
                    run = self.batch(slurm, f"--chdir={self.folder}", "-o", out, "job.sh")
                    self.finish(run, seconds=120)
                    text = out.read_text()
                    self.assertEqual(0, run.code, text)
                    self.assert_all_summed(text)
                    for name in ("n1", "n2", "n3", "n4"):
                        self.assertEqual(1, text.count(f"{name}: {'launch' if name in ours else 'torchrun'}\n"), text)

    def test_c10d(self):
        self.run_mixed(C10D, "n2 n3", "n1 n4")

    def test_static(self):
        self.run_mixed(STATIC, "n1 n4", "n2 n3")

    def test_launch_alone(self):
        """No flag: from Slurm come the nodes, the ranks, the address and the port."""
        (self.folder / "launch").symlink_to(Settings.launch)
        with self.torch_place() as slurm:
            run = self.on_login(slurm, "srun", "-N4", "--chdir", self.folder, self.folder / "launch", "train.py")
            self.expect([0], [run], seconds=120)
            self.assert_all_summed(run.out)
            for rank in range(4):
                self.assert_says(run, rf"Slurm step 1\.0: 4 nodes, this is node {rank} \(n{rank + 1}\), node 0 is n1")
