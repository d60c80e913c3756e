"""The tests of tests/cli about the loss of the store's host, with PyTorch workers that must reduce right in each round.

LAUNCH_MEMBERSHIP_ROUNDS says how often each takes its turn (1); the table tells median and worst.
"""
import test_majority as majority
import test_succession_cuts as cuts
from harness import long, wait_for
from members import START
from torch_job import WORKERS, TorchCase


class Gloo(TorchCase):
    """PyTorch is imported once, or LAUNCH_TEST_FORK=0: by each rank."""

    def setUp(self):
        super().setUp()
        env = self.forking_python()
        variables = "".join(f"export {name}={value}\n" for name, value in env.items())
        self.script = self.worker(cuts.LOOK_AROUND, START, variables, 'export JOB_FOLDER="$TEST_FOLDER"\n',
                                  "export GLOO_SOCKET_IFNAME=eth0\n",
                                  f'exec "$PYTHON_EXEC" -u {WORKERS / "membership_train.py"}\n')

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
