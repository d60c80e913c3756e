"""The steps that make what tests need: PyTorch's environment, and for each preset its targets."""
import os
import sys

import place
from scheduler import Task
from units import ROOT

BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"
CORES = len(os.sched_getaffinity(0))
PRESETS = ("release", "dev", "tsan", "strict")  # the first one is waited for the longest


def environment_task(name):
    """What is fetched from the network, before tests that run in a network of their own."""
    commands = {"torch": ["tests/interop/python_env.py"], "packers": ["scripts/packaging", "--tools", "nfpm"],
                "systems": ["tests/package/systems.py"],  # with what compiles for them
                "schemas": ["tests/house/schemas.py"], "mpi": ["tests/clusters/mpi_env.py"],
                "deepspeed": ["tests/bench/deepspeed_env.py"]}  # with torch
    script, *words = commands[name]
    return Task(name, [sys.executable, ROOT / script, *words], LOGS / f"{name}.log", limit=3600)


def step(preset, target):
    """CI's reports of the address sanitizer name functions without lines, which a repetition anywhere else has: a tenth
    of the time of a build by Clang is the lines'."""
    configured = BUILD / preset / "build.ninja"
    make = f"cmake --build --preset {preset} --parallel {CORES} --target {target}"
    words = "-D LAUNCH_WERROR=ON" + " -D CMAKE_CXX_FLAGS_DEBUG=-g0" * (preset == "dev" and place.must_run_everything())
    script = f"test -e {configured} || cmake --preset {preset} {words}; {make}"
    return Task(f"build {preset} {target}", ["bash", "-ec", script], LOGS / f"build-{preset}-{target}.log",
                builds=True, limit=3600)


def build_tasks(units):
    """One after the other, so that no two compile at once; what most of the tests wait for comes first."""
    wanted = []
    for preset in PRESETS:
        targets = {unit.target for unit in units if unit.build == preset}
        wanted += [(preset, target) for target in sorted(targets, key=lambda target: (target != "launch", target))]
    wanted.sort(key=lambda step: (step[1] != "launch", step[1] == "io_tests"))  # which are run when all else has ended
    for number, (preset, target) in enumerate(wanted):
        task = step(preset, target)
        task.order = 1000.0 - number
        yield task
