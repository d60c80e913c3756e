"""The recipes of test_recipes.py: launch lines as people have them in their scripts, and what their workers report.

tests/recipes has a folder each, with the lines and stand-ins for the programs; accelerate and lightning are the real
ones.
"""
import dataclasses
import hashlib
import json
import math
import pathlib
import re
import shutil

from bench import Line

RECIPES = pathlib.Path(__file__).resolve().parents[1] / "recipes"
PER_RUN = {"TORCHELASTIC_ERROR_FILE", "_"}
FRESH_ADDRESS = frozenset({"MASTER_ADDR", "MASTER_PORT"})  # a line without an address: each launcher has its own way
TWO_NODES = ({"NODE_RANK": "0", "PORT": "@PORT@"}, {"NODE_RANK": "1", "PORT": "@PORT@"})
STREAMS = (("out", "loss of rank ", "loss"), ("err", "note of rank ", "sum"))


@dataclasses.dataclass(frozen=True)
class Recipe:
    script: str
    world: int
    nodes: tuple = ({},)  # the variables of each node; @PORT@ becomes the job's port
    arguments: tuple = ()
    own: frozenset = frozenset()  # variables that may differ from run to run
    facts: dict = dataclasses.field(default_factory=dict)  # what every rank must report
    heard: tuple = None  # ranks whose lines come to the console; None for all
    prefix: str = ""
    real: bool = False  # the program is no stand-in: it needs python_env's packages


def kubeflow(rank, size, **more):
    """What Kubeflow's training operator gives a pod of a PyTorchJob of two."""
    return {"PYTHONUNBUFFERED": "1", "MASTER_PORT": "@PORT@", "MASTER_ADDR": "localhost", "RANK": str(rank),
            "WORLD_SIZE": str(2 * size), "PET_NPROC_PER_NODE": str(size), **more}


def kubeflow_static(rank):
    return kubeflow(rank, 2, PET_MASTER_PORT="@PORT@", PET_MASTER_ADDR="localhost", PET_NODE_RANK=str(rank),
                    PET_NNODES="2")


def kubeflow_elastic(rank):
    return kubeflow(rank, 1, PET_RDZV_BACKEND="c10d", PET_RDZV_ENDPOINT="localhost:@PORT@", PET_RDZV_ID="mnist",
                    PET_RDZV_CONF="timeout=600", PET_NNODES="2:2", PET_MAX_RESTARTS="3")


SLURM = {"SLURM_JOB_ID": "4711", "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "node[1-2]", "MASTER_PORT": "@PORT@"}
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
        {"NODE_ADDRESS": f"127.0.0.{number}", "PORT": "@PORT@"} for number in (2, 3)), ("--config", "a b"),
        facts={"arguments": ["--config", "a b"]}),
}


@dataclasses.dataclass(frozen=True)
class RecipeLine(Line):
    recipe: Recipe = None

    def commands(self, bench, outcome, side, real):
        """One script a node, each in an active virtual environment."""
        place = lay_out(outcome.folder, bench.launcher(side), side)
        folder = (place / self.recipe.script).parent
        env = bench.environment(outcome.folder)
        env.update({"PATH": f"{place}/bin:{folder}/bin:{env['PATH']}", "PYTHONPATH": str(place),
                    "REPORT_FOLDER": f"{place}/reports"})
        for node in self.recipe.nodes:
            yield ([str(place / self.recipe.script), *self.recipe.arguments],
                   {**env, **{name: real(value) for name, value in node.items()}}, str(folder))

    @property
    def asked(self):
        """What is run, for the record."""
        script = (RECIPES / self.recipe.script).read_bytes()
        return {"script": self.recipe.script, "digest": hashlib.sha256(script).hexdigest()[:32],
                "arguments": list(self.recipe.arguments), "environments": list(self.recipe.nodes)}


def table():
    return [RecipeLine(name, (), nodes=((),) * len(recipe.nodes), recipe=recipe) for name, recipe in TABLE.items()]


def lay_out(folder, launcher, side):
    """The recipes as they are run: with launch's name instead of torchrun's."""
    place = folder / "recipes"
    shutil.copytree(RECIPES, place, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "bin").mkdir()
    (place / "reports").mkdir()
    name = "launch" if side == "launch" else "torchrun"
    (place / "bin" / name).symlink_to(launcher)
    if side == "launch":
        for script in place.glob("*/*.sh"):
            text, words = re.subn(r"\btorchrun\b", "launch", script.read_text())
            if words != 1:
                raise ValueError(f"{script} should have the word torchrun once")
            script.write_text(text)
        instead = place / "bin" / "torchrun"
        instead.write_text('#!/bin/sh\necho "torchrun is not what is tested" >&2\nexit 99\n')
        instead.chmod(0o755)
    return place


def left_of(line, outcome):
    """Exit codes, each rank's report less what differs between any two runs, and the ranks' lines on the consoles."""
    recipe = line.recipe
    paths = sorted((outcome.folder / "recipes/reports").glob("*.json"), key=lambda path: int(path.stem))
    reports = [json.loads(path.read_bytes()) for path in paths]

    def plain(value):
        if isinstance(value, list):
            return [plain(part) for part in value]
        if not isinstance(value, str):
            return value
        value = re.sub(r"/torchinductor_[^/:]+", "/torchinductor_@USER@", outcome.plain(value))
        return re.sub(rf"\b{outcome.port}\b", "@PORT@", value)
    workers = []
    for report in reports:
        env = report.pop("environment")
        env = {f"environment {name}": plain(value) for name, value in env.items() if name not in PER_RUN | recipe.own}
        workers.append({**env, **{name: plain(value) for name, value in report.items()}})
    console = {}
    for stream, start, fact in STREAMS:
        texts = [(outcome.folder / f"{node}.{stream}").read_text(errors="replace") for node in range(len(line.nodes))]
        heard = sorted(said for text in texts for said in text.splitlines() if start in said)
        wanted = sorted(f"{recipe.prefix.format(rank=rank)}{start}{rank}: {report[fact]}"
                        for rank, report in enumerate(reports) if recipe.heard is None or rank in recipe.heard)
        console[stream] = "the lines of its ranks" if heard == wanted else heard
    said = {"said": outcome.reason()} if any(outcome.codes) else {}
    left = {"ends": outcome.codes, **said, "workers": workers, "console": console}
    for worker in workers:
        worker["loss"] = float(f"{worker['loss']:.4g}")  # its last digits depend on the processor
    return left


def judge(line, theirs, outcome):
    """(cause, detail) of all that is wrong with launch's outcome of a line, and with what torchrun has left of it."""
    recipe, ours = line.recipe, left_of(line, outcome)
    for who, left in (("torchrun", theirs), ("launch", ours)):
        if left["ends"] != [0] * len(line.nodes):
            yield f"{who} ends with {left['ends']}", outcome.said() if who == "launch" else ""
            return
        if [worker["environment RANK"] for worker in left["workers"]] != [str(rank) for rank in range(recipe.world)]:
            yield f"{who}: the ranks that reported", f"{len(left['workers'])} of {recipe.world}"
            return
        for stream, said in left["console"].items():
            if said != "the lines of its ranks":
                yield f"{who}: standard {stream}", repr(said)
    for rank, (expected, found) in enumerate(zip(theirs["workers"], ours["workers"])):
        for name, value in {**recipe.facts, "sum": recipe.world * (recipe.world + 1) / 2}.items():
            if found[name] != value:
                yield name, f"rank {rank}: {found[name]!r}, not {value!r}"
        for name in sorted(expected.keys() | found.keys()):
            left, right = expected.get(name), found.get(name)
            if left != right and not (name == "loss" and math.isclose(left, right, rel_tol=1e-3)):
                yield name, f"rank {rank}: torchrun {left!r}, launch {right!r}"
