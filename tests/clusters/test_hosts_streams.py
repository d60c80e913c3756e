"""launch --hosts: what workers read from the standard input of the head, and lines of several hosts that are folded.

Each "host" is a process of this machine.
"""
import fcntl
import os
import pathlib
import pty
import re
import sys
import termios
import threading

from cluster_case import ClusterCase
from harness import Settings, wait_for
from job import UP

LONG = b"".join(b"line %d of many\n" % number for number in range(60_000))
KEEP = 'cat > "$TEST_FOLDER/kept.$RANK"\n'
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHELL = ROOT / "tests" / "cli" / "workers" / "job_control.py"


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
