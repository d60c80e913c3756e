"""The base of tests with a real Slurm, whose nodes are there as long as a test needs them."""
import time

import slurm_place
from cluster_case import ClusterCase
from harness import wait_for

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

    def begin_again(self, slurm, job):
        """Lets a job begin that was put back, for which Slurm would wait for longer than a test.

        Not before the nodes have done with its last attempt, nor in the same second: they would refuse it.
        """
        def rests():
            shown = slurm.ask("scontrol", "-o", "show", "job", job)
            states = set(slurm.ask("sinfo", "-h", "-N", "-o", "%T").split())
            return "Restarts=1" in shown and "JobState=PENDING" in shown and states == {"idle"}

        def begins():
            slurm.ask("scontrol", "update", f"jobid={job}", "starttime=now")
            shown = slurm.ask("scontrol", "-o", "show", "job", job)
            return "Restarts=1" in shown and ("JobState=RUNNING" in shown or "JobState=COMPLETED" in shown)

        self.assertTrue(wait_for(rests, 60), slurm.ask("scontrol", "show", "job", job))
        ended = int(time.time())
        wait_for(lambda: int(time.time()) > ended, 2)
        self.assertTrue(wait_for(begins, 60), slurm.ask("scontrol", "show", "job", job))

    def batch(self, slurm, *words):
        """The run of sbatch with these words; it takes as long as the job, and ends as it does."""
        return self.on_login(slurm, "sh", "-c", WAITS, "sbatch", *words)
