"""Several hosts in --rdzv-endpoint: the first founds the job, and who comes later finds it at any of them.

LAUNCH_MEMBERSHIP_ROUNDS says how often each measured change takes its turn (1); the table tells median and worst.
"""
import re
import signal
import time

import hosts
import processes
import test_succession_cuts as cuts
from harness import free_port, wait_for
from members import MembersCase, milliseconds, print_times, print_title

# Another program has the port, and says nothing to anybody.
HOLD = ("import signal, socket, sys\ns = socket.create_server(('', int(sys.argv[1])))\nprint('held', flush=True)\n"
        "signal.pause()\n")


class OneMachine(MembersCase):
    """Each node has an address of its own, and a port, which is listed beside it."""
    more = ("--quorum=host",)

    def setUp(self):
        super().setUp()
        self.ports = [self.port, free_port(), free_port()]

    def endpoint(self):
        return ",".join(f"{self.address(number)}:{port}" for number, port in enumerate(self.ports, 1))

    def conf(self, number):
        return f"last_call_timeout={self.last_call}"

    def next_job(self):
        super().next_job()
        self.ports[0] = self.port

    def test_who_comes_later_finds_the_job_at_its_next_host(self):
        runs = self.form(3, nnodes="1:4")
        killed = time.time()
        runs[1].signal(signal.SIGKILL)
        self.wait_for_round(2, since=killed)
        self.wait_until_said(runs[2], f"127.0.0.2 hosts it now, at 127.0.0.2:{self.ports[1]}")
        came = time.time()
        late = self.member(4, nnodes="1:4")
        self.wait_for_round(3, since=came)
        self.assert_says(late, f"the job job lives at 127.0.0.2:{self.ports[1]}; this node joins it there")
        again = self.member(1, nnodes="1:4")
        self.wait_for_round(4, since=came)
        self.assert_says(again, f"the job job lives at 127.0.0.2:{self.ports[1]}; this node joins it there")
        self.end_well(late, again, runs[2], runs[3])
        self.assert_rounds(3, 2, 3, 4)

    def test_who_waits_says_where_it_looks(self):
        late = self.member(2, nnodes="1:4")
        places = ", ".join(f"{self.address(number)}:{port}" for number, port in enumerate(self.ports, 1))
        self.wait_until_said(late, f"no job is there yet; looking for the job job at {places}; giving up in ")
        first = self.member(1, nnodes="2:4")
        first.signal(signal.SIGTERM)
        late.signal(signal.SIGTERM)
        self.assertEqual([143, 143], self.finish(first, late))

    def test_the_first_needs_its_port(self):
        holder = self.start(["python3", "-c", HOLD, self.port])
        self.assertTrue(wait_for(lambda: "held" in holder.out, 10))
        first = self.member(1, nnodes="1:4")
        self.finish(first, seconds=30)
        self.assertNotEqual(0, first.code)
        self.assert_says(first, f"cannot listen on port {self.port}: Address already in use")
        holder.signal(signal.SIGKILL)
        self.finish(holder)


class SeveralMachines(cuts.Host):
    more = ("--quorum=majority", f"--heartbeat-timeout={cuts.HEARTBEAT}")

    def endpoint(self):
        return ",".join(self.address(number) for number in (1, 2, 3)) + f":{self.port}"

    def conf(self, number):
        return f"last_call_timeout={self.last_call}"

    def lives_at(self, number):
        return f"the job job lives at {re.escape(self.address(number))}:{self.port}; this node joins it there"

    def test_a_new_node_joins_after_the_loss_of_the_first_machine(self):
        print_title("from the start of a new node until it runs, after the first machine was lost")
        print_times("it names all three", self.rounds(self.joins_after_a_loss))

    def joins_after_a_loss(self):
        runs = self.form(3, nnodes="1:4")
        began = time.time()
        self.place.cut(1)
        self.wait_for_round(2, since=began)
        late = self.member(4, nnodes="1:4")
        workers = self.wait_for_round(3, since=late.started)
        self.assertEqual([2, 3, 4], [start.node for start in workers])
        self.assert_says(late, self.lives_at(2))
        self.wait_until_said(runs[1], "looking for the job at")
        runs[1].signal(signal.SIGTERM)
        self.assertEqual([143], self.finish(runs[1]))
        self.end_well(late, runs[2], runs[3])
        self.assert_rounds(3, 2, 3)
        return milliseconds(late.started, workers)

    def test_the_first_is_started_again_with_the_same_line(self):
        print_title("from the new start of the first launch until all four run")
        print_times("the others run already", self.rounds(self.comes_back))
        print_times("at once", self.rounds(self.comes_back_at_once))

    def comes_back(self):
        runs = self.form(4, nnodes="1:4")
        killed = time.time()
        runs.pop(1).signal(signal.SIGKILL)
        self.wait_for_round(3, since=killed)
        again = self.member(1, nnodes="1:4")
        workers = self.wait_for_round(4, since=again.started)
        self.assert_says(again, self.lives_at(2))
        self.assertNotIn("lives elsewhere", again.err)
        self.end_well(again, *runs.values())
        self.assert_rounds(4, 3, 4)
        return milliseconds(again.started, workers)

    def comes_back_at_once(self):
        """The others may not have noticed yet that it was gone."""
        runs = self.form(4, nnodes="1:4")
        first = runs.pop(1)
        first.signal(signal.SIGKILL)
        again = self.member(1, nnodes="1:4")
        workers = self.wait_for_round(4, since=again.started)
        self.assert_says(again, self.lives_at(2))
        self.finish(first)
        self.end_well(again, *runs.values())
        sizes = [start.size for start in self.starts()]  # the three may run in between, all of them or some
        self.assertLessEqual(sizes[4:-4].count(3), 3)
        self.assertEqual([4] * 8, [size for size in sizes if size != 3], self.account())
        return milliseconds(again.started, workers)

    def test_one_that_is_cut_off_founds_no_second_job(self):
        with hosts.Hosts(4) as self.place:
            runs = self.form(4, nnodes="1:4")
            killed = time.time()
            runs.pop(1).signal(signal.SIGKILL)
            self.wait_for_round(3, since=killed)
            self.place.cut(1)
            again = self.member(1, nnodes="1:4")
            others = f"{self.address(2)}:{self.port} and {self.address(3)}:{self.port}"
            self.wait_until_said(again, f"{others} do not answer; looking for the job job at ")
            self.assertFalse(wait_for(lambda: self.starts(since=again.started), 2 * cuts.HEARTBEAT), self.account())
            self.place.plug_in(1)
            self.wait_for_round(4, since=again.started)
            self.end_well(again, *runs.values())
            self.assert_rounds(4, 3, 4)

    def test_the_first_founds_at_once_if_nobody_knows_of_a_job(self):
        with hosts.Hosts(4) as self.place:
            first = self.member(1, nnodes="1:4")
            self.wait_for_round(1)
            self.assertNotIn("looking for", first.err)
            self.end_well(first)

    def test_the_first_waits_for_a_machine_that_does_not_answer(self):
        with hosts.Hosts(4) as self.place:
            self.place.cut(3)
            first = self.member(1, nnodes="1:4")
            self.wait_until_said(first, f"{self.address(3)}:{self.port} does not answer; looking for the job job at ")
            self.assert_says(first, "this node founds it in ")
            self.wait_for_round(1)
            self.end_well(first)

    def test_a_node_whose_listed_port_is_taken(self):
        """It hosts the store elsewhere, and another one says where. To the others that port is silent."""
        self.conf = lambda number: "last_call_timeout=4"
        with hosts.Hosts(4) as self.place:
            holder = self.start(self.place.inside(2, "python3", "-c", HOLD, self.port))
            self.assertTrue(wait_for(lambda: "held" in holder.out, 10))
            runs = self.form(3, nnodes="1:4")
            self.assert_says(runs[2], f"port {self.port} is taken, at which --rdzv-endpoint expects this node")
            killed = time.time()
            runs.pop(1).signal(signal.SIGKILL)
            self.wait_for_round(2, since=killed)
            late = self.member(4, nnodes="1:4")
            self.wait_for_round(3, since=late.started)
            self.assert_says(late, rf"the job job lives at {re.escape(self.address(2))}:\d+; this node joins it there")
            processes.kill([holder.pid])
            self.finish(holder)
            self.end_well(late, *runs.values())
            self.assert_rounds(3, 2, 3)

    def test_a_member_says_where_the_host_is(self):
        """Which is not named."""
        self.endpoint = lambda: f"{self.address(1)},{self.address(3)}:{self.port}"
        with hosts.Hosts(4) as self.place:
            runs = self.form(3, nnodes="1:4")
            killed = time.time()
            runs.pop(1).signal(signal.SIGKILL)
            self.wait_for_round(2, since=killed)
            late = self.member(4, nnodes="1:4")
            self.wait_for_round(3, since=late.started)
            self.assert_says(late, rf"the job job lives at {re.escape(self.address(2))}:\d+; this node joins it there")
            self.end_well(late, *runs.values())
            self.assert_rounds(3, 2, 3)
