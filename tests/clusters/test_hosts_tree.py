"""launch --hosts with so many hosts that those that are there start the others. Each "host" is a process here."""
import os
import re
import signal

import processes
from cluster_case import ClusterCase
from harness import Settings, wait_for
from job import SLEEP, UP

HOSTS = int(os.environ.get("LAUNCH_TREE_HOSTS", "40"))
SAYS = 'echo "rank $RANK of $WORLD_SIZE"\n'

# Writes down who was started by whom, DEPTH hosts away from the head, and gives that to the hosts that it starts.
COUNTED = 'echo "{host} ${DEPTH:-0}" >> "$TEST_FOLDER/starts"; DEPTH=$((${DEPTH:-0} + 1)) exec {command}'


class Tree(ClusterCase):
    def head(self, command, *words, hosts=HOSTS):
        place = self.folder / "bin"
        place.mkdir(exist_ok=True)
        if not (place / "launch").exists():
            (place / "launch").symlink_to(Settings.launch)
        return self.launch(f"--hosts=h[1-{hosts}]", "--fanout=8", "--nproc-per-node=1", f"--start-with=exec:{command}",
                           *words, env={"PATH": f"{place}:{os.environ['PATH']}"})

    def first(self):
        """The number of hosts that the head starts."""
        return max(8, next(n for n in range(HOSTS + 1) if n * n >= HOSTS))

    def remotes(self, depth):
        """The processes on hosts so far away from the head."""
        return [pid for pid in self.leftovers() & processes.marked(f"DEPTH={depth + 1}")
                if "--remote" in processes.command_of(pid)]

    def wait_for_all_gone(self, run, seconds=20):
        self.assertTrue(wait_for(lambda: not self.leftovers(), seconds), f"{run}\n{self.tree()}")

    def starts(self):
        """How often a host was started so far away from the head, by the number of hosts between."""
        lines = [line.split() for line in (self.folder / "starts").read_text().splitlines()]
        return {depth: sum(1 for _, one in lines if one == depth) for depth in ("0", "1")}

    def assert_all_ran(self, run):
        self.expect([0], [run], seconds=240)
        ranks = sorted(int(rank) for rank in re.findall(rf"rank (\d+) of {HOSTS}\b", run.out))
        self.assertEqual(list(range(HOSTS)), ranks, str(run))

    def test_hosts_start_others(self):
        run = self.head(COUNTED, self.worker(SAYS))
        self.assert_all_ran(run)
        self.assertEqual({"0": self.first(), "1": HOSTS - self.first()}, self.starts())

    def test_hosts_that_may_not(self):
        run = self.head('[ -z "$DEPTH" ] || { echo "h: Permission denied (publickey)." >&2; exit 255; }; ' + COUNTED,
                        self.worker(SAYS))
        self.assert_all_ran(run)
        self.assertEqual({"0": HOSTS, "1": 0}, self.starts(), "the head has started all in the end")

    def test_a_failure_far_away(self):
        last = HOSTS - 1
        run = self.head(COUNTED, self.worker(UP, f'[ "$RANK" = {last} ] && exit 3\n', SLEEP))
        self.expect([3], [run], seconds=120)
        self.assertRegex(run.err, rf"root cause +rank {last} ")

    def test_a_host_that_others_go_through_is_killed(self):
        run = self.head(COUNTED, self.worker(UP, SLEEP))
        self.wait_until_up(HOSTS, run)
        remotes = self.remotes(0)
        self.assertEqual(self.first(), len(remotes))
        self.assertEqual(HOSTS - self.first(), len(self.remotes(1)))
        processes.kill(remotes[-1:])
        self.finish(run)
        self.assertIn(run.code, (1, 137), f"lost, or killed with its host\n{run}")
        self.assertRegex(run.err, r"h.*: the connection has ended.*went through h\d+")
        self.wait_for_all_gone(run)

    def test_the_head_is_killed(self):
        run = self.head(COUNTED, self.worker(UP, SLEEP))
        self.wait_until_up(HOSTS, run)
        run.signal(signal.SIGKILL)
        self.wait_for_all_gone(run)
