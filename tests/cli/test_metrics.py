"""--metrics and --metrics-file: what is counted, who gets it, and that no job is held up by it."""
import json
import os
import socket
import time

from disks import Disk, Impossible
from harness import Settings, free_port, wait_for
from job import UNTIL_ALL_UP, UP, JobCase
from scraping import ask, port_of, samples

GO = 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n'
OF_NODE = 'run_id="j7",node_rank="0"'
FAILS_FIRST = '[ "$RANK$TORCHELASTIC_RESTART_COUNT" = 10 ] && exit 7\n'


class Metrics(JobCase):
    def begin(self, *parts, options=(), nproc=2):
        """A job with metrics at a free port: the run and the port."""
        run = self.launch(f"--nproc-per-node={nproc}", "--metrics=:0", *options, self.worker(*parts))
        self.assertTrue(wait_for(lambda: port_of(run), 20), str(run))
        return run, port_of(run)

    def wait_until(self, port, name, value, seconds=20):
        """Until this sample has that value; all of them."""
        found = {}

        def reached():
            found.update(samples(ask(port)[2]))
            return found.get(name) == value
        self.assertTrue(wait_for(reached, seconds), f"{name} is not {value}:\n{json.dumps(found, indent=1)}")
        return found

    def end(self, run, code=0):
        (self.folder / "go").touch()
        self.expect([code], [run])

    def test_a_running_job(self):
        run, port = self.begin(UP, "echo to err >&2; echo again >&2\n", GO, options=["--rdzv-id=j7"])
        self.wait_until_up(2, run)
        found = self.wait_until(port, 'launch_output_lines_total{stream="stderr"}', 4)
        self.assertEqual([2, 0, 0], [found[f'launch_workers{{state="{state}"}}'] for state in
                                     ("running", "ended", "failed")])
        self.assertEqual([1, 2, 1], [found[name] for name in ("launch_nodes", "launch_world_size", "launch_ready")])
        self.assertEqual(26, found['launch_output_bytes_total{stream="stderr"}'])
        self.assertNotIn('launch_output_bytes_total{stream="stdout"}', found)
        self.assertIn('launch_worker_silence_seconds{rank="1",local_rank="1"}', found)
        (job,) = [name for name in found if name.startswith("launch_job_info")]
        self.assertIn(f'run_id="j7",node_rank="0",host="{socket.gethostname()}"', job)
        self.assertGreater(found["launch_resident_memory_bytes"], 1 << 20)
        self.assertLess(abs(found["launch_start_time_seconds"] - time.time()), 60)
        self.end(run)

    def test_both_streams_are_counted_with_tee(self):
        run, port = self.begin(UP, "echo out\n", "echo err >&2\n", GO, options=["--tee=3"])
        found = self.wait_until(port, 'launch_output_bytes_total{stream="stdout"}', 8)
        self.assertEqual(0, found['launch_output_lost_bytes_total{stream="stdout"}'])
        self.wait_until(port, 'launch_output_bytes_total{stream="stderr"}', 8)
        self.end(run)

    def test_a_restart_is_counted(self):
        run, port = self.begin(UP, UNTIL_ALL_UP, FAILS_FIRST, GO, options=["--max-restarts=1"])
        found = self.wait_until(port, "launch_recovery_seconds_count", 1)
        self.assertEqual(1, found['launch_restarts_total{cause="failure"}'])
        self.assertEqual(0, found['launch_restarts_total{cause="membership"}'])
        self.assertEqual(1, found['launch_worker_exits_total{kind="exit_code",value="7"}'])
        self.assertEqual(1, found['launch_worker_exits_total{kind="signal",value="SIGTERM"}'])
        self.assertEqual(2, found['launch_workers{state="running"}'])
        self.assertEqual(1, found["launch_round"])
        self.end(run)

    def test_ready_means_that_all_workers_run(self):
        port, meeting = free_port(), free_port()
        words = ("--metrics", f"127.0.0.1:{port}", self.worker(UP, GO))
        first = self.node(0, 2, 2, *words, port=meeting)
        found = []

        def answered():
            try:
                found.append(ask(port, "/readyz"))
            except OSError:
                pass
            return found
        self.assertTrue(wait_for(answered, 20), str(first))
        self.assertEqual(503, found[0][0])
        self.assertIn("looking for the other nodes", found[0][2])
        self.assertEqual((200, "ok\n"), ask(port, "/healthz")[::2])
        second = self.node(1, 2, 2, *words[2:], port=meeting)
        self.assertTrue(wait_for(lambda: ask(port, "/readyz")[0] == 200, 20), str(first))
        self.assertEqual("2 workers of this node run\n", ask(port, "/readyz")[2])
        self.assertEqual(2, samples(ask(port)[2])["launch_nodes"])
        (self.folder / "go").touch()
        self.expect([0, 0], [first, second])

    def test_the_host_of_the_store_counts_its_requests(self):
        run, port = self.begin(UP, GO)
        self.wait_until_up(2, run)
        store = int(next(line for line in self.environment_of(self.up_pid()) if line.startswith("MASTER_PORT="))[12:])
        with socket.create_connection(("127.0.0.1", store)) as client:
            client.sendall(b"\x00\xCE\xF7\x85\x3C" + b"\x0d\x07\x00\x00\x00")  # VALIDATE, PING
            self.assertEqual(b"\x07\x00\x00\x00", client.recv(4))
        found = self.wait_until(port, 'launch_store_operations_total{operation="ping"}', 1)
        self.assertEqual(1, found['launch_store_operations_total{operation="validate"}'])
        self.assertEqual(found["launch_store_operation_seconds_count"],
                         sum(value for name, value in found.items() if name.startswith("launch_store_operations_")))
        self.end(run)

    def up_pid(self):
        """Of a worker."""
        return next(pid for pid in self.leftovers() if b"RANK=0\0" in self.raw_environment(pid))

    @staticmethod
    def raw_environment(pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                return b"\0" + file.read()
        except OSError:
            return b""

    def environment_of(self, pid):
        return self.raw_environment(pid).decode(errors="replace").split("\0")

    def test_who_asks_for_something_else(self):
        run, port = self.begin(UP, GO)
        self.assertEqual(404, ask(port, "/")[0])
        self.assertEqual(405, ask(port, method="POST")[0])
        self.assertEqual((200, ""), ask(port, method="HEAD")[::2])
        open_form = ask(port, Accept="application/openmetrics-text;version=1.0.0")
        self.assertTrue(open_form[1].startswith("application/openmetrics-text; version=1.0.0"))
        self.assertTrue(open_form[2].endswith("# EOF\n"))
        place = ("127.0.0.1", port)
        with socket.create_connection(place) as half, socket.create_connection(place) as bad:
            half.sendall(b"GET /metr")
            bad.sendall(b"\x00\x01\x02\r\n\r\n")
            self.assertEqual(200, ask(port)[0])
            self.end(run)

    def test_a_port_in_use_is_a_warning(self):
        with socket.create_server(("127.0.0.1", 0)) as holder:
            port = holder.getsockname()[1]
            run = self.launch(f"--metrics=:{port}", self.worker("exit 0\n"))
            self.expect([0], [run])
        self.assert_says(run, rf"warning: cannot serve metrics at 127.0.0.1:{port}: Address already in use, held by "
                              rf"pid {os.getpid()}\b.*; the job goes on without them. Give each launch on this host")

    def test_no_address_of_this_host(self):
        run = self.launch("--metrics=192.0.2.1:9400", self.worker("exit 0\n"))
        self.expect([0], [run])
        self.assert_says(run, "warning: cannot serve metrics at 192.0.2.1:9400: Cannot assign requested address")

    def test_bad_places(self):
        for place in ("9400", "node0:9400", ":70000", ":"):
            run = self.launch("--metrics", place, self.worker(UP))
            self.expect([2], [run], seconds=10)
            self.assertRegex(run.err, rf"^launch: error: --metrics {place}: ", str(run))
            self.assertEqual(1, len(run.err.splitlines()), str(run))
            self.assertEqual([], self.up())

    def test_nothing_is_opened_by_a_look(self):
        said = self.output_of("--explain", "--metrics=:0", f"--metrics-file={self.folder}/m.prom", self.worker(UP))
        self.assertRegex(said, r"metrics +:0 +\(command line\)")
        self.assertFalse((self.folder / "m.prom").exists())


class File(JobCase):
    def launch(self, *words, **more):
        return super().launch("--rdzv-id=j7", *words, **more)

    @property
    def file(self):
        return self.folder / "m.prom"

    def test_it_is_written_at_once_and_at_the_end(self):
        run = self.launch("--nproc-per-node=2", f"--metrics-file={self.file}", self.worker(UP, GO))
        self.assertTrue(wait_for(self.file.exists, 20), str(run))
        self.assertIn("launch_uptime_seconds", self.file.read_text())
        before = self.file.stat().st_ino
        self.wait_until_up(2, run)
        (self.folder / "go").touch()
        self.expect([0], [run])
        self.assertNotEqual(before, self.file.stat().st_ino, "it is replaced, not overwritten")
        found = samples(self.file.read_text())
        self.assertEqual(2, found[f'launch_workers{{{OF_NODE},state="ended"}}'])
        self.assertEqual(0, found[f"launch_job_exit_code{{{OF_NODE}}}"])
        self.assertEqual(["m.prom"], [path.name for path in self.folder.glob("m.prom*")])

    def test_a_reader_never_sees_a_part(self):
        """Several jobs replace it while we read."""
        self.file.write_text("# EOF\n")
        for _ in range(3):
            run = self.launch(f"--metrics-file={self.file}", self.worker("exit 0\n"))
            while run.wait(0) is None:
                text = self.file.read_text()
                self.assertTrue(text == "# EOF\n" or text.startswith("# HELP launch_job_info ")
                                and "launch_start_time_seconds" in text.splitlines()[-1], text)
            self.expect([0], [run])

    def test_jobs_of_one_host_have_no_series_in_common(self):
        """node exporter refuses all of its files otherwise."""
        seen = set()
        for job in ("a", "b"):
            run = self.launch(f"--metrics-file={self.file}", f"--rdzv-id={job}", self.worker("exit 0\n"))
            self.expect([0], [run])
            found = set(samples(self.file.read_text()))
            self.assertEqual(set(), seen & found)
            seen |= found

    def test_what_is_no_file_is_an_error_before_the_job(self):
        for path, what in (("/dev/null", "a device"), (self.folder, "a directory")):
            run = self.launch(f"--metrics-file={path}", self.worker(UP))
            self.expect([2], [run], seconds=20)
            self.assert_says(run, f"--metrics-file {path}: it is {what}; only a regular file can be replaced")
            self.assertEqual([], self.up())

    def test_a_failed_job(self):
        run = self.launch(f"--metrics-file={self.file}", self.worker("exit 7\n"))
        self.expect([7], [run])
        found = samples(self.file.read_text())
        self.assertEqual(7, found[f"launch_job_exit_code{{{OF_NODE}}}"])
        self.assertEqual(1, found[f'launch_worker_exits_total{{{OF_NODE},kind="exit_code",value="7"}}'])

    def test_a_file_that_cannot_be_written_is_one_warning(self):
        missing = self.folder / "no" / "x"
        for path, reason in (("/dev/null/x", "Not a directory"), (missing, "No such file or directory")):
            run = self.launch(f"--metrics-file={path}", self.worker("exit 0\n"))
            self.expect([0], [run])
            self.assertEqual(1, run.err.count("cannot write metrics"), str(run))
            self.assert_says(run, f"cannot write metrics to {path}: {reason}; the job goes on, and launch tries again")

    def test_a_disk_that_stalls_holds_up_nobody(self):
        try:
            disk = Disk.freezable("16M")
        except Impossible as missing:
            self.need(False, f"a file system that stalls ({missing})")
        disk.freeze()
        try:
            run = self.start([*disk.inside(), Settings.launch, f"--metrics-file={disk.folder}/m.prom",
                              self.worker(UP, GO)])
            self.wait_until_up(1, run)
            (self.folder / "go").touch()
            self.expect([0], [run], seconds=20)
            self.assert_says(run, "does not answer: the last metrics are not written")
        finally:
            disk.thaw()
            disk.remove()


class Nodes(JobCase):
    """Where nodes come and go."""

    def test_changes_of_membership_are_counted(self):
        meeting, port = free_port(), free_port()
        line = ["--nnodes=1:2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{meeting}", "--rdzv-id=job",
                "--rdzv-conf=last_call_timeout=1"]
        first = self.launch(*line, f"--metrics=127.0.0.1:{port}", self.worker(UP, GO))
        self.wait_until_up(1, first)
        self.assertEqual(1, samples(ask(port)[2])["launch_nodes"])
        second = self.launch(*line, self.worker(UP, GO))

        def grown():
            return samples(ask(port)[2])["launch_nodes"] == 2
        self.assertTrue(wait_for(grown, 30), str(first))
        found = samples(ask(port)[2])
        self.assertEqual(1, found['launch_restarts_total{cause="membership"}'])
        self.assertEqual(0, found['launch_restarts_total{cause="failure"}'])
        self.assertEqual([1, 0], [found[f'launch_membership_changes_total{{change="{way}"}}']
                                  for way in ("joined", "left")])
        self.assertGreater(found['launch_store_operations_total{operation="attend"}'], 0)
        (self.folder / "go").touch()
        self.expect([0, 0], [first, second])
