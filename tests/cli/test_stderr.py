"""The workers' standard error, which passes launch: every byte as it was written, and the last words in the report."""
import fcntl
import os
import re
import struct
import sys
import termios

from harness import Settings, wait_for
from job import SLEEP, UP, UNTIL_ALL_UP, JobCase
from test_terminal import TerminalCase

HOWS = ("pass", "inherit")
BAR = r"""
import os, shutil, sys, time
bytes = sys.stderr.buffer
for done in range(0, 101, 20):
    bytes.write(b"\r\x1b[32m%3d%%\x1b[0m|" % done + b"#" * (done // 10))
    bytes.flush()
bytes.write(b"\n\tdone\n\xff\x00 no text\nand no end")
bytes.flush()
with open(os.environ["TEST_FOLDER"] + "/seen", "w") as seen:
    print(os.isatty(2), os.get_terminal_size(2).columns if os.isatty(2) else None, file=seen)
"""
NUMBERED = r"""
import os, sys
for number in range(3000):
    os.write(2, b"%s %d %s\n" % (os.environ["RANK"].encode(), number, b"x" * (number % 700)))
"""


class Bytes(TerminalCase):
    """Shown as with --stderr=inherit."""

    def python(self, text, name="worker.py"):
        return self.program(text, name)

    def test_on_a_terminal(self):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 97, 0, 0))
        texts = {}
        for how in HOWS:
            self.shown.clear()
            run = self.on_terminal(Settings.launch, f"--stderr={how}", self.python(BAR), stdout=self.terminal,
                                   stderr=self.terminal)
            self.expect([0], [run])
            self.assertEqual("True 97\n", (self.folder / "seen").read_text(), how)
            self.assertTrue(wait_for(lambda: b"and no end" in b"".join(self.shown), 10), how)
            texts[how] = b"".join(self.shown)
        self.assertEqual(texts["inherit"], texts["pass"])
        self.assertIn(b"\n\tdone\r\n\xff\x00 no text\r\nand no end", texts["pass"])

    def test_in_a_file_each_worker_has_its_order(self):
        for how in HOWS:
            with open(self.folder / how, "wb") as file:
                run = self.launch(f"--stderr={how}", "--nproc-per-node=4", "--omp-threads=1", self.python(NUMBERED),
                                  stderr=file)
                self.expect([0], [run])
        texts = {how: (self.folder / how).read_bytes() for how in HOWS}
        for rank in range(4):
            lines = {how: re.findall(rb"(?m)^%d \d+ x*$" % rank, text) for how, text in texts.items()}
            self.assertEqual(3000, len(lines["pass"]))
            self.assertEqual(lines["inherit"], lines["pass"])
        self.assertEqual(len(texts["inherit"]), len(texts["pass"]))

    def test_what_launch_says_begins_a_line(self):
        worker = self.worker("printf ' 10%%|#' >&2; exit 3")
        run = self.launch(worker)
        self.expect([3], [run])
        self.assertRegex(run.err, r"(?m) 10%\|#\nlaunch: .* FAILED")
        run = self.on_terminal(Settings.launch, worker, stdout=self.terminal, stderr=self.terminal)
        self.expect([3], [run])
        shown = b" 10%|#\x1b[0m\x1b[?25h\r\nlaunch: "
        self.assertTrue(wait_for(lambda: shown in b"".join(self.shown), 10), self.shown)


    def test_without_a_terminal_to_be_had_workers_have_that_of_launch(self):
        self.need(os.geteuid() == 0, "root, to hide the terminals")
        hidden = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/pts && exec "$@"', "sh")
        run = self.on_terminal(*hidden, Settings.launch, self.worker("echo wrong >&2; exit 3"), stdout=self.terminal,
                               stderr=self.terminal)
        self.expect([3], [run])
        self.assertTrue(wait_for(lambda: b"exit code      3" in b"".join(self.shown), 10), self.shown)
        shown = b"".join(self.shown)
        self.assertEqual(1, shown.count(b"wrong"), shown)
        self.assertIn(b"not kept: it went to the console of launch on host", shown)


class Report(JobCase):
    """What every node says of a failure, without any option."""

    def failing(self, *last):
        """Rank 1 fails, on node 1 where there are two of one worker."""
        return self.worker(UP, UNTIL_ALL_UP, '[ "$RANK" = 1 ] || ', SLEEP, *last)

    def test_a_traceback_is_on_every_screen(self):
        worker = self.program(f"#!{sys.executable}\n" + 'import os, time\n'
                              'if os.environ["RANK"] == "1":\n    raise ValueError("bad batch")\ntime.sleep(300)\n')
        runs = self.nodes([1, 1], worker)
        self.expect([1, 1], runs)
        for run in runs:
            self.assert_says(run, r"(?m)^  error +ValueError: bad batch$",
                             r"(?m)^  traceback +File .*, line 4, in <module>$")

    def test_without_a_traceback_the_last_lines(self):
        says = "echo loading >&2; printf '1\\r2\\r\\033[31mno such dataset\\033[0m\\n' >&2\n"
        runs = self.nodes([1, 1], self.failing(says, "exit 3\n"))
        self.expect([3, 3], runs)
        for run in runs:
            self.assert_says(run, r"(?m)^  stderr +loading\n +no such dataset$")

    def test_of_a_rank_that_is_not_shown(self):
        run = self.launch("--local-ranks-filter=0", "--nproc-per-node=2", self.failing("echo wrong >&2; exit 3\n"))
        self.expect([3], [run])
        self.assertEqual(1, run.err.count("wrong"), run)
        self.assert_says(run, r"(?m)^  stderr +wrong$")

    def test_what_is_inherited_cannot_be_quoted(self):
        run = self.launch("--stderr=inherit", self.worker("echo wrong >&2; exit 3"))
        self.expect([3], [run])
        self.assertEqual(1, run.err.count("wrong"), run)
        self.assert_says(run, r"(?m)^  output +not kept: it went to the console of launch on host ")

    def test_what_a_child_of_the_worker_said_counts(self):
        run = self.launch(self.worker("sh -c 'echo from below >&2'\nexit 3"))
        self.expect([3], [run])
        self.assert_says(run, r"(?m)^  stderr +from below$")

    def test_a_closed_console_ends_no_worker(self):
        reader, writer = os.pipe()
        os.close(reader)
        worker = self.worker("echo to nobody >&2\necho to nobody >&2\n", ': > "$TEST_FOLDER/end"\n')
        run = self.launch(worker, stderr=writer)
        os.close(writer)
        self.expect([0], [run])
        self.assertTrue((self.folder / "end").exists())

    def test_a_wrong_word(self):
        run = self.launch("--stderr=tee", "true")
        self.expect([2], [run])
        self.assert_says(run, "--stderr tee: expected pass or inherit")
