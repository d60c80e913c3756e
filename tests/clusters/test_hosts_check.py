"""launch --check looks all hosts over before a job, and names what is wrong with each of them."""
import json
import os
import re
import shutil
import signal
import unittest

from harness import Settings, wait_for
from hosts_case import HostsCase
from job import UP
from terminals import OnTerminal

# nvidia-smi, which is a driver that hangs on n3, and has nothing to say on n1.
NVIDIA_SMI = """#!/bin/sh
case $(hostname) in
  n1) exit 9 ;;
  n3) exec sleep 1000 ;;
esac
case $1 in
  --query-gpu=*) echo "535.104.05, 81559, 80994, NVIDIA H100" ;;
esac
"""


def lines_with(run, level, host, check):
    """The details of these rows of the table. Hosts that share a line are in brackets: `host` is a pattern."""
    return re.findall(rf"(?m)^{level} +{host} +{check} +(.*)$", run.out)


def numbers(hosts):
    """Those of hosts like n[1-5,7] or n6."""
    found = []
    for part in hosts.removeprefix("n").strip("[]").split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


class CheckCase(HostsCase):
    load = 0.2
    builds = only = ("release",)  # libfaketime and the address sanitizer wait for each other

    def check(self, place, *words, code=0, seconds=90, **options):
        run = self.head(place, "--check", *words, **options)
        self.expect([code], [run], seconds=seconds)
        return run

    def assert_row(self, run, level, host, check, pattern):
        details = lines_with(run, level, host, check)
        self.assertTrue(any(re.search(pattern, one) for one in details), f"{level} {host} {check}: {pattern}\n{run}")


class Checks(CheckCase):
    def test_hosts_that_are_well(self):
        """Nothing is started, and what is equal is said once."""
        with self.place(8) as place:
            run = self.check(place, "--hosts=n[1-8]", "--nproc-per-node=2", self.worker(UP))
            self.assertEqual([], lines_with(run, "fault", ".*", ".*"), str(run))
            for check, detail in (
                    ("login", "it answers"), ("launch", "version .*"), ("name", "its own name leads to its own"),
                    ("job", "the folder and the program are there"),
                    ("network", "reaches 7 other hosts"), ("mtu", r"\d+$"), ("machine", r"\w+$"),
                    ("processes", "nothing is left over")):
                self.assert_row(run, "ok", r"n\[1-8\]", check, detail)
            clocks = re.findall(r"(?m)^ok +(\S+) +clock +within .* of the others$", run.out)  # not known equally well
            self.assertEqual(list(range(1, 9)), sorted(sum(map(numbers, clocks), [])), str(run))
            self.assertRegex(run.out, r"\nThe job would start on 8 hosts")
            self.assertEqual([], self.up())
            self.expect_empty(place)

    def test_without_a_program_or_hosts(self):
        with self.place(2) as place:
            run = self.check(place, "--hosts=n[1-2]")
            self.assert_row(run, "ok", r"n\[1-2\]", "job", "the folder is there")
            with self.subTest("this host"):
                run = self.check(place)
                self.assert_row(run, "ok", "localhost", "login", "it answers")
                self.assertEqual([], lines_with(run, ".*", ".*", "network"))
            self.expect_empty(place)

    @unittest.skipUnless(shutil.which("faketime"), "needs faketime")
    def test_everything_that_is_wrong_is_named(self):
        work = self.folder / "shared" / "work"
        work.mkdir(parents=True)
        (work / "train.py").write_text("")
        (self.folder / "tmp").mkdir(exist_ok=True)
        with self.place(8) as place:
            place.skew_clock(2, 42)
            place.put_in_rc(2, "ulimit -n 256\n")
            left = place.leave_behind(3, "yesterday")
            place.set_mtu(3, 1280)
            place.empty_folder(4, work.parent)
            place.fill_folder(4, self.folder / "tmp")
            place.fill_folder(5, "/dev/shm")
            place.name_itself(5, "127.0.1.1")
            place.hide_programs(5, "python3", "python")
            place.install_version(6, "0.0.9")
            place.refuse_key(7)
            place.cut(8)
            place.refuse_way(1, 5)
            line = [place.program_of_head, "--check", "--hosts=n[1-8]", "--no-copy", "train.py"]
            run = self.start(place.on_login(*line), env=place.environment(), cwd=work)
            self.expect([1], [run], seconds=120)
            for level, host, check, pattern in (
                    ("warning", "n2", "clock", r"its clock is 4[12] s ahead"),
                    ("warning", "n2", "limits", r"only 256 open files"),
                    ("warning", "n3", "processes", rf"left over .*: pid {left} \(sleep 1000\) of job yesterday"),
                    ("warning", "n3", "mtu", r"1280; n\[.*\] have 1500"),
                    ("fault", "n4", "folder", rf"the folder {work} is not there"),
                    ("fault", "n4", "tmp", rf"{self.folder}/tmp is full"),
                    ("fault", "n5", "shm", "/dev/shm is full"),
                    ("warning", "n5", "name", "its own name leads to 127.0.1.1, the loopback"),
                    ("fault", "n5", "python", "no Python interpreter"),
                    ("fault", "n6", "launch", "has launch 0.0.9, this is "),
                    ("fault", "n7", "login", "ssh wants a password"),
                    ("fault", "n8", "login", "no (answer|route to it) on port 22"),
                    ("fault", "n1", "network", f"does not reach n5 at {place.address(5)} port"),
                    ("fault", "n5", "network", f"does not reach n1 at {place.address(1)} port")):
                with self.subTest(f"{host} {check}"):
                    self.assert_row(run, level, host, check, pattern)
            with self.subTest("a Python that is missing, once"):
                rows = re.findall(r"(?m)^\w+ +(?:n5|n\[\S*5\S*\]) +(?:python|torch) ", run.out)
                self.assertEqual(1, len(rows), str(run))
            with self.subTest("nothing else"):
                self.assertEqual(6 + 3, len(lines_with(run, "fault", ".*", ".*")), str(run))
                self.assertRegex(run.out, r"\nThe job would fail: something is wrong on n\[1,4-8\]\.\n")
            os.kill(left, signal.SIGKILL)
            place.plug_in(8)
            self.expect_empty(place)

    def test_a_name_that_is_not_known(self):
        with self.place(3) as place:
            place.name_itself(2, "")
            run = self.check(place, "--hosts=n[1-3]")
            self.assert_row(run, "warning", "n2", "name", "its own name cannot be looked up there")
            self.expect_empty(place)

    def test_programs_read_json(self):
        with self.place(3) as place:
            place.fill_folder(2, "/dev/shm")
            place.stop_sshd(3)
            run = self.check(place, "--json", "--hosts=n[1-3]", self.worker(UP), code=1)
            rows = [json.loads(line) for line in run.out.splitlines()]
            self.assertEqual({"host", "check", "ok", "level", "detail"}, set().union(*rows))
            self.assertEqual({("n2", "shm"), ("n3", "login")},
                             {(row["host"], row["check"]) for row in rows if row["level"] == "fault"}, str(run))
            for row in rows:
                self.assertEqual(row["ok"], row["level"] == "ok")
            self.expect_empty(place)

    def test_a_host_without_launch_gets_this_one(self):
        with self.place(2) as place:
            place.remove_launch(2)
            run = self.check(place, "--hosts=n[1-2]")
            self.assert_row(run, "ok", "n2", "launch", "it was sent there, as a job would do")
            with self.subTest("unless it must not"):
                run = self.check(place, "--hosts=n[1-2]", "--no-copy", code=1)
                self.assert_row(run, "fault", "n2", "launch", "is not on the PATH")
            self.expect_empty(place)

    def test_gpus(self):
        """A driver that hangs holds nothing up for long."""
        (self.folder / "tools").mkdir()
        self.program(NVIDIA_SMI, "tools/nvidia-smi")
        with self.place(3) as place:
            path = f"{self.folder}/tools:{place.environment()['PATH']}"
            run = self.check(place, "--hosts=n[1-3]", self.worker(UP), env={"PATH": path})
            self.assert_row(run, "warning", "n3", "gpus", "nvidia-smi gave no answer within 20 s")
            self.assertTrue([row for level in ("ok", "warning") for row in lines_with(run, level, "n2", "gpus")
                             if row.startswith("1 x NVIDIA H100")], str(run))
            self.assert_row(run, "ok", "n2", "driver", "535.104.05")
            self.expect_empty(place)


class Interrupted(OnTerminal, CheckCase):
    def test_what_is_known_is_shown_at_once(self):
        with self.place(2) as place:
            place.put_in_rc(2, "cat > /dev/null\n")  # until the connection ends
            run = self.on_terminal(*place.on_login(Settings.launch, "--check", "--hosts=n[1-2]"),
                                   stderr=self.terminal, env=place.environment(), cwd=self.folder)
            self.assertTrue(wait_for(lambda: b"waiting for 1 of 2 hosts: connecting to n2" in self.screen(), 20), run)
            run.signal(signal.SIGINT)
            self.expect([130], [run], seconds=20)
            self.assert_row(run, "warning", "n2", "login", "it has not answered yet")
            self.assert_row(run, "ok", "n1", "login", "it answers")
            self.assertIn("Received SIGINT", run.out)
            self.expect_empty(place)
