"""launch --hosts ends everywhere: after a failure, a signal, a death, a cut, at any moment, and says why once."""
import json
import os
import signal

import processes
from console import Console
from harness import Settings, wait_for
from hosts_case import SAYS_ALL, HostsCase, in_order
from job import SLEEP, UP
from terminals import OnTerminal

STUBBORN = "trap '' HUP INT TERM\n"


class EndCase(HostsCase):
    def job(self, place, *options, parts=(UP, SLEEP), hosts=3, **start):
        """A job on the first hosts, whose workers run."""
        run = self.head(place, f"--hosts=n[1-{hosts}]", "--nproc-per-node=2", *options, self.worker(*parts), **start)
        self.wait_until_up(2 * hosts, run)
        return run


class Failures(EndCase):
    def test_a_worker_fails(self):
        with self.place(4) as place:
            run = self.head(place, "--hosts=n[1-4]", "--nproc-per-node=2",
                            self.worker(UP, '[ "$RANK" = 5 ] && { echo "no data" >&2; exit 3; }\n', SLEEP))
            self.expect([3], [run])
            self.assert_reported_once(run, r"FAILED", r"^  exit code +3$",
                                      r"root cause +rank 5 \(local rank 1\) on node 2 \(host n3\).*code 3")
            self.assert_says(run, "no data")
            self.expect_empty(place)

    def test_the_process_that_has_started_it_is_told(self):
        error = self.folder / "error.json"
        with self.place(2) as place:
            run = self.head(place, "--hosts=n[1-2]", self.worker('[ "$RANK" = 1 ] && exit 3\n', SLEEP),
                            env={"TORCHELASTIC_ERROR_FILE": str(error)})
            self.expect([3], [run])
            self.assertIn("exit code 3", error.read_text())
            self.expect_empty(place)

    def test_a_worker_is_killed(self):
        with self.place(2) as place:
            run = self.job(place, hosts=2)
            sleeps = wait_for(lambda: [pid for pid in place.running(2) if processes.command_of(pid) == "sleep 300"], 20)
            processes.kill(sleeps[:1])
            self.expect([137], [run])
            self.assert_reported_once(run, r"root cause .*\(host n2\).*SIGKILL")
            self.expect_empty(place)

    def test_a_restart(self):
        fails_once = '[ "$TORCHELASTIC_RESTART_COUNT$RANK" = 01 ] && exit 3\necho "rank $RANK of $WORLD_SIZE"\n'
        with self.place(2) as place:
            run = self.head(place, "--hosts=n[1-2]", "--max-restarts=1", self.worker(fails_once))
            self.expect([0], [run])
            self.assertIn("rank 1 of 2", run.out)
            self.expect_empty(place)


class Signals(EndCase):
    def test_signals(self):
        with self.place(3) as place:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(number.name):
                    self.forget()
                    run = self.job(place)
                    run.signal(number)
                    self.expect([128 + number], [run])
                    self.assertNotIn("FAILED", run.err)
                    self.expect_empty(place)

    def test_a_warning_of_the_users_choice(self):
        saves = "trap 'exit 0' XCPU\n" + UP + "while :; do sleep 0.05; done\n"
        with self.place(2) as place:
            run = self.job(place, "--preempt-signal=SIGXCPU", parts=(saves,), hosts=2)
            run.signal(signal.SIGXCPU)
            self.expect([0], [run])
            self.expect_empty(place)

    def test_workers_that_do_not_want_to(self):
        with self.place(2) as place:
            run = self.job(place, "--shutdown-timeout=1", parts=(STUBBORN, UP, SLEEP), hosts=2)
            run.signal(signal.SIGTERM)
            self.expect([143], [run], seconds=30)
            self.expect_empty(place)

    def test_before_all_hosts_have_answered(self):
        """One of them never does; ssh would wait for 10 s."""
        with self.place(2) as place:
            place.cut(2)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                with self.subTest(number.name):
                    run = self.head(place, "--hosts=n[1-2]", self.worker(UP))
                    self.assertTrue(wait_for(lambda: place.running(1), 20), str(run))
                    run.signal(number)
                    self.expect([128 + number], [run], seconds=8)
                    self.expect_empty(place)
                    self.assertEqual([], self.up())


class Deaths(EndCase):
    def test_the_head_is_killed(self):
        with self.place(3) as place:
            for name, parts in (("workers that end", (UP, SLEEP)),
                                ("workers that do not want to", (STUBBORN, UP, SLEEP))):
                with self.subTest(name):
                    self.forget()
                    run = self.job(place, "--shutdown-timeout=1", parts=parts)
                    run.signal(signal.SIGKILL)
                    self.expect([137], [run])
                    self.expect_empty(place)

    def test_a_client_of_ssh_is_killed(self):
        with self.place(3) as place:
            run = self.job(place)
            place.kill_client(3)
            self.finish(run)
            self.assertNotEqual(0, run.code, str(run))
            self.assert_says(run, r"\bn3\b")
            self.expect_empty(place)

    def test_the_launch_of_a_host_is_killed(self):
        """All of it, as by a host that has no memory left."""
        with self.place(3) as place:
            run = self.job(place)
            processes.kill([pid for pid in place.running(2) if processes.command_of(pid) != "sleep 300"])
            self.finish(run)
            self.assertNotEqual(0, run.code, str(run))
            self.assert_says(run, r"\bn2\b")
            self.expect_empty(place, 1, 3, 4)
            processes.kill(place.running(2))


class Cuts(EndCase):
    """The cable of a host is out: nobody is told."""
    load = 0.2

    def check_cut(self, number, says):
        with self.place(3) as place:
            run = self.job(place, "--heartbeat-timeout=5", "--shutdown-timeout=2")
            place.cut(number)
            self.finish(run, seconds=60)
            self.assertNotEqual(0, run.code, str(run))
            self.assert_says(run, says)
            self.expect_empty(place, seconds=40)
            place.plug_in(number)

    def test_a_host(self):
        self.check_cut(3, r"\bn3\b")

    def test_the_host_of_node_0(self):
        self.check_cut(1, r"\bn1\b")

    def test_the_host_of_the_head(self):
        self.check_cut(4, r"\bn\[1-3\]|\bn1\b")

    def test_a_spare_takes_over(self):
        member = ': > "$TEST_FOLDER/on.$(hostname)"\n'
        until_told = 'until [ -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n'
        with self.place(3) as place:
            run = self.head(place, "--hosts=n1,n2,n3+1", "--heartbeat-timeout=5", "--nproc-per-node=1",
                            self.worker(member, UP, until_told, SAYS_ALL))
            self.wait_until_up(2, run)
            (victim, *_) = [number for number in (2, 3) if (self.folder / f"on.n{number}").exists()]
            place.cut(victim)
            self.assertTrue(wait_for(lambda: len(list(self.folder.glob("on.*"))) == 3, 30), str(run))
            (self.folder / "go").touch()
            self.expect([0], [run])
            ranks = sorted(line.split()[1] for line in in_order(run.out) if not line.endswith(f"n{victim}"))
            self.assertEqual(["0", "1"], ranks, str(run))
            self.expect_empty(place, seconds=40)
            place.plug_in(victim)

    def test_a_host_that_never_answers(self):
        with self.place(3) as place:
            place.cut(2)
            run = self.head(place, "--hosts=n[1-3]", self.worker(UP))
            self.expect([1], [run], seconds=30)
            self.assert_lines(run, r"n2: no (answer|route to it) on port 22")
            self.assertEqual([], self.up())
            self.expect_empty(place)


class Kept(EndCase):
    """The files of the workers' output on the hosts: they stay only if they may be needed."""

    SAYS = 'echo "rank $RANK is up"\n'

    def setUp(self):
        super().setUp()
        (self.folder / "tmp").mkdir(exist_ok=True)

    def kept(self):
        return list((self.folder / "tmp").glob("launch-??????"))

    def test_when_it_has_ended_well_or_was_stopped(self):
        with self.place(2) as place:
            self.expect([0], [self.head(place, "--hosts=n[1-2]", self.worker(self.SAYS))])
            self.expect_empty(place)
            self.assertEqual([], self.kept())
            run = self.job(place, hosts=2, parts=(self.SAYS, UP, SLEEP))
            self.assertEqual(2, len(self.kept()))
            run.signal(signal.SIGINT)
            self.expect([130], [run])
            self.expect_empty(place)
            self.assertEqual([], self.kept(), str(run))
            self.assertNotRegex(run.err, r"(?m)^ +logs ", "they are gone")

    def test_a_report_names_them(self):
        with self.place(2) as place:
            run = self.head(place, "--hosts=n[1-2]", self.worker(self.SAYS, '[ "$RANK" = 1 ] && exit 3\n', SLEEP))
            self.expect([3], [run])
            self.expect_empty(place)
            self.assertEqual(2, len(self.kept()))
            for folder in self.kept():
                self.assertIn(str(folder), run.err)

    def test_what_it_is_written_to_is_full(self):
        with self.place(2) as place:
            head = place.inside(place.count + 1, "sh", "-c", 'exec "$@" > /dev/full', "sh", place.program_of_head)
            run = self.start([*head, "--hosts=n[1-2]", self.worker(self.SAYS)], env=place.environment(),
                             cwd=self.folder)
            self.expect([0], [run])
            self.assert_lines(run, "warning: output is lost because it cannot be written: No space left on device; "
                                   "the job goes on, and the hosts keep all of it")
            self.expect_empty(place)
            texts = [file.read_text() for folder in self.kept() for file in folder.rglob("stdout.log")]
            self.assertEqual(["rank 0 is up\n", "rank 1 is up\n"], sorted(texts), str(run))

    def test_the_head_is_killed(self):
        with self.place(1) as place:
            run = self.job(place, hosts=1, parts=(self.SAYS, UP, SLEEP))
            run.signal(signal.SIGKILL)
            self.expect([137], [run])
            self.expect_empty(place)
            (folder,) = self.kept()
            self.assertEqual({"rank 0 is up\n", "rank 1 is up\n"},
                             {file.read_text() for file in folder.rglob("stdout.log")})

    def test_the_node_has_ended_but_the_head_has_not_shown_all(self):
        """Nobody reads the console, and then the head dies."""
        much = 'i=0\nwhile [ $i -lt 20000 ]; do echo "line $i"; i=$((i + 1)); done\n'
        with self.place(1) as place:
            console = Console(reads=False)
            run = self.head(place, "--hosts=n1", self.worker(much, "echo last >&2\n"), stdout=console.writer)
            console.handed_over()
            self.assertTrue(wait_for(lambda: not [pid for pid in place.running(1)
                                                  if "--remote" not in processes.command_of(pid)]
                                     and "last" in run.err, 30), place.shown())
            self.assertEqual(1, len(self.kept()))
            run.signal(signal.SIGKILL)
            self.expect([137], [run])
            self.expect_empty(place)
            (folder,) = self.kept()
            self.assertIn("line 19999\n", next(folder.rglob("stdout.log")).read_text())


class Detached(EndCase):
    """--detach: the job goes on without the process that was typed."""

    def test_it_goes_on_until_it_is_stopped(self):
        with self.place(2) as place:
            run = self.head(place, "--hosts=n[1-2]", "--detach", "--rdzv-id=job",
                            self.worker('echo "rank $RANK is up"\n', UP, SLEEP))
            self.expect([0], [run])
            said = dict(line.split(maxsplit=1) for line in run.out.replace("run id", "run_id").splitlines())
            self.assertEqual(("job", "launch-job.log"), (said["run_id"], said["output"]), str(run))
            self.wait_until_up(2, run)
            pid = int(said["pid"].split()[0])
            self.assertIn(f"(kill {pid} stops the job)", said["pid"])
            file = self.folder / "launch-job.log"
            self.assertTrue(wait_for(lambda: file.read_text().count("is up") == 2, 10), file.read_text())
            os.kill(pid, signal.SIGTERM)
            self.expect_empty(place)
            self.assertIn("STOPPED", file.read_text())

    def test_a_report_for_programs_has_a_file_of_its_own(self):
        with self.place(2) as place:
            run = self.head(place, "--hosts=n[1-2]", "--detach", "--rdzv-id=job", "--verdict=json",
                            self.worker('[ "$RANK" = 1 ] && exit 3\n', SLEEP))
            self.expect([0], [run])
            self.assertRegex(run.out, r"(?m)^report +launch-job\.json \(if the job fails\)$")
            self.expect_empty(place)
            verdict = json.loads((self.folder / "launch-job.json").read_text())
            self.assertEqual((3, "worker"), (verdict["exit_code"], verdict["root_cause"]["kind"]))
            log = (self.folder / "launch-job.log").read_text()
            self.assertNotIn('"root_cause"', log)
            self.assertRegex(log, "root cause +rank 1 ")

    def test_the_report_of_an_earlier_job_is_removed(self):
        with self.place(1) as place:
            report = self.folder / "launch-job.json"
            report.write_text("{}")
            run = self.head(place, "--hosts=n1", "--detach", "--rdzv-id=job", "--verdict=json", self.worker(UP))
            self.expect([0], [run])
            self.expect_empty(place)
            self.assertFalse(report.exists())

    def test_hosts_that_cannot_take_part(self):
        with self.place(1) as place:
            run = self.head(place, "--hosts=n1,n3", "--detach=out", self.worker(UP))
            self.expect([2], [run])
            self.assert_lines(run, "n3: ssh does not know the name", "1 of 2 hosts cannot take part")
            self.assertEqual("", run.out)
            self.assertEqual(run.err, (self.folder / "out").read_text())
            self.assertEqual([], self.up())
            self.expect_empty(place)

    def test_a_signal_before_all_have_answered(self):
        with self.place(2) as place:
            place.cut(2)
            run = self.head(place, "--hosts=n[1-2]", "--detach", self.worker(UP))
            self.assertTrue(wait_for(lambda: place.running(1), 20), str(run))
            run.signal(signal.SIGINT)
            self.finish(run)
            self.expect_empty(place)
            self.assertEqual([], self.up())


class Reports(EndCase):
    """--verdict=json has a document however the job ends, also if no host has sent one."""

    def verdict(self, place, *words, code, act=lambda run: None):
        run = self.head(place, "--verdict=json:report.json", *words)
        act(run)
        self.expect([code], [run], seconds=60)
        verdict = json.loads((self.folder / "report.json").read_text())
        self.assertEqual((code, code), (verdict["exit_code"], verdict["root_cause"]["exit_code"]), verdict)
        return verdict["root_cause"]["kind"], verdict["problems"]

    def test_without_a_host_that_has_sent_one(self):
        with self.place(2) as place:
            with self.subTest("hosts that cannot take part"):
                kind, (problem,) = self.verdict(place, "--hosts=n1,n3", self.worker(UP), code=2)
                self.assertEqual(("start", "n3"), (kind, problem["host"]))
                self.assertIn("ssh does not know the name", problem["reason"])
            with self.subTest("all connections are lost"):
                def lose(run):
                    self.wait_until_up(1, run)
                    place.kill_client(1)
                kind, (problem,) = self.verdict(place, "--hosts=n1", self.worker(UP, SLEEP), code=1, act=lose)
                self.assertEqual(("lost", "n1"), (kind, problem["host"]))
                self.assertIn("the connection has ended", problem["reason"])
            with self.subTest("a signal before the start"):
                self.expect_empty(place)
                place.cut(2)
                kind, problems = self.verdict(
                    place, "--hosts=n[1-2]", self.worker(UP), code=130,
                    act=lambda run: (wait_for(lambda: place.running(1), 20), run.signal(signal.SIGINT)))
                self.assertEqual("signal", kind)
                self.assertIn("n2", [problem["host"] for problem in problems])
            self.expect_empty(place)

    def test_on_standard_error(self):
        with self.place(1) as place:
            run = self.head(place, "--verdict=json", "--hosts=n3", self.worker(UP))
            self.expect([2], [run])
            self.assertEqual("start", json.loads(run.err.splitlines()[-1])["root_cause"]["kind"], str(run))


class WindowCase(OnTerminal, EndCase):
    def in_window(self, place, *parts, hosts=3):
        run = self.on_terminal(*place.on_login(Settings.launch, f"--hosts=n[1-{hosts}]", "--nproc-per-node=2",
                                               "--shutdown-timeout=2", self.worker(*parts)),
                               stdout=self.terminal, stderr=self.terminal, env=place.environment(), cwd=self.folder)
        self.wait_until_up(2 * hosts, run)
        return run


class Window(WindowCase):
    def test_is_closed(self):
        with self.place(3) as place:
            run = self.in_window(place, UP, SLEEP)
            self.close_window()
            self.expect([129], [run])
            self.expect_empty(place)

    def test_key_that_interrupts(self):
        """Workers save; the clients of ssh are in the same session, and must not die of the key.

        A node may hear of it from node 0 before it gets the signal, and then ends its workers by SIGTERM.
        """
        saves = "trap 'echo \"saved $RANK.\"; exit 0' INT TERM\n" + UP + "while :; do sleep 0.05; done\n"
        with self.place(3) as place:
            run = self.in_window(place, saves)
            self.press(b"\x03")
            self.expect([130], [run])
            self.assertTrue(wait_for(lambda: self.screen().count(b"saved") == 6, 10), self.screen())
            self.expect_empty(place)
