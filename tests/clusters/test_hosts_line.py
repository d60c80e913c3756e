"""launch --hosts says all that is wrong before anything starts: with its command line, and with each of the hosts."""
import json
import pathlib
import re
import subprocess

from hosts_case import SAYS_ALL, HostsCase
from job import UP, JobCase

TEN_SECONDS = 10  # for a login, until launch greets


class Lines(JobCase):
    def refused(self, *words):
        """What it says of a line that is wrong, in one line; nothing is started."""
        run = self.launch(*words, "/bin/true")
        self.expect([2], [run], seconds=10)
        self.assertEqual((1, ""), (len(run.err.splitlines()), run.out), str(run))
        return run.err

    def test_options_that_contradict(self):
        for option in ("--node-rank=0", "--master-addr=n1", "--standalone",
                       "--rdzv-endpoint=n1:29500"):
            with self.subTest(option):
                said = self.refused("--hosts=n[1-2]", option)
                self.assertIn("--hosts", said)
                self.assertIn(option.partition("=")[0], said)

    def test_lists(self):
        for hosts, says in (("n1,n1", "n1 is named twice"), ("n[1-3],n2", "n2 is named twice"), ("n[1-", r"n\[1-"),
                            ("n[3-1]", r"n\[3-1\]"), ("", "--hosts"), (",", "--hosts"), ("n1:x", "n1:x"),
                            ("n1:0", "n1:0"), ("n[0-99999999]", r"n\[0-99999999\]"), ("-oProxyCommand=x", "-o")):
            with self.subTest(hosts):
                self.assertRegex(self.refused(f"--hosts={hosts}"), says)
        with self.subTest("none is left"):
            self.assertRegex(self.refused("--hosts=n[1-2]", "--exclude=n[1-2]"), "--exclude")
        with self.subTest("fewer than nodes"):
            self.assertRegex(self.refused("--hosts=n[1-2]", "--nnodes=3"), "--nnodes")
        with self.subTest("no scheduler"):
            self.assertRegex(self.refused("--hosts=auto"), "auto")

    def test_files(self):
        file = self.folder / "hosts"
        missing = self.refused(f"--hostfile={file}")
        self.assertRegex(missing, f"{file}.*No such file")
        for text, says in (("", "hosts"), ("# none\n", "hosts"), ("n1 slots=x\n", r"line 1: x is not a number"),
                           ("n1\n+e\n", r"(line 2|:2)\b"), ("n1 slots=2\nn[1-\n", r"(line 2|:2)\b")):
            with self.subTest(text):
                file.write_text(text)
                self.assertRegex(self.refused(f"--hostfile={file}"), says)

    def test_a_report_that_could_not_be_written(self):
        report = self.folder / "no/report.json"
        for how in ((), (f"--detach={self.folder}/output",)):
            with self.subTest(how):
                said = self.refused("--hosts=n1", f"--verdict=json:{report}", *how)
                self.assertIn(f"the report could not be written to {report} (--verdict): No such file", said)

    def test_values(self):
        for option in ("--start-with=rsh", "--start-with=exec:", "--fanout=0", "--fanout=x", "--network=10.0.0.0/99",
                       "--env==x", "--env=", "--ssh="):
            with self.subTest(option):
                self.assertIn(option.partition("=")[0], self.refused("--hosts=n1", option))


class Explains(JobCase):
    """--explain starts nothing, and asks no host."""

    def test_text_and_json(self):
        words = ("--hosts=n1:2,me@n2", "--env=COLOUR=dark blue", "/bin/echo", "it's $HOME")
        text = self.output_of("--explain", *words)
        for line in ("node 1  me@n2\n", "options of this node: --nproc-per-node=2\n", "\n  COLOUR='dark blue'\n"):
            self.assertIn(line, text)
        (line,) = re.findall("on each: launch(.*)", text)
        shell = subprocess.run(["sh", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True)
        self.assertEqual(["/bin/echo", "it's $HOME"], shell.stdout.splitlines()[-2:])
        told = json.loads(self.output_of("--explain=json", *words))
        self.assertEqual([("n1", ["--nproc-per-node=2"]), ("me@n2", [])],
                         [(node["host"], node["options"]) for node in told["nodes"]])
        self.assertEqual((["/bin/echo", "it's $HOME"], "dark blue"),
                         (told["program"], told["environment"]["COLOUR"]))


class Problems(HostsCase):
    """Each host that is not as it should be has a line, equal ones share it, and no worker starts."""
    load = 0.3

    def check(self, place, code, *patterns, hosts="n[1-8]", seconds=60, **start):
        run = self.head(place, f"--hosts={hosts}", "--no-copy", self.worker(UP), **start)
        self.expect([code], [run], seconds=seconds)
        self.assert_lines(run, *patterns)
        self.assertEqual([], self.up(), str(run))
        self.expect_empty(place)
        return run

    def test_all_at_once(self):
        work = self.folder / "shared" / "work"
        work.mkdir(parents=True)
        worker = self.worker(UP)
        with self.place(8) as place:
            place.stop_sshd(2)
            place.remove_launch(3)
            place.install_version(4, "0.0.9")
            place.empty_folder(5, work.parent)
            place.forget_keys_of(6, 7)
            run = self.start(place.on_login(place.program_of_head, "--hosts=n[1-8]", "--no-copy", worker),
                             env=place.environment(), cwd=work)
            self.expect([1], [run])
            self.assert_lines(run, r"n2: nothing listens on port 22", r"n3: launch is not on the PATH",
                              r"n4:? .*\b0\.0\.9\b", rf"n5: .*{work}", r"n\[6-7\]: .*host key")
            self.assertEqual([], self.up(), str(run))
            self.expect_empty(place)

    def test_one_by_one(self):
        with self.place(2) as place:
            with self.subTest("a name that is not known"):
                self.check(place, 2, r"n3: ssh does not know", hosts="n1,n3")
            with self.subTest("another version"):
                place.install_version(2, "0.0.9")
                self.check(place, 1, r"n2:? .*\b0\.0\.9\b", hosts="n[1-2]")
            with self.subTest("a login that refuses"):
                place.put_in_rc(2, 'echo "down for maintenance"\nexit 1\n')
                self.check(place, 1, r"n2: .*down for maintenance", hosts="n[1-2]")
            with self.subTest("keys that are not taken"):
                place.refuse_key(1)
                place.refuse_key(2)
                self.check(place, 1, r"n\[1-2\]: .*(password|key)", hosts="n[1-2]")

    def test_a_login_that_goes_no_further(self):
        with self.place(2) as place:
            place.put_in_rc(2, 'echo "which project?"\nread -r answer\n')
            self.check(place, 124, r"n2: .*which project\?", hosts="n[1-2]", seconds=6 * TEN_SECONDS)

    def test_what_launch_finds_there(self):
        programs = self.folder / "shared"
        programs.mkdir()
        with self.place(3) as place:
            place.empty_folder(2, programs)
            with self.subTest("a folder is missing"):
                (programs / "work").mkdir()
                run = self.start(place.on_login(place.program_of_head, "--hosts=n[1-3]", self.worker(UP)),
                                 env=place.environment(), cwd=programs / "work")
                self.expect([2], [run])
                self.assert_lines(run, rf"n2: .*{programs}/work")
            with self.subTest("a program is missing"):
                worker = self.worker(UP, name="shared/worker")
                run = self.head(place, "--hosts=n[1-3]", worker)
                self.finish(run)
                self.assertIn(run.code, (2, 127), str(run))
                self.assert_lines(run, rf"n2: .*{re.escape(str(worker))}")
            self.assertEqual([], self.up())
            self.expect_empty(place)

    def test_no_way_to_node_0(self):
        """Its address is known, but a host between refuses what other nodes send there."""
        with self.place(3) as place:
            place.place.refuse_way(3, 1, "prohibit")
            run = self.check(place, 1, r"n3 cannot reach node 0 \(n1\)", hosts="n[1-3]", seconds=30)
            self.assertIn(place.address(1), run.err)

    def test_a_second_network_is_taken(self):
        """What all can reach counts, whatever address is the first."""
        with self.place(2) as place:
            place.add_lone_address(1, "10.66.0.1")
            self.expect_said(self.head(place, "--hosts=n[1-2]", self.worker(SAYS_ALL)), ("n1", 1), ("n2", 1))
            run = self.head(place, "--hosts=n[1-2]", "--network=10.77.0.0/24", self.worker('echo "$MASTER_ADDR"\n'))
            self.expect([0], [run])
            self.assertEqual([place.address(1)] * 2, re.findall(r"]:(.*)", run.out), str(run))


class Copies(HostsCase):
    """launch is sent to hosts that have none, and is gone there as soon as it runs."""

    def test_none_or_another_version(self):
        worker = self.worker(SAYS_ALL)
        with self.place(3) as place:
            place.remove_launch(2)
            place.install_version(3, "0.0.9")
            self.expect_said(self.head(place, "--hosts=n[1-3]", worker), ("n1", 1), ("n2", 1), ("n3", 1))
            self.assertEqual([], self.left_of_copies())
            with self.subTest("of another architecture"):
                place.install(2, "#!/bin/sh\necho riscv64\n", "uname")
                run = self.head(place, "--hosts=n[1-3]", worker)
                self.expect([1], [run])
                self.assert_lines(run, "n2: .*riscv64")
            self.assertEqual([], self.left_of_copies())
            self.expect_empty(place)

    def left_of_copies(self):
        """In the folder for temporary files, which the hosts share."""
        return [str(path) for path in (self.folder / "tmp").glob("launch-copy-*")]
