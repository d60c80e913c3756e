"""Nodes that come to a c10d job and get no place in it, and agents of torchrun that come at a bad moment."""
import json
import signal

import torchrun_state
import wire
from harness import wait_for
from members import START, UNTIL_GO, MembersCase

TIMED_OUT = 124
ROUND_0 = "/torch.rendezvous.job.0"


class WithoutAPlace(MembersCase):
    def test_who_has_waited_too_long_leaves_a_job_that_runs_alone(self):
        """The job is about to take it in, but its workers take long to stop."""
        self.script = self.worker("trap 'sleep 4; exit 0' TERM\n", START, UNTIL_GO)
        runs = self.form(2)
        self.forget("told")
        newcomer = self.member(3, "--rdzv-conf=is_host=0,join_timeout=1")
        self.expect([TIMED_OUT], [newcomer])
        self.assert_says(newcomer, "the rendezvous timed out after 1 s")
        self.wait_for_round(2)
        self.end_well(*runs.values())

    def test_a_spare_ends_with_the_code_of_a_job_that_fails(self):
        runs = self.form(2, nnodes="1:2")
        spare = self.member(3, nnodes="1:2")
        self.wait_until_said(spare, "standing by")
        (self.folder / "fail.2").touch()
        self.expect([7, 7, 7], [*runs.values(), spare])
        self.assert_says(spare, "rank 1 .*exit code 7")


class BesideTorchrun(MembersCase):
    def connect(self):
        try:
            return wire.Client(self.port)
        except ConnectionRefusedError:
            return None

    def test_a_round_that_is_broken_at_once_still_tells_where_its_workers_would_meet_and_their_ranks(self):
        """torchrun's agents wait for both before they look who else has come."""
        host = self.member(1, "--rdzv-conf=is_host=1,last_call_timeout=60")
        member, newcomer = (torchrun_state.node(self.address(number), 4711) for number in (2, 3))

        def enter_and_form(state):
            launch, = state.participants
            state.participants = {launch: 0, member: 1}
            state.complete = True
            state.wait_list.add(newcomer)
            torchrun_state.keep_alive(state, member, newcomer)

        with wait_for(self.connect, 10) as store:
            self.assertTrue(wait_for(lambda: torchrun_state.change(store, "job", enter_and_form), 10), str(host))
            self.wait_until_said(host, "127.0.0.3 (pid 4711) joins")
            self.assertTrue(wait_for(lambda: store.get(f"{ROUND_0}/MASTER_PORT"), 10), str(host))
            role = {"role": "default", "rank": 1, "local_world_size": 2}
            store.set(f"{ROUND_0}/torchelastic/role_info/1", json.dumps(role).encode())
            self.assertTrue(wait_for(lambda: store.get(f"{ROUND_0}/torchelastic/assigned_ranks/1"), 10), str(host))
        host.signal(signal.SIGTERM)
        self.expect([143], [host])
