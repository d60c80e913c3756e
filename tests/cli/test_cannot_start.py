"""A worker that cannot be started: one clear error with stage and reason, 126 or 127, and the others stopped."""
import contextlib
import os

import wording
from harness import Settings, free_port
from job import SLEEP, UP, JobCase


class CannotStart(JobCase):
    def assert_refused(self, code, program, reason, *arguments):
        run = self.launch("--nproc-per-node=2", program, *arguments, cwd=self.folder)
        self.expect([code], [run], seconds=10)
        self.assertRegex(run.err, reason, str(run))
        self.assertRegex(run.err, wording.MESSAGE, str(run))
        self.assertEqual(1, len([line for line in run.err.splitlines() if "OMP_NUM_THREADS" not in line]), str(run))

    def test_missing_file(self):
        self.assert_refused(127, "./nothing", r"(?i)nothing.*(no such file|not found|does not exist)")

    def test_name_that_is_not_on_the_path(self):
        self.assert_refused(127, "no-such-program-here", r"(?i)no-such-program-here")

    def test_missing_file_without_python(self):
        run = self.launch("--no-python", "./nothing", cwd=self.folder)
        self.expect([127], [run], seconds=10)

    def test_no_permission(self):
        self.program("#!/bin/sh\n", "plain").chmod(0o644)
        self.assert_refused(126, "./plain", r"(?i)plain.*(permission|executable)")

    def test_a_file_system_without_programs(self):
        self.need(os.geteuid() == 0, "the right to mount (root)")
        program = self.program("#!/bin/sh\nexit 0\n", "plain")
        mount = 'mount -t tmpfs -o noexec none "$0" && cp "$1" "$0/there" && shift && exec "$@"'
        place = self.folder / "place"
        place.mkdir()
        run = self.start(["unshare", "--mount", "sh", "-c", mount, place, program, Settings.launch, place / "there"])
        self.expect([126], [run], seconds=10)
        self.assertIn("Permission denied; it may be on a file system that is mounted with noexec", run.err)
        self.assertNotIn("chmod", run.err)

    def test_folder(self):
        (self.folder / "place").mkdir()
        run = self.launch("./place", cwd=self.folder)
        self.assertIn(self.finish(run, seconds=10)[0], (2, 126), str(run))
        self.assertRegex(run.err, r"(?i)place.*(folder|directory)")

    def test_bad_format(self):
        self.program("\x01\x02 no program", "strange")
        self.assert_refused(126, "./strange", r"(?i)strange.*(format|neither)")

    def test_interpreter_of_a_script_is_missing(self):
        self.program("#!/no/such/interpreter\n", "orphan")
        self.assert_refused(127, "./orphan", r"(?i)(orphan|/no/such/interpreter).*(no such file|not found|interpreter)")

    def test_too_long_an_argument_list(self):
        """The longest list with which launch itself can be started; the variables of a worker make it too long."""
        run = None
        for left in range(os.sysconf("SC_ARG_MAX") + 1000, 0, -200):
            # Each word costs 8 bytes for its pointer and 1 for its end.
            words = ["x" * 99_991] * (left // 100_000) + ["x" * (left % 100_000)]
            with contextlib.suppress(OSError):
                run = self.launch("--no-python", self.worker(UP), *words)
                break
        self.expect([126], [run], seconds=20)
        self.assertRegex(run.err[-2000:], r"(?i)argument list too long")

    def test_workers_already_started_are_stopped(self):
        """The first worker removes the program while the later ones are still to be started."""
        worker = self.worker('rm -f "$0"\n', SLEEP)
        run = self.launch("--nproc-per-node=200", worker)
        self.assertIn(self.finish(run, seconds=30)[0], (126, 127), str(run)[-2000:])

    def test_peers_learn_that_a_node_cannot_start_its_workers(self):
        good = self.worker(SLEEP)
        bad = self.program("#!/no/such/interpreter\n", "orphan")
        for rank_of_bad in (0, 1):
            with self.subTest(node=rank_of_bad):
                port = free_port()
                runs = [self.node(rank, 2, 1, bad if rank == rank_of_bad else good, port=port) for rank in (0, 1)]
                self.expect([127, 127], runs, seconds=20)
