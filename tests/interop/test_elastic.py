"""c10d jobs of launch, alone and with the real torchrun, with real gloo workers: formed, failed, formed again."""
import random
import re

from harness import Settings, free_port, repeated
from torch_job import SECONDS, WORKERS, TorchCase

WORKER = WORKERS / "restart_train.py"


class ElasticCase(TorchCase):
    def elastic(self, launchers, *command, nproc=2, options=(), host=0, env=None, nnodes=None):
        """A c10d job of these launchers; the one at index `host` is started first, and so hosts the store."""
        port = free_port()
        line = [f"--nnodes={nnodes or len(launchers)}", f"--nproc-per-node={nproc}", "--rdzv-backend=c10d",
                f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-id=job{port}", *options]
        env = {"PYTHON_EXEC": str(self.python("2.13")), **(env or {})}
        runs = {}
        for index in sorted(range(len(launchers)), key=lambda index: index != host):
            own = [] if launchers[index] == Settings.launch else ["--local-addr=127.0.0.1"]
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
    @repeated
    def test_two_nodes(self):
        self.assert_all_got_through(self.elastic([Settings.launch] * 2, WORKER, 3, 0, 0), 4, attempt=0)

    @repeated
    def test_three_nodes_that_fail_twice(self):
        runs = self.elastic([Settings.launch] * 3, WORKER, 10, 2, random.randrange(10 ** 6),
                            options=["--max-restarts=3"], nproc=1)
        self.assert_all_got_through(runs, 3, attempt=2)

    @repeated
    def test_a_static_job_restarts_on_both_nodes(self):
        runs = self.job([2, 2], "--max-restarts=3", WORKER, 10, 2, random.randrange(10 ** 6),
                        python=self.python("2.13"))
        self.assert_all_got_through(runs, 4, attempt=2)

    @repeated
    def test_one_node_restarts(self):
        run = self.launch("--nproc-per-node=4", "--max-restarts=3", WORKER, 10, 2, random.randrange(10 ** 6),
                          env={"PYTHON_EXEC": str(self.python("2.13"))})
        self.assert_all_got_through([run], 4, attempt=2)


class Mixed(ElasticCase):
    """{who hosts the store} x {who gets rank 0, which goes by address} x {no failure, one on either kind}."""

    def mixed(self, kinds, host, victim=None, nproc=2):
        launchers = [Settings.launch if kind == "l" else self.torchrun() for kind in kinds]
        size = nproc * len(kinds)
        env = {}
        failures = 0
        if victim is not None:
            marks = self.folder / f"attempts{len(self.runs)}"
            marks.mkdir()
            env, failures = {"ATTEMPTS": str(marks), "VICTIM": str(victim)}, 1
        runs = self.elastic(launchers, WORKER, 10, failures, random.randrange(10 ** 6), host=host, nproc=nproc, env=env,
                            options=["--max-restarts=3"])
        self.assert_all_got_through(runs, size, attempt=failures)

    @repeated
    def test_launch_hosts(self):
        self.mixed("lt", host=0)

    @repeated
    def test_torchrun_hosts(self):
        self.mixed("lt", host=1)

    @repeated
    def test_launch_hosts_and_a_worker_fails(self):
        for victim in (0, 3):
            self.mixed("lt", host=0, victim=victim)

    @repeated
    def test_torchrun_hosts_and_a_worker_fails(self):
        for victim in (0, 3):
            self.mixed("lt", host=1, victim=victim)

    @repeated
    def test_four_nodes_and_a_worker_fails(self):
        self.mixed("ltlt", host=0, victim=2, nproc=1)
