"""launch as the ranks of Debian's starters of MPI, on hosts of their own, which they reach by ssh."""
from harness import Settings
from mpi_starters import MpiCase
from test_mpi import SAYS_ALL, said

NODES = ("n1", "n2", "n3", "n4")


class OverSsh(MpiCase):
    def check(self, place, mpi, named):
        """What launch does below any starter that has a server for its ranks."""
        worker = self.worker(SAYS_ALL)

        def run(*words, **line):
            return self.run_by(place, mpi, *mpi.line(**line), Settings.launch, *words)

        with self.subTest("one rank on each node"):
            each = run("--nproc-per-node=2", worker, hosts=NODES, ranks=4, on_each=1)
            self.expect([0], [each])
            self.assertEqual(said(2, 2, 2, 2), sorted(each.out.splitlines()), str(each))
            self.assert_says(each, f"launch: {named}: 4 nodes, this is node 3, node 0 is n1")
        with self.subTest("several ranks on a node, not as many on each"):
            several = run(worker, hosts=NODES, ranks=7, on_each=2)
            self.expect([0], [several])
            self.assertEqual(said(2, 2, 2, 1), sorted(several.out.splitlines()), str(several))
        with self.subTest("a worker fails"):
            fails = self.worker('[ "$RANK" = 2 ] && exit 3\n', "sleep 300\n", name="fails")
            failed = run(fails, hosts=NODES, ranks=4, on_each=1)
            self.expect([3], [failed])
            self.assert_says(failed, "root cause +rank 2 ")
        with self.subTest("each worker is alone for MPI"):
            alone = run(self.program(mpi.program_of_mpi()), hosts=NODES[:2], ranks=2, on_each=1)
            self.expect([0], [alone])
            self.assertEqual(["1 in the world of MPI"] * 2, alone.out.splitlines(), str(alone))

    def test_mpich(self):
        with self.ssh_place() as place:
            self.check(place, self.starter("Debian's MPICH"), r"Hydra kvs_\S+")

    def test_open_mpi(self):
        """Rank 0 tells the others where it is, by PMIx."""
        mpi, worker = self.starter("Debian's Open MPI"), self.worker(SAYS_ALL, name="says")
        with self.ssh_place() as place:
            self.check(place, mpi, r"Open MPI \d+")
            with self.subTest("twice in a task"):
                run = self.run_by(place, mpi, *mpi.line(hosts=NODES[:2], on_each=1), "sh", "-c",
                                  '"$0" "$1" && "$0" "$1"', Settings.launch, worker)
                self.expect([0], [run])
                self.assertEqual(sorted(2 * said(1, 1)), sorted(run.out.splitlines()), str(run))

    def test_open_mpi_is_told_the_address(self):
        mpi, worker = self.starter("Debian's Open MPI"), self.worker(SAYS_ALL)
        where = {"PET_MASTER_ADDR": "n1"}
        with self.ssh_place() as place:
            with self.subTest("one rank on each node"):
                run = self.run_by(place, mpi, *mpi.line(hosts=NODES, on_each=1, env=where), Settings.launch,
                                  "--nproc-per-node=2", worker)
                self.expect([0], [run])
                self.assertEqual(said(2, 2, 2, 2), sorted(run.out.splitlines()), str(run))
            with self.subTest("several ranks on a node: each worker is the rank that its launch was started as"):
                run = self.run_by(place, mpi, *mpi.line(hosts=NODES[:2], on_each=2, env=where), Settings.launch,
                                  self.program(mpi.program_of_mpi()))
                self.expect([0], [run])
                self.assertEqual(["4 in the world of MPI"] * 4, run.out.splitlines(), str(run))
