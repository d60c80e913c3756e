"""A shell on a node of a real Slurm, with a terminal: it has the variables of its step, and so has what it starts."""
import re

from harness import Settings, wait_for
from slurm_case import SlurmCase
from terminals import OnTerminal

SAYS_ALL = 'echo "rank $RANK of $WORLD_SIZE, node $GROUP_RANK, run $TORCHELASTIC_RUN_ID, $(hostname)"\n'


class Shell(OnTerminal, SlurmCase):
    load = 0.5

    def test_srun_with_a_terminal(self):
        worker = self.worker(SAYS_ALL)
        line = f"{Settings.launch} {worker}"
        typed = [f"{line} > here 2>&1", f"srun --overlap -N2 {line} > step 2>&1",
                 f"sbatch -N2 -o batch --wrap '{line}'", f"sbatch -N2 -o steps --wrap 'srun {line}'", "exit"]
        with self.place(2) as slurm:
            run = self.on_terminal(*slurm.on_login("srun", "-N2", "--chdir", self.folder, "--pty", "bash", "--norc"),
                                   env=slurm.environment(), stdout=self.terminal, stderr=self.terminal)
            self.press(f"{'; '.join(typed)}\n".encode())  # one line: srun would read the next one
            self.assertEqual([0], self.finish(run), self.screen().decode())
            wait_for(lambda: not slurm.ask("squeue", "-h").strip(), 60)
            text = {name: (self.folder / name).read_text() for name in ("here", "step", "batch", "steps")}
        ranks = {name: sorted(re.findall(r"rank .*", said)) for name, said in text.items()}
        two = [f"rank {rank} of 2, node {rank}, run %s, n{rank + 1}" for rank in (0, 1)]
        with self.subTest("the shell is the only one that still runs of its step"):
            self.assertRegex(ranks["here"][0], "^rank 0 of 1, node 0, run .*, n1$", text["here"])
            self.assertIn("this is the interactive shell of a Slurm step: one node", text["here"])
        with self.subTest("a step that is started from it"):
            self.assertEqual([said % "1.1" for said in two], ranks["step"], text["step"])
        with self.subTest("jobs that are submitted from it have variables of its step"):
            self.assertRegex(ranks["batch"][0], "^rank 0 of 1, node 0, ", text["batch"])
            self.assertIn("Slurm job 2 has 2 nodes, and this launch uses one of them", text["batch"])
            self.assertEqual([said % "3.0" for said in two], ranks["steps"], text["steps"])
