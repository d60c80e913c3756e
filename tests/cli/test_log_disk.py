"""A file system for logs that is full, or stalls: the job goes on, the console shows all, and what is lost is told."""
import json
import re
import signal

import disks
import processes
import served
from console import sort_lines
from harness import Settings, free_port, wait_for
from job import UP
from lines import steady
from player import ERR, GATE, NAMES, OUT, PAUSE, STREAMS, Part, PlayerCase

MARK = re.compile(rb"^\[launch: (\d+) bytes lost here: ([^\n]*)\]\n", re.M)
FULL = "No space left on device"
REPORT = re.compile(r"rank (\d+): (\d+) bytes of its (stdout|stderr) (?:were )?lost")
NOT_COMPLETE = r"not complete|incomplete"
ENDS = 15.0  # seconds for a launch whose files stay frozen
MUCH = 40_000_000  # bytes of a worker, more than launch may keep


class DiskCase(PlayerCase):
    builds = only = ("release",)  # waits for time-outs most of the time: once is enough

    disk = server = None

    def use(self, make, size):
        try:
            self.disk = make(size)
        except disks.Impossible as why:
            self.need(False, f"a file system of its own ({why})")
        self.addCleanup(self.disk.remove)

    def tearDown(self):
        if self.disk:
            self.disk.remove()  # thawed, so that what waits for it can be ended
        if self.server:
            self.server.remove()
        super().tearDown()

    def play_there(self, parts, *options, **start):
        """A launch whose files are on that file system."""
        return self.play(parts, f"--log-dir={self.disk.folder}", "--rdzv-id=job", *options,
                         before=self.disk.inside(), **start)

    def wait_at(self, gate, *parts):
        def there():
            return all(part.gate == gate for part in parts)

        wait_for(lambda: there() or any(run.wait(0) is not None for run in self.runs), 40)
        self.assertTrue(there(), f"the workers come to gates {[part.gate for part in parts]}, not to {gate}\n"
                        f"{self.said()}")

    def open(self, gate, *parts):
        for part in parts:
            part.open_gate(gate)

    def wait_for_end(self, *parts):
        ended = wait_for(lambda: all(part.ended for part in parts), 40)
        self.assertTrue(ended, f"the workers do not end\n{self.said()}")

    def said(self):
        """Lines of the launches themselves."""
        lines = b"".join(run.consoles[ERR].taken for run in self.runs).decode(errors="replace").splitlines()
        return "\n".join(line for line in lines if not line.startswith("[default"))

    def count_said(self, words):
        """How often it was told, but for the report in the end."""
        return sum(words in line and not REPORT.search(line) for line in self.said().splitlines())

    def read_file(self, part, stream, whole=True):
        """Checks the file against what was written; how many bytes of that are in it, and how many it says are lost.

        Not `whole`: launch has left while a write was under way, which the kernel may cut off.
        """
        (path,) = self.disk.path.glob(f"job_*/attempt_0/{part.rank}/{NAMES[stream]}.log")
        kept, lost, data = 0, 0, part.data[stream]
        pieces = MARK.split(path.read_bytes())
        for text, number in zip(pieces[::3], [*pieces[1::3], b"0"]):
            where = f"{path.name} of rank {part.rank}, {kept} bytes kept and {lost} lost"
            self.assertTrue(data.startswith(text, kept + lost), f"{where}: what follows was not written so")
            self.assertEqual(b"\n", (b"\n" + text)[-1:] if whole else b"\n", f"{where}: then an unfinished line")
            kept, lost = kept + len(text), lost + int(number)
        ends = kept + lost == 0 or data[kept + lost - 1:kept + lost] == b"\n"
        self.assertTrue(ends or not whole, f"{path.name}: lost half lines")
        self.assertLessEqual(kept + lost, len(data))
        return kept, lost

    def check_files(self, parts, streams=STREAMS):
        """What is not in the files is reported, byte by byte; (kept, told within the file) of each stream."""
        reported = {(int(rank), name): int(lost) for rank, lost, name in REPORT.findall(self.said())}
        found = {(part.rank, stream): self.read_file(part, stream) for part in parts for stream in streams}
        for part in parts:
            for stream in streams:
                missing = len(part.data[stream]) - found[part.rank, stream][0]
                self.assertEqual(missing, reported.get((part.rank, NAMES[stream]), 0),
                                 f"{NAMES[stream]} of rank {part.rank}\n{self.said()}")
        return found

    def check_console(self, run, parts, streams=STREAMS):
        """Every line of these streams is there once; besides them there are only lines of launch itself."""
        for stream in STREAMS:
            shown, others = sort_lines(run.consoles[stream].text())
            for part in parts if stream in streams else []:
                self.check_shown("", part, stream, part.data[stream], shown.pop(part.rank, []))
            self.assertEqual({}, shown)
            own = [line for line in others if line.startswith((b"launch: ", b"  "))]
            self.assertEqual(own if stream == ERR else [], others)


class FullDisk(DiskCase):
    def full_job(self, *options, shown):
        self.use(disks.Disk.small, 256 << 10)
        parts = [Part(rank) for rank in (0, 1)]
        for part in parts:
            for half in (0, 1):
                for stream, size in ((OUT, 1_000_000), (ERR, 100_000)):
                    part.write_all(stream, steady(2 * half + part.rank, stream, size), step=10_000)
                part.do(GATE, 1 + half)
        run = self.play_there(parts, "--nproc-per-node=2", *options)
        self.wait_at(1, *parts)
        self.assertTrue(wait_for(lambda: FULL in self.said(), 5), f"not told while the job runs:\n{self.said()}")
        self.open(2, *parts)
        self.finish(run)
        self.assertEqual(0, run.code, self.said())
        self.wait_for_end(*parts)
        self.check_console(run, parts, shown)
        self.assertEqual(1, self.count_said(FULL), self.said())
        found = self.check_files(parts)
        self.assertLess(sum(kept for kept, _ in found.values()), 256 << 10)
        self.assertGreater(sum(kept for kept, _ in found.values()), 128 << 10)

    def test_the_job_goes_on_and_the_console_shows_all(self):
        self.full_job("-t", "3", shown=STREAMS)

    def test_files_alone(self):
        self.full_job("-r", "3", "--log-writer=launch", shown=())

    def test_space_that_comes_back(self):
        self.use(disks.Disk.small, 16 << 20)
        ballast = self.disk.path / "ballast"
        ballast.write_bytes(bytes((16 << 20) - (300 << 10)))
        parts = [Part(rank) for rank in (0, 1)]
        for part in parts:
            part.write_all(OUT, steady(part.rank, OUT, 3_000_000), step=10_000)
            part.do(GATE, 1)
            for number in range(40):  # so that launch may take its time until it tries again
                part.write_all(OUT, steady(10 + part.rank, OUT, 500))
                part.do(PAUSE, 50_000)
        run = self.play_there(parts, "--nproc-per-node=2", "-t", "3")
        self.wait_at(1, *parts)
        self.assertTrue(wait_for(lambda: FULL in self.said(), 5), f"not told while the job runs:\n{self.said()}")
        ballast.unlink()
        self.open(1, *parts)
        self.finish(run)
        self.assertEqual(0, run.code, self.said())
        self.check_console(run, parts)
        self.assertEqual(1, self.count_said(FULL), self.said())
        for (rank, stream), (kept, lost) in self.check_files(parts).items():
            self.assertEqual(len(parts[rank].data[stream]), kept + lost, f"no last lines of rank {rank}")
        text = b"".join(path.read_bytes() for path in self.disk.path.glob("job_*/attempt_0/*/stdout.log"))
        self.assertEqual(set(), {reason for _, reason in MARK.findall(text)} - {FULL.encode()})


    def test_of_files_that_the_workers_write_themselves(self):
        self.use(disks.Disk.small, 256 << 10)
        worker = self.worker(f"cat /dev/zero > {self.disk.folder}/ballast 2>/dev/null\n",
                             "echo 'config is wrong' >&2 2>/dev/null\n", "exit 3\n")
        run = self.start([*self.disk.inside(), Settings.launch, "--redirects=3", f"--log-dir={self.disk.folder}/logs",
                          worker])
        self.expect([3], [run])
        self.assert_says(run, r"\n  note           the file system of \S*/0/stderr.log is full, so what the "
                              r"worker said may be missing there, and may be why it failed\n")

    def test_of_the_console_that_is_a_file(self):
        self.use(disks.Disk.small, 64 << 10)
        lines = [f"line {number} {number * 'x'}" for number in range(500)]
        worker = self.worker("i=0 x=\n", 'while [ $i -lt 500 ]; do echo "line $i $x"; i=$((i+1)) x="${x}x"; done\n')
        with open(self.disk.path / "console", "wb") as console:
            run = self.launch("--tee=1", f"--log-dir={self.folder}/logs", worker, stdout=console)
        self.expect([0], [run])
        text = (self.disk.path / "console").read_bytes()
        every = b"".join(b"[default0]:%s\n" % line.encode() for line in lines)
        self.assertTrue(0 < len(text) < len(every) and every.startswith(text), f"{len(text)} of {len(every)} bytes")
        self.assert_says(run, rf"lines are lost because the standard output cannot be written: {FULL}",
                         rf"{len(every) - len(text)} bytes for the standard output were lost: {FULL}; the files in ")
        path = self.folder / "logs" / "latest" / "attempt_0" / "0" / "stdout.log"
        self.assertEqual(lines, path.read_text().splitlines())


class StalledDisk(DiskCase):
    leftover_grace = 3.0  # what waited for the file system goes when it is thawed

    def parts(self, ranks=(0, 1)):
        """Workers that write a little, behind gate 1 a lot, to a file system that stands still, and come to gate 2."""
        parts = [Part(rank) for rank in ranks]
        for part in parts:
            part.write_all(OUT, steady(part.rank, OUT, 100_000))
            part.do(GATE, 1)
            part.write_all(OUT, steady(10 + part.rank, OUT, MUCH))
            part.write_all(ERR, steady(part.rank, ERR, 10_000))
            part.do(GATE, 2)
        return parts

    def freeze_at_first_gate(self, parts):
        self.wait_at(1, *parts)
        files = list(self.disk.path.glob(f"job_*/attempt_0/*/{NAMES[OUT]}.log"))
        written = wait_for(lambda: files and all(file.stat().st_size >= 100_000 for file in files), 20)
        self.assertTrue(written, f"what the workers wrote is not in {files}\n{self.said()}")
        self.disk.freeze()
        self.open(1, *parts)

    def wait_for_console(self, run, parts):
        """All lines that were written up to now are shown, whatever the files do."""
        for stream in STREAMS:
            written = [part.data[stream][:part.begun(stream)] for part in parts]
            size = sum(len(data) + data.count(b"\n") * len("[default0]:") for data in written)
            console = run.consoles[stream]
            self.assertTrue(wait_for(lambda: console.size >= size, 40), f"{console.size} of {size} bytes are shown")

    def test_the_job_goes_on_and_files_after_the_thaw_say_what_is_missing(self):
        self.use(disks.Disk.freezable, 512 << 20)
        parts = self.parts()
        for part in parts:
            for number in range(40):
                part.write_all(OUT, steady(20 + part.rank, OUT, 500))
                part.do(PAUSE, 50_000)
        run = self.play_there(parts, "--nproc-per-node=2", "-t", "3")
        self.freeze_at_first_gate(parts)
        self.wait_at(2, *parts)
        self.wait_for_console(run, parts)
        self.disk.thaw()
        self.open(2, *parts)
        self.finish(run)
        self.assertEqual(0, run.code, self.said())
        self.check_console(run, parts)
        for (rank, stream), (kept, lost) in self.check_files(parts).items():
            if stream == OUT:
                self.assertEqual(len(parts[rank].data[OUT]), kept + lost, f"no last lines of rank {rank}")
                self.assertGreater(kept, 100_000)
                self.assertGreater(lost, 0)

    def test_the_job_ends_and_says_that_files_are_not_complete(self):
        self.use(disks.Disk.freezable, 512 << 20)
        parts = self.parts()
        run = self.play_there(parts, "--nproc-per-node=2", "-t", "3")
        self.freeze_at_first_gate(parts)
        self.open(2, *parts)
        self.wait_for_end(*parts)
        self.wait_for_console(run, parts)
        self.assertIsNotNone(run.wait(ENDS), f"launch waits for the files\n{self.tree()}\n{self.said()}")
        self.assertEqual(0, run.code, self.said())
        self.assertRegex(self.said(), NOT_COMPLETE)
        self.disk.thaw()
        self.check_console(run, parts)
        for part in parts:
            kept, _ = self.read_file(part, OUT, whole=False)
            self.assertGreaterEqual(kept, 100_000)

    def test_a_signal_ends_the_job(self):
        self.use(disks.Disk.freezable, 512 << 20)
        parts = self.parts()
        run = self.play_there(parts, "--nproc-per-node=2", "-t", "3")
        self.freeze_at_first_gate(parts)
        self.wait_at(2, *parts)
        workers = self.workers()
        self.assertEqual(2, len(workers), self.tree())
        run.signal(signal.SIGTERM)
        self.assertTrue(wait_for(lambda: not self.workers(), 5), f"the workers live on\n{self.tree()}\n{self.said()}")
        self.assertIsNotNone(run.wait(ENDS), f"launch waits for the files\n{self.tree()}\n{self.said()}")
        self.assertEqual(143, run.code, self.said())
        self.disk.thaw()

    def test_what_is_on_other_disks_is_written_all_the_same(self):
        try:
            self.server = served.Served("")
        except served.Impossible as why:
            self.need(False, f"a file system of its own ({why})")
        verdict, error = self.folder / "verdict.json", self.folder / "error.json"
        worker = self.worker(UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n', "exit 3\n")
        run = self.launch("--tee=3", f"--log-dir={self.folder}/logs", f"--verdict=json:{verdict}", worker,
                          env={"TORCHELASTIC_ERROR_FILE": str(error)})
        self.wait_until_up(1, run)
        self.server.replace(self.folder / "logs" / "latest" / "attempt_0" / "0" / "stdout.log")
        self.server.stall()
        (self.folder / "go").touch()
        self.assertTrue(wait_for(lambda: verdict.exists() and error.exists(), 40), str(run))
        self.assertEqual("worker", json.loads(verdict.read_text())["root_cause"]["kind"])
        self.assertIn("exit code 3", error.read_text())
        self.finish(run)
        self.assertNotIn("the report may be missing", run.err)

    def workers(self):
        return [pid for pid in self.leftovers() if processes.command_of(pid).startswith(str(self.player))]

    def test_nodes_go_on_hearing_of_each_other(self):
        """Node 0 stands still on its files for longer than the others would wait for a launch that is silent."""
        self.use(disks.Disk.freezable, 512 << 20)
        parts = self.parts()
        stage, port = self.stage(parts), free_port()
        common = ("--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={port}", "--heartbeat-timeout=2", "-t", "3")
        runs = [self.play_there(parts[:1], "--node-rank=0", *common, stage=stage),
                self.play(parts[1:], "--node-rank=1", f"--log-dir={self.folder}/logs", "--rdzv-id=job", *common,
                          stage=stage)]
        self.freeze_at_first_gate(parts)
        self.wait_at(2, *parts)
        self.assertFalse(wait_for(lambda: any(run.wait(0) is not None for run in runs), 5), self.said())
        self.disk.thaw()
        self.open(2, *parts)
        self.finish(*runs)
        self.assertEqual([0, 0], [run.code for run in runs], self.said())
