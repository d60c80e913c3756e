"""c10d jobs of launch, alone and with the real torchrun, with real gloo workers: formed, failed, formed again."""
import random
import re

from harness import Settings, free_port, long, repeated
from torch_job import SECONDS, WORKERS, TorchCase

WORKER = WORKERS / "restart_train.py"


class ElasticCase(TorchCase):
    def elastic(self, launchers, *command, nproc=2, options=(), host=0, env=None, nnodes=None, addresses=None):
        """A c10d job of these launchers; the one at index `host` is started first, and so hosts the store."""
        port = free_port()
        line = [f"--nnodes={nnodes or len(launchers)}", f"--nproc-per-node={nproc}", "--rdzv-backend=c10d",
                f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-id=job{port}", *options]
        env = {**self.forking_python(), **(env or {})}
        runs = {}
        for index in sorted(range(len(launchers)), key=lambda index: index != host):
            own = [f"--local-addr={addresses[index]}"] if addresses else []
            own.append(f"--rdzv-conf=is_host={int(index == host)}")
            runs[index] = self.start([launchers[index], *line, *own, *command], env=env)
        return [runs[index] for index in range(len(launchers))]

    def assert_all_got_through(self, runs, size, attempt=None):
        self.expect([0] * len(runs), runs, seconds=SECONDS)
        said = re.findall(r"OK rank (\d+) of (\d+) attempt (\d+)", "".join(run.out for run in runs))
        self.assertEqual(list(range(size)), sorted(int(rank) for rank, _, _ in said), "\n".join(map(str, runs)))
        self.assertEqual({str(size)}, {all_ranks for _, all_ranks, _ in said})
        if attempt is not None:
            self.assertEqual({str(attempt)}, {number for _, _, number in said})


class LaunchAlone(ElasticCase):
    load = 1.3

    @repeated
    def test_two_nodes(self):
        self.assert_all_got_through(self.elastic([Settings.launch] * 2, WORKER, 3, 0, 0), 4, attempt=0)

    @repeated
    def test_three_nodes_that_fail_twice(self):
        runs = self.elastic([Settings.launch] * 3, WORKER, 10, 2, random.randrange(10 ** 6),
                            options=["--max-restarts=3"], nproc=1)
        self.assert_all_got_through(runs, 3, attempt=2)

    def static(self, sizes, failures):
        runs = self.job(sizes, "--max-restarts=3", WORKER, 10, failures, random.randrange(10 ** 6),
                        env=self.forking_python())
        self.assert_all_got_through(runs, sum(sizes), attempt=failures)

    @repeated
    def test_a_static_job_restarts_on_both_nodes(self):
        self.static([2, 1], 1)

    @long("test_a_static_job_restarts_on_both_nodes after one failure; test_three_nodes_that_fail_twice after two")
    @repeated
    def test_a_static_job_restarts_on_both_nodes_twice(self):
        self.static([2, 2], 2)

    def one_node(self, nproc):
        run = self.launch(f"--nproc-per-node={nproc}", "--max-restarts=3", WORKER, 10, 2, random.randrange(10 ** 6),
                          env={"PYTHON_EXEC": str(self.python("2.13"))})
        self.assert_all_got_through([run], nproc, attempt=2)

    @repeated
    def test_one_node_restarts(self):
        self.one_node(2)

    @long("test_one_node_restarts: the same with two workers")
    @repeated
    def test_one_node_of_four_workers_restarts(self):
        self.one_node(4)


class MixedCase(ElasticCase):
    """{who hosts the store} x {who gets rank 0, which goes by address} x {no failure, one on either kind}."""
    load = 0.9

    def mixed(self, kinds, host, rank_0, victim=None):
        """`kinds`: l and t, one a node. `host`: index of the store's host. `rank_0`: the kind with the first address.
        `victim`: the kind whose first worker fails once."""
        launchers = [Settings.launch if kind == "l" else self.torchrun() for kind in kinds]
        addresses = ["127.0.0.1" if kind == rank_0 else "127.0.0.2" for kind in kinds]
        env = {}
        failures = 0
        if victim is not None:
            marks = self.folder / f"attempts{len(self.runs)}"
            marks.mkdir()
            rank = 0 if victim == rank_0 else kinds.count(rank_0)
            env, failures = {"ATTEMPTS": str(marks), "VICTIM": str(rank)}, 1
        runs = self.elastic(launchers, WORKER, 10, failures, random.randrange(10 ** 6), host=host, nproc=1, env=env,
                            options=["--max-restarts=3"], addresses=addresses)
        self.assert_all_got_through(runs, len(kinds), attempt=failures)
        (first,) = [kind for kind, run in zip(kinds, runs) if "OK rank 0 of" in run.out]
        self.assertEqual(rank_0, first)


class Mixed(MixedCase):
    """Each kind hosts, leads and fails, also where the other kind does the rest."""

    @repeated
    def test_without_a_failure(self):
        self.mixed("lt", 1, "t")

    @repeated
    def test_a_worker_of_launch_fails_where_torchrun_hosts_and_leads(self):
        self.mixed("lt", 1, "t", "l")

    @repeated
    def test_a_worker_of_torchrun_fails_where_launch_hosts_and_leads(self):
        self.mixed("lt", 0, "l", "t")

    @repeated
    def test_three_nodes_where_launch_hosts_and_torchrun_leads(self):
        self.mixed("ltl", 0, "t", "l")


@long("Mixed: a failure where the other kind hosts and leads, and three nodes where one hosts and the other leads")
class MixedFurther(MixedCase):
    def all_variants(self, kinds, victim):
        for host, rank_0 in ((0, "l"), (0, "t"), (1, "l"), (1, "t")):
            with self.subTest(kinds=kinds, host=kinds[host], rank_0=rank_0, victim=victim):
                self.mixed(kinds, host, rank_0, victim)

    @repeated
    def test_without_a_failure(self):
        self.all_variants("lt", None)

    @repeated
    def test_a_worker_of_launch_fails(self):
        self.all_variants("lt", "l")

    @repeated
    def test_a_worker_of_torchrun_fails(self):
        self.all_variants("lt", "t")

    @repeated
    def test_three_nodes_where_torchrun_hosts_and_launch_leads(self):
        self.mixed("ltl", 1, "l", "t")

    @repeated
    def test_four_nodes(self):
        self.mixed("ltlt", 0, "l", "t")
        self.mixed("ltlt", 1, "t", "l")
