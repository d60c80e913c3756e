"""The base of tests with a real Slurm, whose nodes are there as long as a test needs them."""
import slurm_place
from cluster_case import ClusterCase

# As sbatch --wait, which asks after 2, 10 and 42 seconds only. Of an array the highest code counts.
WAITS = r"""job=$(sbatch --parsable "$@") || exit 1
until left=$(squeue -h -j "$job") && [ -z "$left" ]; do sleep 0.2; done
exit "$(scontrol -o show job "$job" | sed 's/.* ExitCode=\([0-9]*\):\([0-9]*\) .*/\1 \2/' |
        awk '{ code = $2 ? 128 + $2 : $1; if (code > most) most = code } END { print most + 0 }')"
"""


class SlurmCase(ClusterCase):
    def setUp(self):
        super().setUp()
        self.need(not slurm_place.missing(), f"Slurm ({slurm_place.missing()})")

    def place(self, count, **options):
        return slurm_place.SlurmPlace(self.folder, count, self.variables(), **options)

    def on_login(self, slurm, *command):
        return self.start(slurm.on_login(*command), env=slurm.environment())

    def batch(self, slurm, *words):
        """The run of sbatch with these words; it takes as long as the job, and ends as it does."""
        return self.on_login(slurm, "sh", "-c", WAITS, "sbatch", *words)
