"""launch in a terminal: keys that stop and end a job, what a wrapper makes of them, and the terminal's modes."""
import fcntl
import os
import pathlib
import re
import signal
import struct
import sys
import termios

import processes
from harness import Settings, free_port, wait_for
from job import UP, JobCase
from screen import rows_of
from terminals import OnTerminal

WORKERS = pathlib.Path(__file__).parent / "workers"
SHELL = WORKERS / "foreground.py"
# A loop without a sleep: a shell whose child is stopped between vfork and exec waits in D, and does not stop.
TICKS = UP + 'while [ ! -e "$TEST_FOLDER/go" ]; do : > "$TEST_FOLDER/tick.$RANK"; done\n'
STOP, INTERRUPT = b"\x1a", b"\x03"


class TerminalCase(OnTerminal, JobCase):
    load = 0.6

    def ticks(self):
        """True when the worker runs from now on."""
        (self.folder / "tick.0").unlink(missing_ok=True)
        return wait_for((self.folder / "tick.0").exists, 10)

    def states(self, guard):
        (agent,) = [pid for pid in processes.launcher(guard) if pid != guard]
        return {processes.state(pid) for pid in [guard, *processes.children_of(agent)]}


class Stop(TerminalCase):
    """The key that stops (Ctrl-Z)."""

    def test_without_a_shell_that_could_continue_it_the_job_goes_on(self):
        worker = self.worker(TICKS)
        for command in ([Settings.launch, worker], ["sh", "-c", f"{Settings.launch} {worker}; exit $?"]):
            with self.subTest(command=command[0]):
                self.forget("tick.*", "go")
                run = self.on_terminal(*command)
                self.wait_until_up(1, run)
                self.press(STOP)
                # What had been stopped would not hear this one.
                run.signal(signal.SIGWINCH)
                self.assertFalse(wait_for(lambda: "T" in {processes.state(pid) for pid in self.leftovers()}, 0.7),
                                 self.tree())
                self.assertTrue(self.ticks(), self.tree())
                self.press(INTERRUPT)
                self.expect([130], [run], seconds=15)

    def test_under_a_shell_the_job_stops_and_goes_on(self):
        run = self.on_terminal(sys.executable, SHELL, Settings.launch, self.worker(TICKS))
        self.wait_until_up(1, run)
        (guard,) = processes.children_of(run.pid)
        self.press(STOP)
        self.assertTrue(wait_for(lambda: self.states(guard) == {"T"}, 10), self.tree())
        os.kill(guard, signal.SIGCONT)
        self.assertTrue(self.ticks(), self.tree())
        (self.folder / "go").touch()
        self.expect([0], [run])

    def test_during_the_rendezvous_it_stops_the_workers_too(self):
        options = ("--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={free_port()}")
        worker = self.worker(TICKS)
        first = self.on_terminal(sys.executable, SHELL, Settings.launch, *options, "--node-rank=0", worker)
        self.assertTrue(wait_for(lambda: "waiting" in first.err, 20), str(first))
        (guard,) = processes.children_of(first.pid)
        self.press(STOP)
        self.assertTrue(wait_for(lambda: processes.state(guard) == "T", 10), self.tree())
        second = self.launch(*options, "--node-rank=1", worker)
        self.assertTrue(wait_for(lambda: 1 in self.up(), 20), f"{first}{second}")
        (agent,) = [pid for pid in processes.launcher(guard) if pid != guard]
        self.assertTrue(wait_for(lambda: {processes.state(pid) for pid in processes.children_of(agent)} == {"T"}, 10),
                        self.tree())
        os.kill(guard, signal.SIGCONT)
        self.assertTrue(self.ticks(), self.tree())
        (self.folder / "go").touch()
        self.expect([0, 0], [first, second])


class Progress(TerminalCase):
    """The line that changes while launch waits, and what others write to the same terminal."""
    CHANGES = b"\x1b[K"
    UNTIL_INTERRUPTED = "trap 'stop=yes' INT\n" + UP + 'while [ -z "$stop" ]; do sleep 0.02; done\n'
    UNTIL_GO = 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n'

    def start_there(self, *command):
        return self.on_terminal(*command, stdout=self.terminal, stderr=self.terminal)

    def text(self):
        return b"".join(self.shown)

    def interrupt_until_it_waits(self, *options, parts):
        run = self.start_there(Settings.launch, *options, self.worker(self.UNTIL_INTERRUPTED, *parts))
        self.wait_until_up(1, run)
        self.press(INTERRUPT)
        self.assertTrue(wait_for(lambda: b"stopping: 1 process left" in self.text(), 20), self.text())
        return run

    def go_on(self, run):
        (self.folder / "go").touch()
        self.expect([130], [run])
        self.assertTrue(wait_for(lambda: b"none left running" in self.text(), 10), self.text())
        return rows_of(self.text())

    def test_stays_below_the_lines_that_pass_launch(self):
        saves = 'for i in 1 2 3; do echo "saving part $i of 3"; sleep 0.3; done\n'
        run = self.interrupt_until_it_waits("--tee=3", parts=[self.UNTIL_GO, saves])
        self.assertIn(self.CHANGES, self.text())
        rows = self.go_on(run)
        self.assertEqual([f"[default0]:saving part {number} of 3" for number in (1, 2, 3)],
                         [row for row in rows if "saving" in row], "\n".join(rows))
        self.assertEqual([], [row for row in rows if "process left" in row])

    def test_no_line_changes_where_workers_have_the_terminal_and_their_last_words_stay(self):
        words = "printf 'final loss 0.123'\n"
        rows = self.go_on(self.interrupt_until_it_waits(parts=[words, self.UNTIL_GO]))
        self.assertNotIn(self.CHANGES, self.text())
        self.assertEqual(1, sum("final loss 0.123" in row for row in rows), "\n".join(rows))

    def test_last_words_stay_when_the_other_nodes_are_waited_for(self):
        port = free_port()
        options = ("--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={port}")
        words = "printf 'last words %s' $RANK\n" + UP
        first = self.start_there(Settings.launch, *options, "--node-rank=0", self.worker(words))
        until = self.worker(UP, self.UNTIL_GO, name="other")
        second = self.launch(*options, "--node-rank=1", until)
        self.wait_until_up(2, first, second)
        self.assertTrue(wait_for(lambda: b"the workers here have finished" in self.text(), 20), self.text())
        (self.folder / "go").touch()
        self.expect([0, 0], [first, second])
        self.assertTrue(any("last words 0" in row for row in rows_of(self.text())), self.text())

    def test_the_error_about_a_killed_agent_begins_a_line(self):
        options = ("--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={free_port()}", "--node-rank=0")
        run = self.start_there(Settings.launch, *options, self.worker("exit 0\n"))
        self.assertTrue(wait_for(lambda: b"waiting for node 1" in self.text(), 20), self.text())
        processes.kill(processes.children_of(run.pid))
        self.expect([137], [run])
        self.assertTrue(wait_for(lambda: b"no process was left" in self.text(), 10), self.text())
        self.assertTrue(any(row.startswith("launch: error: the agent of this launch") for row in rows_of(self.text())),
                        self.text())

    def test_at_each_width_the_cause_is_whole(self):
        """What a node waits for comes first, and is never cut."""
        port, nobody = free_port(), free_port()
        static = ("--nnodes=4", "--master-addr=127.0.0.1", f"--master-port={port}")
        c10d = ("--nnodes=2:4", "--rdzv-backend=c10d", "--rdzv-id=mine")
        lines = {
            static + ("--node-rank=0",): "launch: waiting for nodes 1-3 (1 of 4 have joined)",
            static[:-1] + (f"--master-port={nobody}", "--node-rank=1"):
                f"launch: cannot reach 127.0.0.1:{nobody}: Connection refused",
            c10d: "launch: waiting for more nodes (1 of 2 to 4 have joined)",
        }
        for columns in (60, 80, 120, 200):
            fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            for options, cause in lines.items():
                if options == c10d:
                    options += (f"--rdzv-endpoint=127.0.0.1:{free_port()}",)
                with self.subTest(columns=columns, cause=cause):
                    self.shown.clear()
                    run = self.launch(*options, "true", stderr=self.terminal)
                    shown = lambda: [row for row in re.split(rb"\r|\n|\x1b\[K", self.text()) if cause.encode() in row]
                    self.assertTrue(wait_for(shown, 20), self.text())
                    row = shown()[-1].decode()
                    self.assertLess(len(row), columns)
                    if columns == 200:
                        self.assertIn("; giving up in ", row)
                    run.signal(signal.SIGTERM)
                    self.expect([143], [run])

    def test_help_fits_the_width(self):
        for columns in (60, 100):
            fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            self.shown.clear()
            self.expect([0], [self.launch("--help", stdout=self.terminal)])
            self.assertTrue(wait_for(lambda: b"--explain --nproc-per-node=4 ./train" in self.text(), 10), self.text())
            longest = max(len(row) for row in rows_of(self.text()))
            self.assertTrue(columns - 10 <= longest <= columns, longest)

    def test_in_the_background_no_line_changes(self):
        options = ("--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={free_port()}", "--node-rank=0")
        run = self.start_there(sys.executable, SHELL, "--background", Settings.launch, *options, self.worker(TICKS))
        waiting = re.compile(rb"launch: waiting for node 1[^\r\n]*(?:\r\n|\x1b)")
        self.assertTrue(wait_for(lambda: waiting.search(self.text()), 20), self.text())
        self.assertNotIn(self.CHANGES, self.text())
        (guard,) = processes.children_of(run.pid)
        os.kill(guard, signal.SIGTERM)
        self.expect([143], [run])


class Interrupt(TerminalCase):
    def test_a_key_that_a_wrapper_hands_on_counts_once(self):
        saves = self.worker("trap 'stop=yes' INT\n", UP, 'while [ -z "$stop" ]; do sleep 0.02; done\n',
                            'sleep 4.5 & wait $!\n: > "$TEST_FOLDER/saved"\n')
        run = self.on_terminal(sys.executable, WORKERS / "wrapper.py", Settings.launch, saves)
        self.wait_until_up(1, run)
        self.press(INTERRUPT)
        self.expect([130], [run], seconds=15)
        self.assertTrue((self.folder / "saved").exists(), str(run))
        self.assertEqual(1, run.err.count("received SIGINT"), str(run))


class Modes(TerminalCase):
    def test_are_put_back_after_a_worker_that_has_changed_them(self):
        changes = '[ "$RANK" = 0 ] && { stty -echo -icanon; ' + UP + 'exec sleep 300; }\n'
        fails = 'while [ ! -e "$TEST_FOLDER/up.0" ]; do sleep 0.02; done\nexit 5\n'
        before = termios.tcgetattr(self.terminal)
        run = self.on_terminal(Settings.launch, "--nproc-per-node=2", "--stdin=0", self.worker(changes, fails))
        self.assertTrue(wait_for(lambda: termios.tcgetattr(self.terminal) != before, 20), str(run))
        self.expect([5], [run])
        self.assertEqual(before, termios.tcgetattr(self.terminal))

    def test_of_a_terminal_that_belongs_to_another_job_stay(self):
        run = self.on_terminal(sys.executable, SHELL, "--background", Settings.launch, self.worker(TICKS))
        self.wait_until_up(1, run)
        modes = termios.tcgetattr(self.terminal)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(self.terminal, termios.TCSANOW, modes)
        modes = termios.tcgetattr(self.terminal)
        (self.folder / "go").touch()
        self.expect([0], [run])
        self.assertEqual(modes, termios.tcgetattr(self.terminal))
