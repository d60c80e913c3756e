"""launch in steps of a real Slurm: without an option it does what was meant, or says why not."""
import re

import processes
import slurm_place
from code_blocks import blocks_with
from harness import Settings, wait_for
from job import SLEEP, UP
from slurm_case import SlurmCase

WHOLE = "#!/bin/bash\n#SBATCH --nodes"  # the beginning of the first script in docs/clusters.md
SAYS_ALL = ('echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK, node $GROUP_RANK, run $TORCHELASTIC_RUN_ID, '
            '$(hostname)"\n')


class Slurm(SlurmCase):
    def test_srun_starts_one_job_on_all_nodes(self):
        worker = self.worker(SAYS_ALL)
        with self.place(4) as slurm:
            run = self.on_login(slurm, "srun", "-N4", Settings.launch, worker)
            self.expect([0], [run], seconds=60)
            self.assertEqual([f"rank {rank} of 4, local 0, node {rank}, run 1.0, n{rank + 1}" for rank in range(4)],
                             sorted(run.out.splitlines()), str(run))
            for rank in range(4):
                self.assert_says(run, rf"Slurm step 1\.0: 4 nodes, this is node {rank} \(n{rank + 1}\), node 0 is n1")
            with self.subTest("with workers, on two of the nodes, by c10d"):
                run = self.on_login(slurm, "srun", "-N2", "-w", "n[3-4]", Settings.launch, "--rdzv-backend=c10d",
                                    "--nproc-per-node=2", worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual({f"rank {rank} of 4" for rank in range(4)}, set(re.findall(r"rank \d+ of 4", run.out)))
                self.assertEqual({"n3", "n4"}, set(re.findall(r"n\d$", run.out, flags=re.M)))
            with self.subTest("a failure ends the step on all nodes"):
                fails = self.worker(UP, '[ "$RANK" = 2 ] && exit 3\n', SLEEP, name="fails")
                run = self.on_login(slurm, "srun", "-N4", Settings.launch, fails)
                self.expect([3], [run], seconds=60)
                self.assert_says(run, "root cause +rank 2 ")
            with self.subTest("what contradicts"):
                run = self.on_login(slurm, "srun", "-N2", Settings.launch, "--nnodes=3", worker)
                self.expect([2], [run], seconds=60)
                self.assert_says(run, r"--nnodes 3, but the Slurm step has 2 nodes \(SLURM_STEP_NUM_NODES\)")
            with self.subTest("several tasks on a node"):
                run = self.on_login(slurm, "srun", "-N2", "-w", "n[1-2]", "--ntasks-per-node=2", Settings.launch,
                                    worker)
                self.expect([0], [run], seconds=60)
                for rank in range(4):
                    self.assertRegex(run.out, f"rank {rank} of 4, local {rank % 2}, node {rank // 2}, "
                                              f".*n{rank // 2 + 1}")
            with self.subTest("tasks that are dealt out in turns, and not as many on each node"):
                run = self.on_login(slurm, "srun", "-N3", "-n4", "-m", "cyclic", Settings.launch, worker)
                self.expect([0], [run], seconds=60)
                self.assertEqual(["rank 0 of 4, local 0, node 0", "rank 1 of 4, local 1, node 0",
                                  "rank 2 of 4, local 0, node 1", "rank 3 of 4, local 0, node 2"],
                                 sorted(re.findall(r"rank .* node \d", run.out)), str(run))
                self.assert_says(run, "so task 3 has rank 1")
            with self.subTest("as many workers as tasks, times tasks"):
                run = self.on_login(slurm, "srun", "-N2", "--ntasks-per-node=2", Settings.launch, "--nproc-per-node=2",
                                    worker)
                self.expect([2], [run], seconds=60)
                self.assert_says(run, "--nproc-per-node 2 means 2 workers, but there are 2 launches on this node")

    def test_a_batch_script(self):
        worker = self.worker(SAYS_ALL)
        script = self.program("#!/bin/bash\n#SBATCH --nodes=3\n"
                              f"{Settings.launch} {worker}\n"
                              f"srun {Settings.launch} {worker}\n"
                              f"srun -N2 -n2 {Settings.launch} --nnodes=1:2 --rdzv-backend=c10d {worker}\n"
                              f"sbatch -N1 -o {self.folder}/inner.out --wrap '{Settings.launch} {worker}'\n"
                              f"srun -N2 -n2 sbatch -N2 -o {self.folder}/leaked.%j.out"
                              f" --wrap '{Settings.launch} {worker}'\n", "job.sh")
        with self.place(4) as slurm:
            out = self.folder / "job.out"
            run = self.batch(slurm, "-o", out, script)
            self.expect([0], [run], seconds=90)
            text = out.read_text()
            with self.subTest("the script itself"):
                self.assertIn("Slurm job 1 has 3 nodes, and this launch uses one of them", text)
                self.assertEqual(1, text.count("rank 0 of 1, local 0, node 0"))
            with self.subTest("its steps"):
                for rank in range(3):
                    self.assertIn(f"rank {rank} of 3, local 0, node {rank}, run 1.0, n{rank + 1}", text)
                for rank in range(2):
                    self.assertIn(f"rank {rank} of 2, local 0, node {rank}, run 1.1, n{rank + 1}", text)
            with self.subTest("jobs that were submitted from it, and from a step"):
                wait_for(lambda: not slurm.ask("squeue", "-h").strip(), 60)
                for file in self.folder.glob("*.out"):
                    if file.name != "job.out":
                        self.assertIn("rank 0 of 1, local 0, node 0", file.read_text(), file.name)
                self.assertEqual(3, len(list(self.folder.glob("leaked.*.out"))) + 1)

    def test_the_scripts_of_the_documents(self):
        """As they stand, but for the GPUs. Step 8.0 of the text is the first one of another job here."""
        blocks = {beginning: blocks_with("docs/clusters.md", beginning)[0].text
                  for beginning in (WHOLE, "launch: Slurm step", "srun launch --rdzv-backend",
                                    "srun --ntasks-per-node")}
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "launch").symlink_to(Settings.launch)
        self.program(slurm_place.TRAIN, "train.py")
        whole = self.program(re.sub("#SBATCH --gpus.*\n", "", blocks[WHOLE]) + "\n", "whole.sh")
        elastic = self.program("#!/bin/bash\n#SBATCH --nodes=4\n" + blocks["srun launch --rdzv-backend"], "elastic.sh")
        with self.place(4) as slurm:
            slurm.env["PATH"] = f"{self.folder}/bin:{slurm.environment()['PATH']}"
            for number, script in enumerate((whole, elastic), 1):
                run = self.batch(slurm, f"--chdir={self.folder}", "-o", f"{script}.out", script)
                self.expect([0], [run], seconds=90)
                with open(f"{script}.out", encoding="utf-8") as file:
                    text = file.read()
                self.assertEqual([f"{rank} of 4" for rank in range(4)], sorted(re.findall(r"\d of \d", text)), text)
                self.assertIn(blocks["launch: Slurm step"].replace("8.0", f"{number}.0"), text)
            line = blocks["srun --ntasks-per-node"].replace(" --gpus-per-task=1", "").replace("=8", "=2")
            run = self.on_login(slurm, "sh", "-c", f"cd {self.folder} && {line.replace('srun', 'srun -N4', 1)}")
            self.expect([0], [run], seconds=60)
            self.assertEqual([f"{rank} of 8" for rank in range(8)], sorted(run.out.splitlines()), str(run))

    def test_scancel_leaves_nothing(self):
        worker = self.worker(UP, SLEEP)
        with self.place(2) as slurm:
            run = self.on_login(slurm, "srun", "-N2", Settings.launch, "--nproc-per-node=2", worker)
            wait_for(lambda: len(self.up()) == 4, 30)
            slurm.ask("scancel", "1")
            self.expect([143], [run], seconds=30)  # Slurm tells the workers, too, and that is no failure of theirs
            self.assert_says(run, r"STOPPED \(run id 1\.0\): .*launch was told to stop by SIGTERM")
            self.assertNotIn("FAILED", run.err)
            wait_for(lambda: not slurm.ask("squeue", "-h").strip(), 30)
            self.assertEqual([], [pid for pid in self.leftovers() if processes.command_of(pid).endswith("sleep 300")])
