"""launch --hosts: one command on login, and workers on all hosts; which hosts, in what order, in what environment."""
import os
import re
import shutil
import sys
import uuid

import processes
import served
from console import Console
from harness import ROOT, Settings, wait_for
from hosts_case import SAYS_ALL, HostsCase, in_order, said
from job import SLEEP, UP
from slurm_case import SlurmCase
from test_mixed import TRAIN

sys.path.append(str(ROOT / "tests" / "interop"))
import python_env  # noqa: E402

SAYS_WHERE = ('echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK, node $GROUP_RANK, $(hostname), folder $PWD, '
              'colour $COLOUR, home $HOME, master $MASTER_ADDR"\n')
# Each line in a write of its own.
SAYS_MUCH = """exec awk -v rank="$RANK" 'BEGIN {
  fill = sprintf("%200s", ""); gsub(" ", "x", fill)
  for (i = 0; i < 2000; i++) { print substr("rank " rank " line " i " " fill, 1, 199); fflush() }
}'
"""
SAYS_ENV = 'exec env\n'


class Jobs(HostsCase):
    def test_all_hosts(self):
        """In the order of the list, whatever their names are."""
        (self.folder / "here").mkdir()
        worker = self.worker(SAYS_WHERE)
        with self.place(8) as place:
            run = self.start(place.on_login(Settings.launch, "--hosts", "n[5-8],n[1-4]", "--nproc-per-node", "2",
                                            "--fanout=3", worker),
                             env={**place.environment(), "COLOUR": "blue, 'or so'"}, cwd=self.folder / "here")
            self.expect([0], [run])
            lines = in_order(run.out)
            self.assertEqual(said(*((f"n{number}", 2) for number in (5, 6, 7, 8, 1, 2, 3, 4))),
                             [line.partition(", folder")[0] for line in lines], str(run))
            for number, line in zip((5, 5, 6, 6, 7, 7, 8, 8, 1, 1, 2, 2, 3, 3, 4, 4), lines):
                self.assertIn(f"folder {self.folder}/here, colour blue, 'or so', home {place.home_of(number)}, ", line)
            masters = {line.partition("master ")[2] for line in lines}
            self.assertTrue(masters in ({"n5"}, {place.address(5)}), masters)
            self.expect_empty(place)

    def test_a_banner_of_a_login_is_no_output(self):
        with self.place(2) as place:
            place.put_in_rc(2, 'echo "Welcome to n2"\necho "Do not touch" >&2\n')
            run = self.head(place, "--hosts=n[1-2]", self.worker(SAYS_ALL))
            self.expect_said(run, ("n1", 1), ("n2", 1))
            self.assertNotIn("Welcome", run.out + run.err)

    def test_secrets_are_in_no_command_line(self):
        """Others on a host can read those; the environment of a process they cannot."""
        secret = uuid.uuid4().hex
        with self.place(3) as place:
            run = self.head(place, "--hosts=n[1-3]", "--nproc-per-node=2", "--env=TOKEN", self.worker(UP, SLEEP),
                            env={"TOKEN": secret, "COLOUR": secret})
            self.wait_until_up(6, run)
            lines = [processes.command_of(pid) for pid in place.running()]
            clients = [processes.command_of(pid) for number in (1, 2, 3) for pid in place.clients(number)]
            run.signal(15)
            self.expect([143], [run])
            self.assertGreater(len(lines), 12)
            self.assertEqual([], [line for line in lines if secret in line or re.search("[0-9a-f]{64}", line)])
            self.assertEqual(3, len(clients))
            for line in clients:
                self.assertRegex(line, r" -- .*exec launch --remote 1$")
            self.expect_empty(place)


class Lists(HostsCase):
    """Which hosts, how many workers on each."""

    def test_lists(self):
        worker = self.worker(SAYS_ALL)
        with self.place(4) as place:
            for words, hosts in (
                    (("--hosts", "n1:1,n2:3"), [("n1", 1), ("n2", 3)]),
                    (("--hosts", "n[1-2]:2 n4"), [("n1", 2), ("n2", 2), ("n4", 1)]),
                    (("--hosts", "n[1-4]", "--exclude", "n[2-3]"), [("n1", 1), ("n4", 1)]),
                    (("--hosts", "n[1-4],^n[2-3]"), [("n1", 1), ("n4", 1)]),
                    (("--hosts", "n[1-4]", "--include", "n4@n2"), [("n2", 1), ("n4", 1)]),
                    (("--hosts", "n[1-4]", "--nnodes=2", "--nproc-per-node=2"), [("n1", 2), ("n2", 2)])):
                with self.subTest(" ".join(words)):
                    self.expect_said(self.head(place, *words, worker), *hosts)
            self.expect_empty(place)

    def test_this_host_needs_no_ssh(self):
        worker = self.worker(SAYS_ALL)
        with self.place(2) as place:
            with self.subTest("localhost"):
                place.stop_sshd(3)  # that of login
                self.expect_said(self.head(place, "--hosts=localhost", "--nproc-per-node=2", worker), ("login", 2))
            with self.subTest("by its name, in a list"):
                place.stop_sshd(1)
                self.expect_said(self.head(place, "--hosts=n[1-2]", worker, on=1), ("n1", 1), ("n2", 1))
            with self.subTest("by its address"):
                address = place.address(1)
                self.expect_said(self.head(place, f"--hosts=n2,{address}", worker, on=1), ("n2", 1), ("n1", 1))
            with self.subTest("twice, by its name and its address"):
                run = self.head(place, f"--hosts=n1,{address}", worker, on=1)
                self.expect_said(run, ("n1", 1), ("n1", 1))
                self.assert_lines(run, rf"warning: n1,{address} are the same machine \(n1\)")
            self.expect_empty(place)

    def test_another_user(self):
        with self.place(2) as place:
            run = self.head(place, "--hosts=train@n1,n2", self.worker('echo "$RANK is $USER"\n'))
            self.expect([0], [run])
            self.assertEqual({"0 is train", "1 is root"}, set(re.findall(r"\d is \w+", run.out)), str(run))

    def test_host_files(self):
        """Those of other launchers. n1 has two workers, n2 has one."""
        worker = self.worker(SAYS_ALL)
        of = {"Open MPI": "# two hosts\nn1 slots=2 max_slots=4\n\nroot@n2 slots=1\n",
              "Hydra": "n1:2 binding=user:0,1\nn2:1\n",
              "PBS": "n1\nn1\nn2\n",
              "SGE": "n1 2 all.q@n1 UNDEFINED\nn2 1 all.q@n2 UNDEFINED\n"}
        with self.place(3) as place:
            for name, text in of.items():
                with self.subTest(name):
                    file = self.folder / f"{name}.hosts"
                    file.write_text(text)
                    self.expect_said(self.head(place, "--hostfile", file, worker), ("n1", 2), ("n2", 1))
            with self.subTest("DeepSpeed, with its options"):
                file = self.folder / "hostfile"
                file.write_text("n1 slots=2\nn2 slots=8\nn3 slots=1\n")
                run = self.head(place, "--hostfile", file, "--exclude=n2", worker)
                self.expect_said(run, ("n1", 2), ("n3", 1))
            with self.subTest("DeepSpeed, with its variables"):
                (place.home_of(4) / ".deepspeed_env").write_text("COLOUR=red\nSHAPE=round\n")
                (self.folder / ".deepspeed_env").write_text("COLOUR=blue\n")
                run = self.head(place, "--hostfile", file, "--include=n1:0", self.worker(
                    'echo "$COLOUR $SHAPE"\n', name="colours"))
                self.expect([0], [run])
                self.assertIn("]:blue round\n", run.out)
                self.assert_lines(run, r"warning: .* variables of /.*/\.deepspeed_env", "variables of \\.deepspeed_env")
            with self.subTest("from standard input, names only"):
                file.write_text("n[1-3]\n")
                with open(file, "rb") as text:
                    run = self.head(place, "--hostfile=-", "--nproc-per-node=2", worker, stdin=text)
                    self.expect_said(run, ("n1", 2), ("n2", 2), ("n3", 2))

    def test_other_starters(self):
        worker = self.worker(SAYS_ALL)
        with self.place(2) as place:
            with self.subTest("a command of the user"):
                place.forget_keys_of(1, 2)
                run = self.head(place, "--hosts=n[1-2]", "--ssh", "ssh -o StrictHostKeyChecking=accept-new", worker)
                self.expect_said(run, ("n1", 1), ("n2", 1))
            with self.subTest("without ssh, which would not be let in"):
                for number in (1, 2):
                    place.refuse_key(number)
                run = self.head(place, "--hosts=n[1-2]", "--start-with", f"exec:{place.folder}/enter {{host}}", worker)
                self.expect_said(run, ("n1", 1), ("n2", 1))
            self.expect_empty(place)


class Environment(HostsCase):
    """What workers get of the caller's variables."""

    HERE = {"COLOUR": "blue", "DISPLAY": ":0", "SSH_AUTH_SOCK": "/run/agent", "SLURM_NODEID": "1", "SLURM_PROCID": "1",
            "SLURM_JOB_ID": "8", "PMI_RANK": "1", "PMI_SIZE": "2", "RANK": "7", "CUDA_VISIBLE_DEVICES": "5"}

    def seen(self, place, *options, host="n1"):
        run = self.head(place, f"--hosts={host}", *options, self.worker(SAYS_ENV), env=self.HERE)
        self.expect([0], [run])
        lines = [line.partition("]:")[2] for line in run.out.splitlines()]
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def test_what_workers_see(self):
        with self.place(1) as place:
            with self.subTest("all but what belongs to a host or a session"):
                seen = self.seen(place)
                self.assertEqual(("blue", "0"), (seen.get("COLOUR"), seen.get("RANK")))
                self.assertEqual(set(), {"DISPLAY", "SLURM_NODEID", "SLURM_PROCID", "PMI_RANK", "PMI_SIZE",
                                         "CUDA_VISIBLE_DEVICES"} & set(seen))
                self.assertNotEqual("/run/agent", seen.get("SSH_AUTH_SOCK"))
                self.assertEqual(str(place.home_of(1)), seen["HOME"])
            with self.subTest("some of these, and others"):
                seen = self.seen(place, "--env=DISPLAY", "--env=COLOUR=red", "--env=SHAPE=round, or so")
                self.assertEqual((":0", "red", "round, or so"), tuple(map(seen.get, ("DISPLAY", "COLOUR", "SHAPE"))))
            with self.subTest("nothing"):
                seen = self.seen(place, "--env-none")
                self.assertEqual((None, None, "0"), tuple(map(seen.get, ("COLOUR", "TEST_FOLDER", "RANK"))))
            with self.subTest("nothing but one"):
                seen = self.seen(place, "--env-none", "--env=COLOUR")
                self.assertEqual(("blue", None), (seen.get("COLOUR"), seen.get("TEST_FOLDER")))
            with self.subTest("on this machine as elsewhere, except its devices"):
                seen = self.seen(place, host="localhost")
                self.assertEqual(("blue", "0", "5", str(place.home_of(2))),
                                 tuple(map(seen.get, ("COLOUR", "RANK", "CUDA_VISIBLE_DEVICES", "HOME"))))
                self.assertEqual(set(), {"DISPLAY", "SSH_AUTH_SOCK", "SLURM_NODEID", "PMI_RANK"} & set(seen))
            with self.subTest("nothing, on this machine"):
                seen = self.seen(place, "--env-none", "--env=SHAPE=round", host="localhost")
                self.assertEqual((None, None, None, "round", str(place.home_of(2))),
                                 tuple(map(seen.get, ("COLOUR", "TEST_FOLDER", "CUDA_VISIBLE_DEVICES", "SHAPE",
                                                      "HOME"))))


class Output(HostsCase):
    def check_lines(self, text, ranks):
        """All are whole, each is there once, and those of a rank are in order."""
        found = {rank: [] for rank in range(ranks)}
        for line in text.splitlines():
            match = re.search(rb"rank (\d+) line (\d+) x+$", line)
            self.assertTrue(match, f"torn: {line!r}")
            self.assertEqual(199, len(match.group()), line)
            found[int(match[1])].append(int(match[2]))
        for rank, numbers in found.items():
            self.assertEqual(list(range(2000)), numbers, f"rank {rank}")

    def test_many_lines(self):
        with self.place(8) as place:
            console = Console(reads=False)
            run = self.head(place, "--hosts=n[1-8]", "--nproc-per-node=2", self.worker(SAYS_MUCH),
                            stdout=console.writer)
            console.handed_over()
            slowly = wait_for(lambda: console.take(4096, 0.002) or console.size > 1_000_000, 60)
            self.assertTrue(slowly, f"{console.size} bytes\n{run}")
            text = console.text()
            self.expect([0], [run])
            self.check_lines(text, 16)
            self.expect_empty(place)


class Gathered(HostsCase):
    """--gather-logs brings the files of the workers' output of all hosts to the head."""

    SAYS = ('echo "rank $RANK"\n'
            'awk -v rank="$RANK" \'BEGIN { for (i = 0; i < 40000; i++) print "error", rank, i }\' >&2\n')
    ALL_FAIL = (': > "$TEST_FOLDER/said.$RANK"\n'
                'while [ "$(ls "$TEST_FOLDER"/said.* | wc -l)" -lt 4 ]; do sleep 0.05; done\n'
                'exit 3\n')

    def setUp(self):
        super().setUp()
        (self.folder / "tmp").mkdir(exist_ok=True)

    def texts(self, host, name):
        """Of the files of this name that came from there, in order of the workers."""
        return [file.read_text() for file in sorted((self.folder / "logs" / host).glob(f"*/attempt_0/*/{name}"))]

    def check(self, run, code=0):
        self.expect([code], [run])
        self.assertEqual((["rank 0\n", "rank 1\n"], ["rank 2\n", "rank 3\n"]),
                         (self.texts("n1", "stdout.log"), self.texts("n2", "stdout.log")), str(run)[:2000])
        for rank, text in enumerate(self.texts("n1", "stderr.log") + self.texts("n2", "stderr.log")):
            self.assertEqual([f"error {rank} {i}" for i in range(40000)], text.splitlines())
        self.assertIn("the logs of 2 hosts are in logs", run.err)
        shutil.rmtree(self.folder / "logs")

    def test_of_all_hosts(self):
        words = ("--hosts=n[1-2]", "--nproc-per-node=2", "--gather-logs=logs")
        worker = self.worker(self.SAYS)
        kept = self.folder / "tmp"
        with self.place(2) as place:
            with self.subTest("without --log-dir: they are only here then"):
                self.check(self.head(place, *words, worker))
                self.assertEqual([], list(kept.glob("launch-??????")))
            with self.subTest("with --log-dir: they stay"):
                self.check(self.head(place, *words, "--log-dir=kept", "--redirects=3", "--rdzv-id=job", worker))
                self.assertEqual(["n1", "n2"], sorted(os.listdir(self.folder / "kept" / "job")))
            with self.subTest("redirected only"):
                run = self.head(place, *words, "--redirects=3", worker)
                self.check(run)
                self.assertEqual("", run.out)
            with self.subTest("after a failure"):
                self.check(self.head(place, *words, self.worker(self.SAYS, self.ALL_FAIL, name="fails")), code=3)
            self.expect_empty(place)

    def test_a_file_system_that_does_not_answer(self):
        with self.place(2) as place:
            stuck = self.folder / "kept" / "job" / "n2" / "stuck"
            stuck.mkdir(parents=True)
            try:
                inside = ["nsenter", f"--target={place.file_of_pid(2).read_text().strip()}", "--mount"]
                server = served.Served("", stuck, inside)
            except served.Impossible as why:
                self.need(False, f"a file system that stalls ({why})")
            try:
                server.stall()
                run = self.head(place, "--hosts=n[1-2]", "--nproc-per-node=2", "--gather-logs=logs", "--log-dir=kept",
                                "--redirects=3", "--rdzv-id=job", self.worker('echo "rank $RANK"\n'))
                self.expect([0], [run], seconds=90)
            finally:
                server.go_on()
                server.remove()
            self.expect_empty(place)
            self.assert_lines(run, "warning: n2: not all logs were gathered: logs cannot be read there: the file "
                                   "system does not answer", "the logs of 1 host are in logs")
            self.assertEqual(["rank 0\n", "rank 1\n"], self.texts("n1", "stdout.log"))

    def test_what_cannot_be_written(self):
        with self.place(2) as place:
            (self.folder / "logs").mkdir()
            (self.folder / "logs" / "n2").write_text("")
            run = self.head(place, "--hosts=n[1-2]", "--gather-logs=logs", self.worker(self.SAYS))
            self.expect([0], [run])
            self.assert_lines(run, r"warning: n2: not all logs were gathered: .* written here: Not a directory",
                              "the logs of 1 host are in logs")
            self.assertEqual(["rank 0\n"], self.texts("n1", "stdout.log"))
            (left,) = (self.folder / "tmp").glob("launch-??????")
            self.assertEqual(["rank 1\n"], [file.read_text() for file in left.rglob("stdout.log")])
            with self.subTest("not even the folder"):
                run = self.head(place, "--hosts=n[1-2]", "--gather-logs=logs/n2/x", self.worker(UP))
                self.expect([2], [run])
                self.assert_says(run, "--gather-logs logs/n2/x: Not a directory")
                self.assertEqual([], self.up())


class Training(HostsCase):
    load = 2.0

    def test_pytorch(self):
        python = python_env.new_python(Settings.build)
        self.need(python_env.installed_version(python), "PyTorch 2.13 (tests/interop/python_env.py installs it)")
        self.program(TRAIN, "train.py")
        with self.place(8) as place:
            path = f"{python.parent}:{place.environment()['PATH']}"
            run = self.head(place, "--hosts=n[1-8]", "--nproc-per-node=2", "train.py",
                            env={"PATH": path, "OMP_NUM_THREADS": "1"})
            self.expect([0], [run], seconds=300)
            self.assertEqual([f"rank {rank} of 16: sum 136" for rank in range(16)], in_order(run.out), str(run))
            self.expect_empty(place)


class InSlurm(SlurmCase):
    """In a job of Slurm its hosts need not be named, and steps of Slurm take the place of ssh, which is not there."""

    def test_hosts_of_the_job(self):
        worker = self.worker(SAYS_ALL)
        nodes = said(*((f"n{number}", 2) for number in range(1, 5)))
        with self.place(4) as slurm:
            with self.subTest("salloc: the head is on login"):
                run = self.on_login(slurm, "salloc", "-N4", Settings.launch, "--hosts=auto", "--nproc-per-node=2",
                                    worker)
                self.expect([0], [run])
                self.assertEqual(nodes, in_order(run.out), str(run))
            with self.subTest("a batch script: the head is on the first of the hosts"):
                script = self.program("#!/bin/bash\n#SBATCH --nodes=4\n"
                                      f"{Settings.launch} --hosts=auto --nproc-per-node=2 {worker}\n", "job.sh")
                run = self.batch(slurm, "-o", self.folder / "job.out", script)
                self.finish(run)
                text = (self.folder / "job.out").read_text()
                self.assertEqual((0, nodes), (run.code, in_order(text)), text)
            with self.subTest("a worker fails"):
                fails = self.worker(UP, '[ "$RANK" = 2 ] && exit 3\n', SLEEP, name="fails")
                run = self.on_login(slurm, "salloc", "-N4", Settings.launch, "--hosts=auto", fails)
                self.expect([3], [run])
                self.assert_says(run, r"root cause +rank 2 .*\(host n3\)")
            self.assertTrue(wait_for(lambda: not slurm.ask("squeue", "-h").strip(), 30))
