"""launch as the ranks of MPI's own starters, on hosts of their own, which they reach by Slurm."""
import re
import shutil
import sys

import slurm_place
from code_blocks import blocks_with
from harness import Settings
from slurm_case import SlurmCase

SAYS_ALL = ('echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK of $LOCAL_WORLD_SIZE, node $GROUP_RANK, '
            'MPI ${PMI_RANK-}${OMPI_COMM_WORLD_RANK-none}, $(hostname)"\n')


INITS = """import ctypes, os
mpi = ctypes.CDLL("libmpich.so.12", ctypes.RTLD_GLOBAL)
size = ctypes.c_int()
assert mpi.MPI_Init(None, None) == 0
assert mpi.MPI_Comm_size(0x44000000, ctypes.byref(size)) == 0
os.write(1, b"%d process of MPI\\n" % size.value)
mpi.MPI_Finalize()
"""


def said(*nodes):
    """What the workers say, if these nodes have so many workers each."""
    size, lines = sum(nodes), []
    for node, count in enumerate(nodes):
        lines += [f"rank {len(lines) + local} of {size}, local {local} of {count}, node {node}, MPI none, n{node + 1}"
                  for local in range(count)]
    return sorted(lines)


class Mpi(SlurmCase):
    def program_of(self, starter):
        path = shutil.which(starter)
        self.need(path, starter)
        return path

    def of_document(self, slurm, beginning):
        """Runs the line of docs/clusters.md, on the nodes of a job, as it stands; what its workers say."""
        (block,) = blocks_with("docs/clusters.md", beginning)
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "launch").symlink_to(Settings.launch)
        for name, program in (("mpiexec", "mpiexec.hydra"), ("mpirun", "mpirun.openmpi")):
            self.program(f'#!/bin/sh\nexec {self.program_of(program)} "$@"\n', f"bin/{name}")
        self.program(slurm_place.TRAIN, "train.py")
        slurm.env["PATH"] = f"{tools}:{slurm.environment()['PATH']}"
        run = self.start(slurm.on_login("salloc", "-N4", "sh", "-c", f"cd {self.folder} && {block.text}"),
                         env=slurm.environment())
        self.expect([0], [run], seconds=60)
        return sorted(run.out.splitlines())

    def test_mpich(self):
        """Node 0 tells the others its address and a port that is free there, by the server that mpiexec keeps."""
        hydra = self.program_of("mpiexec.hydra")
        worker = self.worker(SAYS_ALL)
        with self.place(4) as slurm:
            def mpiexec(*words):
                return self.start(slurm.on_login("salloc", "-N3", "-w", "n[1-3]", hydra, *words),
                                  env=slurm.environment())

            with self.subTest("one rank on each node"):
                run = mpiexec("-n", 3, "-ppn", 1, Settings.launch, "--nproc-per-node=2", worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual(said(2, 2, 2), sorted(run.out.splitlines()), str(run))
                self.assert_says(run, r"launch: Hydra kvs_\S+: 3 nodes, this is node 2 \(n3\), node 0 is n1")
            with self.subTest("several ranks on a node"):
                run = mpiexec("-n", 5, "-ppn", 2, Settings.launch, worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual(said(2, 2, 1), sorted(run.out.splitlines()), str(run))
            with self.subTest("a failure"):
                fails = self.worker('[ "$RANK" = 1 ] && exit 3\n', "sleep 300\n", name="fails")
                run = mpiexec("-n", 3, "-ppn", 1, Settings.launch, fails)
                self.expect([3], [run], seconds=60)
                self.assert_says(run, "root cause +rank 1 ")
            with self.subTest("the line of the document"):
                self.assertEqual([f"{rank} of 4" for rank in range(4)], self.of_document(slurm, "mpiexec -n 4"))

    def test_pmi_of_slurm(self):
        worker = self.worker(SAYS_ALL)
        with self.place(2) as slurm:
            run = self.start(slurm.on_login("srun", "--mpi=pmi2", "-N2", Settings.launch, worker),
                             env=slurm.environment())
            self.expect([0], [run], seconds=60)
            self.assertEqual(said(1, 1), sorted(run.out.splitlines()), str(run))
            self.assert_says(run, r"launch: Slurm step 1\.0: 2 nodes, this is node 1 \(n2\), node 0 is n1")
            with self.subTest("the server of a task can be asked once, and Slurm's names are there as well"):
                run = self.start(slurm.on_login("srun", "--mpi=pmi2", "-N2", "sh", "-c", '"$0" "$1" && "$0" "$1"',
                                                Settings.launch, worker), env=slurm.environment())
                self.expect([0], [run], seconds=60)
                self.assertEqual(sorted(2 * said(1, 1)), sorted(run.out.splitlines()), str(run))

    def test_pals_as_slurm_plays_it(self):
        """By the file that it writes for the ranks, if Slurm's own variables are hidden."""
        with self.place(2) as slurm:
            run = self.on_login(slurm, "srun", "--mpi=cray_shasta", "-N2", "-n3", "env", "-u", "SLURM_JOB_ID", "-u",
                                "SLURM_STEP_ID", Settings.launch, self.worker(SAYS_ALL))
            self.expect([0], [run], seconds=60)
            self.assertEqual(said(2, 1), sorted(run.out.splitlines()), str(run))
            self.assert_says(run, r"launch: PALS 1\.0: 3 tasks on 2 nodes, .*, node 0 is n1")

    def test_open_mpi(self):
        mpirun = [self.program_of("mpirun.openmpi"), "--allow-run-as-root"]
        worker = self.worker(SAYS_ALL)
        with self.place(4) as slurm:
            slurm.env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

            def run_with(*words):
                return self.start(slurm.on_login("salloc", "-N3", "-w", "n[1-3]", "--ntasks-per-node=2", *mpirun,
                                                 *words), env=slurm.environment())

            with self.subTest("the nodes of the job, one rank on each"):
                run = run_with("-N", 1, Settings.launch, "--nproc-per-node=2", worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual(said(2, 2, 2), sorted(run.out.splitlines()), str(run))
            with self.subTest("several ranks on a node"):
                run = run_with("-N", 2, "-x", "PET_MASTER_ADDR=n1", Settings.launch, worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual(6, len(set(re.findall(r"rank \d of 6, local \d of 2", run.out))), str(run))
            with self.subTest("ranks in another order, of whom rank 0 alone knows where it is"):
                run = run_with("-N", 1, "--host", "n3,n2", Settings.launch, worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual([], [line for line in run.out.splitlines() if "MPI none" not in line])
                self.assert_says(run, r"launch: Open MPI \d+: 2 nodes, this is node 1, node 0 is n")
            with self.subTest("several on a node, not as many on each, dealt out in turns"):
                run = run_with("-n", 5, "--map-by", "node", Settings.launch, worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual(said(2, 2, 1), sorted(run.out.splitlines()), str(run))
                self.assert_says(run, "Open MPI has dealt the ranks out in another order than node by node")
            with self.subTest("the line of the document"):
                self.assertEqual([f"{rank} of 4" for rank in range(4)], self.of_document(slurm, "mpirun -N 1"))

    def test_workers_are_alone_for_mpi(self):
        """They call MPI_Init, whatever rank their launch was started as, and however it was told of the job."""
        program = self.program(f"#!{sys.executable}\n" + INITS, "inits")
        hydra = self.program_of("mpiexec.hydra")
        for words in ([], ["--standalone"], ["--master-addr=127.0.0.1"]):
            with self.subTest(words=words):
                run = self.start([hydra, "-n", 2, Settings.launch, *words, program])
                self.expect([0], [run], seconds=60)
                self.assertEqual(2, run.out.count("1 process of MPI\n"), str(run))

    def test_ranks_of_this_machine(self):
        """Without a scheduler; all addresses are this machine's own."""
        run = self.start([self.program_of("mpiexec.hydra"), "-n", 3, Settings.launch, self.worker(SAYS_ALL)])
        self.expect([0], [run], seconds=60)
        self.assertEqual([f"rank {rank} of 3, local {rank} of 3, node 0" for rank in range(3)],
                         sorted(re.findall(r"rank .* node \d", run.out)), str(run))
