"""The starters of MPI that users have and Debian 12 has not, beside Debian's: over ssh, and inside Slurm."""
import re

from harness import Settings, long
from mpi_starters import MpiCase
from slurm_case import SlurmCase
from test_mpi import SAYS_ALL, said

QUICK = "test_ssh and test_mpi, by Debian's MPICH and Open MPI"
NODES = ("n1", "n2", "n3", "n4")


def ranks(lines):
    """What lines of SAYS_ALL say but for the node's number, which a starter may not tell."""
    return sorted(re.sub(", node .*", "", line) for line in lines)


class Starts(MpiCase, SlurmCase):
    """The tests of each starter below."""

    load = 1.5
    name = ""

    def setUp(self):
        super().setUp()
        self.mpi = self.starter(self.name)
        self.says = self.worker(SAYS_ALL, name="says")
        # It is given to Open MPI's ranks, so that nothing depends on a PMIx library that fits.
        self.address = {} if self.mpi.hydra else {"PET_MASTER_ADDR": "n1"}

    def expect_said(self, run, *nodes):
        self.expect([0], [run])
        self.assertEqual(said(*nodes), sorted(run.out.splitlines()), str(run))

    def expect_ranks(self, run, *nodes):
        self.expect([0], [run])
        self.assertEqual(ranks(said(*nodes)), ranks(run.out.splitlines()), str(run))

    def test_over_ssh(self):
        with self.ssh_place() as place:
            def run(*words, **line):
                return self.run_by(place, self.mpi, *self.mpi.line(env=self.address, **line), Settings.launch, *words)

            with self.subTest("one rank on each node"):
                self.expect_said(run("--nproc-per-node=2", self.says, hosts=NODES, ranks=4, on_each=1), 2, 2, 2, 2)
            with self.subTest("several ranks on each node"):
                self.expect_ranks(run(self.says, hosts=NODES, ranks=8, on_each=2), 2, 2, 2, 2)
            with self.subTest("a worker fails"):
                fails = self.worker('[ "$RANK" = 2 ] && exit 3\n', "sleep 300\n", name="fails")
                failed = run(fails, hosts=NODES, ranks=4, on_each=1)
                self.expect([3], [failed])
                self.assert_says(failed, "root cause +rank 2 ")
            with self.subTest("each worker is alone for MPI"):
                alone = run("--nproc-per-node=2", self.program(self.mpi.program_of_mpi()), hosts=NODES[:2], ranks=2,
                            on_each=1)
                self.expect([0], [alone])
                self.assertEqual(["1 in the world of MPI"] * 4, alone.out.splitlines(), str(alone))

    def test_in_salloc(self):
        """The starter runs on login, where the job has no node; a step of Slurm brings its daemons to the nodes."""
        with self.place(3) as slurm:
            def run(*words, **line):
                return self.run_by(slurm, self.mpi, "salloc", "-N3", "--ntasks-per-node=2", *self.mpi.line(**line),
                                   Settings.launch, *words)

            with self.subTest("one rank on each node"):
                self.expect_said(run("--nproc-per-node=2", self.says, ranks=3, on_each=1), 2, 2, 2)
            with self.subTest("several ranks on each node"):
                self.expect_ranks(run(self.says, ranks=6, on_each=2, env=self.address), 2, 2, 2)

    def test_in_a_batch_script(self):
        """The ranks of node 1 are children of the starter in the script, those of the others are in a step of it."""
        lines = [[*self.mpi.line(ranks=3, on_each=1), Settings.launch, "--nproc-per-node=2", self.says],
                 [*self.mpi.line(ranks=6, on_each=2, env=self.address), Settings.launch, self.says]]
        script = self.program("#!/bin/sh\n" + "".join(f"{' '.join(map(str, line))} > {self.folder}/said.{number}\n"
                                                      for number, line in enumerate(lines)), "job.sh")
        with self.place(3) as slurm:
            slurm.env |= self.mpi.env
            run = self.batch(slurm, "-N3", "--ntasks-per-node=2", "-o", self.folder / "out", script)
            self.finish(run)
            text = (self.folder / "out").read_text()
            self.assertEqual(0, run.code, text)
            each, several = ((self.folder / f"said.{number}").read_text().splitlines() for number in (0, 1))
            self.assertEqual(said(2, 2, 2), sorted(each), text)
            self.assertEqual(ranks(said(2, 2, 2)), ranks(several), text)


class Maps(Starts):
    """Those that say how ranks are spread over the nodes."""

    def test_maps(self):
        with self.ssh_place() as place:
            def run(hosts, count, on_each):
                return self.run_by(place, self.mpi, *self.mpi.line(hosts=hosts, ranks=count, on_each=on_each),
                                   Settings.launch, self.says)

            with self.subTest("not as many on each node"):
                self.expect_said(run(NODES, 7, 2), 2, 2, 2, 1)
            with self.subTest("dealt out in turns"):
                self.expect_said(run(NODES[:2], 4, 1), 2, 2)
            with self.subTest("dealt out in turns, and not as many on each node"):
                self.expect_said(run(NODES[:2], 3, 1), 2, 1)
            with self.subTest("one rank"):
                self.expect_said(run(NODES, 1, 1), 1)


@long(QUICK)
class Mpich5(Maps):
    name = "mpich"


@long(QUICK)
class Intel(Maps):
    name = "intel"


@long(QUICK)
class DebianMpich(Maps):
    name = "Debian's MPICH"


@long(QUICK)
class OpenMpi5(Starts):
    name = "openmpi"


@long(QUICK)
class DebianOpenMpi(Starts):
    name = "Debian's Open MPI"


del Starts, Maps  # so that they are not taken for tests themselves
