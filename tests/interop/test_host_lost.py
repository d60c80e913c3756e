"""The tests of tests/cli about the loss of the store's host, with PyTorch workers that must reduce right in each round.

LAUNCH_MEMBERSHIP_ROUNDS says how often each takes its turn (1); the table tells median and worst.
"""
import os
import socket
import subprocess
import sys

import test_majority as majority
import test_succession_cuts as cuts
from harness import clean_environment, long, wait_for
from members import START
from torch_job import WORKERS, TorchCase


class Gloo(TorchCase):
    """PyTorch is imported once, or LAUNCH_TEST_FORK=0: by each rank."""

    def setUp(self):
        super().setUp()
        python = self.python("2.13")
        script = WORKERS / "membership_train.py"
        rank = f"exec {python} {script}\n"
        if self.forks():
            rank = f'export ZYGOTE="$TEST_FOLDER/zygote"\nexec {sys.executable} -S {WORKERS / "forked_rank.py"}\n'
            self.zygote = self.start_zygote(python, script)
        self.script = self.worker(cuts.LOOK_AROUND, START, 'export JOB_FOLDER="$TEST_FOLDER"\n',
                                  'export GLOO_SOCKET_IFNAME=eth0\n', rank)

    def start_zygote(self, python, script):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            door.bind(str(self.folder / "zygote"))
            door.listen(64)
            zygote = subprocess.Popen([python, WORKERS.parent / "gloo_zygote.py", str(door.fileno()), script],
                                      env=clean_environment(), pass_fds=[door.fileno()], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)
        self.servants.add(zygote.pid)
        self.assertEqual(b"ready\n", zygote.stdout.readline())
        return zygote

    def forks(self):
        return os.environ.get("LAUNCH_TEST_FORK") != "0"

    def tearDown(self):
        if self.zygote:
            self.zygote.communicate()
        super().tearDown()

    zygote = None

    def wait_for_round(self, size, since=0.0, seconds=20.0):
        workers = super().wait_for_round(size, since, seconds)
        began = min(start.time for start in workers)
        self.assertTrue(wait_for(lambda: self.reduced(size, began) == list(range(size)), 30), self.account())
        return workers

    def reduced(self, size, since):
        """The ranks of a round of this size that have had a right sum."""
        paths = list(self.folder.glob(f"round.*.{size}"))
        return sorted(int(path.name.split(".")[2]) for path in paths if path.stat().st_mtime > since)

    def next_job(self):
        super().next_job()
        self.forget("round.*")


NATIVE = "the same test of tests/cli, with workers of a shell"


class Proven(Gloo, majority.Proven):
    test_workers_of_the_others_have_time_to_save = None


@long(NATIVE)
class TwoInARow(Gloo, majority.TwoInARow):
    pass


@long(NATIVE)
class Spare(Gloo, majority.Spare):
    pass


class Silent(Gloo, majority.Silent):
    test_a_host_that_stood_still_as_a_whole_ends_its_workers_when_it_wakes = None


@long(NATIVE)
class Parted(Gloo, majority.Parted):
    pass


@long(NATIVE)
class Again(Gloo, majority.Again):
    pass
