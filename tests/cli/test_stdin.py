"""--stdin: which worker reads what comes to the standard input of launch."""
import fcntl
import os
import pathlib
import pty
import re
import signal
import sys
import termios
import threading

from harness import Settings, free_port, wait_for
from job import UP, JobCase

INPUT = 'readlink /proc/$$/fd/0 > "$TEST_FOLDER/input.$RANK"\n'
KEEP = 'cat > "$TEST_FOLDER/kept.$RANK"\n'
LONG = b"".join(b"line %d of many\n" % number for number in range(40_000))


class StdinCase(JobCase):
    def setUp(self):
        super().setUp()
        self.descriptors = []

    def tearDown(self):
        for descriptor in self.descriptors:
            os.close(descriptor)
        super().tearDown()

    def close(self, descriptor):
        self.descriptors.remove(descriptor)
        os.close(descriptor)

    def file(self, content, position=0):
        path = self.folder / f"given.{len(self.descriptors)}"
        path.write_bytes(content)
        self.descriptors.append(os.open(path, os.O_RDONLY))
        os.lseek(self.descriptors[-1], position, os.SEEK_SET)
        return self.descriptors[-1]

    def pipe(self):
        self.descriptors += os.pipe()
        return self.descriptors[-2:]

    def job(self, *arguments, nproc=2, **start):
        return self.launch(f"--nproc-per-node={nproc}", "--omp-threads=1", *arguments, **start)

    def fed_job(self, content, *arguments, **start):
        """A job whose standard input is a pipe with this content."""
        reader, writer = self.pipe()
        run = self.job(*arguments, stdin=reader, **start)
        self.close(reader)
        self.descriptors.remove(writer)

        def write():
            try:
                with os.fdopen(writer, "wb") as file:
                    file.write(content)
            except BrokenPipeError:
                pass  # nobody reads any more
        thread = threading.Thread(target=write)
        thread.start()
        self.addCleanup(thread.join)
        return run

    def kept(self, rank, name="kept"):
        return (self.folder / f"{name}.{rank}").read_bytes()

    def inputs(self, count):
        return [self.kept(rank, "input").decode().strip() for rank in range(count)]


class Chosen(StdinCase):
    def test_without_the_option_it_is_shared(self):
        """As with torchrun: one file, one position."""
        wait = 'until [ -e "$TEST_FOLDER/kept.0" ]; do sleep 0.02; done\n'
        worker = f'[ "$RANK" = 0 ] || {{ {wait}}}\nread line\necho "$line" > "$TEST_FOLDER/kept.$RANK"\n'
        self.expect([0], [self.job(self.worker(worker), stdin=self.file(b"one\ntwo\n"))])
        self.assertEqual([b"one\n", b"two\n"], [self.kept(0), self.kept(1)])

    def test_none(self):
        self.expect([0], [self.job("--stdin=none", self.worker(INPUT, KEEP), stdin=self.file(b"words"))])
        self.assertEqual(["/dev/null"] * 2, self.inputs(2))
        self.assertEqual([b"", b""], [self.kept(0), self.kept(1)])

    def test_one_worker(self):
        run = self.fed_job(LONG, "--stdin=1", self.worker(INPUT, KEEP), nproc=3)
        self.expect([0], [run])
        self.assertEqual([b"", LONG, b""], [self.kept(rank) for rank in range(3)])
        null, own, last = self.inputs(3)
        self.assertEqual(("/dev/null", "/dev/null"), (null, last))
        self.assertRegex(own, r"^pipe:")

    def test_a_worker_of_the_second_node(self):
        port = free_port()
        runs = [self.node(rank, 2, 2, self.worker(INPUT, KEEP), port=port, options=["--stdin=3"],
                          stdin=self.file(b"of node %d\n" % rank)) for rank in range(2)]
        self.expect([0, 0], runs)
        self.assertEqual([b"", b"", b"", b"of node 1\n"], [self.kept(rank) for rank in range(4)])
        self.assertEqual(["/dev/null"] * 3, self.inputs(3))

    def test_a_rank_that_no_node_has(self):
        runs = self.nodes([1, 1], self.worker(INPUT), options=["--stdin=7"], stdin=self.file(b"words"))
        self.expect([0, 0], runs)
        self.assertEqual(["/dev/null"] * 2, self.inputs(2))

    def test_where_launch_has_none(self):
        for choice in (["--stdin=0"], ["--stdin=all"], []):
            with self.subTest(choice=choice):
                self.expect([0], [self.job(*choice, self.worker(KEEP), preexec_fn=lambda: os.close(0))])
                self.assertEqual(b"", self.kept(0))


class Copies(StdinCase):
    def test_of_a_pipe(self):
        self.expect([0], [self.fed_job(LONG, "--stdin=all", self.worker(KEEP), nproc=3)])
        for rank in range(3):
            self.assertEqual(LONG, self.kept(rank))

    def test_of_a_file_from_its_position(self):
        file = self.file(b"passed over\n" + LONG, position=12)
        self.expect([0], [self.job("--stdin=all", self.worker(INPUT, KEEP), stdin=file)])
        self.assertEqual([str(self.folder / "given.0")] * 2, self.inputs(2))
        for rank in range(2):
            self.assertEqual(LONG, self.kept(rank))
        self.assertEqual(12, os.lseek(file, 0, os.SEEK_CUR))

    def test_on_every_node_of_its_own(self):
        port = free_port()
        runs = [self.node(rank, 2, 2, self.worker(KEEP), port=port, options=["--stdin=all"],
                          stdin=self.file(b"of node %d\n" % rank)) for rank in range(2)]
        self.expect([0, 0], runs)
        self.assertEqual([b"of node 0\n"] * 2 + [b"of node 1\n"] * 2, [self.kept(rank) for rank in range(4)])

    def test_one_that_ends_early_or_closes_its_input_holds_nobody(self):
        early = 'case "$RANK" in 0) read line; exit 0;; 1) exec 0<&-; until [ -s "$TEST_FOLDER/done" ]; do ' \
                'sleep 0.02; done; exit 0;; esac\n'
        late = KEEP + 'echo done > "$TEST_FOLDER/done"\n'
        self.expect([0], [self.fed_job(LONG, "--stdin=all", self.worker(early, late), nproc=3)])
        self.assertEqual(LONG, self.kept(2))

    def test_what_cannot_be_read(self):
        self.descriptors.append(os.open(self.folder, os.O_RDONLY))
        run = self.job("--stdin=all", self.worker(KEEP), stdin=self.descriptors[-1])
        self.expect([0], [run])
        self.assert_says(run, "--stdin=all.* cannot be read: Is a directory")
        self.assertEqual(b"", self.kept(1))

    def test_an_input_without_end_does_not_hold_the_job(self):
        reader, _writer = self.pipe()
        self.expect([0], [self.job("--stdin=all", self.worker("exit 0\n"), stdin=reader)])

    def test_only_the_worker_has_its_copy(self):
        run = self.fed_job(b"", "--stdin=all", "--no-python", "ls", "/proc/self/fd", nproc=1)
        self.expect([0], [run])
        self.assertEqual(["0", "1", "2", "3"], run.out.split(), "3 is the folder that ls reads")

    def test_workers_that_start_anew_get_what_comes_next(self):
        reader, writer = self.pipe()
        name = '"$TEST_FOLDER/kept$TORCHELASTIC_RESTART_COUNT.$RANK"'
        first = f'[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && {{ read line; echo "$line" > {name}; '
        first += '[ "$RANK" = 1 ] && until [ -e "$TEST_FOLDER/fail" ]; do sleep 0.02; done && exit 3; sleep 300; }\n'
        run = self.job("--stdin=all", "--max-restarts=1", self.worker(first, UP, f"cat > {name}\n"), stdin=reader)
        os.write(writer, b"first\n")
        for rank in range(2):
            self.assertTrue(wait_for(lambda: (self.folder / f"kept0.{rank}").exists() and self.kept(rank, "kept0")))
        (self.folder / "fail").touch()
        self.wait_until_up(2, run)
        os.write(writer, b"second\nthird\n")
        self.close(writer)
        self.expect([0], [run])
        for rank in range(2):
            self.assertEqual((b"first\n", b"second\nthird\n"), (self.kept(rank, "kept0"), self.kept(rank, "kept1")))


class Terminal(StdinCase):
    def terminal(self):
        self.descriptors += pty.openpty()
        return self.descriptors[-2:]

    def test_one_worker_has_the_terminal_itself(self):
        keyboard, terminal = self.terminal()
        worker = '[ "$RANK" = 1 ] || exit 0\n[ -t 0 ] || exit 9\nread line\necho "got $line"\n'
        run = self.job("--stdin=1", self.worker(INPUT, worker), stdin=terminal)
        os.write(keyboard, b"what was typed\n")
        self.expect([0], [run])
        self.assertEqual("got what was typed\n", run.out)
        self.assertEqual(["/dev/null", os.ttyname(terminal)], self.inputs(2))

    def test_a_debugger(self):
        keyboard, terminal = self.terminal()
        (self.folder / "debug.py").write_text(
            'import os\nanswer = 41\nif os.environ["RANK"] == "0":\n    breakpoint()\nprint("went on")\n')
        run = self.job("--stdin=0", self.folder / "debug.py", stdin=terminal)
        os.write(keyboard, b"p answer + 1\nc\n")
        self.expect([0], [run])
        self.assertIn("(Pdb) 42\n", run.out)
        self.assertEqual(2, len([line for line in run.out.splitlines() if re.fullmatch(r"(\(Pdb\) )?went on", line)]))

    def test_a_copy_for_each(self):
        keyboard, terminal = self.terminal()
        run = self.job("--stdin=all", self.worker('read line\necho "$RANK $line"\ncat > /dev/null\n'), stdin=terminal)
        os.write(keyboard, b"for all\n\x04")
        self.expect([0], [run])
        self.assertEqual(["0 for all", "1 for all"], sorted(run.out.splitlines()))

    def test_in_the_background_nothing_is_taken_from_the_terminal(self):
        keyboard, terminal = self.terminal()
        worker = self.worker(UP, 'read line\necho "worker: $line"\n')
        shell = pathlib.Path(__file__).parent / "workers" / "job_control.py"
        run = self.start([sys.executable, shell, Settings.launch, "--stdin=all", worker], stdin=terminal,
                         start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.wait_until_up(1, run)
        os.write(keyboard, b"for the shell\n")
        (self.folder / "typed").touch()
        self.assertTrue(wait_for((self.folder / "read").exists, 20), f"{run}")
        os.write(keyboard, b"for the worker\n")
        self.expect([0], [run])
        self.assertIn("shell: for the shell\n", run.out)
        self.assertIn("worker: for the worker\n", run.out)

    def test_the_key_that_interrupts_still_ends_the_job(self):
        keyboard, terminal = self.terminal()
        run = self.job("--stdin=0", self.worker(UP, "exec sleep 300\n"), stdin=terminal, start_new_session=True,
                       preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.wait_until_up(2, run)
        os.write(keyboard, b"\x03")
        self.expect([128 + signal.SIGINT], [run])
