"""c10d jobs whose nodes come and go: nodes by number, and workers that write down when they start and end."""
import os
import statistics
import typing

from harness import Settings, free_port, wait_for
from job import JobCase

SOON = 10_000  # milliseconds: less than any time-out after which a silent node is known, however busy the machine is
ROUNDS = int(os.environ.get("LAUNCH_MEMBERSHIP_ROUNDS", 1))

# Parts of worker scripts; $1 is the number of the node. A worker ends by a file "go", and fails by a file "fail.$1".
START = 'echo "start $(date +%s.%N) $1 $RANK $WORLD_SIZE $TORCHELASTIC_RESTART_COUNT $$" >> "$TEST_FOLDER/told"\n'
TELL_END = 'trap \'echo "end $(date +%s.%N) $1 $$" >> "$TEST_FOLDER/told"; exit 0\' TERM\n'
UNTIL_GO = ('while [ ! -e "$TEST_FOLDER/go" ]; do\n'
            '[ -e "$TEST_FOLDER/fail.$1" ] && rm "$TEST_FOLDER/fail.$1" && exit 7\nsleep 0.05\ndone\n')


class Start(typing.NamedTuple):
    """What a worker has written when it began."""
    time: float
    node: int
    rank: int
    size: int
    restarts: int
    pid: int


class MembersCase(JobCase):
    more = ()  # options that all nodes have
    place = None  # the hosts.Hosts that nodes run on; without, all run here
    last_call = 1  # seconds in which a node that is started with others joins the same round

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.script = self.worker(START, UNTIL_GO)

    def address(self, number):
        return f"127.0.0.{number}"

    def endpoint(self):
        return f"{self.address(1)}:{self.port}"

    def conf(self, number):
        return f"is_host={int(number == 1)},last_call_timeout={self.last_call}"

    def member(self, number, *options, nnodes="2:4"):
        """Starts the launch of node `number`; node 1 hosts the store."""
        line = [Settings.launch, f"--nnodes={nnodes}", "--rdzv-backend=c10d", "--rdzv-id=job",
                f"--rdzv-endpoint={self.endpoint()}", f"--local-addr={self.address(number)}",
                f"--rdzv-conf={self.conf(number)}", *self.more, *options,
                self.script, number]
        return self.start(self.place.inside(number, *line) if self.place else line)

    def form(self, count, *options, nnodes="2:4"):
        """A job of the nodes 1 to `count`, once its workers run: number -> run."""
        self.last_call = 3  # on a busy machine some start late
        runs = {number: self.member(number, *options, nnodes=nnodes) for number in range(1, count + 1)}
        self.last_call = MembersCase.last_call
        self.wait_for_round(count)
        return runs

    def told(self, word):
        """The lines of workers that begin with this word, in the order of writing."""
        path = self.folder / "told"
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [rest for first, *rest in lines if first == word]

    def starts(self, since=0.0):
        whole = len(Start._fields)  # a worker that was told to exit at once may lack its time
        found = [Start(float(line[0]), *map(int, line[1:])) for line in self.told("start") if len(line) == whole]
        return [start for start in found if start.time > since]

    def ends(self):
        """Node -> when its last worker that was told to stop has ended."""
        return {int(node): float(when) for when, node, _ in self.told("end")}

    def wait_for_round(self, size, since=0.0, seconds=20.0):
        """Waits for workers of all ranks in a round of this size that begins after `since`; by rank."""
        def complete():
            found = sorted((start for start in self.starts(since) if start.size == size), key=lambda start: start.rank)
            return [start.rank for start in found] == list(range(size)) and found

        found = wait_for(complete, seconds)
        if not found:
            self.fail(f"no round of {size} within {seconds} s:\n{self.account()}")
        return found

    def assert_rounds(self, *sizes):
        """These were the rounds, none of them was tried in vain, and no change of membership counts as a restart."""
        self.assertEqual([size for size in sizes for _ in range(size)], [start.size for start in self.starts()],
                         self.account())
        self.assertEqual({0}, {start.restarts for start in self.starts()})

    def assert_order_kept(self, before, after):
        stay = {start.node for start in before} & {start.node for start in after}
        self.assertEqual([start.node for start in before if start.node in stay],
                         [start.node for start in after if start.node in stay])

    def assert_undisturbed(self, runs, seconds):
        """No worker starts anew and no launch ends in this time."""
        known = len(self.starts())
        self.assertFalse(wait_for(lambda: len(self.starts()) > known or any(run.wait(0) is not None for run in runs),
                                  seconds), self.account())

    def wait_until_said(self, run, words):
        self.assertTrue(wait_for(lambda: words in run.err, 20), f"not said: {words}\n{run}")

    def end_well(self, *runs):
        (self.folder / "go").touch()
        self.expect([0] * len(runs), runs, seconds=20)

    def next_job(self):
        """Forgets a job that has ended, so that the same test may start another one."""
        self.finish(*self.runs, seconds=30)
        self.assertTrue(wait_for(lambda: not self.leftovers(), 5), self.tree())
        for run in self.runs:
            run.close()
        self.runs.clear()
        self.forget("told", "go", "events")
        self.port = free_port()

    def account(self):
        path = self.folder / "told"
        return "\n".join([path.read_text() if path.exists() else "no worker has started", *map(str, self.runs)])


def milliseconds(began, workers):
    """From `began` until the last one of them has started."""
    return (max(start.time for start in workers) - began) * 1000


def print_title(what):
    print(f"\n  milliseconds {what}, {ROUNDS} rounds: median, worst", flush=True)


def print_times(what, times):
    print(f"  {what:50} {statistics.median(times):8.0f} {max(times):8.0f}", flush=True)
