"""The base of tests with several hosts: LAUNCH_TEST_REPEAT repeats each of them."""
from harness import MARKER, Settings
from job import JobCase


class ClusterCase(JobCase):
    load = 1.0

    def run(self, result=None):
        """As often as --repeat says, each time in a folder of its own."""
        for _ in range(Settings.repeat):
            result = super().run(result)
        return result

    def variables(self):
        """Those that all processes of the hosts have."""
        return {MARKER: self.marker, "TEST_FOLDER": str(self.folder), "TMPDIR": str(self.folder / "tmp")}
