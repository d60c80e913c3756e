"""Stories of failure that need a process group or a data loader of PyTorch; cli/test_stories has the others."""
from harness import ROOT
from torch_job import WORKERS, TorchCase
from verdicts import Stories


class TorchStories(Stories, TorchCase):
    folders = {WORKERS: "WORKERS", ROOT / "build" / "venv": "VENV"}

    def play(self, name, how, says=(), any_rank=False, env=None):
        runs = self.job([2, 2], WORKERS / "stories.py", how, python=self.python("2.13"), env=env)
        self.check_story(name, runs, 1, says, any_rank)

    def test_an_exception_in_rank_0_while_the_others_wait(self):
        self.play("an exception in rank 0, while the others wait", "raises",
                  says=[r"\n  root cause +rank 0 .*exit code 1\n", "\n  error +ValueError: bad batch 3\n"])

    def test_the_early_end_of_one_rank(self):
        self.play("one rank ends early", "ends_early", any_rank=True,
                  says=[r"\): rank 1 has ended; rank \d lost its connection\n",
                        r"\n  ended +rank 1 on node 0 \(host HOST\): exit code 0(, SOME TIME before the failure)?\n"])

    def test_a_collective_times_out_since_one_rank_sleeps(self):
        title = r"\): rank 3 did not come; rank 2 timed out waiting\n"
        logs = r"\n  logs +node \d \(host HOST\): FOLDER/tmp/"  # where evidence.txt is
        rank_3 = r"\n  did not come   rank 3 on node 1 \(host HOST\): "
        self.play("a collective times out, one rank sleeps", "sleeps", any_rank=True,
                  says=[title, logs, rank_3 + r"alive, sleeping \(S\)"])
        self.play("a collective times out, and one loses its connections", "sleeps_and_one_loses", any_rank=True,
                  says=[title.replace("rank 2", "rank [02]"), logs, rank_3 + r"alive, sleeping \(S\)",
                        r"\n  lost its peer  rank 1 "])
        recorders = {"TORCH_FR_BUFFER_SIZE": "100", "TORCH_FR_DUMP_TEMP_FILE": f"{self.folder}/trace_"}
        self.play("a collective times out, and flight recorders tell", "sleeps", any_rank=True, env=recorders,
                  says=[title, logs, rank_3 + "has begun 3 collectives; others have begun 4\n"])

    def test_a_data_loader_is_killed(self):
        self.play(None, "loses_a_loader", says=[
            r"\n  root cause     rank 1 .* on node 0", r"\n  error .*\n?.* RuntimeError: DataLoader worker \(pid"])
