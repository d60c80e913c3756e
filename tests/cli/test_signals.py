"""Signals to launch reach every worker group once; what does not obey is killed; nothing outlives the launcher."""
import os
import pathlib
import signal
import sys
import time

import processes
from harness import Settings, free_port, wait_for
from job import SLEEP, UP, JobCase

FORWARDED = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]

# Notes each signal it gets, and stays long enough for a second one to be noted too.
LISTENER = """
for name in TERM INT HUP QUIT; do trap "echo $name >> '$TEST_FOLDER/got.$RANK'; stopping=yes" $name; done
""" + UP + """
while [ -z "$stopping" ]; do sleep 0.02; done
for turn in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done
exit 0
"""
STUBBORN = "trap '' TERM INT HUP QUIT\n" + UP + "while :; do sleep 1; done\n"


class SignalCase(JobCase):
    def got(self, rank):
        """The signals that this worker has noted."""
        path = self.folder / f"got.{rank}"
        return path.read_text().split() if path.exists() else []

    def stubborn(self):
        """A launch whose worker runs and will not end when it is told to; there is a minute until SIGKILL."""
        run = self.launch("--shutdown-timeout=60", self.worker(STUBBORN))
        self.wait_until_up(1, run)
        return run


class Signals(SignalCase):
    def test_each_signal_is_passed_on_once_and_gives_128_and_its_number(self):
        for number in FORWARDED:
            with self.subTest(signal=number.name):
                self.forget("got.*")
                run = self.launch("--nproc-per-node=2", self.worker(LISTENER))
                self.wait_until_up(2, run)
                run.signal(number)
                self.expect([128 + number], [run])
                self.assertEqual([[number.name[3:]]] * 2, [self.got(0), self.got(1)], str(run))

    def test_workers_that_obey_are_gone_at_once(self):
        run = self.launch("--nproc-per-node=4", self.worker(UP, SLEEP))
        self.wait_until_up(4, run)
        start = time.time()
        run.signal(signal.SIGTERM)
        self.expect([143], [run])
        print(f"\n  SIGTERM to exit: {(run.ended - start) * 1000:.0f} ms", flush=True)
        self.assertLess(run.ended - start, 10)  # SIGKILL comes after 30 s

    def test_workers_that_ignore_it_are_killed_after_the_shutdown_timeout(self):
        run = self.launch("--shutdown-timeout=1", "--nproc-per-node=2", self.worker(STUBBORN))
        self.wait_until_up(2, run)
        start = time.time()
        run.signal(signal.SIGTERM)
        self.expect([143], [run])
        self.assertGreater(run.ended - start, 0.9)
        self.assertLess(run.ended - start, 4.0)

    def test_peers_of_a_failed_worker_that_ignore_the_request_are_killed_too(self):
        failing = '[ "$RANK" = 0 ] && { while [ ! -e "$TEST_FOLDER/up.1" ]; do sleep 0.02; done; exit 7; }\n'
        run = self.launch("--shutdown-timeout=1", "--nproc-per-node=2", self.worker(failing, STUBBORN))
        self.expect([7], [run], seconds=10)

    def test_signal_to_one_node_ends_the_whole_job(self):
        for target in (0, 1):
            with self.subTest(node=target):
                self.forget("got.*")
                runs = self.nodes([2, 2], self.worker(UP, SLEEP))
                self.wait_until_up(4, *runs)
                runs[target].signal(signal.SIGTERM)
                self.finish(*runs, seconds=15)
                self.assertEqual(143, runs[target].code, str(runs[target]))
                self.assertNotEqual(0, runs[1 - target].code, str(runs[1 - target]))

    def test_an_alarm_that_was_set_for_launch_ends_the_job(self):
        run = self.launch(self.worker('trap ": > $TEST_FOLDER/got.TERM; exit 0" TERM\n', UP,
                                      "while :; do sleep 0.02; done\n"))
        self.wait_until_up(1, run)
        run.signal(signal.SIGALRM)
        self.expect([142], [run])
        self.assertTrue((self.folder / "got.TERM").exists(), str(run))
        alarm = "import os, signal, sys; signal.alarm(2); os.execv(sys.argv[1], sys.argv[1:])"
        run = self.start([sys.executable, "-c", alarm, Settings.launch, "--no-python", "sleep", "300"])
        self.expect([142], [run])
        self.assert_says(run, r"launch was told to stop by SIGALRM; exit code 142\n")

    def test_signal_during_the_rendezvous_ends_the_wait(self):
        for rank in (0, 1):
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(node=rank, signal=number.name):
                    run = self.node(rank, 2, 1, self.worker("exit 0\n"), port=free_port())
                    wait_for(lambda: "wait" in run.err, 5)
                    run.signal(number)
                    self.expect([128 + number], [run], seconds=10)


# Stands before a command line.
WITHOUT_CGROUPS = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]


class NothingIsLeft(JobCase):
    """The check itself is the one after every test; grandchildren without the marker are found as descendants."""

    GRANDCHILDREN = "sleep 301 &\nsetsid sleep 302 &\nenv -i setsid sh -c 'trap \"\" TERM HUP; sleep 303; :' &\n"

    def test_after_success(self):
        run = self.launch("--shutdown-timeout=1", self.worker(self.GRANDCHILDREN, "exit 0\n"))
        self.expect([0], [run], seconds=15)

    def test_no_folder_after_success(self):
        run = self.launch("--nproc-per-node=2", self.worker("exit 0\n"))
        self.expect([0], [run])
        self.assertEqual([], list((self.folder / "tmp").iterdir()))

    def test_after_a_failure(self):
        run = self.launch("--shutdown-timeout=1", "--nproc-per-node=2",
                          self.worker(self.GRANDCHILDREN, '[ "$RANK" = 0 ] && exit 3\n', SLEEP))
        self.expect([3], [run], seconds=15)

    def test_after_a_signal(self):
        run = self.launch("--shutdown-timeout=1", self.worker(self.GRANDCHILDREN, UP, SLEEP))
        self.wait_until_up(1, run)
        run.signal(signal.SIGTERM)
        self.expect([143], [run], seconds=15)

    def kill_either(self, *before):
        """Guard or agent of a launch gets SIGKILL; `before` stands before its command line."""
        for victim in ("guard", "agent"):
            with self.subTest(victim=victim):
                worker = self.worker(self.GRANDCHILDREN, STUBBORN.replace("sleep 1", "sleep 0.1"))
                run = self.start([*before, Settings.launch, "--nproc-per-node=2", worker])
                self.wait_until_up(2, run)
                agent = self.agent_of(run)
                self.assertEqual(2, len(processes.children_of(agent)), self.tree())
                processes.kill([run.pid if victim == "guard" else agent])
                self.expect([137], [run])
                self.assertTrue(wait_for(lambda: not self.leftovers(), 20), self.tree())
                self.forget()

    def test_all_ends_when_either_process_of_launch_is_killed(self):
        self.kill_either()

    def test_the_same_without_control_groups(self):
        self.need(os.geteuid() == 0, "the right to mount (root)")
        self.kill_either(*WITHOUT_CGROUPS)

    def test_the_same_where_no_process_can_be_looked_at(self):
        self.need(os.geteuid() == 0, "the right to mount (root)")
        hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        run = self.start([*hide, Settings.launch, "--shutdown-timeout=1", self.worker(self.GRANDCHILDREN, "exit 0\n")])
        self.expect([0], [run], seconds=15)
        self.assertTrue(wait_for(lambda: not self.leftovers(), 20), self.tree())
        self.kill_either(*hide)

    def test_the_next_launch_ends_what_is_left_when_both_are_killed_at_once(self):
        run = self.launch(self.worker(self.GRANDCHILDREN, UP, SLEEP))
        self.wait_until_up(1, run)
        agent = self.agent_of(run)
        (worker,) = processes.children_of(agent)
        self.need("/launch-" in pathlib.Path(f"/proc/{worker}/cgroup").read_text(), "a control group (version 2)")
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped, neither can do anything about the other's end
            for pid in (run.pid, agent):
                os.kill(pid, number)
        self.expect([137], [run])

        def are_ended_by_others():  # beside many launches only some look for what is left
            self.expect([0], [self.launch("--no-python", "true")])
            return not self.leftovers()

        self.assertTrue(wait_for(are_ended_by_others, 30), self.tree())

    def test_each_of_many_workers_dies_with_launch_when_both_are_killed_at_once(self):
        """Several threads have made them, and each worker dies with its thread."""
        run = self.launch("--nproc-per-node=16", self.worker(UP, SLEEP))
        self.wait_until_up(16, run)
        agent = self.agent_of(run)
        self.assertEqual(16, len(processes.children_of(agent)), self.tree())
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped, neither can do anything about the other's end
            for pid in (run.pid, agent):
                os.kill(pid, number)
        self.expect([137], [run])
        self.assertTrue(wait_for(lambda: not self.leftovers(), 20), self.tree())

    def test_a_daemon_that_is_not_of_the_job_lives_on(self):
        """As of a job script that starts a monitor in the background and then becomes launch."""
        daemon = self.program('#!/bin/sh\necho $$ > "$TEST_FOLDER/daemon.new"\n'
                              'mv "$TEST_FOLDER/daemon.new" "$TEST_FOLDER/daemon"\nexec sleep 301\n', "monitor")
        starter = self.program('#!/bin/sh\necho $$ > "$TEST_FOLDER/started"\n'
                               'while [ ! -e "$TEST_FOLDER/up.0" ]; do sleep 0.02; done\n'
                               f"setsid {daemon} &\n", "starter")
        worker = self.worker(self.GRANDCHILDREN, UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n')
        for code in (0, 137):
            with self.subTest(code=code):
                script = self.program(f'#!/bin/sh\n{starter} &\nexec {Settings.launch} --shutdown-timeout=1 {worker}\n',
                                      "script")
                run = self.start([script])
                self.wait_until_up(1, run)
                self.assertTrue(wait_for((self.folder / "daemon").exists, 10), str(run))
                pid = int((self.folder / "daemon").read_text())
                (agent,) = [child for child in processes.launcher(run.pid) if child != run.pid]
                # Its parent has ended and is collected, so the guard has taken it and knows it.
                parent = int((self.folder / "started").read_text())
                self.assertTrue(wait_for(lambda: processes.state(parent) is None, 10), self.tree())
                self.assertIn(pid, processes.children_of(run.pid))
                (self.folder / "go").touch() if code == 0 else processes.kill([agent])
                self.expect([code], [run], seconds=15)
                self.assertTrue(processes.alive(pid), str(run))
                self.assertTrue(wait_for(lambda: self.leftovers() == {pid}, 2), self.tree())
                processes.kill([pid])
                self.forget("daemon", "go")

    def test_workers_end_when_launch_is_killed_while_it_stops_them(self):
        run = self.launch("--shutdown-timeout=60", self.worker(STUBBORN.replace("sleep 1", "sleep 0.1")))
        self.wait_until_up(1, run)
        run.signal(signal.SIGTERM)
        run.wait(0.3)
        run.signal(signal.SIGKILL)
        self.expect([137], [run])
        self.assertTrue(wait_for(lambda: not self.leftovers(), 20), self.tree())

    def test_a_worker_that_ends_leaves_no_children_while_the_others_run(self):
        run = self.launch("--nproc-per-node=2", self.worker('[ "$RANK" = 0 ] && { sleep 301 & sh -c "sleep 302; :" & '
                                                            ': > "$TEST_FOLDER/left"; exit 0; }\n', UP, SLEEP))
        self.wait_until_up(1, run)
        self.assertTrue(wait_for((self.folder / "left").exists, 20))
        # The guard, the agent, and rank 1.
        self.assertTrue(wait_for(lambda: len(self.leftovers()) == 3, 10), self.tree())
        run.signal(signal.SIGTERM)
        self.expect([143], [run])

    def groups_of_two_attempts(self, *options):
        """The control group of rank 0 in both attempts of a job of which rank 1 fails in the first."""
        worker = self.worker('cp /proc/self/cgroup "$TEST_FOLDER/group.$RANK.$TORCHELASTIC_RESTART_COUNT"\n',
                             '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0\n',
                             f'[ "$RANK" = 0 ] && {{ {UP}{SLEEP}}}\n'
                             'while [ ! -e "$TEST_FOLDER/up.0" ]; do sleep 0.02; done; exit 7\n')
        self.expect([0], [self.launch("--nproc-per-node=2", "--max-restarts=1", *options, worker)])
        first, second = ((self.folder / f"group.0.{attempt}").read_text() for attempt in (0, 1))
        self.need("/launch-" in first, "a control group (version 2)")
        return first, second

    def test_a_restart_goes_on_in_the_control_group_of_before(self):
        first, second = self.groups_of_two_attempts()
        self.assertEqual(first, second)

    def test_what_is_restarted_after_sigkill_has_a_control_group_of_its_own(self):
        """Linux 6.18 may kill what is started in one that was killed before."""
        first, second = self.groups_of_two_attempts("--shutdown-timeout=0")
        self.assertNotEqual(first, second)
        self.assertIn("/launch-", second)


class NothingIsLeftWhenBusy(JobCase):
    builds = only = ("release",)  # a hundred jobs on a machine that has no time for them
    load = 2.0

    def test_however_long_the_threads_of_a_killed_agent_take_to_end(self):
        """On a busy machine its first thread may have ended, and its children be the guard's, while another ends."""
        self.need(os.geteuid() == 0, "the right to mount (root)")
        worker = self.worker("sleep 301 &\n", UP, SLEEP)
        busy = [self.start(["sh", "-c", "while :; do :; done"]) for _ in range(2 * os.cpu_count())]
        others = {run.pid for run in busy}
        for _ in range(100):
            run = self.start([*WITHOUT_CGROUPS, Settings.launch, "--nproc-per-node=2", worker])
            self.wait_until_up(2, run)
            processes.kill([self.agent_of(run)])
            self.expect([137], [run])
            self.assertTrue(wait_for(lambda: self.leftovers() == others, 2), self.tree())
            self.forget()
        processes.kill(others)
        self.expect([137] * len(busy), busy)


class EarlyWarning(SignalCase):
    """--preempt-signal: the workers save and end by themselves."""
    HELPER = "sleep 300 & echo $! > \"$TEST_FOLDER/helper.$RANK\"\n"  # which the warning must not reach

    def test_workers_that_save_and_end_end_the_job_well(self):
        saves = f"trap 'echo TERM >> \"$TEST_FOLDER/got.$RANK\"; exit 0' TERM\n{self.HELPER}{UP}"
        run = self.launch("--nproc-per-node=2", "--preempt-signal=SIGTERM",
                          self.worker(saves, "while :; do sleep 0.02; done\n"))
        self.wait_until_up(2, run)
        run.signal(signal.SIGTERM)
        self.expect([0], [run])
        self.assertEqual([["TERM"], ["TERM"]], [self.got(rank) for rank in (0, 1)])
        self.assert_says(run, "sent SIGTERM to the workers as an early warning")

    def test_the_warning_reaches_no_helper_and_the_second_one_ends_the_job(self):
        run = self.launch("--preempt-signal=SIGTERM", self.worker(
            "trap 'echo TERM >> \"$TEST_FOLDER/got.$RANK\"' TERM\n", self.HELPER, UP,
            'while [ ! -e "$TEST_FOLDER/end" ]; do sleep 0.02; done\nexit 5\n'))
        self.wait_until_up(1, run)
        run.signal(signal.SIGTERM)
        self.assertTrue(wait_for(lambda: self.got(0) == ["TERM"], 10), str(run))
        helper = int((self.folder / "helper.0").read_text())
        self.assertEqual("S", processes.state(helper))
        wait_for(lambda: False, 1.2)  # within a second it would count as the same
        run.signal(signal.SIGTERM)
        self.assertTrue(wait_for(lambda: "received SIGTERM from" in run.err, 10), str(run))
        (self.folder / "end").touch()
        self.expect([143], [run])

    def test_a_signal_that_is_not_handled_only_warns(self):
        run = self.launch("--preempt-signal=SIGALRM", self.worker(
            "trap 'echo ALRM >> \"$TEST_FOLDER/got.$RANK\"' ALRM\n", UP,
            'while [ ! -e "$TEST_FOLDER/end" ]; do sleep 0.02; done\n'))
        self.wait_until_up(1, run)
        run.signal(signal.SIGALRM)
        self.assertTrue(wait_for(lambda: self.got(0) == ["ALRM"], 10), str(run))
        (self.folder / "end").touch()
        self.expect([0], [run])


class ForTheWorkers(SignalCase):
    """Signals that end nothing."""

    def noting(self, *names, more=""):
        traps = "".join(f"trap 'echo {name} >> \"$TEST_FOLDER/got.$RANK\"' {name}\n" for name in names)
        return self.worker(traps, more, UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n')

    def test_user_signals_go_to_the_workers_and_the_job_goes_on(self):
        run = self.launch("--nproc-per-node=2", self.noting("USR1", "USR2", "WINCH"))
        self.wait_until_up(2, run)
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
            run.signal(number)
            name = number.name[3:]
            self.assertTrue(wait_for(lambda: all(name in self.got(rank) for rank in (0, 1)), 10), str(run))
        (self.folder / "go").touch()
        self.expect([0], [run])
        self.assertEqual([["USR1", "USR2", "WINCH"]] * 2, [self.got(0), self.got(1)])

    def test_a_user_signal_of_the_list_ends_the_job(self):
        run = self.launch("--signals-to-handle=SIGTERM,SIGUSR1", self.worker(UP, SLEEP))
        self.wait_until_up(1, run)
        run.signal(signal.SIGUSR1)
        self.expect([128 + signal.SIGUSR1], [run])

    def test_a_job_is_stopped_and_goes_on(self):
        # Without a sleep: a shell whose child is stopped between vfork and exec waits in D, and does not stop.
        run = self.launch("--nproc-per-node=2", self.worker(
            UP, 'while [ ! -e "$TEST_FOLDER/go" ]; do : > "$TEST_FOLDER/alive.$RANK"; done\n'))
        self.wait_until_up(2, run)
        run.signal(signal.SIGTSTP)
        agent = self.agent_of(run)
        stopped = lambda: {processes.state(pid) for pid in [run.pid, *processes.children_of(agent)]} == {"T"}
        self.assertTrue(wait_for(stopped, 10), self.tree())
        run.signal(signal.SIGCONT)
        for path in self.folder.glob("alive.*"):
            path.unlink()
        self.assertTrue(wait_for(lambda: len(list(self.folder.glob("alive.*"))) == 2, 10), self.tree())
        (self.folder / "go").touch()
        self.expect([0], [run])

    def test_a_stopped_job_can_be_ended(self):
        run = self.launch("--shutdown-timeout=60", self.worker(UP, SLEEP))
        self.wait_until_up(1, run)
        agent = self.agent_of(run)
        run.signal(signal.SIGTSTP)
        self.assertTrue(wait_for(lambda: processes.state(run.pid) == "T", 10))
        run.signal(signal.SIGTERM)
        run.signal(signal.SIGCONT)
        self.expect([143], [run], seconds=10)

    def test_one_signal_to_every_process_is_one_signal(self):
        run = self.stubborn()
        for pid in (run.pid, *processes.children_of(run.pid)):
            os.kill(pid, signal.SIGINT)
        self.assertIsNone(run.wait(4))  # twice would have been the end after 3 s
        run.signal(signal.SIGINT)
        run.signal(signal.SIGINT)
        self.expect([130], [run], seconds=10)

    def test_the_second_interrupt_shortens_the_grace(self):
        run = self.stubborn()
        run.signal(signal.SIGINT)
        self.assertTrue(wait_for(lambda: "received SIGINT" in run.err, 10))
        self.assertTrue(wait_for(lambda: "SIGKILL in" in run.err, 10), str(run))
        run.signal(signal.SIGINT)
        self.expect([130], [run], seconds=10)
