"""The same c10d and restart lines to launch and to torchrun: who starts, as which rank, and how it ends.

Workers are shell scripts. Where launch differs on purpose (docs/torchrun.md), both sides have their own expectation.
What is expected stands here, so that torchrun need not show it each time.
"""
import base64
import itertools
import re

import processes
import wire
from harness import Settings, free_port, long, wait_for
from torch_job import SECONDS, TorchCase

TELL = 'echo "attempt $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS rank $RANK of $WORLD_SIZE"\n'
FAIL = 'exit 7\n'
STAY = 'until [ -e "$SIDE/go" ]; do sleep 0.1; done\n'
DEAD_AFTER = ("keep_alive_interval=1", "keep_alive_max_attempt=6")  # seconds, attempts
# Else torchrun 2.13 says where its workers meet in the first round alone, and who comes later waits for it in vain.
TELL_EACH_ROUND = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


class Lines(TorchCase):
    is_launch = True

    def setUp(self):
        super().setUp()
        self.side = self.folder / "side"
        self.side.mkdir()

    def launcher(self):
        return Settings.launch if self.is_launch else self.torchrun()

    def worker(self, *parts):
        return self.program("#!/bin/sh\n" + "".join(parts), "worker")

    def c10d(self, endpoint, *command, nnodes=2, run_id="job", conf=(), options=(), address="127.0.0.1", env=None):
        conf = [f"--rdzv-conf={','.join(conf)}"] if conf else []
        return self.start([self.launcher(), "--no-python", f"--nnodes={nnodes}", "--nproc-per-node=1",
                           "--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}", f"--rdzv-id={run_id}",
                           f"--local-addr={address}", *conf, *options, *command],
                          env={"SIDE": str(self.side), **(env or {})})

    def pair(self, *command, **more):
        endpoint = f"127.0.0.1:{free_port()}"
        return [self.c10d(endpoint, *command, **more) for _ in range(2)]

    def crowd(self, nnodes, conf=()):
        """Starts a node of one job at each call. Ranks go by address, so a newcomer comes behind the others."""
        self.endpoint = f"127.0.0.1:{free_port()}"
        env = {} if self.is_launch else TELL_EACH_ROUND
        for number in itertools.count(1):
            yield self.c10d(self.endpoint, self.worker(TELL, STAY), nnodes=nnodes, env=env,
                            options=["--max-restarts=2"], address=f"127.0.0.{number}",
                            conf=[f"is_host={int(number == 1)}", *DEAD_AFTER, *conf])

    def await_round(self, runs, told):
        """Waits until just these words (rank, of) have been told, each in the first attempt."""
        wanted = sorted(("0", "2", str(rank), str(size)) for rank, size in told)
        self.assertTrue(wait_for(lambda: self.told(runs) == wanted, SECONDS),
                        f"{self.told(runs)}\n" + "\n".join(map(str, runs)))

    def kill_launcher(self, run):
        """torchrun's workers do not end with it: they count as ended with the node."""
        below = processes.descendants_of(run.pid)
        processes.kill(processes.launcher(run.pid))
        if not self.is_launch:
            processes.kill(below)
        run.wait()

    def told(self, runs):
        text = "".join(run.out for run in runs)
        return sorted(re.findall(r"attempt (\d+) of (\d+) rank (\d+) of (\d+)", text))

    def of(self, size, runs):
        return [(int(rank), size) for _, _, rank, of in self.told(runs) if of == str(size)]

    def state(self):
        with wire.Client(self.endpoint.split(":")[1]) as store:
            return base64.b64decode(store.get("/torch.rendezvous.job")).decode("latin-1")

    def ended(self, *runs, seconds=SECONDS):
        """Exit codes; any failure counts as 1, since launch's are those of the workers."""
        return [min(1, code) for code in self.finish(*runs, seconds=seconds)]


class Few:
    def test_row_46_two_nodes_have_ranks_of_their_own(self):
        runs = self.pair(self.worker(TELL))
        self.assertEqual([0, 0], self.ended(*runs))
        self.assertEqual([("0", "0", "0", "2"), ("0", "0", "1", "2")], self.told(runs))

    def test_rows_64_to_66_the_end_of_one_is_the_end_of_all(self):
        runs = self.pair(self.worker("exit 0\n"))
        self.assertEqual([0, 0], self.ended(*runs))
        fails = self.worker('trap \'echo told > "$SIDE/told.$RANK"; exit 0\' TERM\n'
                            'if [ "$LOCAL_RANK" = 0 ]; then\n'
                            'while [ ! -e "$SIDE/up" ]; do sleep 0.05; done; exit 7; fi\n'
                            ': > "$SIDE/up"; while :; do sleep 0.05; done\n')
        run = self.start([self.launcher(), "--no-python", "--nproc-per-node=2", fails], env={"SIDE": str(self.side)})
        self.assertEqual([7 if self.is_launch else 1], self.finish(run, seconds=SECONDS))
        self.assertTrue((self.side / "told.1").exists(), str(run))

    def test_row_68_three_attempts(self):
        run = self.start([self.launcher(), "--no-python", "--max-restarts=2", self.worker(TELL, FAIL)])
        self.assertEqual([7 if self.is_launch else 1], self.finish(run, seconds=SECONDS))
        self.assertEqual([(str(attempt), "2", "0", "1") for attempt in range(3)], self.told([run]))

    def test_row_69_a_restart_that_helps(self):
        run = self.start([self.launcher(), "--no-python", "--max-restarts=2",
                          self.worker(TELL, '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ]\n')])
        self.assertEqual([0], self.ended(run))
        self.assertEqual([("0", "2", "0", "1"), ("1", "2", "0", "1")], self.told([run]))

    def test_row_70_both_nodes_start_anew(self):
        """torchrun counts on the node that failed alone; launch on both."""
        # In the round after the failure both files are there, and both ranks end well, whichever node has which.
        fails_once = ('if [ "$RANK" = 0 ]; then [ -e "$SIDE/up" ] && exit 0; : > "$SIDE/up"; exec sleep 300; fi\n'
                      'while [ ! -e "$SIDE/up" ]; do sleep 0.05; done\n'
                      '[ -e "$SIDE/failed" ] || { : > "$SIDE/failed"; exit 7; }\n')
        runs = self.pair(self.worker(TELL, fails_once), options=["--max-restarts=2"])
        self.assertEqual([0, 0], self.ended(*runs))
        attempts = sorted(attempt for attempt, *_ in self.told(runs))
        self.assertEqual(["0", "0", "1", "1"] if self.is_launch else ["0", "0", "0", "1"], attempts)


class Meeting:
    def test_row_47_the_default_port(self):
        runs = [self.c10d("127.0.0.1", self.worker(TELL)) for _ in range(2)]
        self.assertEqual([0, 0], self.ended(*runs))
        self.assertEqual(2, len(self.told(runs)))

    def test_row_48_the_host_may_come_late(self):
        endpoint = f"127.0.0.1:{free_port()}"
        early = self.c10d(endpoint, self.worker(TELL), conf=["is_host=0"])
        early.wait(1.5)
        late = self.c10d(endpoint, self.worker(TELL), conf=["is_host=1"])
        self.assertEqual([0, 0], self.ended(early, late))

    def test_row_50_without_a_host_there_is_no_store(self):
        conf = ["is_host=0", "join_timeout=2", "read_timeout=2"]
        runs = self.pair(self.worker(TELL), conf=conf)
        self.assertEqual([1, 1], self.ended(*runs))
        self.assertEqual([], self.told(runs))

    def test_row_51_two_ids_are_two_jobs(self):
        endpoint = f"127.0.0.1:{free_port()}"
        # All four meet, so that no host of a store is gone too early.
        here = (': > "$SIDE/$TORCHELASTIC_RUN_ID.$RANK"\n'
                'while [ "$(ls "$SIDE" | wc -l)" -lt 4 ]; do sleep 0.05; done\n')
        worker = self.worker(TELL, here, "sleep 1\n")
        runs = [self.c10d(endpoint, worker, run_id=run_id) for run_id in ("a", "a", "b", "b")]
        self.finish(*runs, seconds=SECONDS)
        self.assertEqual([("0", "0", "0", "2")] * 2 + [("0", "0", "1", "2")] * 2, self.told(runs))

    def test_row_52_a_wait_in_vain(self):
        run = self.c10d(f"127.0.0.1:{free_port()}", self.worker(TELL), conf=["join_timeout=2"])
        self.assertEqual([1], self.ended(run))
        self.assertGreater(run.seconds, 2)

    def test_row_53_the_last_call(self):
        run = self.c10d(f"127.0.0.1:{free_port()}", self.worker(TELL), nnodes="1:2",
                        conf=["last_call_timeout=2"])
        self.assertEqual([0], self.ended(run))
        self.assertEqual([("0", "0", "0", "1")], self.told([run]))
        self.assertGreater(run.seconds, 2)


class Changes:
    def test_row_54_a_job_grows(self):
        nodes = self.crowd("1:2", ["last_call_timeout=1"])
        runs = [next(nodes)]
        self.await_round(runs, [(0, 1)])
        runs.append(next(nodes))
        self.await_round(runs, [(0, 1), (0, 2), (1, 2)])
        (self.side / "go").touch()
        self.assertEqual([0, 0], self.ended(*runs))

    def test_row_55_a_spare_node(self):
        nodes = self.crowd(2)
        runs = [next(nodes), next(nodes)]
        self.await_round(runs, [(0, 2), (1, 2)])
        runs.append(next(nodes))
        self.assertTrue(wait_for(lambda: "127.0.0.3" in self.state(), SECONDS))
        runs[2].wait(1 if self.is_launch else 3)  # torchrun looks once a second
        self.await_round(runs, [(0, 2), (1, 2)])
        self.kill_launcher(runs[1])
        self.await_round(runs, [(0, 2), (1, 2)] * 2)
        self.assertIn("rank 1 of 2", runs[2].out)
        (self.side / "go").touch()
        self.assertEqual([0, 1, 0], self.ended(*runs))

    def test_row_72_a_launcher_is_killed(self):
        """launch forms a round of those who are left; torchrun's workers stay, until a new node comes."""
        nodes = self.crowd("2:3", ["last_call_timeout=2"])
        first = [(rank, 3) for rank in range(3)]
        runs = [next(nodes), next(nodes), next(nodes)]
        self.assertTrue(wait_for(lambda: self.of(3, runs) == first, SECONDS), "\n".join(map(str, runs)))
        told = [(rank, size) for size in (2, 3) for rank, size in self.of(size, runs)]
        self.kill_launcher(runs[2])
        if self.is_launch:
            told += [(0, 2), (1, 2)]
        else:
            runs[0].wait(8)  # longer than DEAD_AFTER
        self.await_round(runs, told)
        runs.append(next(nodes))
        self.await_round(runs, told + first)
        (self.side / "go").touch()
        self.assertEqual([0, 0, 1, 0], self.ended(*runs))


class Ends:
    def test_row_71_the_last_failure_on_one_node(self):
        """torchrun's other node ends by its own workers' result; launch ends the job everywhere, with one code."""
        runs = self.pair(self.worker('[ "$RANK" = 1 ] && exit 7\nsleep 2\n'))
        if self.is_launch:
            self.expect([7, 7], runs, seconds=SECONDS)
            return
        # The other torchrun ends well, or with an error where its store has gone; or it waits in its exit barrier.
        self.assertTrue(wait_for(lambda: any(run.wait(0) == 1 for run in runs), SECONDS), "\n".join(map(str, runs)))
        if not wait_for(lambda: all(run.wait(0) is not None for run in runs), 20):
            processes.kill(self.leftovers())
        self.assertIn(sorted(self.finish(*runs)), [[0, 1], [1, 1], [1, 137]])

    def test_row_73_the_exit_barrier(self):
        runs = self.pair(self.worker('[ "$RANK" = 1 ] && sleep 4\nexit 0\n'))
        self.assertEqual([0, 0], self.ended(*runs))
        ends = sorted(run.ended for run in runs)
        self.assertLess(ends[1] - ends[0], 3)

    def test_row_74_early_exits_are_no_failure(self):
        worker = self.worker('[ "$RANK" = 1 ] && sleep 1\nexit 0\n')
        run = self.start([self.launcher(), "--no-python", "--nproc-per-node=2", worker])
        self.assertEqual([0], self.ended(run))
        self.assertGreater(run.seconds, 1)

    def test_row_67_what_ignores_the_request_is_killed(self):
        """torchrun after 30 s, always; launch after --shutdown-timeout."""
        stubborn = self.worker('trap "" TERM\nif [ "$RANK" = 0 ]; then until [ -e "$SIDE/up" ]; do sleep 0.05; done; '
                               'exit 7; fi\n: > "$SIDE/up"; while :; do sleep 0.2; done\n')
        patience = ["--shutdown-timeout=2"] if self.is_launch else []
        run = self.start([self.launcher(), "--no-python", "--nproc-per-node=2", *patience, stubborn],
                         env={"SIDE": str(self.side)})
        self.assertEqual([7 if self.is_launch else 1], self.finish(run, seconds=SECONDS))
        self.assertGreater(run.seconds, 2 if self.is_launch else 30)
        if self.is_launch:
            self.assertLess(run.seconds, 20)


class OfLaunch(Few, Meeting, Changes, Ends, Lines):
    load = 0.1


class FewOfTorchrun(Few, Lines):
    """A living sample."""
    is_launch = False
    load = 0.3


@long("OfLaunch expects of launch what torchrun shows here")
class MeetingOfTorchrun(Meeting, Lines):
    is_launch = False


@long("OfLaunch expects of launch what torchrun shows here")
class ChangesOfTorchrun(Changes, Lines):
    is_launch = False


@long("OfLaunch expects of launch what torchrun shows here")
class EndsOfTorchrun(Ends, Lines):
    is_launch = False
    load = 0.1
