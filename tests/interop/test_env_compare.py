"""The same two-node command line under torchrun and under launch: workers must not be able to tell which it was."""
import json

from harness import MARKER, Settings
from torch_job import SECONDS, WORKERS, TorchCase

# What differs from one run to the next under either launcher.
PER_RUN = {"MASTER_PORT", "TORCHELASTIC_ERROR_FILE", "DUMP_FOLDER", MARKER, "TEST_FOLDER", "_"}
FACTS = ["arguments", "command", "folder", "umask", "nice", "cpus", "masks", "blocked", "descriptors"]


class SameForWorkers(TorchCase):
    def dumps(self, launcher, sizes, env, options):
        """What each rank saw, in order of rank."""
        place = self.folder / f"dump-{launcher.name}"
        place.mkdir(exist_ok=True)
        runs = self.job(sizes, *options, WORKERS / "env_dump.py", "a", "b c", "${local_rank}", "$$x",
                        python=self.python("2.13"), launchers=[launcher] * len(sizes),
                        env={**env, "DUMP_FOLDER": str(place)})
        self.expect([0] * len(sizes), runs, seconds=SECONDS)
        return [json.loads((place / f"{rank}.json").read_text()) for rank in range(sum(sizes))]

    def assert_same(self, sizes, env=None, options=()):
        theirs = self.dumps(self.torchrun(), sizes, env or {}, options)
        ours = self.dumps(Settings.launch, sizes, env or {}, options)
        for rank, (expected, found) in enumerate(zip(theirs, ours)):
            for name in sorted((expected["environment"].keys() | found["environment"].keys()) - PER_RUN):
                self.assertEqual(expected["environment"].get(name), found["environment"].get(name),
                                 f"rank {rank}: {name}")
            for fact in FACTS:
                self.assertEqual(self.plain(expected[fact]), self.plain(found[fact]), f"rank {rank}: {fact}")
            self.assertEqual(found["pid"], found["session"])
            self.assertEqual(found["pid"], found["group"])
            self.assertTrue(found["environment"]["TORCHELASTIC_ERROR_FILE"].endswith(
                f"/attempt_0/{found['environment']['LOCAL_RANK']}/error.json"))

    @staticmethod
    def plain(fact):
        """Output files have other names in each run; that they are files must not differ."""
        return {key: value["kind"] for key, value in fact.items()} if isinstance(fact, dict) and "0" in fact else fact

    def test_two_nodes(self):
        self.assert_same([2, 2])

    def test_unequal_nodes_with_name_and_role(self):
        self.assert_same([2, 1], options=["--rdzv_id=job7", "--role=trainer"])

    def test_variables_of_the_user(self):
        self.assert_same([2, 2], env={"OMP_NUM_THREADS": "3", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0", "FOO": "a=b",
                                      "CUDA_VISIBLE_DEVICES": "1,0", "RANK": "77", "EMPTY": ""})

    def test_variables_of_the_launcher(self):
        self.assert_same([2, 2], env={"PET_ROLE": "r", "PET_RDZV_ID": "i", "TORCH_ELASTIC_WORKER_IDENTICAL": "1"})
