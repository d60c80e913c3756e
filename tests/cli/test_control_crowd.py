"""A crowd at the door of a running job: each is served or turned away, and the job's own work is untouched."""
import contextlib
import itertools
import os
import re
import resource
import socket
import subprocess
import sys
import textwrap

from harness import wait_for
from job import UP
from test_control import ControlCase

VISITORS = 1000
LOGS = 4  # two files of each worker
# What a visitor says; most of them read no answer.
WORDS = itertools.cycle([b"", b'{"verb":', b'{"verb":"status"}\n', b'{"verb":"stacks"}\n', b'{"verb":"dance"}\n',
                         b"x" * 20_000, b"\0" * 100 + b"\n", b'{"verb":"logs","reader":7,"lines":100000}\n'])
# Each worker writes its lines, and ends well when it is told to.
WORK = ('i=0; while [ ! -e "$TEST_FOLDER/end" ]; do echo "line $i"; i=$((i + 1)); sleep 0.02; done\n'
        'echo "$i" > "$TEST_FOLDER/written.$RANK"\n')
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
STRANGER = """
    import socket, sys
    served = 0
    for _ in range(200):
        with socket.socket(socket.AF_UNIX) as visitor:
            try:
                visitor.connect(sys.argv[1])
                visitor.settimeout(5)
                visitor.sendall(b'{"verb":"stop"}\\n')
                served += len(visitor.recv(9)) > 0
            except ConnectionError:
                pass
    sys.exit(served)
"""
# Listens there and answers nobody.
SILENT_DOOR = """
    import socket, sys
    door = socket.socket(socket.AF_UNIX)
    door.bind(sys.argv[1])
    door.listen(50)
    print("listens", flush=True)
    sys.stdin.read()
"""


def python(text):
    return [sys.executable, "-c", textwrap.dedent(text)]


class Crowd(ControlCase):
    def setUp(self):
        super().setUp()
        self.limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, self.limits[1]), self.limits[1]))
        self.job_run = self.job(UP, WORK, options=("--tee=3", f"--log-dir={self.folder}/logs"))
        (self.door,) = (self.folder / "run/launch").glob("*.sock")
        self.agent = self.agent_of(self.job_run)
        self.silent = []

    def tearDown(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, self.limits)
        for process in self.silent:
            process.communicate()
        super().tearDown()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.agent}/fd"))

    def memory(self):
        with open(f"/proc/{self.agent}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1])

    def visit(self, words):
        visitor = socket.socket(socket.AF_UNIX)
        try:
            visitor.connect(str(self.door))
            visitor.settimeout(20)
            visitor.sendall(words)
        except ConnectionError:
            pass  # it has been turned away already
        return visitor

    def assert_the_job_ends_as_ever(self):
        (self.folder / "end").touch()
        self.expect([0], [self.job_run])
        for rank in range(2):
            count = int((self.folder / f"written.{rank}").read_text())
            mine = re.findall(rf"^\[\S*{rank}\]: ?(.*)$", self.job_run.out, re.M)
            self.assertEqual([f"line {i}" for i in range(count)], mine)
        said = [line for line in self.job_run.err.splitlines() if "OMP_NUM_THREADS" not in line]
        self.assertNotRegex("\n".join(said), "warning|error|stopp|restart")

    def test_a_thousand_visitors_who_stay(self):
        self.ask("status")
        descriptors, memory = self.descriptors(), self.memory()
        visitors = [self.visit(next(WORDS)) for _ in range(VISITORS)]
        self.assertLess(self.descriptors(), descriptors + 100)
        for visitor in visitors:
            visitor.close()
        # One of them followed the logs, which stay open for a while.
        self.assertTrue(wait_for(lambda: self.descriptors() <= descriptors + LOGS, 20),
                        f"{descriptors}, now {self.descriptors()}")
        self.assertTrue(wait_for(lambda: self.is_served("status"), 20))
        self.assertLess(self.memory(), memory + (64 << 10))
        self.assert_the_job_ends_as_ever()

    def is_served(self, word):
        run = self.start([self.control, word])
        self.finish(run)
        return run.code == 0

    def test_those_who_never_leave_are_sent_away(self):
        visitors = [self.visit(b'{"verb":') for _ in range(100)]
        self.assertTrue(wait_for(lambda: self.is_served("status"), 20))
        for visitor in visitors:
            with contextlib.suppress(ConnectionResetError), visitor:
                self.assertEqual(b"", visitor.recv(9))
        self.assert_the_job_ends_as_ever()

    def open_to_all(self):
        self.need(os.geteuid() == 0, "another user (root can be one)")
        for path in (self.folder, self.folder / "run", self.door.parent, self.door):
            path.chmod(0o777)

    def test_another_user(self):
        self.open_to_all()
        stranger = self.start([*NOBODY, *python(STRANGER), self.door])
        self.expect([0], [stranger])
        self.door.parent.chmod(0o700)
        self.assertEqual("running", self.reports("status")[0]["state"])
        self.assert_the_job_ends_as_ever()

    def plant(self, path):
        """A socket of another user that answers nobody."""
        silent = subprocess.Popen([*NOBODY, *python(SILENT_DOOR), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env={"LAUNCH_TEST_ID": self.marker})
        self.silent.append(silent)
        self.assertEqual(b"listens\n", silent.stdout.readline())

    def test_doors_of_strangers_are_not_knocked_at(self):
        self.open_to_all()
        self.plant(self.door.parent / "planted.sock")
        self.plant(self.folder / "elsewhere.sock")
        (self.door.parent / "link.sock").symlink_to(self.folder / "elsewhere.sock")
        self.door.parent.chmod(0o700)
        began = self.ask("ps")
        self.assertEqual(2, len(began.out.splitlines()), began.out)
        self.assertLess(began.seconds, 10)  # for which an answer is waited for
        self.assertIn("running", self.ask("status").out)
        for name in ("planted.sock", "link.sock"):
            (self.door.parent / name).unlink()
        self.assert_the_job_ends_as_ever()

    def test_a_folder_that_others_can_change_is_not_looked_into(self):
        dead = self.folder / "dead"
        dead.mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(dead / "old.sock"))
        (self.folder / "link").symlink_to(dead)
        for doors in (self.folder / "link", dead):
            if doors == dead:
                dead.chmod(0o777)
            run = self.start([self.control, "ps"], env={"LAUNCH_DOORS": str(doors)})
            self.expect([0], [run])
            self.assertTrue((dead / "old.sock").exists(), doors)
        self.assert_the_job_ends_as_ever()
