"""What launch-ctl shows: the screens of its page, the live page, and logs since a moment."""
import os
import re
import signal
import time

from code_blocks import blocks_with
from harness import free_port, wait_for
from job import SLEEP, UP
from test_control import ControlCase

SHAPES = [  # of what is different in each job
    (r"^job \S+: \S+;", "job JOB: PROGRAM;"),
    (r"^(node \d+) \S+ ", r"\1 HOST "),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME"),
    (r"^ *steps \d+ to \d+; behind: .*", ""),
    (r"^( *\d+)  \S+ +running", r"\1  IT  running"),  # its host, or its process
    (r"\d+(\.\d*)? (ms|s|min)\b", "AGE"),
    (r"\d+(\.\d*)?", "N"),
    (r" +", " "),
]
TRAINS = """#!/bin/sh
: > "$TEST_FOLDER/up.$RANK"
step=0
while :; do
  step=$((step + 1))
  echo "step $step loss 0.123"
  sleep 0.2
done
"""


class Screens(ControlCase):
    """What docs/control.md shows comes so, but for names and numbers."""

    def shape(self, line):
        for pattern, name in SHAPES:
            line = re.sub(pattern, name, line)
        return line.strip()

    def compare(self, beginning, came, columns):
        """Each line of the document is the beginning of one that came."""
        (block,) = blocks_with("docs/control.md", beginning)
        shapes = [self.shape(line) for line in came.splitlines()]
        for line in block.lines[1:]:
            shape = self.shape(line)
            self.assertLessEqual(len(line), columns)
            cut = [one for one in shapes if len(one) > 40]  # the path of the program is longer here
            self.assertTrue(any(one.startswith(shape) for one in shapes) or any(map(shape.startswith, cut)),
                            f"{shape}\n{shapes}")

    def test_of_a_training(self):
        runs = self.elastic(2, self.program(TRAINS, "train.py"), nnodes="1:2", nproc=4,
                            options=("--no-python", "--tee=3", "--local-ranks-filter=0", "--progress=step ([0-9]+)",
                                     f"--log-dir={self.folder}/logs"))
        self.wait_until_up(8, *runs)
        self.assertTrue(wait_for(lambda: all("rate" in worker for report in self.reports("status")
                                             for worker in report["workers"]), 30), str(runs[0]))
        status = self.ask("status").out
        self.compare("$ launch-ctl status", status, 80)
        self.compare("$ tput cols", "200\n$ launch-ctl status\n...\n" + status, 200)
        page = self.start(["python3", "-c", PAGE, self.control, "top", "--interval=0.1"])
        self.expect([0], [page])
        self.compare("$ launch-ctl top", re.sub(r"\x1b\[[?0-9]*[A-Za-z]", "", page.out), 80)
        (block,) = blocks_with("docs/control.md", "$ launch-ctl stacks")
        for line in block.lines[1:]:
            self.assertRegex(line, r"^ranks? [0-9, -]+: in \S+ \([^ ()]+:\d+\)$")
        self.assertEqual(2, len(self.reports("stop")))
        self.expect([143] * 2, runs)


PAGE = (  # three pages, and then q
    "import fcntl, os, pty, struct, sys, termios; pid, fd = pty.fork()\n"
    "if pid == 0:\n"
    "    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0)); os.execv(sys.argv[1], sys.argv[1:])\n"
    "seen = b''\n"
    "while seen.count(b'q ends') < 3: seen += os.read(fd, 4096)\n"
    "os.write(fd, b'q')\n"
    "while b'1049l' not in seen: seen += os.read(fd, 4096)\n"
    "sys.stdout.write(seen.decode()); sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n")


class Page(ControlCase):
    def test_top(self):
        run = self.job(UP, SLEEP)
        page = self.start(["python3", "-c", PAGE, self.control, "top", "--interval=0.1"])
        self.expect([0], [page])
        self.assertIn("job one: ", page.out)
        self.assertIn("top needs a terminal", self.ask("top", code=2).err)
        self.stop(run)


    def test_a_key_is_heard_while_the_job_does_not_answer(self):
        """It answers the first question about its state, and never the second: then q is pressed."""
        (self.folder / "run/launch").mkdir(mode=0o700)
        page = self.start(["python3", "-c", UNANSWERED, self.control, self.folder / "run/launch/1.sock"])
        self.expect([0], [page])
        self.assertIn("job one: ", page.out)


UNANSWERED = """import json, os, pty, select, socket, sys
report = {"node_rank": 0, "host": "n0", "run_id": "one", "pid": 1, "program": "x", "state": "running", "workers": []}
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[2])
door.listen()
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], [sys.argv[1], "top", "--interval=0.1"])
seen, before, asked, held = b"", 0, 0, []
while b"1049l" not in seen:
    for source in select.select([terminal, door], [], [])[0]:
        if source is terminal:
            seen += os.read(terminal, 65536)
            continue
        visitor = door.accept()[0]
        line = visitor.makefile("rb").readline()
        verb = json.loads(line)["verb"] if line else ""
        asked += verb == "status"
        if asked < 2:
            if verb: visitor.sendall(json.dumps(report).encode() + b"\\n")
            visitor.close()
        else:
            held.append(visitor)
            before = len(seen)
            os.write(terminal, b"q")
sys.stdout.write(seen.decode())
drawn_again = b"q ends" in seen[before:]
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) or len(held) != 1 or drawn_again)
"""


class Since(ControlCase):
    LINES = 'for i in 1 2 3 4 5; do echo "line $i of $RANK"; done\n'

    def test_what_was_written_since(self):
        run = self.job("echo old\n", UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n',
                       'while [ ! -e "$TEST_FOLDER/end" ]; do echo new; sleep 0.05; done\n',
                       options=(f"--log-dir={self.folder}/logs", "--redirects=3", "--log-writer=launch"))
        self.assertTrue(wait_for(lambda: "old" not in self.ask("logs", "--since=1").out, 20), str(run))
        hour_ago = time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(time.time() - 3600))
        for since in ("1h", hour_ago):
            self.assertEqual(["[0] old", "[1] old"], self.ask("logs", f"--since={since}").out.splitlines())
        (self.folder / "go").touch()
        self.assertTrue(wait_for(lambda: all(self.ask("logs", "--since=1h").out.count(f"[{rank}] new") > 1
                                             for rank in (0, 1)), 20), str(run))
        self.assertNotIn("old", self.ask("logs", "--since=1s").out)
        self.assertGreater(len(self.ask("logs", "--since=1h").out.splitlines()), 2)
        self.assertEqual(["[0] new", "[0] new", "[1] new", "[1] new"],
                         self.ask("logs", "--since=1h", "-n", "2").out.splitlines())
        (self.folder / "end").touch()
        self.expect([0], [run])

    def test_a_node_that_does_not_answer_does_not_change_the_moment(self):
        """It is waited for 3 s, and the line was written 2.9 s after the moment that is asked for."""
        worker = self.worker("echo old\n", UP, SLEEP)
        port = free_port()
        runs = [self.node(rank, 2, 1, worker, port=port, env={"LAUNCH_DOORS": f"{self.folder}/run/{door}"},
                          options=(f"--log-dir={self.folder}/logs{rank}", "--redirects=3", "--log-writer=launch"))
                for rank, door in enumerate(("launch", "other"))]
        self.wait_until_up(2, *runs)
        agent = self.agent_of(runs[1])
        os.kill(agent, signal.SIGSTOP)
        (log,) = (self.folder / "logs0").rglob("stdout.log")
        asked = self.ask("logs", f"--since={time.time() - log.stat().st_mtime + 2.9:.3f}")
        os.kill(agent, signal.SIGCONT)
        self.assertEqual(["[0] old"], asked.out.splitlines(), asked)
        self.assertIn("launch-ctl: node 1: ", asked.err)
        for run in runs:
            run.signal(signal.SIGTERM)
        self.finish(*runs)

    def test_since_when_it_is_not_known(self):
        run = self.job(self.LINES, UP, SLEEP, options=(f"--log-dir={self.folder}/logs", "--redirects=3"))
        some = self.ask("logs", "--since=1h", "-n", "1")
        self.assertEqual(["[0] line 5 of 0", "[1] line 5 of 1"], some.out.splitlines())
        self.assertIn("(--log-writer=launch changes that)", some.err)
        self.assertIn("90s, 10m or 2h", self.ask("logs", "--since=soon", code=2).err)
        self.assertIn("is still to come", self.ask("logs", "--since=2999-01-01", code=2).err)
        self.stop(run)
