"""Nodes come to a c10d job of launch and the real torchrun, and are killed; the others go on, with real gloo workers.

A job is named by the kinds of its nodes, l and t; the node of rank 0 and the host of the store stay. After each change
every rank of the new round must have had a right all_reduce, and no restart may have been counted.
"""
import base64
import itertools
import re

import processes
import wire
from harness import Settings, free_port, long, repeated, wait_for
from torch_job import SECONDS, WORKERS, TorchCase

WORKER = WORKERS / "membership_train.py"
# A node is dead after 10 s without heartbeats where torchrun hosts the store. A launch that hosts knows by itself.
CONF = {"t": "last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt=10",
        "l": "last_call_timeout=2,keep_alive_max_attempt=60"}
ROUND_SECONDS = 50  # until a round has formed and all have had a sum; it takes three to ten, on a busy machine more


class Membership(TorchCase):
    numbers = itertools.count()
    conf_of = CONF  # by the kind of the host
    more = ()  # options that all nodes have

    def form(self, kinds, nnodes, rank_0=0, env=None):
        """Starts these nodes and waits until all are in one round. The first one hosts the store."""
        self.nodes = []
        self.port = free_port()
        self.job = self.folder / f"job{self.port}-{next(self.numbers)}"
        self.job.mkdir()
        self.nnodes, self.env = nnodes, env or {}
        self.conf = self.conf_of[kinds[0]]
        self.known = set()
        # Ranks go by address: the first one is for rank 0, and who comes later comes behind.
        self.addresses = [f"127.0.0.{1 if index == rank_0 else index + 2}" for index in range(9)]
        for kind in kinds:
            self.come(kind)
        self.settled(len(kinds))

    def come(self, kind):
        index = len(self.nodes)
        # What torchrun tells of its rounds is shown when a test fails.
        env = {**self.forking_python(), "JOB_FOLDER": str(self.job), "LOGLEVEL": "INFO", **self.env}
        self.nodes.append(self.start(
            [Settings.launch if kind == "l" else self.torchrun(), f"--nnodes={self.nnodes}", "--nproc-per-node=1",
             "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{self.port}", f"--rdzv-id=job{self.port}",
             f"--rdzv-conf={self.conf},is_host={int(index == 0)}", f"--local-addr={self.addresses[index]}",
             "--max-restarts=5", *self.more, WORKER], env=env))

    def kill(self, index):
        """Ends a node's launcher. torchrun's workers do not end with it; here they do."""
        self.known = self.notes()
        pid = self.nodes[index].pid
        below = processes.descendants_of(pid) - processes.launcher(pid)
        processes.kill(processes.launcher(pid))
        if str(self.torchrun()) in self.nodes[index].command:
            processes.kill(below)

    def notes(self):
        return {path.name for path in self.job.glob("round.*")}

    def settled(self, size):
        """Waits until `size` ranks of a new round have had a right sum."""
        def pids():
            new = [[int(word) for word in note.split(".")[1:]] for note in self.notes() - self.known]
            alive = {rank: pid for pid, rank, all_ranks in new if all_ranks == size and processes.alive(pid)}
            return sorted(alive) == list(range(size)) and alive.values()
        self.pids = wait_for(pids, ROUND_SECONDS)
        if not self.pids:
            self.fail(f"no round of {size}, but {self.notes() - self.known}, and the state is {self.state()}\n"
                      f"{self.said()}\n{self.tree()}")
        self.known = self.notes()

    def state(self):
        """What torchrun's agents see."""
        with wire.Client(self.port) as store:
            return base64.b64decode(store.get(f"/torch.rendezvous.job{self.port}"))

    def stands_by(self, index):
        """Waits until the state tells of this node, which has no place; nobody may start anew because of it."""
        known = wait_for(lambda: self.addresses[index].encode() in self.state(), ROUND_SECONDS)
        self.assertTrue(known, self.said())
        self.nodes[index].wait(2.5)  # torchrun looks once a second
        self.assertTrue(all(map(processes.alive, self.pids)), self.said())
        self.assertEqual(self.known, self.notes(), self.said())

    def ends(self, size, *killed):
        (self.job / "go").touch()
        self.expect([137 if index in killed else 0 for index in range(len(self.nodes))], self.nodes, seconds=SECONDS)
        out = "".join(run.out for run in self.nodes)
        said = sorted(re.findall(r"OK rank (\d+) of (\d+) attempt (\d+)", out))
        self.assertEqual([(str(rank), str(size), "0") for rank in range(size)], said, self.said())
        self.assertNotIn("WRONG", out)

    def said(self):
        return "\n".join(map(str, self.nodes))


class Replacement(Membership):
    """Two nodes run, a third one comes, is killed, and replaced. `go_on`: only when the two have formed a round."""

    def comes_and_is_replaced(self, kinds, newcomer, successor, go_on=False, **where):
        self.form(kinds, "2:3", **where)
        self.come(newcomer)
        self.settled(3)
        self.kill(2)
        if go_on:
            self.settled(2)
        self.come(successor)
        self.settled(3)
        self.ends(3, 2)


class HostMoves(Membership):
    """The node that hosts the store, of rank 0, is killed."""
    load = 0.9
    more = ("--quorum=host",)

    @repeated
    def test_the_others_go_on(self):
        self.form("llll", "2:4")
        self.kill(0)
        self.settled(3)
        self.kill(1)  # which hosts it now
        self.settled(2)
        self.ends(2, 0, 1)

    @repeated
    def test_a_spare_takes_its_place(self):
        self.form("lll", "3:3")
        self.come("l")
        self.stands_by(3)
        self.kill(0)
        self.settled(3)
        self.ends(3, 0)


class LaunchLeads(Replacement):
    load = 0.9

    @long("TorchrunLeads.test_torchrun_by_torchrun; test_four_nodes for the round of those who are left")
    @repeated
    def test_torchrun_by_torchrun(self):
        self.comes_and_is_replaced("lt", "t", "t", go_on=True)

    @long("TorchrunHosts.test_torchrun_by_launch")
    @repeated
    def test_torchrun_by_launch(self):
        self.comes_and_is_replaced("lt", "t", "l")

    @repeated
    def test_launch_by_torchrun(self):
        self.comes_and_is_replaced("lt", "l", "t")

    @repeated
    def test_four_nodes(self):
        self.form("ltlt", "2:4")
        self.assertIn("a node of torchrun takes part, which cannot follow to another host of the rendezvous",
                      self.nodes[0].err)
        self.kill(3)
        self.settled(3)
        self.come("l")
        self.settled(4)
        self.ends(4, 3)


class TorchrunLeads(Replacement):
    load = 0.7

    @long("LaunchLeads.test_four_nodes: a launch comes after one has gone and a round without it has formed")
    @repeated
    def test_launch_by_launch(self):
        self.comes_and_is_replaced("lt", "l", "l", rank_0=1, go_on=True)

    @repeated
    def test_torchrun_by_torchrun(self):
        self.comes_and_is_replaced("lt", "t", "t", rank_0=1)

    @long("LaunchLeads.test_launch_by_torchrun: the same where the launcher's store is the workers'")
    @repeated
    def test_launch_by_torchrun_where_rank_0_hosts_the_workers_store(self):
        self.comes_and_is_replaced("lt", "l", "t", rank_0=1, env={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"})


class TorchrunHosts(Replacement):
    load = 0.35

    @repeated
    def test_torchrun_by_launch(self):
        self.comes_and_is_replaced("tl", "t", "l", rank_0=1, go_on=True)

    @long("test_torchrun_by_launch: torchrun hosts there, too")
    @repeated
    def test_launch_by_launch_where_torchrun_leads(self):
        self.comes_and_is_replaced("tl", "l", "l")


class Spare(Membership):
    """Two nodes run, no more and no less; a spare one takes the place of a killed one, and then itself is replaced."""
    load = 0.6

    def enters_and_is_replaced(self, kinds, spare, successor, **where):
        self.form(kinds, 2, **where)
        self.come(spare)
        self.stands_by(2)
        self.kill(1)
        self.settled(2)
        self.kill(2)
        self.come(successor)
        self.settled(2)
        self.ends(2, 1, 2)

    @long("test_torchrun_is_spare: there a launch takes the place of the second one that is killed")
    @repeated
    def test_launch_is_spare(self):
        self.enters_and_is_replaced("lt", "l", "t")

    @repeated
    def test_torchrun_is_spare(self):
        self.enters_and_is_replaced("lt", "t", "l")

    @long("test_torchrun_is_spare, where launch hosts and leads; TorchrunHosts for its time-outs")
    @repeated
    def test_launch_is_spare_where_torchrun_hosts_and_leads(self):
        self.enters_and_is_replaced("tl", "l", "l")
