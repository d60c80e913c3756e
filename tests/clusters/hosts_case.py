"""The base of tests of launch --hosts: what the head is, what workers say, and that nothing is left on any host."""
import re

import hosts_place
import ssh_place
from cluster_case import ClusterCase
from harness import Settings

SAYS_ALL = 'echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK, node $GROUP_RANK, $(hostname)"\n'


def said(*workers):
    """What workers say by SAYS_ALL, in order of their ranks: `workers` has each host with the number of its workers."""
    size, lines = sum(count for _, count in workers), []
    for node, (host, count) in enumerate(workers):
        lines += [f"rank {len(lines) + local} of {size}, local {local}, node {node}, {host}" for local in range(count)]
    return lines


def in_order(text):
    """The lines that workers have said, in order of their ranks."""
    return sorted(re.findall(r"rank \d+ of .*", text), key=lambda line: int(line.split()[1]))


class HostsCase(ClusterCase):
    load = 1.0

    def setUp(self):
        super().setUp()
        self.need(not ssh_place.missing(), f"ssh ({ssh_place.missing()})")

    def place(self, count=8):
        return hosts_place.HostsPlace(self.folder, Settings.launch, count, self.variables())

    def head(self, place, *words, on=None, env=None, **options):
        """launch with these words on host `on`, else on login; it works in the test's folder."""
        command = place.inside(on or place.count + 1, place.program_of_head, *words)
        return self.start(command, env={**place.environment(), **(env or {})}, cwd=self.folder, **options)

    def expect_said(self, run, *workers, seconds=60):
        self.expect([0], [run], seconds=seconds)
        self.assertEqual(said(*workers), in_order(run.out), str(run))

    def expect_empty(self, place, *numbers, seconds=20):
        self.assertTrue(place.wait_until_empty(*numbers, seconds=seconds), "left:\n" + place.shown())

    def assert_lines(self, run, *patterns):
        """Each of these is in one line of the screen, and in one only."""
        lines = (run.out + run.err).splitlines()
        for pattern in patterns:
            self.assertEqual(1, len([line for line in lines if re.search(pattern, line)]), f"{pattern}\n{run}")

    def assert_reported_once(self, run, *patterns):
        """One report of the failure, whoever wrote it."""
        self.assertEqual(1, (run.out + run.err).count("root cause"), str(run))
        self.assert_lines(run, *patterns)
