"""scripts/test --long: what takes hours. It can be stopped at any time; the next run goes on with the next piece.

Parts consist of pieces. What each piece gave stands in tests/data/long_run.json, which is kept with the code: whether
all was well, seconds, the commit, and its figures: the lines that its tests have written with two blanks before them.
"""
import dataclasses
import datetime
import json
import os
import re
import subprocess
import sys
import time

import builds
import mutants
import units
from scheduler import Scheduler, Task

STATE = units.ROOT / "tests/data/long_run.json"
FUZZ_SLICES, FUZZ_SECONDS = 6, int(os.environ.get("LAUNCH_FUZZ_SECONDS", "600"))
MOST_FIGURES = 200  # lines of a piece
TODAY = datetime.date.today().isoformat()


@dataclasses.dataclass
class Piece:
    name: str  # PART, or PART/WHAT
    tests: tuple = ()  # words that stand in the names of its tests
    build: str = ""  # the one that is tested, instead of those that the tests name
    env: dict = dataclasses.field(default_factory=dict)
    tasks: list = dataclasses.field(default_factory=list)  # instead of tests

    @property
    def part(self):
        return self.name.partition("/")[0]


def _fuzz():
    build = Task("build fuzz fuzzers", ["bash", "-ec", "scripts/install_dependencies fuzz; cmake --preset fuzz; "
                                        "cmake --build --preset fuzz"], builds.LOGS / "build-fuzz.log", limit=3600)
    yield Piece("fuzz/build", tasks=[build])
    for number in range(FUZZ_SLICES):
        for source in sorted((units.ROOT / "tests/fuzz").glob("*_fuzz.cpp")):
            place = builds.BUILD / "fuzz/corpus" / source.stem
            script = (f"mkdir -p {place}; exec {builds.BUILD}/fuzz/tests/{source.stem} -max_total_time={FUZZ_SECONDS} "
                      f"-print_final_stats=1 -timeout=25 -rss_limit_mb=4096 -artifact_prefix={place}- {place} 2>&1 "
                      "| tail -n 40 | sed 's/^/  /'")
            yield Piece(f"fuzz/{source.stem} {number + 1} of {FUZZ_SLICES}", tasks=[
                Task(source.stem, ["bash", "-o", "pipefail", "-ec", script],
                     builds.LOGS / f"{source.stem}-{number}.log", load=1.0, limit=FUZZ_SECONDS + 300)])


def _bench():
    yield Piece("bench/build", tasks=[builds.torch_task(), builds.step("release", "launch")])
    for name in units.BENCHMARKS:
        command = [sys.executable, f"tests/bench/{name}.py", "--launch", "build/release/launch", "--build", "build"]
        yield Piece(f"bench/{name}", tasks=[Task(name, command, builds.LOGS / f"bench-{name}.log", alone="measures",
                                                 limit=7200)])


def _mutants():
    for mutant in mutants.MUTANTS:
        yield Piece(f"mutants/{mutant.area}", tasks=[
            Task(mutant.area, [sys.executable, "tests/suite/mutants.py", mutant.area],
                 builds.LOGS / f"mutant-{mutant.area}.log", limit=3600)])


def _tidy():
    script = ("scripts/install_dependencies build test tidy; cmake --preset tidy; "
              "cmake --build --preset tidy --target launch core_tests io_tests sim_tests")
    yield Piece("tidy", tasks=[Task("tidy", ["bash", "-ec", script], builds.LOGS / "tidy.log", limit=3 * 3600)])


def all_pieces():
    """In the order in which they are run."""
    yield Piece("tests")  # all there are, in every build
    yield Piece("torture", ("cli/test_torture",), "release", {"LAUNCH_TORTURE_ROUNDS": "300"})
    yield Piece("cuts", ("cli/test_cuts",), "release", {"LAUNCH_CUT_ROUNDS": "50"})
    yield Piece("membership", ("cli/test_membership",), "release", {"LAUNCH_MEMBERSHIP_ROUNDS": "50"})
    for name in ("mixed", "elastic", "elastic_rows", "membership"):
        yield Piece(f"mixed/{name}", (f"interop/test_{name}.",), env={"LAUNCH_TEST_REPEAT": "10"})
    yield Piece("lines/compare", ("RandomCases",), env={"LAUNCH_COMPARE_SEED": TODAY, "LAUNCH_COMPARE_CASES": "3000"})
    yield Piece("lines/logs", ("cli/test_log_lines", "cli/test_log_rotation"), "release", {"LAUNCH_LOG_SEEDS": "2000"})
    yield Piece("seeds", ("sim/",), "release", {"LAUNCH_SIM_SEEDS": "100000"})
    yield Piece("strict", ("core/", "io/", "cli/"), "strict")
    yield from _mutants()
    yield from _tidy()
    yield from _bench()
    yield from _fuzz()


def _units_of(piece):
    found = units.all_units(deep=True)
    if piece.tests:
        found = units.matching(found, piece.tests)
    if piece.build:
        one = {unit.label.replace(f"({unit.build})", ""): unit for unit in found if unit.name != "thread_tests"}
        found = [dataclasses.replace(unit, build=piece.build) for unit in one.values()]
    return found


def _run_tasks(tasks):
    """Whether all went well, and what they have told."""
    good, told = True, []
    for task in Scheduler(tasks, len(os.sched_getaffinity(0))).run():
        good &= task.good
        print(f"   {task.name}: {'ok' if task.good else 'FAILED ' + task.why} in {task.seconds:.0f} s, {task.log}",
              flush=True)
        told += [f"FAILED {task.name}"] * (not task.good) + figures(task.log)
    return good, told


def figures(log):
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    if log.stem.startswith("bench"):  # all that it says
        return lines[-MOST_FIGURES:]
    return [line for line in lines if re.match(r"  \S", line)][-MOST_FIGURES:]


def run(parts, fresh, run_units, conclude, start):
    """Runs the pieces that have not been well since the last --fresh; the exit code."""
    state = json.loads(STATE.read_text()) if STATE.exists() and not fresh else {}
    pieces = [piece for piece in all_pieces() if not parts or piece.part in parts or piece.name in parts]
    known = {piece.part for piece in all_pieces()}
    if not pieces:
        print(f"scripts/test: no part is called {' or '.join(parts)}; there are {', '.join(sorted(known))}")
        return 2
    builds.LOGS.mkdir(parents=True, exist_ok=True)
    code = 0
    for piece in pieces:
        if state.get(piece.name, {}).get("good"):
            print(f"== {piece.name}: was well before, {state[piece.name]['seconds']} s")
            continue
        print(f"\n== {piece.name}", flush=True)
        began = time.monotonic()
        if piece.tasks:
            good, told = _run_tasks(piece.tasks)
        else:
            result = run_units(_units_of(piece), deep=True, env=piece.env)
            good, told = conclude(result, start) == 0, result.figures()
        commit = subprocess.run(["git", "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True,
                                check=False)
        state[piece.name] = {"good": good, "seconds": round(time.monotonic() - began), "day": TODAY,
                             "commit": commit.stdout.strip(), "figures": told}
        STATE.write_text(json.dumps(state, indent=1))
        code |= not good
    bad = [name for name, entry in state.items() if not entry["good"]]
    print(f"\n{len(state) - len(bad)} pieces passed, {len(bad)} failed: {', '.join(bad) or 'none'}")
    print(f"their figures are in {STATE.relative_to(units.ROOT)}")
    return int(code)
