"""What else a real Slurm does to jobs: several at once, heterogeneous ones, time limits, and starting again."""
import re
import sys

import processes
from code_blocks import blocks_with
from harness import Settings, wait_for
from job import SLEEP, UP
from slurm_case import SlurmCase

SAVES = """import os, pathlib, signal, sys
rank, size, run = (os.environ[name] for name in ("RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"))
os.write(1, f"{rank} of {size} in {run}\\n".encode())
if not run.endswith(".r1"):
    def save(*_):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # which launch passes on, and Slurm may send to all processes
        sys.exit(0)
    signal.signal(signal.SIGUSR1, save)
    pathlib.Path(os.environ["TEST_FOLDER"], f"up.{rank}").touch()
    signal.pause()
"""
SAYS_ALL = 'echo "rank $RANK of $WORLD_SIZE, node $GROUP_RANK, run $TORCHELASTIC_RUN_ID, $(hostname)"\n'


class SlurmJobs(SlurmCase):
    load = 0.2  # Slurm waits most of the time

    def test_several_at_once_on_the_same_nodes(self):
        worker = self.worker(SAYS_ALL)
        steps = self.program("#!/bin/bash\n" + f"srun -n3 --overlap {Settings.launch} {worker} &\n" * 3 + "wait\n",
                             "steps.sh")
        with self.place(3) as slurm:
            with self.subTest("an array"):
                run = self.batch(slurm, "-N3", "-n3", "--array=1-3",
                                    "-o", self.folder / "array.%a", "--wrap", f"srun {Settings.launch} {worker}")
                self.expect([0], [run], seconds=90)
                runs = set()
                for index in (1, 2, 3):
                    text = (self.folder / f"array.{index}").read_text()
                    for rank in range(3):
                        self.assertRegex(text, rf"rank {rank} of 3, node {rank}, run \d+\.0, n{rank + 1}\n")
                    runs |= set(re.findall(r"run (\d+\.0)", text))
                self.assertEqual(3, len(runs))
            with self.subTest("steps of one job"):
                run = self.batch(slurm, "-N3", "-n3", "-o", self.folder / "steps.out", steps)
                self.expect([0], [run], seconds=90)
                text = (self.folder / "steps.out").read_text()
                for rank in range(3):
                    self.assertEqual(3, text.count(f"rank {rank} of 3, node {rank}, run "), text)
                self.assertEqual(3, len(set(re.findall(r"run (\d+\.\d)", text))))

    def test_a_heterogeneous_job(self):
        """One step over both components: nodes and tasks are counted over all of it."""
        worker = self.worker(SAYS_ALL)
        with self.place(3) as slurm:
            run = self.on_login(slurm, "salloc", "-N1", ":", "-N2", "srun", "--het-group=0,1", Settings.launch, worker)
            self.expect([0], [run], seconds=60)
            self.assertEqual([f"rank {rank} of 3, node {rank}" for rank in range(3)],
                             sorted(re.findall(r"rank \d of 3, node \d", run.out)), str(run))

    def test_a_job_that_is_started_again(self):
        """scontrol requeue: the next attempt has another run id, so that it never meets what is left of this one."""
        worker = self.worker('echo "$TORCHELASTIC_RUN_ID" >> "$TEST_FOLDER/ran"\n', UP,
                             '[ -e "$TEST_FOLDER/again" ] && exit 0\n', SLEEP)
        with self.place(2) as slurm:
            slurm.ask("sbatch", "--requeue", "-N2", "-o", self.folder / "out", "--wrap",
                      f"srun {Settings.launch} {worker}")
            self.assertTrue(wait_for(lambda: len(self.up()) == 2, 30), "they have not started")
            (self.folder / "again").touch()
            slurm.ask("scontrol", "requeue", "1")
            self.begin_again(slurm, "1")
            self.assertTrue(wait_for(lambda: "JobState=COMPLETED" in slurm.ask("scontrol", "show", "job", "1"), 60))
            self.assertEqual({"1.0", "1.0.r1"}, set((self.folder / "ran").read_text().split()))

    def test_a_gpu_for_each_task(self):
        """Slurm shows each task its own; four files stand for those of a node."""
        worker = self.worker('echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK, node $GROUP_RANK, '
                             'GPU $CUDA_VISIBLE_DEVICES, $(hostname)"\n')
        with self.place(2, gpus=4) as slurm:
            with self.subTest("one launch for each"):
                run = self.on_login(slurm, "srun", "-N2", "--ntasks-per-node=2", "--gpus-per-task=1", Settings.launch,
                                    worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual([f"rank {rank} of 4, local 0, node {rank // 2}, GPU {rank % 2}, n{rank // 2 + 1}"
                                  for rank in range(4)], sorted(run.out.splitlines()), str(run))
            with self.subTest("one launch for all of a node"):
                run = self.on_login(slurm, "srun", "-N2", "--gpus-per-task=2", Settings.launch,
                                    "--nproc-per-node=2", worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual([f"rank {rank} of 4, local {rank % 2}, node {rank // 2}, GPU 0,1, n{rank // 2 + 1}"
                                  for rank in range(4)], sorted(run.out.splitlines()), str(run))

    def test_a_job_that_is_warned(self):
        """The script of the document, as it stands: its workers save, and Slurm starts it again."""
        (block,) = blocks_with("docs/clusters.md", "#!/bin/bash\n#SBATCH --time")
        self.program(f"#!{sys.executable}\n" + SAVES, "train.py")
        script = self.program(block.text, "job.sh")
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "launch").symlink_to(Settings.launch)
        with self.place(4) as slurm:
            slurm.env["PATH"] = f"{self.folder}/bin:{slurm.environment()['PATH']}"
            slurm.ask("sbatch", f"--chdir={self.folder}", "--open-mode=append", "-o", self.folder / "out", script)
            self.assertTrue(wait_for(lambda: len(self.up()) == 4, 30), "they have not started")
            slurm.ask("scancel", "-s", "USR1", "1")
            self.begin_again(slurm, "1")
            ended = wait_for(lambda: "JobState=COMPLETED" in slurm.ask("scontrol", "show", "job", "1"), 60)
        text = (self.folder / "out").read_text()
        self.assertTrue(ended, text)
        self.assertIn("exit code 75 in place of 0: the scheduler should start the job again", text)
        self.assertEqual(sorted(f"{rank} of 4 in 1.0{again}" for rank in range(4) for again in ("", ".r1")),
                         sorted(re.findall(r"\d of 4 in \S+", text)), text)

    def test_the_time_is_up(self):
        """Slurm warns by a signal, which workers get, and ends the job some time later."""
        saves = self.worker("trap 'touch \"$TEST_FOLDER/saved.$RANK\"; exit 0' USR1\n", UP,
                            "while :; do sleep 0.1; done\n")
        with self.place(2) as slurm:
            run = self.on_login(slurm, "srun", "-N2", "--time=1", "--signal=USR1@55", Settings.launch, saves)
            self.assertTrue(wait_for(lambda: len(self.up()) == 2, 30), "they have not started")
            self.expect([0], [run], seconds=90)
            self.assertEqual(2, len(list(self.folder.glob("saved.*"))))
            with self.subTest("the batch script is warned alone, and hands it on"):
                for path in [*self.folder.glob("saved.*"), *self.folder.glob("up.*")]:
                    path.unlink()
                script = self.program("#!/bin/bash\n"
                                      f"srun {Settings.launch} --preempt-signal=SIGUSR1 {saves} &\n"
                                      "trap 'kill -USR1 $!' USR1\n"
                                      "wait $!  # until the signal\nwait $!\n", "job.sh")
                run = self.batch(slurm, "-N2", "--time=1", "--signal=B:USR1@55", "-o", self.folder / "out", script)
                self.assertTrue(wait_for(lambda: len(self.up()) == 2, 30), "they have not started")
                self.finish(run, seconds=90)
                text = (self.folder / "out").read_text()
                self.assertEqual(0, run.code, text)
                self.assertEqual(2, len(list(self.folder.glob("saved.*"))), text)

    def test_a_step_that_slurm_ends_at_the_first_bad_exit(self):
        fails = self.worker(UP, '[ "$RANK" = 1 ] && exit 3\n', SLEEP)
        with self.place(2) as slurm:
            run = self.on_login(slurm, "srun", "-N2", "--kill-on-bad-exit=1", Settings.launch, fails)
            self.finish(run, seconds=60)
            self.assertIn(run.wait(0), (3, 143), str(run))  # Slurm's own signal to the other node may come first
            self.assert_says(run, "root cause +rank 1 .*exit code 3")
            self.assertNotIn("STOPPED", run.err)
            wait_for(lambda: not any("slurmstepd" in processes.command_of(pid) for pid in self.leftovers()), 30)
