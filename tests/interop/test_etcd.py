"""Jobs of launch and the real torchrun that meet at a real etcd (etcd-v2, and the older etcd), or in a file (c10d with
store_type=file).

A job is named by the kinds of its nodes, l and t, in the order in which they are started.
"""
import functools
import itertools
import random
import subprocess

import processes
from etcd_place import Etcd
from harness import Settings, free_port, long, repeated, wait_for
from test_elastic import ElasticCase
from test_membership import Membership
from torch_job import SECONDS, WORKERS

RESTARTS = WORKERS / "restart_train.py"
CONF = "last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt=10"
OLDER_CONF = "last_call_timeout=2,timeout=120"


class ElsewhereCase(ElasticCase):
    """Nobody hosts the store."""

    numbers = itertools.count()
    etcd = None
    backend, basics = "etcd-v2", CONF

    def end_all(self):
        if self.etcd:
            self.etcd.stop()
        self.etcd = None
        super().end_all()

    def finish(self, *runs, seconds=60.0):
        """What one node waits for, another one may tell."""
        try:
            return super().finish(*runs, seconds=seconds)
        except self.failureException as fault:
            self.fail(f"{fault}\n" + "\n".join(map(str, runs)))

    def place(self):
        """The options that say where it is; and the environment of the nodes."""
        if self.etcd:  # of the job before
            self.etcd.stop()
        self.etcd = Etcd(self)
        return [f"--rdzv-backend={self.backend}", f"--rdzv-endpoint=127.0.0.1:{self.etcd.port}"], self.basics

    def launcher(self, kind):
        return Settings.launch if kind == "l" else self.torchrun_with_etcd()

    def torchrun_with_etcd(self):
        python = self.python("2.13")
        found = subprocess.run([python, "-c", "import etcd"], capture_output=True, check=False).returncode == 0
        self.need(found, "python-etcd (tests/interop/python_env.py installs it)")
        return self.torchrun()

    def nodes(self, kinds, *command, nnodes=None, env=None, options=(), conf=""):
        """Starts these nodes one after the other, which get their ranks in that order."""
        place, basics = self.place()
        job = f"job{next(self.numbers)}-{free_port()}"
        runs = []
        for index, kind in enumerate(kinds):
            runs.append(self.start(
                [self.launcher(kind), f"--nnodes={nnodes or len(kinds)}", "--nproc-per-node=1", *place,
                 f"--rdzv-id={job}", f"--rdzv-conf={basics}{conf}", f"--local-addr=127.0.0.{index + 1}", *options,
                 *command], env={**self.forking_python(), "LOGLEVEL": "INFO", **(env or {})}))
        return runs

    def get_through(self, kinds, victim=None):
        """`victim`: the rank of the worker that fails once."""
        env, failures = {}, 0
        if victim is not None:
            marks = self.folder / f"attempts{next(self.numbers)}"
            marks.mkdir()
            env, failures = {"ATTEMPTS": str(marks), "VICTIM": str(victim)}, 1
        runs = self.nodes(kinds, RESTARTS, 10, failures, random.randrange(10 ** 6), env=env,
                          options=["--max-restarts=3"])
        self.assert_all_got_through(runs, len(kinds), attempt=failures)


def rarely(covered_by, test):
    """The same test, for --long in the class that takes it."""
    @long(covered_by)
    @functools.wraps(test)
    def run(self):
        return test(self)
    return run


class Meeting:
    """What is so at an etcd and in a file."""

    @repeated
    def test_two_launch(self):
        self.get_through("ll")

    @repeated
    def test_launch_first(self):
        self.get_through("lt")

    @repeated
    def test_torchrun_first(self):
        self.get_through("tl")

    @repeated
    def test_a_worker_of_launch_fails(self):
        self.get_through("tl", victim=1)


class AtEtcd(Meeting, ElsewhereCase):
    load = 0.9

    @repeated
    def test_three_nodes_of_both_kinds(self):
        self.get_through("ltl")

    @repeated
    def test_a_worker_of_torchrun_fails(self):
        self.get_through("lt", victim=1)

    @long("test_a_worker_of_launch_fails and test_a_worker_of_torchrun_fails")
    @repeated
    def test_the_worker_of_rank_0_fails(self):
        for kinds in ("ll", "lt", "tl", "tlt"):
            with self.subTest(kinds=kinds):
                self.get_through(kinds, victim=0)


class AtOlderEtcd(AtEtcd):
    backend, basics = "etcd", OLDER_CONF
    test_two_launch = rarely("test_a_launch_joins_torchrun, and AtEtcd", AtEtcd.test_two_launch)
    test_launch_first = rarely("test_three_nodes_of_both_kinds", AtEtcd.test_launch_first)
    test_torchrun_first = rarely("test_under_a_prefix_of_its_own", AtEtcd.test_torchrun_first)

    @repeated
    def test_under_a_prefix_of_its_own(self):
        runs = self.nodes("tl", RESTARTS, 3, 0, 0, conf=",etcd_prefix=/own/place")
        self.assert_all_got_through(runs, 2, attempt=0)
        (job,) = [option.split("=")[1] for option in map(str, runs[0].command) if option.startswith("--rdzv-id=")]
        self.assertIn('"closed"', self.etcd.value(f"/own/place/run_{job}/rdzv/active_version"))


class InFile(Meeting, ElsewhereCase):
    load = 0.9

    def place(self):
        path = self.folder / f"store{next(self.numbers)}"
        return ["--rdzv-backend=c10d", f"--rdzv-endpoint={path}"], CONF + ",store_type=file"

    def torchrun_with_etcd(self):
        return self.torchrun()

    @long("test_launch_first and test_a_worker_of_launch_fails")
    @repeated
    def test_three_nodes_of_which_one_of_torchruns_workers_fails(self):
        self.get_through("ltl", victim=1)


class EtcdMembership(Membership, ElsewhereCase):
    """Nodes come and are killed, in a job at an etcd."""
    load = 0.6

    def setUp(self):
        super().setUp()
        self.conf_of = dict.fromkeys("lt", self.basics)

    def form(self, kinds, nnodes, rank_0=0, env=None):
        self.etcd = Etcd(self)
        super().form(kinds, nnodes, rank_0, env)

    def come(self, kind):
        index = len(self.nodes)
        env = {**self.forking_python(), "JOB_FOLDER": str(self.job), "LOGLEVEL": "INFO", **self.env}
        self.nodes.append(self.start(
            [self.launcher(kind), f"--nnodes={self.nnodes}", "--nproc-per-node=1", f"--rdzv-backend={self.backend}",
             f"--rdzv-endpoint=127.0.0.1:{self.etcd.port}", f"--rdzv-id={self.job.name}", f"--rdzv-conf={self.conf}",
             f"--local-addr={self.addresses[index]}", "--max-restarts=5", WORKERS / "membership_train.py"], env=env))

    def kill(self, index):
        self.known = self.notes()
        pid = self.nodes[index].pid
        below = processes.descendants_of(pid) - processes.launcher(pid)
        processes.kill(processes.launcher(pid))
        if str(self.nodes[index].command[0]) != str(Settings.launch):
            processes.kill(below)

    def state(self):
        if self.backend == "etcd":
            return self.etcd.value(f"/torchelastic/p2p/run_{self.job.name}/rdzv/active_version")
        return self.etcd.state(self.job.name)


class NodesComeAndGo(EtcdMembership):
    load = 0.3

    def is_lost_and_replaced(self, kinds, successor):
        self.form(kinds, f"{len(kinds) - 1}:{len(kinds)}")
        self.kill(len(kinds) - 1)
        self.settled(len(kinds) - 1)
        self.come(successor)
        self.settled(len(kinds))
        self.ends(len(kinds), len(kinds) - 1)

    @repeated
    def test_launch_is_replaced_by_launch(self):
        self.is_lost_and_replaced("tll", "l")

    @repeated
    def test_torchrun_is_replaced_by_launch(self):
        self.is_lost_and_replaced("llt", "l")

    @long("test_launch_is_replaced_by_launch")
    @repeated
    def test_launch_is_replaced_by_torchrun(self):
        self.is_lost_and_replaced("ltl", "t")

    @repeated
    def test_a_node_joins(self):
        self.form("l", "1:2")
        self.come("l")
        self.settled(2)
        self.ends(2)


class NodesComeAndGoAtOlderEtcd(NodesComeAndGo):
    backend, basics = "etcd", OLDER_CONF
    test_launch_is_replaced_by_launch = rarely("test_torchrun_is_replaced_by_launch",
                                               NodesComeAndGo.test_launch_is_replaced_by_launch)
    test_a_node_joins = rarely("test_a_launch_joins_torchrun", NodesComeAndGo.test_a_node_joins)

    @repeated
    def test_a_torchrun_joins(self):
        self.form("l", "1:2")
        self.come("t")
        self.settled(2)
        self.ends(2)

    @repeated
    def test_a_launch_joins_torchrun(self):
        self.form("t", "1:2")
        self.come("l")
        self.settled(2)
        self.ends(2)

    @repeated
    def test_a_spare_takes_the_place_of_a_lost_node(self):
        self.form("ll", "1:2")
        self.come("l")
        self.assertTrue(wait_for(lambda: "standing by" in self.nodes[2].err, SECONDS), self.said())
        self.assertTrue(all(map(processes.alive, self.pids)), self.said())
        self.kill(1)
        self.settled(2)
        self.ends(2, 1)


class EtcdStops(EtcdMembership):
    join_timeout = "join_timeout"

    def stops(self, kinds):
        self.form(kinds, len(kinds))
        self.etcd.stop()
        self.assertEqual([1] * len(kinds), self.finish(*self.nodes, seconds=SECONDS), self.said())
        for kind, run in zip(kinds, self.nodes):
            if kind == "l":
                self.assertIn("lost contact with the job's store", run.err)
                self.assertIn(f"127.0.0.1:{self.etcd.port}", run.err)

    @repeated
    def test_under_two_launch(self):
        self.stops("ll")

    @repeated
    def test_under_both_kinds(self):
        self.stops("tl")

    def test_an_etcd_that_is_not_there_is_waited_for(self):
        port = free_port()
        run = self.start([Settings.launch, "--nnodes=2", f"--rdzv-backend={self.backend}",
                          f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-conf={self.join_timeout}=2", "true"])
        self.expect([124], [run])
        self.assertIn(f"the rendezvous timed out after 2 s: its store is missing: cannot reach 127.0.0.1:{port}",
                      run.err)


class OlderEtcdStops(EtcdStops):
    backend, basics = "etcd", OLDER_CONF
    join_timeout = "timeout"
