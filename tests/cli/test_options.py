"""The command line as torchrun's users type it, PET_ variables, and how a program becomes a command."""
import json
import os
import shutil
import sys

from harness import ROOT, Settings
from job import JobCase

COUNT = 'echo "$RANK of $WORLD_SIZE"\n'


class Options(JobCase):
    def workers(self, *arguments, env=None):
        run = self.launch(*arguments, self.worker(COUNT), env=env)
        self.expect([0], [run])
        return len(run.out.splitlines())

    def test_help(self):
        for flag in ("--help", "-h"):
            run = self.launch(flag)
            self.expect([0], [run])
            self.assertEqual("", run.err)
            whole = (ROOT / "tests" / "data" / "help.txt").read_text()
            self.assertTrue(run.out == whole if flag == "--help" else run.out.startswith("Usage: launch"), run.out)
            self.assertLessEqual(len(run.out.splitlines()), 40 if flag == "-h" else 400)

    def test_version(self):
        run = self.launch("--version")
        self.expect([0], [run])
        self.assertRegex(run.out, r"^launch \d+\.\d+\.\d+\nbuilt for \S+ by .+\n$")

    def test_what_cannot_be_shown_is_said(self):
        for words in (["--help"], ["--version"], ["--explain", self.worker("exit 0\n")]):
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                run = self.launch(*words, stdout=full)
                self.expect([1], [run])
                self.assertIn("cannot write to the standard output: No space left on device", run.err)

    def test_spellings(self):
        for words in (["--nproc-per-node=3"], ["--nproc_per_node=3"], ["--nproc-per-node", "3"],
                      ["--nproc_per_node", "3"], ["--nproc_per_node=1", "--nproc-per-node=3"]):
            with self.subTest(words=words):
                self.assertEqual(3, self.workers(*words))

    def test_one_node_in_every_form(self):
        for words in (["--nnodes=1"], ["--nnodes=1:1"], ["--standalone"], ["--rdzv_backend=static"],
                      ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"], ["--stand"], ["--max-restarts=2"],
                      ["-t3", "-r", "0:1"], ["--node-rank=1"], ["--numa-binding=node"],
                      ["--monitor_interval=0.5", "--rdzv_conf=timeout=9,zz=1", "--rdzv_id=a"]):
            with self.subTest(words=words):
                self.assertEqual(2, self.workers("--nproc_per_node=2", *words))

    def test_variables(self):
        self.assertEqual(2, self.workers(env={"PET_NPROC_PER_NODE": "2"}))
        self.assertEqual(3, self.workers("--nproc-per-node=3", env={"PET_NPROC_PER_NODE": "2"}))
        for value in ("1", "0", " 2 "):
            self.assertEqual(1, self.workers(env={"PET_STANDALONE": value}))

    def test_a_word_of_advice_is_one_line(self):
        for option in ("--start-method=fork", "--event-log-handler=mine"):
            run = self.launch(option, self.worker(COUNT))
            self.expect([0], [run])
            self.assertEqual(1, len(run.err.splitlines()), str(run))
            self.assertIn(option.split("=")[0], run.err)

    def test_options_without_effect_are_named(self):
        for options, named in ((["--fold", "--color=never"], "--fold, --color have no effect without --tee"),
                               (["--restart-on=3"], "--restart-on has no effect without --max-restarts")):
            run = self.launch(*options, self.worker(COUNT))
            self.expect([0], [run])
            self.assertEqual(f"launch: warning: {named}\n", run.err)

    def test_how_much_it_says(self):
        worker = self.worker("exit 3\n")
        common = ["-r3", "--max-restarts=1", f"--log-dir={self.folder}", worker]
        usual, quiet, level, verbose = (
            self.launch(*options, *common, env={"LOGLEVEL": level})
            for options, level in (([], ""), (["-q"], "DEBUG"), ([], "WARNING"), (["-v"], "")))
        self.expect([3, 3, 3, 3], [usual, quiet, level, verbose])
        said = r"launch: output of the workers is in \S+_\w{8} \(host \S+\)\n"
        time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
        restart = rf"launch: warning: rank 0 .*; restarting all workers, restart 1 of 1, at {time}\n"
        self.assertRegex(usual.err, rf"\A{said}{restart}launch: \S+ FAILED")
        for run in (quiet, level):
            self.assertRegex(run.err, rf"\A{restart}launch: \S+ FAILED")
        for step in (r"launch \S+ starts ", r"this node hosts a store at port \d+", r"1 node joined after",
                     r"rank 0 \(local rank 0\), pid \d+: started", r"pid \d+: exit code 3 after", "exit code 3"):
            self.assertRegex(verbose.err, rf"(?m)^launch: \d\d:\d\d:\d\d\.\d{{3}} .*{step}")

    def test_completion(self):
        (self.folder / "a name.py").touch()
        for shell in ("bash", "zsh", "tcsh", "fish"):
            run = self.launch("--print-completion", shell)
            self.expect([0], [run])
            self.assertIn("nproc-per-node", run.out)
            self.assertIn("launchrun", run.out)  # its second name
        script = self.folder / "complete"
        script.write_text(self.output_of("--print-completion=bash"))
        for words, expected in ((["--nproc-per"], ["--nproc-per-node"]), (["--numa-binding", "so"], ["socket"]),
                                (["--rdzv-backend", "=", "c"], ["c10d"]), (["-m", "--stand"], ["--standalone"]),
                                (["--nnodes", "2", "--node-r"], ["--node-rank"]),
                                (["--nnodes", "=", "1", ":", "4", "--node-r"], ["--node-rank"]),
                                (["--nproc_per"], ["--nproc_per_node"]), (["a n"], ["a name.py"]),
                                (["comp", "--nproc-per"], [])):
            ask = '. "$0"; COMP_WORDS=(launch "$@"); COMP_CWORD=$#; _launch; printf "%s\\n" "${COMPREPLY[@]}"'
            run = self.start(["bash", "-c", ask, script, *words], cwd=self.folder)
            self.expect([0], [run])
            self.assertEqual(expected, [word for word in run.out.split("\n") if word], words)

    def test_completion_of_fish(self):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")
        script = self.folder / "complete.fish"
        script.write_text(self.output_of("--print-completion=fish"))
        for typed, expected in (("launch --nproc-per", ["--nproc-per-node"]),
                                ("launch --nnodes 2 --node-r", ["--node-rank"]),
                                ("launch --rdzv-backend c", ["c10d"]), ("launch comp --nproc-per", []),
                                ("launchrun --nproc-per", ["--nproc-per-node"])):
            ask = f"source {script}; complete -C {typed!r}"
            run = self.start(["fish", "--no-config", "-c", ask], env={"HOME": str(self.folder)})
            self.expect([0], [run])
            self.assertEqual(expected, [line.split("\t")[0] for line in run.out.splitlines()], typed)

    def test_words_for_the_number_of_workers(self):
        usable = len(os.sched_getaffinity(0))
        self.assertEqual(usable, self.workers("--nproc-per-node=cpu"))
        first = min(os.sched_getaffinity(0))
        run = self.start(["taskset", "-c", str(first), *self.launch_words("--nproc-per-node=cpu")])
        self.expect([0], [run])
        self.assertEqual(1, len(run.out.splitlines()))

    def launch_words(self, *options):
        return [str(Settings.launch), *options, str(self.worker(COUNT))]


class Explain(JobCase):
    """--explain starts nothing and tells what would be started."""

    def test_text(self):
        run = self.launch("--explain", "--nproc-per-node=2", self.worker(': > "$TEST_FOLDER/started"\n'), "a b",
                          env={"PET_ROLE": "trainer"})
        self.expect([0], [run])
        self.assertEqual("", run.err)
        for line in ("--nproc-per-node            2  (command line)", "--role                      trainer  (PET_ROLE)",
                     "RANK=1", "ROLE_NAME=trainer", "Note: OMP_NUM_THREADS"):
            self.assertIn(line, run.out)
        self.assertIn("worker 'a b'", run.out)
        self.assertFalse((self.folder / "started").exists())

    def test_json_is_what_a_worker_gets(self):
        worker = self.worker('env > "$TEST_FOLDER/env.$RANK"\n')
        line = ["--nnodes=1", "--nproc-per-node=2", "--master-port=0", "--log-dir=/dev/null", worker]
        told = json.loads(self.output_of("--explain=json", *line))
        self.expect([0], [self.launch(*line)])
        self.assertEqual(2, len(told["workers"]))
        for worker in told["workers"]:
            env = dict(entry.split("=", 1) for entry in (self.folder / f"env.{worker['rank']}").read_text().splitlines()
                       if "=" in entry)
            for name, value in worker["environment"].items():
                self.assertEqual(value if value is not None else env[name], env[name], name)

    def test_bad_input_is_the_same_error(self):
        self.expect([2], [self.launch("--explain", "--nnodes=x", "./a")])

    def test_a_program_that_is_not_there(self):
        for options in (["--explain"], ["--explain=json"]):
            run = self.launch(*options, "nothing.py", cwd=self.folder)
            self.expect([2], [run])
            self.assertIn("nothing.py", run.out)
            self.assertEqual("launch: error: nothing.py does not exist; a job would end with exit code 127\n", run.err)


class Programs(JobCase):
    """Python scripts get an interpreter with -u, everything else is executed as it is."""

    SHOW = "import os, sys\nprint(sys.executable, sys.argv[1:], sys.orig_argv[1], os.environ['LOCAL_RANK'])\n"

    def show(self, *words, env=None, **start):
        run = self.launch(*words, env={"PYTHON_EXEC": sys.executable, **(env or {})}, cwd=self.folder, **start)
        self.expect([0], [run])
        return run.out.strip()

    def test_python_script(self):
        (self.folder / "show.py").write_text(self.SHOW)
        self.assertEqual(f"{sys.executable} ['a', '-x'] -u 0", self.show("show.py", "a", "-x"))

    def test_python_module(self):
        (self.folder / "shown").mkdir()
        (self.folder / "shown" / "__init__.py").touch()
        (self.folder / "shown" / "inside.py").write_text(self.SHOW)
        for flag in ("-m", "--module"):
            self.assertEqual(f"{sys.executable} ['a'] -u 0", self.show(flag, "shown.inside", "a"))

    def test_script_whose_first_line_names_python(self):
        self.program("#!/usr/bin/env python3\n" + self.SHOW, "tool")
        self.assertEqual(f"{sys.executable} [] -u 0", self.show("./tool"))

    def test_interpreter_of_the_virtual_environment(self):
        place = self.folder / "venv" / "bin"
        place.mkdir(parents=True)
        (place / "python").symlink_to(sys.executable)
        (self.folder / "show.py").write_text("import sys\nprint(sys.orig_argv[0])\n")
        run = self.launch("show.py", env={"VIRTUAL_ENV": str(place.parent)}, cwd=self.folder)
        self.expect([0], [run])
        self.assertEqual(str(place / "python"), run.out.strip())

    def test_interpreter_on_the_path(self):
        self.program("#!/bin/sh\necho mine $*\n", "python3")
        (self.folder / "show.py").touch()
        run = self.launch("show.py", "a", env={"PATH": f"{self.folder}:{os.environ['PATH']}"}, cwd=self.folder)
        self.expect([0], [run])
        self.assertEqual("mine -u show.py a", run.out.strip())

    def test_shell_script_without_a_flag(self):
        self.worker('echo "$0 $*"\n')
        self.assertEqual("./worker a", self.show("./worker", "a"))

    def test_run_path(self):
        (self.folder / "show.py").write_text("import sys\nprint(__name__, sys.argv)\nsys.exit(int(sys.argv[1]))\n")
        path = str(self.folder / "show.py")
        for code in (0, 5):
            run = self.launch("--run-path", "-m", "--no-python", path, str(code), env={"PYTHON_EXEC": sys.executable})
            self.expect([code], [run])
            self.assertEqual(f"__main__ {[path, str(code)]}", run.out.strip())

    def test_interpreter_of_a_conda_environment(self):
        place = self.folder / "conda" / "bin"
        place.mkdir(parents=True)
        (place / "python").symlink_to(sys.executable)
        (self.folder / "show.py").write_text("import sys\nprint(sys.orig_argv[0])\n")
        run = self.launch("show.py", env={"CONDA_PREFIX": str(place.parent)}, cwd=self.folder)
        self.expect([0], [run])
        self.assertEqual(str(place / "python"), run.out.strip())

    def test_program_on_the_path_without_python(self):
        self.assertEqual("hello 0", self.show("--no-python", "echo", "hello", "${local_rank}"))

    def test_script_args_may_look_like_ours(self):
        self.worker('echo "$*"\n')
        self.assertEqual("--nnodes 5 --log 1 -h", self.show("./worker", "--nnodes", "5", "--log", "1", "-h"))
