"""Disks that stall: a node that waits for one is not dead, and hears what it is told."""
import json
import os
import signal

import disks
import leases
import processes
from harness import Settings, free_port, wait_for
from job import SLEEP, JobCase

SECONDS = float(os.environ.get("LAUNCH_STALL_SECONDS", "4"))  # longer than the others wait for a word
HEARTBEAT = "--heartbeat-timeout=2"

# Parts of worker scripts; $1 is the name of the job.
UP = ': > "$TEST_FOLDER/up.$1.$RANK"\n'
UNTIL_GO = 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n'


class StallCase(JobCase):
    builds = only = ("release",)  # waits most of the time

    disk = None

    def setUp(self):
        super().setUp()
        self.stalls = []

    def tearDown(self):
        for stall in self.stalls:
            stall.end()
        if self.disk:
            self.disk.remove()  # thawed, so that what waits for it can be ended
        super().tearDown()

    def stall(self, path):
        """`path`, which cannot be executed before let_go()."""
        try:
            self.stalls.append(leases.Stall(path))
        except leases.Impossible as why:
            self.need(False, str(why))
        return path

    def let_go(self):
        for stall in self.stalls:
            stall.end()

    def use_disk(self):
        try:
            self.disk = disks.Disk.freezable("16M")
        except disks.Impossible as why:
            self.need(False, f"a file system of its own ({why})")

    def two_nodes(self, kind, name, programs, options=((), ()), before=((), ())):
        """A job of two launches with a program each; `kind` is static or c10d, and the first one has the store."""
        port = free_port()
        lines = []
        for rank, program in enumerate(programs):
            place = [f"--node_rank={rank}", "--master_addr=127.0.0.1", f"--master_port={port}"]
            if kind == "c10d":
                place = ["--rdzv-backend=c10d", f"--rdzv-id={name}", f"--rdzv-endpoint=127.0.0.1:{port}",
                         f"--rdzv-conf=is_host={int(rank == 0)}"]
            lines.append([*before[rank], Settings.launch, "--nnodes=2", "--nproc_per_node=2", HEARTBEAT, *place,
                          *options[rank], "--no-python", program, name])
        return [self.start(line) for line in lines]

    def wait_for_exec(self, run):
        """Until a process that is to become a worker is there."""
        made = lambda: any(processes.children_of(agent) for agent in processes.children_of(run.pid))
        self.assertTrue(wait_for(made, 20), f"nothing is executed\n{run}")

    def wait_until_up(self, *names):
        """Both nodes of these jobs, two workers each."""
        wanted = {f"up.{name}.{rank}" for name in names for rank in range(4)}
        missing = lambda: wanted - {path.name for path in self.folder.glob("up.*")}
        if not wait_for(lambda: not missing(), 30):
            self.fail(f"not started: {sorted(missing())}\n" + "\n".join(map(str, self.runs)))

    def assert_nobody_ends(self, seconds):
        self.assertFalse(wait_for(lambda: any(run.wait(0) is not None for run in self.runs), seconds),
                         "\n".join(map(str, self.runs)))

    def assert_all_end_well(self):
        (self.folder / "go").touch()
        self.expect([0] * len(self.runs), self.runs)
        for run in self.runs:
            self.assertNotRegex(run.err, "has said nothing|starting all workers anew|went away", str(run))


class Exec(StallCase):
    def test_a_node_that_waits_for_exec_is_not_dead(self):
        names = {f"{kind}-{slow}": (kind, slow) for kind in ("static", "c10d") for slow in (0, 1)}
        slow_ones = []
        for name, (kind, slow) in names.items():
            programs = [self.worker(UP, UNTIL_GO, name=f"{name}.{node}") for node in range(2)]
            self.stall(programs[slow])
            slow_ones.append(self.two_nodes(kind, name, programs)[slow])
        for run in slow_ones:
            self.wait_for_exec(run)
        self.assert_nobody_ends(SECONDS)
        self.let_go()
        self.wait_until_up(*names)
        self.assert_all_end_well()

    def test_a_signal_is_heard_meanwhile(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                program = self.stall(self.worker(UP, SLEEP, name=f"worker{number}"))
                run = self.launch("--nproc_per_node=3", "--no-python", program, "job")
                self.wait_for_exec(run)
                run.signal(number)
                self.expect([128 + number], [run], seconds=20)
                self.assertEqual([], list(self.folder.glob("up.*")))

    def test_what_waits_ends_with_its_launch(self):
        run = self.launch("--nproc_per_node=3", "--no-python", self.stall(self.worker(UP, SLEEP)), "job")
        self.wait_for_exec(run)
        run.signal(signal.SIGKILL)
        self.expect([137], [run])
        self.assertTrue(wait_for(lambda: not self.leftovers(), 20), self.tree())

    def test_the_failure_of_another_node_is_heard_meanwhile(self):
        programs = [self.worker('[ "$RANK" = 1 ] && exit 3\n', SLEEP, name="failing"),
                    self.stall(self.worker(UP, SLEEP, name="waiting"))]
        runs = self.two_nodes("static", "job", programs)
        self.expect([3, 3], runs, seconds=20)
        for run in runs:
            self.assert_says(run, r"root cause     rank 1 ")
        self.assertEqual([], list(self.folder.glob("up.*")))


class Files(StallCase):
    """Files of launch itself on a disk that stalls while the workers run."""

    def wait_for_file(self, name):
        self.assertTrue(wait_for((self.folder / name).exists, 20), "\n".join(map(str, self.runs)))

    def test_events_that_wait_hold_nobody_up(self):
        self.use_disk()
        leaves = '[ "$LOCAL_RANK" = 1 ] && while [ ! -e "$TEST_FOLDER/leave" ]; do sleep 0.05; done && exit 0\n'
        program = self.worker(UP, leaves, UNTIL_GO)
        self.two_nodes("static", "job", [program, program], options=[(), [f"--events={self.disk.folder}/events"]],
                       before=[(), self.disk.inside()])
        self.wait_until_up("job")
        self.disk.freeze()
        (self.folder / "leave").touch()
        self.assert_nobody_ends(SECONDS)
        self.disk.thaw()
        self.assert_all_end_well()
        events = [json.loads(line)["event"] for line in (self.disk.path / "events").read_text().splitlines()]
        self.assertEqual(2, events.count("worker_exited"), events)
        self.assertEqual("job_ended", events[-1])

    def test_the_end_does_not_wait_for_ever(self):
        self.use_disk()
        failing = '[ "$LOCAL_RANK" = 1 ] && while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done && exit 3\n'
        place = self.disk.folder
        run = self.start([*self.disk.inside(), Settings.launch, "--nproc_per_node=2", f"--events={place}/events",
                          f"--verdict=json:{place}/verdict", f"--log-dir={place}", "--redirects=3", "--no-python",
                          self.worker(UP, failing, ': > "$TEST_FOLDER/stays"\n', SLEEP), "job"])
        self.wait_for_file("stays")
        self.disk.freeze()
        (self.folder / "go").touch()
        self.expect([3], [run], seconds=60)
        self.assert_says(run, "root cause     rank 1 ", "how the job ended may not be in it", "events? (is|are) lost",
                         "empty folders may stay there")


class Folder(StallCase):
    def stalled_job(self, program):
        """Both runs, of which the second one waits for the folder of its logs."""
        self.use_disk()
        self.disk.freeze()
        runs = self.two_nodes("static", "job", [program, program], options=[(), [f"--log-dir={self.disk.folder}"]],
                              before=[(), self.disk.inside()])
        first = {"up.job.0", "up.job.1"}
        self.assertTrue(wait_for(lambda: first <= {path.name for path in self.folder.glob("up.*")}, 20), str(runs[0]))
        return runs

    def test_a_node_that_waits_for_its_log_folder_is_not_dead(self):
        self.stalled_job(self.worker(UP, UNTIL_GO))
        self.assert_nobody_ends(SECONDS)
        self.disk.thaw()
        self.wait_until_up("job")
        self.assert_all_end_well()

    def test_it_hears_a_signal_meanwhile(self):
        runs = self.stalled_job(self.worker(UP, SLEEP))
        runs[1].signal(signal.SIGTERM)
        self.expect([143, 143], runs, seconds=20)
