"""Nothing that workers of a round send reaches the store of the next one, whoever sends it and whenever.

LAUNCH_CUT_ROUNDS says how many rounds follow one another (2).
"""
import os
import pathlib

import old_requests
from harness import wait_for
from job import JobCase

TALKER = pathlib.Path(__file__).parent / "workers" / "talker.py"
COUNT = int(os.environ.get("LAUNCH_CUT_ROUNDS", 2))


class OldRequests(JobCase):
    builds = ("release",)

    def look(self, form):
        """A job of two nodes, one of which has the store, with two workers each."""
        keeper = old_requests.Keeper(self.folder / "keeper")
        keeper.start()
        self.addCleanup(keeper.end)
        runs = form(TALKER, COUNT, options=[f"--max-restarts={COUNT}", "--shutdown-timeout=1"])
        codes = self.finish(*runs, seconds=60 + 10 * COUNT)
        seen = {path.name: path.read_text() for path in self.folder.glob("seen.*")}
        self.assertEqual(({}, [0, 0]), (seen, codes), "\n".join(map(str, runs)))
        self.assertTrue(wait_for(lambda: not keeper.open, 20), f"{len(keeper.open)} connections are still open")
        self.assertEqual(3 * 4 * (COUNT + 1), keeper.taken)

    def test_static(self):
        self.look(lambda *command, options: self.nodes([2, 2], *command, options=options))

    def test_c10d(self):
        self.look(lambda *command, options: self.elastic(2, *command, nproc=2, options=options))
