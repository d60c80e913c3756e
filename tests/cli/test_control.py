"""launch-ctl: a running job is found, looked at and steered from another shell."""
import json
import os
import re
import signal
import socket

from harness import ROOT, Settings, free_port, wait_for
from job import SLEEP, UP, JobCase


class ControlCase(JobCase):
    def setUp(self):
        super().setUp()
        (self.folder / "run").mkdir(mode=0o700)
        self.control = self.folder / "launch-ctl"
        self.control.symlink_to(Settings.launch)

    def start(self, command, env=None, **options):
        return super().start(command, {"LAUNCH_DOORS": str(self.folder / "run" / "launch"), **(env or {})}, **options)

    def ask(self, *words, code=0):
        run = self.start([self.control, *words])
        self.expect([code], [run])
        return run

    def reports(self, *words):
        return [json.loads(line) for line in self.ask(*words, "--json").out.splitlines()]

    def job(self, *parts, run_id="one", nproc=2, options=()):
        run = self.launch(f"--rdzv-id={run_id}", f"--nproc-per-node={nproc}", *options, self.worker(*parts))
        self.wait_until_up(nproc, run)
        return run

    def stop(self, *runs):
        for run in runs:
            run.signal(signal.SIGTERM)
        self.expect([143] * len(runs), runs)
        self.assertEqual([], list((self.folder / "run/launch").glob("*")))


class Looks(ControlCase):
    def test_no_job(self):
        self.assertEqual("", self.ask("ps").out)
        self.assertIn("no job of yours runs on this host", self.ask("status", code=1).err)
        self.assertIn("no job other of yours", self.ask("status", "other", code=1).err)

    def test_a_job_is_listed_and_described(self):
        run = self.job(UP, "echo step 7\n", SLEEP, options=(f"--log-dir={self.folder}/logs", "--tee=3"))
        (report,) = self.reports("status")
        self.assertEqual(("one", 0, "running", 1, 2, 0), tuple(
            report[key] for key in ("run_id", "node_rank", "state", "nnodes", "world_size", "restart")))
        self.assertEqual(run.pid, report["pid"])
        for rank, worker in enumerate(report["workers"]):
            self.assertEqual((rank, rank, "running"), (worker["rank"], worker["local_rank"], worker["state"]))
            self.assertGreater(worker["memory_bytes"], 0)
            self.assertGreaterEqual(worker["cpu_percent"], 0)
            os.kill(worker["pid"], 0)
        self.assertTrue(wait_for(lambda: all(worker.get("last_line") == "step 7"
                                             for worker in self.reports("status")[0]["workers"]), 10))
        screen = self.ask("status", "one").out
        self.assertRegex(screen, r"^job one: \S*worker; 1 node, 2 running; round 0, 0 restarts\n")
        self.assertRegex(screen, r"\n +1 +\d+  running +\d+% +\S+ [KMG]iB +\S+ (ms|s|min)  step 7\n")
        self.assertRegex(self.ask("ps").out, rf"\none +{run.pid}  running +0 ")
        self.stop(run)

    def test_a_worker_that_has_ended(self):
        run = self.job(UP, 'test "$RANK" = 1 || exit 0\n', SLEEP)
        self.assertTrue(wait_for(lambda: self.reports("status")[0]["workers"][0]["state"] == "ended", 10))
        self.assertEqual("exit code 0", self.reports("status")[0]["workers"][0]["end"])
        self.stop(run)

    def test_all_nodes_of_a_job_on_this_host(self):
        runs = self.nodes([1, 2], self.worker(UP, SLEEP), options=("--rdzv-id=two",))
        self.wait_until_up(3, *runs)
        nodes = self.reports("status")
        self.assertEqual([(0, [0]), (1, [1, 2])], [
            (node["node_rank"], [worker["rank"] for worker in node["workers"]]) for node in nodes])
        self.assertEqual("sent SIGUSR1 to ranks 1-2", self.reports("signal", "SIGUSR1")[1]["done"])
        self.expect_ended(runs)

    def test_nodes_of_a_job_that_finds_them_itself(self):
        runs = self.elastic(3, self.worker(UP, SLEEP), nnodes="2:3")
        self.wait_until_up(3, *runs)
        nodes = self.reports("status")
        self.assertEqual([0, 1, 2], [node["node_rank"] for node in nodes])
        self.assertEqual(sorted(run.pid for run in runs), sorted(node["pid"] for node in nodes))
        self.assertEqual({"running"}, {node["state"] for node in nodes})
        self.assertEqual(3, len(self.reports("stop")))
        self.expect([143] * 3, runs)

    def expect_ended(self, runs):
        """The default action of SIGUSR1 ends a shell; whichever node fails first, all end."""
        self.finish(*runs)
        self.assertNotIn(0, [run.code for run in runs])

    def test_several_jobs(self):
        first = self.job(UP, SLEEP, run_id="one", nproc=1)
        self.forget("up.*")
        second = self.job(UP, SLEEP, run_id="two", nproc=1)
        self.assertIn("say which one: one, two", self.ask("status", code=2).err)
        self.assertEqual("two", self.reports("status", "two")[0]["run_id"])
        self.assertEqual(["one", "two"], [report["run_id"] for report in self.reports("ps")])
        self.stop(first, second)

    def test_two_jobs_of_one_id(self):
        first = self.job(UP, SLEEP, nproc=1)
        self.forget("up.*")
        second = self.job(UP, SLEEP, nproc=1)
        for words in (["status"], ["status", "one"], ["stop", "one"]):
            said = self.ask(*words, code=2).err
            self.assertRegex(said, "several jobs called one run on this host; say which one by the pid of its launch: "
                                   rf"({first.pid}, {second.pid}|{second.pid}, {first.pid})\n")
        self.assertEqual(second.pid, self.reports("status", str(second.pid))[0]["pid"])
        self.ask("stop", str(second.pid))
        self.expect([143], [second])
        self.assertEqual(first.pid, self.reports("status", "one")[0]["pid"])
        self.stop(first)

    def test_a_door_of_a_dead_agent_is_removed(self):
        run = self.job(UP, SLEEP, nproc=1)
        (door,) = (self.folder / "run/launch").glob("*.sock")
        run.signal(signal.SIGKILL)
        self.finish(run)
        self.assertTrue(wait_for(lambda: not self.leftovers(), 10))
        self.assertEqual("", self.ask("ps").out)
        self.assertFalse(door.exists())


class Deeds(ControlCase):
    def test_stop(self):
        run = self.job(UP, SLEEP)
        self.assertIn("is stopping", self.ask("stop").out)
        self.expect([143], [run])
        self.assertIn("asked by launch-ctl (pid", run.err)

    def test_stop_while_nodes_wait_for_others(self):
        runs = self.elastic(2, self.worker(UP), nnodes="3")
        self.assertTrue(wait_for(lambda: len(self.reports("ps")) == 2, 20))
        self.assertEqual({-1}, {report["node_rank"] for report in self.reports("status")})
        self.assertIn("is stopping", self.ask("stop").out)  # the other may have heard of the end before it is asked
        self.expect([143] * 2, runs)

    def test_signal_to_one_rank(self):
        run = self.job("trap 'echo got >> \"$TEST_FOLDER/got.$RANK\"' USR1\n", UP,
                       "while :; do sleep 0.05; done\n")
        self.assertIn("sent SIGUSR1 to rank 1\n", self.ask("signal", "USR1", "--rank=1").out)
        self.assertTrue(wait_for(lambda: (self.folder / "got.1").exists(), 10))
        self.assertFalse((self.folder / "got.0").exists())
        self.assertIn("rank 9 does not run", self.ask("signal", "USR1", "--rank=9", code=1).err)
        self.stop(run)

    def test_a_killed_rank_is_a_failure(self):
        run = self.job(UP, SLEEP)
        self.ask("kill-rank", "1")
        self.expect([137], [run])
        self.assertIn("rank 1", run.err)


    def test_restart_of_one_node(self):
        run = self.job(UP, 'echo "$TORCHELASTIC_RESTART_COUNT" >> "$TEST_FOLDER/counts.$RANK"\n', SLEEP,
                       options=(f"--events={self.folder}/events",))
        self.wait_for_lines("counts", 2, 1)
        self.assertIn("the job restarts its workers", self.ask("restart").out)
        self.wait_for_lines("counts", 2, 2)
        self.assertEqual({"0"}, set((self.folder / "counts.1").read_text().split()))

        def events_until_restart():
            whole, _, _ = (self.folder / "events").read_text().rpartition("\n")
            events = [json.loads(line) for line in whole.splitlines()]
            return "restart" in {event["event"] for event in events} and events

        events = wait_for(events_until_restart, 10)
        (asked,) = [event for event in events if event["event"] == "user_asked"]
        self.assertEqual("restart", asked["what"])
        self.assertRegex(asked["by"], r"^launch-ctl \(pid \d+ on ")
        self.assertEqual([0], [event["number"] for event in events if event["event"] == "restart"])
        self.stop(run)

    def wait_for_lines(self, name, ranks, count):
        def lines(rank):
            path = self.folder / f"{name}.{rank}"
            return len(path.read_text().split()) if path.exists() else 0
        self.assertTrue(wait_for(lambda: [count] * ranks == [lines(rank) for rank in range(ranks)], 30))

    def test_restart_of_all_nodes(self):
        worker = self.worker(UP, 'echo x >> "$TEST_FOLDER/counts.$RANK"\n', SLEEP)
        for start in (lambda: self.nodes([1, 2], worker), lambda: self.elastic(3, worker, nnodes="2:3")):
            runs = start()
            self.wait_for_lines("counts", 3, 1)
            self.ask("restart")
            self.wait_for_lines("counts", 3, 2)
            for run in runs:
                run.signal(signal.SIGTERM)
            self.expect([143] * len(runs), runs)
            self.assertIn("a restart was asked for by launch-ctl", runs[-1].err)
            self.forget("counts.*")
            self.forget("up.*")

    def test_a_drained_node_leaves_the_others(self):
        runs = self.elastic(3, self.worker(UP, 'echo "$WORLD_SIZE" >> "$TEST_FOLDER/counts.$RANK"\n', SLEEP),
                            nnodes="2:3")
        self.wait_for_lines("counts", 3, 1)
        self.assertIn("no node n9; the nodes are 0 (", self.ask("drain", "n9", code=2).err)
        self.assertIn("has several nodes: say one of 0, 1, 2", self.ask("drain", os.uname().nodename, code=2).err)
        pids = {report["node_rank"]: report["pid"] for report in self.reports("status")}
        leaver = pids[2 if self.drains("2") else 1]
        self.assertTrue(leaver == pids[2] or self.drains("1"))
        (left,) = [run for run in runs if run.pid == leaver]
        self.expect([0], [left])
        self.wait_for_lines("counts", 2, 2)
        self.assertEqual("2", (self.folder / "counts.0").read_text().split()[-1])
        self.assertEqual(2, len(self.reports("stop")))
        self.expect([143] * 2, [run for run in runs if run is not left])

    def test_the_host_is_drained_after_the_spare_that_could_have_taken_its_place_has_gone(self):
        """The other node waits for another one, and is told of no failure."""
        port, worker = free_port(), self.worker(UP, SLEEP)
        options = ("--max-restarts=3", "--rdzv-conf=join_timeout=20")
        (host,) = self.elastic(1, worker, nnodes=2, port=port, options=options)
        (other,) = self.elastic(1, worker, nnodes=2, port=port, options=options)
        self.wait_until_up(2, host, other)
        (spare,) = self.elastic(1, worker, nnodes=2, port=port, options=options)
        self.assertTrue(wait_for(lambda: "standing by" in spare.err, 20), str(spare))
        self.forget()
        other.signal(signal.SIGTERM)  # the round that follows knows of a spare
        self.expect([143], [other])
        self.wait_until_up(2, host, spare)
        (other,) = self.elastic(1, worker, nnodes=2, port=port, options=options)
        self.assertTrue(wait_for(lambda: "standing by" in other.err, 20), str(other))
        self.forget()
        self.ask("restart")
        self.wait_until_up(2, host, spare)
        self.assertIn("it is in no round of the job, so no other node was asked", self.ask("stop", str(other.pid)).out)
        self.expect([143], [other])
        hosts = {report["node_rank"]: report["pid"] for report in self.reports("status")}
        rank = next(rank for rank, pid in hosts.items() if pid == host.pid)
        self.assertIn("is leaving the job", self.ask("drain", str(rank)).out)
        self.expect([0], [host])
        self.assertNotIn("abort key", host.err)
        self.assertFalse(wait_for(lambda: spare.wait(0) is not None, 2), str(spare))
        spare.signal(signal.SIGTERM)
        self.expect([143], [spare])

    def drains(self, node):
        """False: it hosts the store, and says so."""
        run = self.start([self.control, "drain", node])
        self.finish(run)
        self.assertIn("is leaving the job" if run.code == 0 else "which the others need", run.out, str(run))
        return run.code == 0

    def test_nodes_of_a_static_job_cannot_be_drained(self):
        runs = self.nodes([1, 1], self.worker(UP, SLEEP))
        self.wait_until_up(2, *runs)
        self.assertIn("that needs c10d", self.ask("drain", "1", code=1).out)
        self.assertEqual(2, len(self.reports("stop")))
        self.expect([143] * 2, runs)


class Logs(ControlCase):
    LINES = 'for i in 1 2 3 4 5; do echo "line $i of $RANK"; done\n'

    def test_the_last_lines_of_all_nodes(self):
        runs = self.nodes([1, 2], self.worker(self.LINES, UP, SLEEP),
                          options=(f"--log-dir={self.folder}/logs", "--redirects=3"))
        self.wait_until_up(3, *runs)
        self.assertEqual([f"[{rank}] line {line} of {rank}" for rank in range(3) for line in (4, 5)],
                         self.ask("logs", "-n", "2").out.splitlines())
        self.assertEqual(["[2] line 5 of 2"], self.ask("logs", "-n", "1", "--rank=2").out.splitlines())
        self.assertEqual(["[0] line 5 of 0"], self.ask("logs", "-n", "1", "--node=0").out.splitlines())
        report = self.reports("logs", "--rank=1", "-n", "1")
        self.assertEqual([{"stream": "stdout", "text": "line 5 of 1\n"}], report[-1]["workers"][0]["log"])
        self.reports("stop")
        self.expect([143] * 2, runs)

    def test_much_is_given_whole(self):
        run = self.job('i=0; while [ "$i" -lt 3000 ]; do echo "line $i of $RANK"; i=$((i + 1)); done\n', UP, SLEEP,
                       options=(f"--log-dir={self.folder}/logs", "--redirects=3"))
        lines = self.ask("logs", "-n", "100000").out.splitlines()
        for rank in range(2):
            self.assertEqual([f"[{rank}] line {i} of {rank}" for i in range(3000)],
                             [line for line in lines if line.startswith(f"[{rank}]")])
        self.stop(run)

    def test_follows_also_over_a_restart(self):
        run = self.job(UP, 'echo "begins $RANK"; while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n',
                       'printf "half"; sleep 0.7; echo " line"\n', SLEEP,
                       options=(f"--log-dir={self.folder}/logs", "--redirects=3"))
        follower = self.start([self.control, "logs", "-f"])
        self.assertTrue(wait_for(lambda: "begins 1" in follower.out, 20), str(follower))
        (self.folder / "go").touch()
        self.assertTrue(wait_for(lambda: follower.out.count("half line\n") == 2, 20), str(follower))
        self.ask("restart")
        self.assertTrue(wait_for(lambda: follower.out.count("begins") == 4, 20), str(follower))
        self.assertNotIn("half\n", follower.out)
        self.stop(run)
        self.expect([0], [follower])

    def test_the_last_words_of_a_job(self):
        run = self.job(UP, 'echo begins; while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n',
                       'echo "last of $RANK"; exit 3\n',
                       options=(f"--log-dir={self.folder}/logs", "--redirects=3"))
        follower = self.start([self.control, "logs", "-f"])
        self.assertTrue(wait_for(lambda: "begins" in follower.out, 20), str(follower))
        (self.folder / "go").touch()
        self.expect([3], [run])
        self.expect([0], [follower])
        self.assertIn("last of ", follower.out)

    def test_only_one_rank_without_a_false_word(self):
        runs = self.nodes([1, 1], self.worker(self.LINES, UP, SLEEP),
                          options=(f"--log-dir={self.folder}/logs", "--redirects=3"))
        self.wait_until_up(2, *runs)
        self.assertEqual("", self.ask("logs", "--rank=1").err)
        self.reports("stop")
        self.expect([143] * 2, runs)

    def test_output_that_goes_to_the_terminal(self):
        run = self.job(UP, SLEEP)
        self.assertIn("--tee or --redirects", self.ask("logs", code=1).err)
        self.stop(run)


class Filters(ControlCase):
    WRITES = 'while [ ! -e "$TEST_FOLDER/end" ]; do echo "from $LOCAL_RANK"; sleep 0.02; done\n'

    def fresh(self, run):
        """The ranks that the console shows from now on, once each of these has written more."""
        start = len(run.out)
        self.assertTrue(wait_for(lambda: run.out.count("from ", start) > 20, 20), str(run))
        return set(re.findall(r"from (\d)", run.out[start:]))

    def shows(self, run, ranks):
        self.assertTrue(wait_for(lambda: self.fresh(run) == ranks, 20), str(run))

    def test_what_is_shown_changes(self):
        run = self.job(UP, self.WRITES, options=("--tee=3", "--local-ranks-filter=0"))
        self.shows(run, {"0"})
        self.assertIn("shows local rank 1", self.ask("filter", "1").out)
        self.shows(run, {"1"})
        self.ask("restart")
        self.shows(run, {"1"})
        self.assertIn("shows all workers", self.ask("filter", "all").out)
        self.shows(run, {"0", "1"})
        (self.folder / "end").touch()
        self.expect([0], [run])

    def test_output_that_does_not_pass(self):
        run = self.job(UP, SLEEP)
        self.assertIn("does not pass launch without --tee", self.ask("filter", "0").out)
        self.assertIn("as in 0,2", self.ask("filter", "x", code=2).err)
        self.stop(run)


class Documents(ControlCase):
    def test_page_and_manual_have_all_commands(self):
        commands = re.findall(r"^  ([a-z-]+) ", self.ask("--help").out.partition("ubcommands:")[2], re.M)
        self.assertIn("filter", commands)
        manual = (ROOT / "docs/launch-ctl.1").read_text().replace("\\-", "-")
        for command in commands:
            self.assertIn(f"`launch-ctl {command}", (ROOT / "docs/control.md").read_text())
            self.assertRegex(manual, rf'(?m)^\.(B|BI|BR) "?{command}\b')


class Strangers(ControlCase):
    def test_the_job_is_untouched(self):
        run = self.job(UP, SLEEP, nproc=1)
        (door,) = (self.folder / "run/launch").glob("*.sock")
        self.assertEqual(0o700, door.parent.stat().st_mode & 0o777)
        halves = [self.visit(door, b'{"verb":') for _ in range(20)]
        for nonsense in (b"\n", b"x" * 100_000, b'{"verb":"dance"}\n', b"\0" * 100 + b"\n"):
            self.visit(door, nonsense).close()
        self.assertEqual("running", self.reports("status")[0]["state"])
        for half in halves:
            half.close()
        self.stop(run)

    def visit(self, door, words):
        visitor = socket.socket(socket.AF_UNIX)
        visitor.connect(str(door))
        try:
            visitor.sendall(words)
        except OSError:
            pass  # it has been turned away already
        return visitor

    def test_another_user(self):
        run = self.job(UP, SLEEP, nproc=1)
        (door,) = (self.folder / "run/launch").glob("*.sock")
        for path in (self.folder, self.folder / "run", door.parent, door):
            path.chmod(0o777)
        script = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
                  "s.sendall(b'{\"verb\":\"stop\"}\\n'); sys.exit(len(s.recv(9)))")
        stranger = self.start(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                               "python3", "-c", script, door])
        self.finish(stranger)
        (self.folder / "run").chmod(0o700)  # launch-ctl itself looks only into private folders
        door.parent.chmod(0o700)
        self.assertIn("running", self.reports("status")[0]["state"], str(stranger))
        self.stop(run)
