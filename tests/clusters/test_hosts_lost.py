"""launch --hosts: a node that is lost is the cause that is named; a spare takes its place."""
import json
import os
import signal

import processes
from harness import wait_for
from hosts_case import SAYS_ALL, in_order
from job import SLEEP, UP
from test_hosts_end import EndCase

MEMBER = ': > "$TEST_FOLDER/on.$(hostname)"\n'
UNTIL_TOLD = 'until [ -e "$TEST_FOLDER/go" ]; do sleep 0.05; done\n'


class LostCase(EndCase):
    def launch_on(self, place, number, *kinds):
        """Its processes on this host: the "remote" of the head, and the "guard" and the "agent" of the node."""
        found = {"remote": [], "guard": [], "agent": []}
        for pid in place.running(number):
            words = processes.command_of(pid).split()
            if words[:1] != ["launch"]:
                continue
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                kind = "agent" if file.read().strip() == "job-agent" else "guard"
            found["remote" if "--remote" in words else kind].append(pid)
        return [pid for kind in kinds for pid in found[kind]]

    def kill(self, place, number, *kinds):
        victims = self.launch_on(place, number, *kinds)
        self.assertEqual(len(kinds), len(victims), place.shown())
        processes.kill(victims)


class Spares(LostCase):
    def job_goes_on(self, *kinds):
        with self.place(3) as place:
            run = self.head(place, "--hosts=n1,n2,n3+1", "--heartbeat-timeout=5", "--nproc-per-node=1",
                            "--verdict=json:report.json", self.worker(MEMBER, UP, UNTIL_TOLD, SAYS_ALL))
            self.wait_until_up(2, run)
            (victim, *_) = [number for number in (2, 3) if (self.folder / f"on.n{number}").exists()]
            self.kill(place, victim, *kinds)
            self.assertTrue(wait_for(lambda: len(list(self.folder.glob("on.*"))) == 3, 30), str(run))
            (self.folder / "go").touch()
            self.expect([0], [run])
            self.assertEqual(["0", "1"], [line.split()[1] for line in in_order(run.out)], str(run))
            self.assert_lines(run, rf"error: n{victim}: (launch there|the connection has ended)")
            self.assertNotIn("root cause", run.err)
            self.assertFalse((self.folder / "report.json").exists(), "the job has ended well")
            self.expect_empty(place, seconds=40)

    def test_the_agent_is_killed(self):
        self.job_goes_on("agent")

    def test_the_guard_is_killed(self):
        self.job_goes_on("guard")

    def test_all_of_the_node_is_killed(self):
        self.job_goes_on("guard", "agent")

    def test_all_of_launch_is_killed(self):
        self.job_goes_on("remote", "guard", "agent")

    def spare_is_lost(self, lose):
        """It stands by, or is about to; the job does not notice."""
        with self.place(3) as place:
            run = self.head(place, "--hosts=n1,n2,n3+1", "--nproc-per-node=1",
                            self.worker(MEMBER, UP, UNTIL_TOLD, SAYS_ALL))
            self.wait_until_up(2, run)
            (spare,) = [number for number in (1, 2, 3) if not (self.folder / f"on.n{number}").exists()]
            self.assertTrue(wait_for(lambda: len(self.launch_on(place, spare, "guard", "agent")) == 2, 20), str(run))
            lose(place, spare)
            self.assertTrue(wait_for(lambda: not place.running(spare), 20), place.shown())
            (self.folder / "go").touch()
            self.expect([0], [run])
            self.assertEqual(["0", "1"], [line.split()[1] for line in in_order(run.out)], str(run))
            self.expect_empty(place)

    def test_the_connection_of_the_spare(self):
        self.spare_is_lost(lambda place, spare: place.kill_client(spare))

    def test_the_guard_of_the_spare(self):
        self.spare_is_lost(lambda place, spare: self.kill(place, spare, "guard"))

    def test_a_later_failure_names_it(self):
        with self.place(3) as place:
            run = self.head(place, "--hosts=n1,n2,n3+1", "--heartbeat-timeout=5", "--nproc-per-node=1",
                            "--verdict=json:report.json",
                            self.worker(MEMBER, UP, '[ "$(ls "$TEST_FOLDER"/on.* | wc -l)" = 3 ] && exit 3\n', SLEEP))
            self.wait_until_up(2, run)
            (victim, *_) = [number for number in (2, 3) if (self.folder / f"on.n{number}").exists()]
            self.kill(place, victim, "guard", "agent")
            self.expect([3], [run])
            self.assert_reported_once(run, rf"^  lost +n{victim}: launch there was killed by SIGKILL")
            verdict = json.loads((self.folder / "report.json").read_text())
            self.assertEqual([f"n{victim}"], [one["host"] for one in verdict["problems"]])
            self.expect_empty(place, seconds=40)


class Clients(LostCase):
    def test_no_client_is_left_of_a_host_whose_launch_stands_still(self):
        with self.place(2) as place:
            run = self.job(place, "--heartbeat-timeout=5", hosts=2)
            stopped = self.launch_on(place, 2, "remote", "guard", "agent")
            self.assertEqual(3, len(stopped), place.shown())
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            self.expect([1], [run], seconds=60)
            self.expect_empty(place, 3)
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
            self.expect_empty(place, seconds=40)


class Causes(LostCase):
    """A job that cannot go on names the host that was lost, and not the signal that ended its node."""

    def check(self, lose, cause, *options, victim="n3"):
        with self.place(3) as place:
            run = self.job(place, "--heartbeat-timeout=5", "--verdict=json:report.json", *options)
            lose(place)
            self.expect([1], [run], seconds=60)
            self.assert_reported_once(run, "FAILED", rf"root cause +node \d \(host {victim}\): {cause}")
            self.assertNotIn("STOPPED", run.err)
            root = json.loads((self.folder / "report.json").read_text())["root_cause"]
            self.assertEqual(("lost", victim, 1), (root["kind"], root["host"], root["exit_code"]), str(run))
            self.expect_empty(place, seconds=40)

    def test_its_connection(self):
        self.check(lambda place: place.kill_client(3), "launch --hosts has lost its connection to this host")

    def test_its_connection_in_a_job_of_c10d(self):
        self.check(lambda place: place.kill_client(3), "launch --hosts has lost its connection to this host",
                   "--rdzv-backend=c10d")

    def test_its_launch(self):
        self.check(lambda place: self.kill(place, 3, "guard"), "its launch process was killed")

    def test_the_launch_of_node_0(self):
        self.check(lambda place: self.kill(place, 1, "guard"), "its launch process was killed", victim="n1")

    def test_the_launch_that_started_it(self):
        self.check(lambda place: self.kill(place, 3, "remote"), "its launch process was killed")
