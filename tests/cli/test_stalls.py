"""Disks that stall: a node that waits for one is not dead, and hears what it is told."""
import json
import os
import signal

import disks
import leases
import processes
import served
from harness import Settings, free_port, wait_for
from job import SLEEP, JobCase

SECONDS = float(os.environ.get("LAUNCH_STALL_SECONDS", "7"))  # longer than the others wait for a word
HEARTBEAT = "--heartbeat-timeout=4"

# Parts of worker scripts; $1 is the name of the job.
UP = ': > "$TEST_FOLDER/up.$1.$RANK"\n'
LEAVE = '[ "$LOCAL_RANK" = 1 ] && while [ ! -e "$TEST_FOLDER/leave" ]; do sleep 0.05; done && exit 0\n'
UNTIL_GO = 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n'


class StallCase(JobCase):
    builds = only = ("release",)  # waits most of the time

    disk = server = None

    def setUp(self):
        super().setUp()
        self.stalls = []

    def tearDown(self):
        for stall in self.stalls:
            stall.end()
        try:
            for place in (self.disk, self.server):
                if place:
                    place.remove()  # thawed, so that what waits for it can be ended
        finally:
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

    def use_server(self, content):
        try:
            self.server = served.Served(content)
        except served.Impossible as why:
            self.need(False, f"a file system of its own ({why})")

    def two_nodes(self, kind, name, programs, options=((), ()), before=((), ()), starts=({}, {})):
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
        return [self.start(line, **how) for line, how in zip(lines, starts)]

    def four_jobs(self, what, program, *options, healthy=None, before=(), **how):
        """Of two nodes each, static and c10d, of which one node is to stall: name -> its run.

        That one has these options, in which `{job}` is the name; the other one may have a program of its own.
        """
        slow_ones = {}
        for kind in ("static", "c10d"):
            for slow in (0, 1):
                name = f"{what}-{kind}-{slow}"
                only = lambda mine, none, slow=slow: [mine if node == slow else none for node in (0, 1)]
                named = [option.format(job=name) for option in options]
                environment = {key: value.format(job=name) for key, value in how.get("env", {}).items()}
                runs = self.two_nodes(kind, name, only(program, healthy or program), only(named, ()), only(before, ()),
                                      only({**how, "env": environment}, {}))
                slow_ones[name] = runs[slow]
        return slow_ones

    def press(self, run, number=signal.SIGINT):
        """Sends it and waits until the guard has taken it: two of them at once would be one."""
        run.signal(number)
        self.assertTrue(wait_for(lambda: run.wait(0) is not None or not processes.is_pending(run.pid, number), 20))

    def wait_for_exec(self, run):
        """Until a process that is to become a worker is there."""
        made = lambda: any(processes.children_of(agent) for agent in processes.children_of(run.pid))
        self.assertTrue(wait_for(made, 20), f"nothing is executed\n{run}")

    def wait_until_up(self, *names, count=4):
        """So many workers of each of these jobs: 4 are all, 2 those of one node."""
        up = lambda: {name: len(list(self.folder.glob(f"up.{name}.*"))) for name in names}
        if not wait_for(lambda: all(found == count for found in up().values()), 30):
            self.fail(f"{count} are to be up: {up()}\n" + "\n".join(map(str, self.runs)))

    def assert_nobody_ends(self, seconds):
        self.assertFalse(wait_for(lambda: any(run.wait(0) is not None for run in self.runs), seconds),
                         "\n".join(map(str, self.runs)))

    def assert_all_end_well(self):
        (self.folder / "go").touch()
        self.expect([0] * len(self.runs), self.runs)
        for run in self.runs:
            self.assertNotRegex(run.err, "no answer for|no heartbeat|restarting all workers|lost contact", str(run))


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


class Start(StallCase):
    """What launch opens before its workers run."""

    WAYS = {"folder": ["--log-dir={place}"], "timers": [], "events": ["--events={place}/{{job}}.events"]}

    def freeze_all(self, program, ways):
        """Four jobs for each of these ways, the one node on a disk that is frozen: name -> the run that waits."""
        self.use_disk()
        self.disk.freeze()
        waiting = {}
        for what in ways:
            place = self.disk.folder
            timers = {"TORCHELASTIC_ENABLE_FILE_TIMER": "1", "TORCHELASTIC_TIMER_FILE": place + "/{job}.timers"}
            waiting |= self.four_jobs(what, program, *[option.format(place=place) for option in self.WAYS[what]],
                                      before=self.disk.inside(), env=timers if what == "timers" else {})
        return waiting

    def test_a_node_that_waits_for_its_files_is_not_dead(self):
        waiting = self.freeze_all(self.worker(UP, UNTIL_GO), ["folder", "timers"])
        self.wait_until_up(*waiting, count=2)
        self.assert_nobody_ends(SECONDS)
        self.wait_until_up(*waiting, count=2)
        self.disk.thaw()
        self.wait_until_up(*waiting)
        self.assert_all_end_well()

    def test_nobody_waits_for_the_file_of_events(self):
        waiting = self.freeze_all(self.worker(UP, UNTIL_GO), ["events"])
        self.wait_until_up(*waiting)
        self.assert_nobody_ends(SECONDS)
        for run in waiting.values():
            self.assert_says(run, "does not answer: events wait for it")
        self.disk.thaw()
        self.assert_all_end_well()
        for name in waiting:
            lines = (self.disk.path / f"{name}.events").read_text().splitlines()
            events = [json.loads(line)["event"] for line in lines]
            self.assertEqual(["job_started", "job_ended"], [events[0], events[-1]])

    def test_a_signal_is_heard_meanwhile(self):
        waiting = self.freeze_all(self.worker(UP, SLEEP), list(self.WAYS))
        wait_for_files = [name for name in waiting if not name.startswith("events")]
        self.wait_until_up(*wait_for_files, count=2)
        self.wait_until_up(*waiting.keys() - wait_for_files)
        for run in waiting.values():
            run.signal(signal.SIGINT)
        self.expect([130] * len(self.runs), self.runs, seconds=60)
        self.assertEqual(2 * len(wait_for_files) + 4 * 4, len(list(self.folder.glob("up.*"))))


class Input(StallCase):
    def test_a_node_that_waits_for_its_standard_input_is_not_dead(self):
        self.use_server("some words\n")
        program = self.worker('read -r words\n[ "$words" = "some words" ] || exit 5\n', UP, UNTIL_GO)
        with open(self.server.path, "rb") as words:
            self.server.stall()
            waiting = self.four_jobs("input", program, "--stdin=all", healthy=self.worker(UP, UNTIL_GO, name="healthy"),
                                     before=self.server.inside(), stdin=words)
            self.wait_until_up(*waiting, count=2)
            self.assert_nobody_ends(SECONDS)
            self.server.go_on()
            self.wait_until_up(*waiting)
        self.assert_all_end_well()


    def test_three_signals_end_what_the_kernel_lets_end(self):
        """The program stalls when it is executed, and not even SIGKILL ends that."""
        self.use_server("#!/bin/sh\nexec sleep 300\n")
        port = free_port()
        line = [Settings.launch, "--nnodes=2", "--master_addr=127.0.0.1", f"--master_port={port}", "--no-python"]
        waiting = self.start([*self.server.inside(), *line, "--node_rank=0", f"{self.server.folder}/input"])
        self.assertTrue(wait_for(lambda: "have joined)" in waiting.err, 20), str(waiting))
        self.server.stall()
        other = self.start([*line, "--node_rank=1", self.worker(UP, SLEEP), "job"])
        self.wait_until_up("job", count=1)
        self.wait_for_exec(waiting)
        for _ in range(3):
            self.press(waiting)
        self.expect([130, 130], [waiting, other], seconds=60)


class Files(StallCase):
    """Files of launch itself on a disk that stalls while the workers run."""

    def test_events_that_wait_hold_nobody_up(self):
        self.use_disk()
        waiting = self.four_jobs("events", self.worker(UP, LEAVE, UNTIL_GO),
                                 f"--events={self.disk.folder}/{{job}}", before=self.disk.inside())
        self.wait_until_up(*waiting)
        self.disk.freeze()
        (self.folder / "leave").touch()
        self.assert_nobody_ends(SECONDS)
        self.disk.thaw()
        self.assert_all_end_well()
        for name in waiting:
            events = [json.loads(line)["event"] for line in (self.disk.path / name).read_text().splitlines()]
            self.assertEqual(2, events.count("worker_exited"), events)
            self.assertEqual("job_ended", events[-1])

    def test_messages_that_wait_hold_nobody_up(self):
        self.use_disk()
        with open(self.disk.path / "messages", "ab") as messages:
            waiting = self.four_jobs("messages", self.worker("trap : USR1\n", UP, UNTIL_GO), stderr=messages)
            self.wait_until_up(*waiting)
            self.disk.freeze()
            for run in waiting.values():
                run.signal(signal.SIGUSR1)
            self.assert_nobody_ends(SECONDS)
            self.disk.thaw()
            self.assert_all_end_well()
        said = (self.disk.path / "messages").read_text()
        self.assertEqual(4, said.count("launch: passed SIGUSR1 on to the workers\n"), said)

    def test_a_signal_is_heard_though_the_messages_wait(self):
        self.use_disk()
        with open(self.disk.path / "messages", "ab") as messages:
            waiting = self.four_jobs("messages", self.worker(UP, SLEEP), stderr=messages)
            self.wait_until_up(*waiting)
            self.disk.freeze()
            for run in waiting.values():
                self.press(run)
            self.expect([130] * len(self.runs), self.runs, seconds=60)

    def test_the_end_does_not_wait_for_ever(self):
        self.fail_beside_a_frozen_disk("json:{place}/verdict", "empty folders may remain there")

    def test_a_report_for_people_comes_to_the_console_instead(self):
        self.fail_beside_a_frozen_disk("files:{place}/text,{place}/verdict")

    def fail_beside_a_frozen_disk(self, verdict, *says):
        self.use_disk()
        place = self.disk.folder
        failing = '[ "$RANK" = 1 ] && while [ ! -e "$TEST_FOLDER/fail" ]; do sleep 0.05; done && exit 3\n'
        waiting = self.four_jobs("end", self.worker(UP, failing, SLEEP), f"--events={place}/events",
                                 f"--verdict={verdict.format(place=place)}", f"--log-dir={place}", "--redirects=3",
                                 before=self.disk.inside())
        self.wait_until_up(*waiting)
        self.disk.freeze()
        (self.folder / "fail").touch()
        self.expect([3] * len(self.runs), self.runs, seconds=60)
        for run in waiting.values():
            self.assert_says(run, "root cause     rank 1 ", "the report may be missing from it",
                             "events? (is|are) lost", *says)
