"""Launch lines as people have them in their scripts, under torchrun and, with that one word replaced, under launch.

recipes/ has a folder each, with the lines and stand-ins for the programs; accelerate and lightning are the real ones.
"""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import unittest

import python_env
from harness import Settings, free_port, repeated
from torch_job import SECONDS, TorchCase

RECIPES = pathlib.Path(__file__).resolve().parent / "recipes"
PER_RUN = {"TORCHELASTIC_ERROR_FILE", "_"}
FRESH_ADDRESS = frozenset({"MASTER_ADDR", "MASTER_PORT"})  # a line without an address: each launcher has its own way
TWO_NODES = ({"NODE_RANK": "0", "PORT": "{port}"}, {"NODE_RANK": "1", "PORT": "{port}"})


@dataclasses.dataclass(frozen=True)
class Recipe:
    script: str
    world: int
    nodes: tuple = ({},)  # the variables of each node; {port} becomes the job's port
    arguments: tuple = ()
    own: frozenset = frozenset()  # variables that may differ from run to run
    facts: dict = dataclasses.field(default_factory=dict)  # what every rank must report
    heard: tuple = None  # ranks whose lines come to the console; None for all
    prefix: str = ""
    real: bool = False  # the program is no stand-in: it needs python_env's packages
    lacks: str = ""  # what launch cannot do yet: the test must fail, and says so when it no longer does


def kubeflow(rank, size, **more):
    """What Kubeflow's training operator gives a pod of a PyTorchJob of two."""
    return {"PYTHONUNBUFFERED": "1", "MASTER_PORT": "{port}", "MASTER_ADDR": "localhost", "RANK": str(rank),
            "WORLD_SIZE": str(2 * size), "PET_NPROC_PER_NODE": str(size), **more}


def kubeflow_static(rank):
    return kubeflow(rank, 2, PET_MASTER_PORT="{port}", PET_MASTER_ADDR="localhost", PET_NODE_RANK=str(rank),
                    PET_NNODES="2")


def kubeflow_elastic(rank):
    return kubeflow(rank, 1, PET_RDZV_BACKEND="c10d", PET_RDZV_ENDPOINT="localhost:{port}", PET_RDZV_ID="mnist",
                    PET_RDZV_CONF="timeout=600", PET_NNODES="2:2", PET_MAX_RESTARTS="3")


SLURM = {"SLURM_JOB_ID": "4711", "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "node[1-2]", "MASTER_PORT": "{port}"}
ONE_NODE = FRESH_ADDRESS | {"TORCHELASTIC_RUN_ID"}

TABLE = {
    "accelerate": Recipe("accelerate/run.sh", 2, own=ONE_NODE, real=True, facts={
        "kind": "DistributedType.MULTI_CPU", "backend": "gloo", "processes": 2, "batches": 4}),
    "lightning": Recipe("lightning/run.sh", 2, own=ONE_NODE, real=True, facts={
        "kind": "TorchElasticEnvironment", "external": True, "steps": 4}),
    "transformers_trainer": Recipe("trainer/run.sh", 2, own=ONE_NODE, facts={"total_train_batch_size": 64}),
    "torchtitan": Recipe("torchtitan/run_train.sh", 2, ({"NGPU": "2", "LOG_RANK": "0"},), ("--training.steps", "1"),
                         own=FRESH_ADDRESS, heard=(0,), prefix="[rank{rank}]:", facts={
        "package": "torchtitan",
        "arguments": ["--module", "llama3", "--config", "llama3_debugmodel", "--training.steps", "1"]}),
    "megatron": Recipe("megatron/train_gpt3.sh", 4, TWO_NODES, ("checkpoints", "logs", "my_text_document"),
                       facts={"data_parallel": 1}),
    "nanogpt_on_one_node": Recipe("nanogpt/one_node.sh", 4, own=ONE_NODE, facts={
        "settings": {"batch_size": 12, "gradient_accumulation_steps": 10}}),
    "nanogpt_on_two_nodes": Recipe("nanogpt/two_nodes.sh", 4, TWO_NODES, facts={
        "settings": {"batch_size": 6, "gradient_accumulation_steps": 10}}),
    "deepspeed": Recipe("deepspeed/run.sh", 2, TWO_NODES, facts={"stage": 2, "local_rank_flag": -1}),
    "kubeflow": Recipe("kubeflow/command.sh", 4, (kubeflow_static(0), kubeflow_static(1))),
    "kubeflow_elastic": Recipe("kubeflow/command.sh", 2, (kubeflow_elastic(0), kubeflow_elastic(1)),
                               own=frozenset({"MASTER_ADDR", "MASTER_PORT"})),
    "slurm": Recipe("slurm/job.sh", 2, (SLURM,), facts={"arguments": ["--job", "4711"]}),
    "slurm_elastic": Recipe("slurm/elastic_job.sh", 2, (SLURM,),
                            own=frozenset({"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"}),
                            facts={"arguments": ["--job", "4711"]}),
    "node_rank_by_address": Recipe("by_address/train.sh", 2, tuple(
        {"NODE_ADDRESS": f"127.0.0.{number}", "PORT": "{port}"} for number in (2, 3)), ("--config", "a b"),
        facts={"arguments": ["--config", "a b"]}),
}


class Recipes(TorchCase):
    def lay_out(self, launcher):
        """The recipes as they are run: at the same place for both, with launch's name instead of torchrun's."""
        place = self.folder / "recipes"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(RECIPES, place)
        (place / "bin").mkdir()
        (place / "reports").mkdir()
        (place / "bin" / launcher).symlink_to(Settings.launch if launcher == "launch" else self.torchrun())
        if launcher == "launch":
            for script in place.glob("*/*.sh"):
                text, words = re.subn(r"\btorchrun\b", launcher, script.read_text())
                self.assertEqual(words, 1, f"{script} should have the word torchrun once")
                script.write_text(text)
            self.program('#!/bin/sh\necho "torchrun is not what is tested" >&2\nexit 99\n', "recipes/bin/torchrun")
        return place

    def start_nodes(self, launcher, recipe, port):
        """One run a node, each in an active virtual environment."""
        place = self.lay_out(launcher)
        folder = (place / recipe.script).parent
        python = self.python("2.13")
        env = {"PATH": os.pathsep.join(map(str, [place / "bin", folder / "bin", python.parent, os.environ["PATH"]])),
               "VIRTUAL_ENV": str(python.parent.parent), "PYTHONPATH": str(place),
               "REPORT_FOLDER": str(place / "reports")}
        return [self.start([place / recipe.script, *recipe.arguments], cwd=folder,
                           env={**env, **{name: value.format(port=port) for name, value in node.items()}})
                for node in recipe.nodes]

    def facts(self, launcher, recipe, port):
        """What each rank reported, less what differs between any two runs; in order of rank."""
        runs = self.start_nodes(launcher, recipe, port)
        self.expect([0] * len(runs), runs, seconds=SECONDS)
        reports = {int(path.stem): json.loads(path.read_text())
                   for path in (self.folder / "recipes" / "reports").glob("*.json")}
        self.assertEqual(sorted(reports), list(range(recipe.world)), f"{launcher}: the ranks that reported")
        self.check_console(launcher, recipe, reports, runs)
        for report in reports.values():
            for name in PER_RUN | recipe.own:
                report["environment"].pop(name, None)
        return [reports[rank] for rank in range(recipe.world)]

    def check_console(self, launcher, recipe, reports, runs):
        """Each line that ranks wrote comes once, by the stream that it was written to, unless its rank is muted."""
        for stream, start, fact in (("out", "loss of rank ", "loss"), ("err", "note of rank ", "sum")):
            heard = [line for run in runs for line in getattr(run, stream).splitlines() if start in line]
            wanted = [f"{recipe.prefix.format(rank=rank)}{start}{rank}: {report[fact]}"
                      for rank, report in reports.items() if recipe.heard is None or rank in recipe.heard]
            self.assertEqual(sorted(wanted), sorted(heard), f"{launcher}: standard {stream}")

    def check(self, recipe):
        missing = python_env.missing(self.python("2.13")) if recipe.real else []
        self.need(not missing, f"{', '.join(missing)} (tests/interop/python_env.py installs it)")
        port = free_port()
        theirs = self.facts("torchrun", recipe, port)
        ours = self.facts("launch", recipe, port)
        for rank, (expected, found) in enumerate(zip(theirs, ours)):
            self.assertEqual(str(rank), found["environment"]["RANK"])
            self.assertEqual(recipe.world * (recipe.world + 1) / 2, found["sum"], f"rank {rank}: sum of all ranks")
            for name, value in recipe.facts.items():
                self.assertEqual(value, found[name], f"rank {rank}: {name}")
            self.assert_same(rank, expected, found)

    def assert_same(self, rank, expected, found):
        theirs, ours = expected.pop("environment"), found.pop("environment")
        for name in sorted(theirs.keys() | ours.keys()):
            self.assertEqual(theirs.get(name), ours.get(name), f"rank {rank}: {name}")
        self.assertEqual(expected, found, f"rank {rank}")


def add_tests():
    """One test a recipe, so that each can be run and repeated alone."""
    for name, recipe in TABLE.items():
        def body(self, recipe=recipe):
            self.check(recipe)
        body.__name__ = f"test_{name}"
        test = repeated(body)
        setattr(Recipes, body.__name__, unittest.expectedFailure(test) if recipe.lacks else test)


add_tests()
