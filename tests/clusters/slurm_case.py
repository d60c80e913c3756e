"""The base of tests with a real Slurm, whose nodes are there as long as a test needs them."""
import slurm_place
from harness import MARKER
from job import JobCase


class SlurmCase(JobCase):
    load = 1.0

    def setUp(self):
        super().setUp()
        self.need(not slurm_place.missing(), f"Slurm ({slurm_place.missing()})")

    def place(self, count):
        return slurm_place.SlurmPlace(self.folder, count, {MARKER: self.marker, "TEST_FOLDER": str(self.folder),
                                                           "TMPDIR": str(self.folder / "tmp")})

    def on_login(self, slurm, *command):
        return self.start(slurm.on_login(*command), env=slurm.environment())
