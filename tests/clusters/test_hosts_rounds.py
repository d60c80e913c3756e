"""Eight hosts with sixteen workers, and each way to lose them: how long anything is left on any host.

LAUNCH_TEST_REPEAT says how often each takes its turn (1); a table tells median and worst. A test that fails tells its
own; the quick tests have the same ends on three hosts.
"""
import collections
import re
import signal
import statistics
import time

from harness import long
from job import SLEEP, UP
from test_hosts_end import WindowCase

HOSTS, WORKERS, LINES = 8, 16, 500
COUNTS = f'i=0; while [ $i -lt {LINES} ]; do echo "rank $RANK line $i"; i=$((i + 1)); done\n'
HEARTBEAT = 2  # seconds
USUAL_SILENCE = 15  # of a connection, if the heartbeat time-out were no matter


@long("test_hosts_end and test_hosts, on fewer hosts")
class Rounds(WindowCase):
    load = 2.0
    times = collections.defaultdict(list)  # what has happened -> milliseconds until nothing was left

    @classmethod
    def tearDownClass(cls):
        print(f"\n  milliseconds until nothing is left on {HOSTS} hosts: turns, median, worst", flush=True)
        for what, times in cls.times.items():
            print(f"  {what:40} {len(times):4} {statistics.median(times):8.0f} {max(times):8.0f}", flush=True)
        cls.times.clear()
        super().tearDownClass()

    def job_of_all(self, place, *options):
        return self.job(place, *options, hosts=HOSTS)

    def take_time(self, place, what, since):
        self.expect_empty(place, seconds=USUAL_SILENCE - 1)
        self.times[what].append((time.monotonic() - since) * 1000)

    def expect_failure(self, run, says):
        self.finish(run, seconds=60)
        self.assertNotEqual(0, run.code, str(run))
        self.assert_says(run, says)

    def test_all_lines_of_all_ranks(self):
        with self.place(HOSTS) as place:
            run = self.head(place, f"--hosts=n[1-{HOSTS}]", "--nproc-per-node=2", self.worker(COUNTS))
            self.expect([0], [run])
            since = time.monotonic()
            found = collections.defaultdict(list)
            for rank, line in re.findall(r"rank (\d+) line (\d+)$", run.out, re.MULTILINE):
                found[int(rank)].append(int(line))
            self.assertEqual({rank: list(range(LINES)) for rank in range(WORKERS)}, dict(found))
            self.take_time(place, "the job has ended well", since)

    def test_the_head_is_killed(self):
        with self.place(HOSTS) as place:
            run = self.job_of_all(place)
            since = time.monotonic()
            run.signal(signal.SIGKILL)
            self.take_time(place, "the head is killed", since)
            self.expect([137], [run])

    def test_the_terminal_is_closed(self):
        with self.place(HOSTS) as place:
            run = self.in_window(place, UP, SLEEP, hosts=HOSTS)
            since = time.monotonic()
            self.close_window()
            self.take_time(place, "the terminal is closed", since)
            self.expect([129], [run])

    def test_a_client_of_ssh_is_killed(self):
        with self.place(HOSTS) as place:
            run = self.job_of_all(place)
            since = time.monotonic()
            place.kill_client(3)
            self.take_time(place, "a client of ssh is killed", since)
            self.expect_failure(run, r"\bn3\b")

    def test_a_host_is_cut_off(self):
        with self.place(HOSTS) as place:
            run = self.job_of_all(place, f"--heartbeat-timeout={HEARTBEAT}")
            since = time.monotonic()
            place.cut(3)
            self.take_time(place, f"a host is cut off, --heartbeat-timeout={HEARTBEAT}", since)
            self.expect_failure(run, r"\bn3\b")
            place.plug_in(3)

    def test_a_host_is_dead_from_the_start(self):
        with self.place(HOSTS) as place:
            place.cut(2)
            run = self.head(place, f"--hosts=n[1-{HOSTS}]", "--nproc-per-node=2", self.worker(UP, SLEEP))
            self.expect([1], [run], seconds=30)
            since = time.monotonic()
            self.assert_lines(run, r"n2: no (answer|route to it) on port 22")
            self.assertEqual([], self.up())
            self.take_time(place, "a host is dead from the start", since)
