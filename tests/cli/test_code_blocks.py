"""Every code block of README.md and docs is run as it stands, and what it shows is what really comes.

A method that shows() a block runs it; block_case has the programs and hosts that stand for those of the reader. CHECKED
names blocks that another test holds, DRAWN those that are no commands. A block that is none of these fails Rules.
"""
import functools
import json
import os
import re
import shutil
import subprocess
import sys

from block_case import WORKERS, BlockCase, shows
from code_blocks import all_blocks, blocks_with, form, shaped
from harness import ROOT, Settings

CHECKED = {  # document, beginning -> who looks at it
    ("README.md", "pip install ./"): "package/test_packages.Packages.test_the_lines_of_the_readme",
    ("docs/clusters.md", "#!/bin/bash\n#SBATCH --nodes"): "clusters/test_slurm.Slurm.test_the_scripts_of_the_documents",
    ("docs/clusters.md", "#!/bin/bash\n#SBATCH --time"): "clusters/test_slurm_jobs.SlurmJobs.test_a_job_that_is_warned",
    ("docs/clusters.md", "launch: Slurm step"): "clusters/test_slurm.Slurm.test_the_scripts_of_the_documents",
    ("docs/clusters.md", "srun launch --rdzv-backend"): "clusters/test_slurm.Slurm.test_the_scripts_of_the_documents",
    ("docs/clusters.md", "srun --ntasks-per-node"): "clusters/test_slurm.Slurm.test_the_scripts_of_the_documents",
    ("docs/clusters.md", "mpiexec -n 4"): "clusters/test_mpi.Mpi.test_mpich",
    ("docs/clusters.md", "mpirun -N 1"): "clusters/test_mpi.Mpi.test_open_mpi",
    ("docs/control.md", "$ launch-ctl status"): "cli/test_control_screens.Screens.test_of_a_training",
    ("docs/control.md", "$ tput cols"): "cli/test_control_screens.Screens.test_of_a_training",
    ("docs/control.md", "$ launch-ctl top"): "cli/test_control_screens.Screens.test_of_a_training",
    ("docs/control.md", "$ launch-ctl stacks"): "cli/test_control_screens.Screens.test_of_a_training",
    ("docs/hosts.md", "launch --hosts n[1-8]"): "clusters/test_hosts_documents.Documents.test_the_line",
    ("docs/hosts.md", "$ launch --hosts n[1-4]"): "clusters/test_hosts_streams.Fold.test_the_screen_of_the_documents",
    ("docs/hosts.md", "$ launch --check"): "clusters/test_hosts_documents.Documents.test_a_check",
    ("docs/hosts.md", "#!/bin/bash\nNODES"): "clusters/test_hosts_documents.Documents.test_the_script",
    ("docs/hosts.md", "launch --hosts 10.0.0.[1-3]"): "clusters/test_hosts_documents.Documents.test_the_script",
    ("docs/kubernetes.md", "apiVersion: v1"): "cli/test_kubernetes.Manifests.test_indexed_job",
    ("docs/kubernetes.md", "apiVersion: jobset"): "cli/test_kubernetes.Manifests.test_jobset",
    ("docs/kubernetes.md", "apiVersion: kubeflow"): "cli/test_kubernetes.Manifests.test_pytorchjob",
    ("docs/kubernetes.md", "apiVersion: trainer"): "cli/test_kubernetes.Manifests.test_trainjob",
    ("docs/kubernetes.md", "apiVersion: leaderworkerset"): "cli/test_kubernetes.Manifests.test_leader_worker_set",
    ("docs/metrics.md", "scrape_configs:"): "clusters/test_prometheus.Prometheus.test_a_job_is_scraped",
    ("docs/metrics.md", "launch_workers{state="): "clusters/test_prometheus.Prometheus.test_a_job_is_scraped",
    ("docs/metrics.md", "metadata:"): "house/test_metrics.Metrics.test_the_probes_of_the_document",
    ("docs/metrics.md", "apiVersion: monitoring"): "house/test_metrics.Metrics.test_the_monitor_of_the_document",
    ("docs/timeline.md", "launch: all 64 ranks"): "cli/test_timeline.Told.test_the_slow_node_is_the_first_line",
    ("docs/timeline.md", "job llama"): "cli/test_timeline.Told.test_the_slow_node_is_the_first_line",
    ("docs/timeline.md", "32 of 64 ranks"): "cli/test_timeline.Screens.test_who_is_missing",
    ("docs/etcd.md", "launch --rdzv-backend=etcd-v2"): "interop/test_etcd.AtEtcd.test_two_launch",
    ("docs/etcd.md", "launch --rdzv-backend=etcd "): "interop/test_etcd.AtOlderEtcd.test_two_launch",
    ("docs/architecture.md", "src/main.cpp"): "house/test_documents.Documents.test_the_map_shows_every_room",
}
DRAWN = {  # document, beginning -> what it is
    ("docs/elastic.md", "outside --join-->"): "a picture of the states of a node",
    ("docs/rendezvous_scale.md", "interval + 0.77"): "a formula",
}


@functools.cache
def said(*words):
    """What this command of ours prints."""
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout


class Rules(BlockCase):
    def test_every_block_has_a_rule(self):
        rules = [*CHECKED, *DRAWN, *(test.shows for case in (OneMachine, SeveralMachines, Tools)
                                     for test in vars(case).values() if hasattr(test, "shows"))]
        ruled = [block for rule in rules for block in blocks_with(*rule)]
        self.assertEqual(len(rules), len(ruled), "a rule for no block, or for two")
        self.assertEqual([], [f"{block.place}: {block.text.strip()[:60]}" for block in all_blocks()
                              if block not in ruled], "blocks without a rule")
        self.assertEqual(len(ruled), len(set(ruled)), "two rules for a block")
        for test in CHECKED.values():
            module, _, name = test.split(".")
            self.assertIn(f"def {name}(", (ROOT / "tests" / f"{module}.py").read_text())


class OneMachine(BlockCase):
    @shows("README.md", "export PATH=")
    def test_where_launch_is(self, block):
        (self.folder / "build").mkdir()
        (self.folder / "build" / "release").symlink_to(self.folder / "bin")
        run = self.shell(block.text, PATH=os.environ["PATH"])
        self.expect([0], [run])
        self.assertEqual([0, 1, 2, 3], sorted(self.seen()))
        self.assertRegex(run.out, r"nproc-per-node +4 ")
        self.assertRegex(run.out, r"python\S* -u train.py")

    @shows("docs/launch.1", "launch --nproc-per-node=gpu")
    def test_example_of_one_node(self, block):
        self.expect([0], [self.shell(block.text)])
        self.assertEqual([["--epochs", "3"]] * 2, [seen["arguments"] for seen in self.seen().values()])

    @shows("docs/launch.1", "launch --nproc-per-node=4 ./train")
    def test_example_of_a_program_and_of_a_module(self, block):
        self.program(f"#!{sys.executable}\n{(WORKERS / 'notes.py').read_text()}", "train")
        (self.folder / "package").mkdir()
        self.train("notes.py", "package/train.py")
        for line, arguments in zip(block.lines, ([], ["--lr=0.1"])):
            self.expect([0], [self.shell(line)])
            self.assertEqual([arguments] * 4, [seen["arguments"] for seen in self.seen().values()])

    @shows("docs/logs.md", "$ launch --log-dir=logs --rdzv-id=job7")
    def test_where_the_files_are(self, block):
        self.play(block)

    @shows("docs/logs.md", "$ launch --nproc-per-node=2 --tee=1 train.py")
    def test_what_the_console_shows(self, block):
        self.play(block)

    @shows("docs/logs.md", "$ launch --tee=3")
    def test_a_prefix(self, block):
        self.play(block)

    @shows("docs/logs.md", "$ launch --nproc-per-node=8 --tee=1 --fold")
    def test_folded_lines(self, block):
        """They fold if all come within a tenth of a second, so on a busy machine they may need another turn."""
        self.train("resumes.py")
        (command, lines), = block.commands()
        for _ in range(10):
            run = self.shell(command)
            self.expect([0], [run])
            self.forget()
            if sorted(run.out.splitlines()) == sorted(lines):
                break
        self.assertEqual(sorted(lines), sorted(run.out.splitlines()), str(run))

    @shows("docs/logs.md", "launch: warning: log lines are lost")
    def test_a_full_disk(self, block):
        """The worker goes on until there is room again, and the file says what it lacks."""
        (self.folder / "logs").mkdir()
        self.train("fills_disk.py")
        file = "logs/latest/attempt_0/0/stdout.log"
        run = self.shell("mount -t tmpfs -o size=64k launch-test logs; head -c 45000 /dev/zero > logs/ballast\n"
                         f"launch --tee=1 --log-dir=logs --rdzv-id=job7 train.py > /dev/null; grep '^.launch' {file}")
        self.expect([0], [run])
        self.assertEqual(sorted(map(shaped, block.lines)), sorted(self.plain(run.err + run.out).splitlines()))

    @shows("docs/logs.md", "$ launch --redirects=3 --log-writer=launch")
    def test_files_that_launch_writes(self, block):
        self.play(block)
        (file,) = self.folder.glob("scratch/logs/latest/attempt_0/0/stdout.log")
        self.assertEqual("epoch 0 loss 0.648\n", file.read_text())

    @shows("docs/logs.md", "$ launch --redirects=1 --log-dir=logs")
    def test_files_of_a_bounded_size(self, block):
        self.program('for number in range(30000): print("line", number)\n', "train.py")
        self.play(block)

    @shows("docs/failures.md", "at failure     rank 3: in load_batch")
    def test_what_the_workers_were_doing(self, block):
        self.program(f"""#!{sys.executable} -IS
import sys
pid = sys.argv[sys.argv.index("--pid") + 1]
rank = dict(line.split("=", 1) for line in open(f"/proc/{{pid}}/environ").read().split("\\0") if "=" in line)["RANK"]
place = {{"3": "load_batch (data.py:12)"}}.get(rank, "all_reduce (torch/distributed/distributed_c10d.py:2810)")
print(f'Process {{pid}}: python\\nPython v3.11.2 (python)\\n\\nThread {{pid}} (idle): "MainThread"\\n    {{place}}')
""", "bin/py-spy")
        self.train("hangs.py")
        run = self.shell("launch --nproc-per-node=8 train.py")
        self.expect([134], [run])
        self.assertIn(block.text, run.err)

    @shows("docs/events.md", "$ launch --events job.events")
    def test_events(self, block):
        self.need(shutil.which("jq"), "jq")
        self.train("hangs.py")
        self.play(block, first=139, DIE_BY="11")

    @shows("docs/metrics.md", "launch --metrics-file")
    def test_metrics_for_node_exporter(self, block):
        self.expect([0], [self.shell(block.text.replace("/var/lib/node_exporter/", ""))])
        self.assertRegex((self.folder / "launch.prom").read_text(),
                         r'\nlaunch_worker_exits_total\{[^}]*kind="exit_code",value="0"[^}]*\} 4\n')

    @shows("docs/events.md", '{"event":"job_started"')
    def test_the_lines_of_events(self, block):
        self.train("raises.py")
        self.expect([1], [self.shell("launch --events job.events --rdzv-id=j --nproc-per-node=2 train.py", "n0")])
        came = self.plain((self.folder / "job.events").read_text()).splitlines()
        self.assertEqual([form(json.loads(line)) for line in block.lines], [form(json.loads(line)) for line in came])

    def test_the_fields_of_a_failure(self):
        text = (ROOT / "docs/events.md").read_text("utf-8")
        (table,) = re.findall(r"\n\| Field \| Meaning \|\n.*\n((?:\|.*\n)*)", text)
        named = [name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])]
        (writer,) = re.findall(r"std::string to_json\(const Failure.*?\n}\n",
                               (ROOT / "src/core/verdict/failure_report.cpp").read_text(), re.S)
        self.assertEqual(sorted(re.findall(r'(?:object\[|add_\w+\()"(\w+)"', writer)), sorted(named))


class SeveralMachines(BlockCase):
    @shows("README.md", "#!/bin/sh")
    def test_two_machines(self, block):
        self.program(block.text + "\n", "job.sh")
        self.on_hosts(2, lambda rank: f"./job.sh {rank}")
        seen = self.seen()
        self.assertEqual(list(range(8)), sorted(seen))
        of_five = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1",
                   "GROUP_WORLD_SIZE": "2", "ROLE_NAME": "default", "ROLE_RANK": "5", "ROLE_WORLD_SIZE": "8",
                   "MASTER_ADDR": "node0.example", "MASTER_PORT": "29500", "arguments": ["--epochs", "3"]}
        self.assertEqual(of_five, {name: seen[5].get(name) for name in of_five})

    @shows("README.md", "launch --nnodes=2:4")
    def test_an_elastic_job(self, block):
        self.on_hosts(4, lambda rank: block.text)
        self.assertEqual(list(range(16)), sorted(self.seen()))

    @shows("docs/elastic.md", "launch --nnodes=MIN:MAX --rdzv-backend=c10d --rdzv-endpoint=HOST")
    def test_the_elastic_line(self, block):
        line = block.text
        for name, value in (("MIN", "2"), ("MAX", "3"), ("HOST:PORT", "node0:29400"), ("=ID", "=job1"), ("=K", "=3")):
            line = line.replace(name, value)
        self.on_hosts(3, lambda rank: line)
        self.assertEqual([0, 1, 2], sorted(self.seen()))

    @shows("docs/elastic.md", "launch --nnodes=MIN:MAX --rdzv-backend=c10d --rdzv-endpoint=n0")
    def test_the_line_that_names_several_hosts(self, block):
        line = block.text
        for name, value in (("MIN", "2"), ("MAX", "3"), ("n0,n1,n2", "node0,node1,node2"), ("=ID", "=job1")):
            line = line.replace(name, value)
        self.on_hosts(3, lambda rank: line)
        self.assertEqual([0, 1, 2], sorted(self.seen()))

    @shows("docs/etcd.md", "launch --rdzv-backend=c10d --rdzv-conf=store_type=file")
    def test_the_line_of_a_job_in_a_file(self, block):
        line = block.text
        for name, value in (("MIN", "2"), ("MAX", "2"), ("/shared/ID", str(self.folder / "job1"))):
            line = line.replace(name, value)
        self.on_hosts(2, lambda rank: line)
        self.assertEqual([0, 1], sorted(self.seen()))

    @shows("docs/launch.1", "launch --nnodes=2 --nproc-per-node=4 --node-rank=K")
    def test_example_of_two_machines(self, block):
        self.on_hosts(2, lambda rank: block.text.replace("=K", f"={rank}"))
        self.assertEqual(list(range(8)), sorted(self.seen()))

    @shows("docs/launch.1", "launch --nnodes=2 --node-rank=0")
    def test_example_of_a_wait(self, block):
        self.on_hosts(2, lambda rank: block.text.replace("--node-rank=0", f"--node-rank={rank}"))
        self.assertEqual([0, 1], sorted(self.seen()))

    @shows("docs/failures.md", "launch: train.py FAILED")
    def test_the_report_of_a_failure(self, block):
        self.train("raises.py")
        runs = self.on_hosts(4, lambda rank: f"launch --nnodes=4 --nproc-per-node=2 --node-rank={rank} --rdzv-id=job7 "
                             "--master-addr=node0 --log-dir=logs --redirects=3 train.py", code=1, FAILING_RANK="5")
        for run in runs:
            self.assertIn(shaped(block.text + "\n"), self.plain(run.err))


class Tools(BlockCase):
    """Lines that build, or take minutes or hours: what they name is there."""

    def check_tests(self, lines):
        """Lines that run tests: what they name is in the list of tests, which is what they print with --list."""
        names = {deep: said("scripts/test", "--list", *deep) for deep in ((), ("--long",))}
        for tool, *words in lines:
            self.assertEqual("scripts/test", tool)
            listed = names[("--long",) if "--long" in words else ()]
            for word in words:
                self.assertTrue(word in ("--list", "--long", "[WORD]", "[PART]") or word in listed, word)

    @shows("docs/launch-ctl.1", "launch-ctl status")
    def test_the_lines_of_launch_ctl(self, block):
        """Each is one that it takes: without a job it says so."""
        (self.folder / "bin/launch-ctl").symlink_to(Settings.launch)
        for line in block.lines:
            run = self.shell(line, LAUNCH_DOORS=str(self.folder / "doors"))
            self.expect([1], [run])
            self.assertIn("no job of yours", run.err)

    @shows("README.md", "scripts/quickstart")
    def test_the_quickstart(self, block):
        """The real script, which finds everything installed and built, and a training without PyTorch."""
        quickstart, *others = block.command_lines()
        self.assertEqual(["scripts/quickstart"], quickstart)
        self.check_tests(others)
        for name, text in (("scripts/quickstart_train.py", (WORKERS / "notes.py").read_text()),
                           ("scripts/install_dependencies", "#!/bin/sh\n"),
                           ("bin/cmake", "#!/bin/sh\n"), ("torch/distributed.py", "is_available = lambda: True\n"),
                           ("scripts/quickstart", (ROOT / "scripts/quickstart").read_text())):
            (self.folder / name).parent.mkdir(exist_ok=True)
            self.program(text, name)
        (self.folder / "build").mkdir()
        (self.folder / "build" / "release").symlink_to(self.folder / "bin")
        run = self.shell("scripts/quickstart", PYTHONPATH=str(self.folder))
        self.expect([0], [run])
        self.assertRegex(run.out, r"\[node 1\] epoch 0 loss 0.648\n")
        self.assertEqual([0, 1, 2, 3], sorted(self.seen()))

    @shows("docs/developing.md", "scripts/check_house")
    def test_lines_for_a_change(self, block):
        check, *tests = block.command_lines()
        self.assertEqual(["scripts/check_house"], check)  # which house/test_check_house runs
        self.check_tests(tests)

    @shows("docs/releasing.md", "scripts/package")
    def test_lines_that_package(self, block):
        """They build for half an hour: the targets are those that it names, and all of it begins with no argument."""
        known = subprocess.run(["python3", ROOT / "scripts/packaging", "none"], check=False, capture_output=True,
                               text=True).stderr.partition("known are ")[2].split()
        (one, *none), (same, target) = block.command_lines()
        self.assertEqual(("scripts/package", "scripts/package", []), (one, same, none))
        self.assertIn(target, known)
        self.assertEqual(known, block.lines[1].partition("one target: ")[2].split())

    @shows("docs/testing.md", "scripts/test")
    def test_lines_that_test(self, block):
        self.check_tests(block.command_lines())

    @shows("docs/testing.md", "build/venv/bin/python")
    def test_lines_that_record(self, block):
        """They take an hour, and PyTorch."""
        usage = said(sys.executable, "tests/interop/record.py", "--help")
        for python, script, *options in block.command_lines():
            self.assertEqual(("build/venv/bin/python", "tests/interop/record.py"), (python, script))
            for option in options:
                self.assertIn(f"[{option}]", usage)

    @shows("docs/rendezvous_scale.md", "cmake --build")
    def test_lines_that_simulate(self, block):
        """They build; scripts/test builds and runs the same program."""
        build, play = block.command_lines()
        self.assertEqual("cmake --build --preset release --target sim_tests".split(), build)
        self.assertIn("launch_test_binary(sim_tests ", (ROOT / "tests/CMakeLists.txt").read_text())
        suites = re.fullmatch(r"--gtest_filter='(\w+)\.\*:(\w+)\.\*'", play[1]).groups()
        listed = said("scripts/test", "--list", "sim/")
        for suite in suites:
            self.assertIn(f"_test.{suite}.", listed)

    @shows("docs/rendezvous_scale.md", "LAUNCH_MEMBERSHIP_ROUNDS")
    def test_lines_that_measure(self, block):
        """Those tests are run by scripts/test, once each."""
        (rounds, *command), = block.command_lines()
        self.assertIn(f'"{rounds.partition("=")[0]}"', (ROOT / "tests/cli/members.py").read_text())
        listed = said(*command[:2], "--list", *command[2:])
        self.assertEqual(command[2:], [json.loads(line)["unit"] for line in listed.splitlines()])
