"""launch --hosts: what workers read from the standard input of the head, and lines of several hosts that are folded.

Each "host" is a process of this machine.
"""
import collections
import fcntl
import os
import pathlib
import pty
import re
import signal
import sys
import termios
import threading

import disks
from cluster_case import ClusterCase
from harness import Settings, wait_for
from job import UP

LONG = b"".join(b"line %d of many\n" % number for number in range(60_000))
KEEP = 'cat > "$TEST_FOLDER/kept.$RANK"\n'
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHELL = ROOT / "tests" / "cli" / "workers" / "job_control.py"


def waiting_in(pipe):
    """Bytes."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class StreamsCase(ClusterCase):
    def words(self, *words, hosts=2, nproc=2):
        place = self.folder / "bin"
        place.mkdir(exist_ok=True)
        if not (place / "launch").exists():
            (place / "launch").symlink_to(Settings.launch)
        return (f"--hosts=h[1-{hosts}]", f"--nproc-per-node={nproc}", "--start-with=exec:env ON={host}", *words)

    def env(self):
        return {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def head(self, *words, hosts=2, nproc=2, **start):
        return self.launch(*self.words(*words, hosts=hosts, nproc=nproc), env=self.env(), **start)


class Input(StreamsCase):
    def kept(self, ranks=4):
        """What each rank has read."""
        return [(self.folder / f"kept.{rank}").read_bytes() for rank in range(ranks)]

    def feed(self, content, *words, **start):
        """A job whose standard input is a pipe with this content; `written` is how much of it could be written."""
        reader, writer = os.pipe()
        self.written = 0
        run = self.head(*words, stdin=reader, **start)
        os.close(reader)

        def write():
            try:
                for at in range(0, len(content), 4096):
                    self.written += os.write(writer, content[at:at + 4096])
            except BrokenPipeError:
                pass  # nobody reads any more
            os.close(writer)

        self.writer = threading.Thread(target=write)
        self.writer.start()
        self.addCleanup(self.writer.join)
        return run

    def test_all_of_it_goes_to_rank_0_and_then_its_end(self):
        self.expect([0], [self.feed(LONG, self.worker(KEEP))])
        self.assertEqual([LONG, b"", b"", b""], self.kept())

    def test_whoever_was_asked_for_gets_it(self):
        for choice, kept in (("3", [b"", b"", b"", LONG]), ("all", [LONG] * 4), ("none", [b""] * 4), ("9", [b""] * 4)):
            with self.subTest(choice):
                self.expect([0], [self.feed(LONG, f"--stdin={choice}", self.worker(KEEP))])
                self.assertEqual(kept, self.kept())

    def test_a_worker_that_ends_its_input_early_holds_up_no_other_host(self):
        much = bytes(3 << 20)
        closes = 'exec <&-\nuntil [ -e "$TEST_FOLDER/all" ]; do sleep 0.05; done\n'
        for early in ("", closes):
            with self.subTest(early):
                first = f'if [ "$RANK" = 0 ]; then\n{early}exit 0\nfi\n'
                worker = self.worker(first, KEEP, 'touch "$TEST_FOLDER/all"\n')
                self.expect([0], [self.feed(much, "--stdin=all", worker, nproc=1)], seconds=60)
                self.assertEqual(much, (self.folder / "kept.1").read_bytes())

    def test_a_file_keeps_its_position(self):
        """So a shell that reads hosts from it in a loop goes on with the next line."""
        path = self.folder / "given"
        path.write_bytes(b"read before\n" + LONG)
        with open(path, "rb", buffering=0) as file:
            file.seek(12)
            self.expect([0], [self.head(self.worker(KEEP), stdin=file)])
            self.assertEqual(12, file.tell())
        self.assertEqual([LONG, b"", b"", b""], self.kept())

    def test_a_worker_that_does_not_read_stops_nobody(self):
        until_told = 'until [ -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n'
        much = bytes(16 << 20)
        run = self.feed(much, self.worker(UP, 'echo "rank $RANK is up"\n', until_told))
        self.wait_until_up(4, run)
        self.assertTrue(wait_for(lambda: run.out.count("is up") == 4, 20), str(run))
        (self.folder / "go").touch()
        self.expect([0], [run])
        self.writer.join()
        self.assertLess(self.written, 4 << 20, "what nobody has read was taken all the same")

    def test_a_head_in_the_background_is_not_stopped_by_its_terminal(self):
        """It takes nothing that is typed for the shell, and goes on when it is in the foreground."""
        keyboard, terminal = pty.openpty()
        self.addCleanup(os.close, keyboard)
        self.addCleanup(os.close, terminal)
        worker = self.worker(UP, '[ "$RANK" = 0 ] || exit 0\nread line\necho "worker: $line"\n')
        run = self.start([sys.executable, SHELL, Settings.launch, *self.words("--stdin=0", worker)], stdin=terminal,
                         env=self.env(), start_new_session=True,
                         preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.wait_until_up(4, run)
        os.write(keyboard, b"for the shell\n")
        (self.folder / "typed").touch()
        self.assertTrue(wait_for((self.folder / "read").exists, 20), f"{run}")
        os.write(keyboard, b"for the worker\n")
        self.expect([0], [run])
        self.assertIn("shell: for the shell\n", run.out)
        self.assertIn("worker: for the worker\n", run.out)

    def test_a_terminal_is_read_only_if_that_is_asked_for(self):
        keyboard, terminal = pty.openpty()
        self.addCleanup(os.close, keyboard)
        self.addCleanup(os.close, terminal)
        os.write(keyboard, b"for the next command\n")
        self.expect([0], [self.head(self.worker(KEEP), stdin=terminal)])
        self.assertEqual([b""] * 4, self.kept())
        self.assertEqual(b"for the next command\n", os.read(terminal, 100))


class Output(StreamsCase):
    def test_no_line_comes_into_another_one_though_both_streams_go_to_one_slow_pipe(self):
        says = ('awk \'BEGIN { for (i = 0; i < 6000; i++) a = a "a"; for (i = 0; i < 200; i++) print a }\' &\n'
                'awk \'BEGIN { for (i = 0; i < 6000; i++) b = b "b"; for (i = 0; i < 200; i++) print b }\' >&2 &\n'
                'wait\n')
        reader, writer = os.pipe()
        run = self.head(self.worker(says), nproc=1, stdout=writer, stderr=writer)
        os.close(writer)
        with open(reader, "rb", buffering=0) as pipe:
            self.assertTrue(wait_for(lambda: waiting_in(reader) > 60_000, 20), "it is never full")
            text = b"".join(iter(lambda: pipe.read(4096), b"")).decode()
        self.expect([0], [run])
        lines = [line for line in text.splitlines() if not line.startswith("launch: ")]
        self.assertEqual({("a" * 6000, 400), ("b" * 6000, 400)},
                         set(collections.Counter(line.partition("]:")[2] for line in lines).items()))

    def test_what_a_host_alone_can_tell_is_shown_with_its_name(self):
        words = ("--before-workers=sh -c 'echo ready on $ON'", "--metrics=:0")
        run = self.head(*words, self.worker(), nproc=1)
        self.finish(run)
        self.assertEqual(0, run.code)
        for host in ("h1", "h2"):
            self.assertIn(f"launch: {host}: before-workers: ready on {host}\n", run.err)
            self.assertRegex(run.err, f"launch: {host}: metrics are served at http://[^ ]+:[1-9][0-9]*/metrics\n")
        quiet = self.head(*words, "--quiet", self.worker(), nproc=1)
        self.finish(quiet)
        self.assertEqual(0, quiet.code)
        for words in ("before-workers", "metrics"):
            self.assertNotIn(words, quiet.err)

    def test_a_host_that_can_keep_no_output_is_named_before_anything_starts(self):
        words = self.words(self.worker(UP))
        run = self.launch(*[word.replace("env ON={host}", "env TMPDIR=/proc") for word in map(str, words)],
                          env=self.env())
        self.expect([1], [run])
        self.assert_says(run, r"h\[1-2\]: the workers' output cannot be kept in /proc: ", "so nothing was started")
        self.assertEqual([], self.up())


class LocalHosts(StreamsCase):
    def test_workers_on_the_host_of_a_head_that_is_killed_have_time_to_save(self):
        saves = 'trap \'sleep 0.5; echo saved > "$TEST_FOLDER/saved.$RANK"; exit 0\' TERM\n'
        for hosts in ("exec:", "localhost"):
            with self.subTest(hosts):
                self.forget("saved.*")
                words = self.words(self.worker(saves, UP, "while :; do sleep 0.05; done\n"))
                if hosts == "localhost":
                    words = ("--hosts=localhost:4", words[-1])
                run = self.launch(*words, env=self.env())
                self.wait_until_up(4, run)
                run.signal(signal.SIGKILL)
                self.expect([137], [run])
                self.assertTrue(wait_for(lambda: len(list(self.folder.glob("saved.*"))) == 4, 20), self.tree())
                self.assertTrue(wait_for(lambda: not self.tree(), 20), self.tree())


class Stalls(StreamsCase):
    """What the head writes to is on a file system that stalls for longer than a host waits for the head (15 s)."""

    load = 0.1
    SAYS = ('i=0\nwhile [ ! -e "$TEST_FOLDER/go" ]; do echo "line $i of $RANK"; i=$((i + 1)); sleep 0.2; done\n'
            'echo "$i lines" > "$TEST_FOLDER/said.$RANK"\n')

    disk = None

    def use_disk(self):
        try:
            self.disk = disks.Disk.freezable("16M")
        except disks.Impossible as why:
            self.need(False, f"a file system of its own ({why})")
        return self.disk

    def tearDown(self):
        if self.disk:
            self.disk.remove()
        super().tearDown()

    def go(self):
        (self.folder / "go").touch()

    def stall(self, run, meanwhile=lambda: None):
        self.disk.freeze()
        try:
            meanwhile()
            self.assertFalse(wait_for(lambda: run.wait(0) is not None, 17), str(run))
        finally:
            self.disk.thaw()

    def said(self):
        """What the ranks have written, as the head has to show it."""
        counts = [int((self.folder / f"said.{rank}").read_text().split()[0]) for rank in range(2)]
        return [[f"line {i} of {rank}" for i in range(count)] for rank, count in enumerate(counts)]

    def test_its_output(self):
        disk = self.use_disk()
        shown = disk.path / "shown"
        with open(shown, "wb") as file:
            run = self.head(self.worker(self.SAYS), nproc=1, stdout=file)
            self.assertTrue(wait_for(lambda: b"line 2 of 1" in shown.read_bytes(), 20), str(run))
            self.stall(run)
            self.go()
            self.expect([0], [run])
        lines = [line.partition("]:")[2] for line in shown.read_text().splitlines()]
        for rank, wanted in enumerate(self.said()):
            self.assertEqual(wanted, [line for line in lines if line.endswith(f" of {rank}")])

    def test_the_logs_that_it_gathers(self):
        disk = self.use_disk()
        numbers = "".join(f"{number}\n" for number in range(1, 200001))
        run = self.head(f"--gather-logs={disk.path}/logs", "--redirects=1", self.worker(self.SAYS, "seq 200000\n"),
                        nproc=1)
        self.assertTrue(wait_for(lambda: len(list(self.folder.rglob("stdout.log"))) == 2, 20), str(run))
        self.stall(run, self.go)
        self.expect([0], [run])
        self.assert_says(run, "the logs of 2 hosts are in")
        texts = [path.read_text() for path in sorted((disk.path / "logs").rglob("stdout.log"))]
        for text, lines in zip(texts, self.said()):
            self.assertTrue(text == "".join(f"{line}\n" for line in lines) + numbers, len(text))
        self.assertEqual(2, len(texts))


class Fold(StreamsCase):
    def expect_folded(self, lines, says, hosts, nproc):
        """`says`: what workers do, in steps; all begin each of them together. Lines may change places."""
        meet = ('meet() { : > "$TEST_FOLDER/$1.$RANK"\n'
                'while [ "$(ls "$TEST_FOLDER/$1".* | wc -l)" -lt "$WORLD_SIZE" ]; do sleep 0.02; done\n'
                'sleep 0.4; }\n')  # longer than a node or the head waits for equal lines: else the next ones come first
        for turn in range(10):  # on a busy machine they may come too late for each other
            steps = [f"meet turn{turn}step{number}\n{step}\n" for number, step in enumerate(says)]
            run = self.head("--fold", self.worker(meet, *steps), hosts=hosts, nproc=nproc)
            self.expect([0], [run])
            if sorted(lines) == sorted(run.out.splitlines()):
                return run
        self.assertEqual(sorted(lines), sorted(run.out.splitlines()))
        return run

    def test_the_screen_of_the_documents(self):
        page = (ROOT / "docs" / "hosts.md").read_text(encoding="utf-8")
        shown = re.search(r"\n\$ launch --hosts n\[1-4\] --nproc-per-node 4 --fold train.py\n(.*?)\n```", page, re.S)[1]
        says = ('echo "loading checkpoint step_1200"',
                'if [ "$RANK" = 7 ]; then echo "resuming, after waiting for a lock"; else echo resuming; fi',
                'echo "loss 2.3"')
        self.expect_folded(shown.splitlines(), says, 4, 4)

    def test_equal_lines_of_all_hosts_are_shown_once(self):
        says = ('for i in 1 2 3; do echo "step $i"; done', '[ "$RANK" = 5 ] && echo "loss is nan" >&2', "exit 0")
        run = self.expect_folded([f"[0-7]:step {number}" for number in (1, 2, 3)], says, 4, 2)
        self.assertIn("[5]:loss is nan\n", run.err)

    def test_nothing_is_lost_and_each_rank_keeps_its_order(self):
        says = ('i=0\nwhile [ $i -lt 400 ]; do\n'
                'echo "line $i"; [ $((i % (RANK + 2))) = 0 ] && echo "odd $i"; i=$((i + 1))\ndone\n')
        run = self.head("--fold", self.worker(says), hosts=3)
        self.expect([0], [run])
        seen = {rank: [] for rank in range(6)}
        for line in run.out.splitlines():
            ranks, text = re.fullmatch(r"\[([\d,-]+)\]:(.*)", line).groups()
            for part in ranks.split(","):
                first, _, last = part.partition("-")
                for rank in range(int(first), int(last or first) + 1):
                    seen[rank].append(text)
        for rank in range(6):
            wanted = [line for i in range(400) for line in [f"line {i}"] + [f"odd {i}"] * (i % (rank + 2) == 0)]
            self.assertEqual(wanted, seen[rank])

    def test_a_failure_is_reported_as_ever(self):
        run = self.head("--fold", self.worker('[ "$RANK" = 3 ] && { echo "no data" >&2; exit 3; }\nexec sleep 300\n'))
        self.expect([3], [run])
        self.assertRegex(run.err, r"root cause +rank 3 ")
        self.assertIn("[3]:no data\n", run.err)
