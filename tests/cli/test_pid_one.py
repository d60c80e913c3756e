"""launch as process 1 of a container: it collects what is left to it, hears every signal, and leaves nothing behind.

The kernel drops signals to a process 1 that has no handler for them, and makes it the parent of every orphan.
"""
import os
import pathlib
import signal
import subprocess

import processes
from harness import Settings, wait_for
from job import UP, JobCase

CONTAINER = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork",
             "--mount-proc", "--kill-child=SIGKILL"]
UNTIL_GO = 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n'
UNTIL_TOLD = "while [ -z \"$told\" ]; do sleep 0.02; done\n"
# A process that no ancestor but 1 knows: in a session of its own, its parent gone.
STRANGER = """#!/bin/sh
setsid sh -c ': > "$TEST_FOLDER/stranger.$0"; while [ ! -e "$TEST_FOLDER/die" ]; do sleep 0.02; done' "$1" &
"""


class PidOne(JobCase):
    def setUp(self):
        super().setUp()
        tried = subprocess.run([*CONTAINER, "true"], check=False, capture_output=True, text=True)
        if tried.returncode != 0:
            self.skipTest(f"no namespace of process numbers can be made here: {tried.stderr.strip()}")
        self.namespace = None

    def contained(self, *arguments, before=""):
        """Starts launch as process 1, by a shell that has done `before` where there is some to do."""
        shell = ["sh", "-c", f'{before}exec "$@"', "sh"] if before else []
        return self.start([*CONTAINER, *shell, Settings.launch, *arguments])

    def process_one(self, run):
        """The number that process 1 has out here; from then on the namespace is known."""
        (pid,) = processes.children_of(run.pid)
        self.namespace = processes.pid_namespace(pid)
        self.assertNotEqual(processes.pid_namespace(os.getpid()), self.namespace)
        self.assertIn(pid, processes.of_pid_namespace(self.namespace))
        return pid

    def running(self, *arguments, before="", count=1):
        """A launch whose workers are up, and the number of process 1."""
        run = self.contained(*arguments, before=before)
        self.wait_until_up(count, run)
        return run, self.process_one(run)

    def expect_end(self, code, run):
        self.expect([code], [run], seconds=15)
        self.assertEqual([], processes.of_pid_namespace(self.namespace), str(run))

    def expect_collected(self, pids):
        """Zombies too are there until somebody collects them."""
        self.assertTrue(wait_for(lambda: not any(processes.state(pid) for pid in pids), 10),
                        {pid: processes.state(pid) for pid in pids})

    def strangers(self):
        """Each leads a session; a child that is about to become a sleep does not."""
        def leads(pid):
            try:
                return os.getsid(pid) == pid
            except ProcessLookupError:
                return False

        return [pid for pid in processes.of_pid_namespace(self.namespace)
                if "/stranger." in processes.command_of(pid) and leads(pid)]

    def test_what_a_worker_leaves_is_collected_while_the_job_runs(self):
        stranger = self.program(STRANGER, "leave")
        run, _ = self.running(self.worker(f"for n in 1 2 3; do {stranger} $n; done\n", UP, UNTIL_GO, "exit 9\n"))
        self.assertTrue(wait_for(lambda: len(list(self.folder.glob("stranger.*"))) == 3, 10), str(run))
        left = self.strangers()
        self.assertEqual(3, len(left), self.tree())
        (self.folder / "die").touch()
        self.expect_collected(left)
        self.assertIsNone(run.code, str(run))
        (self.folder / "go").touch()
        self.expect_end(9, run)

    def test_what_still_runs_at_the_end_is_ended(self):
        stranger = self.program(STRANGER, "leave")
        for code in (0, 9):
            with self.subTest(code=code):
                self.forget("stranger.*")
                run = self.contained(self.worker(f"{stranger} 1\n", UP, 'while [ ! -e "$TEST_FOLDER/stranger.1" ]; do '
                                                 f"sleep 0.02; done\n{UNTIL_GO}exit {code}\n"))
                self.wait_until_up(1, run)
                self.process_one(run)
                (self.folder / "go").touch()
                self.expect_end(code, run)
                (self.folder / "go").unlink()

    def test_signals_end_the_job(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            with self.subTest(signal=number.name):
                self.forget("got.*")
                name = number.name[3:]
                run, one = self.running("--nproc-per-node=2", self.worker(
                    f"trap 'echo {name} >> \"$TEST_FOLDER/got.$RANK\"; told=yes' {name}\n", UP, UNTIL_TOLD), count=2)
                os.kill(one, number)
                self.expect_end(128 + number, run)
                self.assertEqual([f"{name}\n"] * 2, [(self.folder / f"got.{rank}").read_text() for rank in (0, 1)])

    def test_a_worker_that_ignores_the_signal_is_killed(self):
        run, one = self.running("--shutdown-timeout=1", self.worker("trap '' TERM\n", UP, UNTIL_GO))
        os.kill(one, signal.SIGTERM)
        self.expect_end(143, run)

    def test_a_user_signal_is_passed_on_and_the_job_goes_on(self):
        run, one = self.running(self.worker("trap 'told=yes' USR1\n", UP, UNTIL_TOLD, ': > "$TEST_FOLDER/told"\n',
                                            UNTIL_GO))
        os.kill(one, signal.SIGUSR1)
        self.assertTrue(wait_for((self.folder / "told").exists, 10), str(run))
        (self.folder / "go").touch()
        self.expect_end(0, run)

    def test_all_ends_when_the_agent_is_killed(self):
        run, one = self.running("--nproc-per-node=2", self.worker("trap '' TERM HUP\n", UP, UNTIL_GO), count=2)
        (agent,) = processes.children_of(one)
        processes.kill([agent])
        self.expect_end(137, run)
        self.assert_says(run, "the agent of this launch .* was ended by signal 9")

    def expect_strangers_apart(self, run, one):
        """Of two strangers the one that ends is collected, and the other one holds nothing up."""
        first, second = (pid for pid in processes.children_of(one) if "sleep" in processes.command_of(pid))
        processes.kill([first])
        self.expect_collected([first])
        self.assertTrue(processes.alive(second))
        (self.folder / "go").touch()
        self.expect_end(9, run)

    def test_a_child_of_the_shell_before_is_collected_and_holds_nothing_up(self):
        run, one = self.running(self.worker(UP, UNTIL_GO, "exit 9\n"), before="sleep 1001 & sleep 1002 & ")
        self.expect_strangers_apart(run, one)

    def test_an_intruder_is_collected_and_holds_nothing_up(self):
        run, one = self.running(self.worker(UP, UNTIL_GO, "exit 9\n"))
        enter = ["nsenter", f"--target={one}", *([] if os.geteuid() == 0 else ["--user"]), "--pid"]
        subprocess.run([*enter, "sh", "-c", "sleep 1001 & sleep 1002 &"], check=True, stdin=subprocess.DEVNULL)
        self.expect_strangers_apart(run, one)

    def test_its_own_view_of_processes_is_that_of_the_container(self):
        run, one = self.running(self.worker('echo $PPID > "$TEST_FOLDER/parent"\n', UP, UNTIL_GO))
        (agent,) = processes.children_of(one)
        status = pathlib.Path(f"/proc/{agent}/status").read_text()
        inner = next(line.split()[-1] for line in status.splitlines() if line.startswith("NSpid:"))
        self.assertEqual(inner, (self.folder / "parent").read_text().strip())
        (self.folder / "go").touch()
        self.expect_end(0, run)
