"""scripts/test --long: what takes hours. It can be stopped at any time; the next run goes on with the next piece.

Parts consist of pieces. What each piece gave stands in tests/data/long_run.json, which is kept with the code: whether
all was well, seconds, the commit, and its figures: the lines that its tests have written with two blanks before them.
What measures comes first. The fuzzers run beside all the rest and get only the time that it leaves.
"""
import collections
import contextlib
import dataclasses
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import builds
import mutants
import units
from scheduler import Scheduler, Task

STATE = units.ROOT / "tests/data/long_run.json"
FUZZ_SLICES, FUZZ_SECONDS = 6, int(os.environ.get("LAUNCH_FUZZ_SECONDS", "600"))  # of a processor
FUZZ_LIMIT = 8 * 3600  # seconds that a slice may take beside everything else
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
                                        "cmake --build --preset fuzz"], builds.LOGS / "build-fuzz.log", builds=True,
                 limit=FUZZ_LIMIT)
    yield Piece("fuzz/build", tasks=[build])
    for number in range(FUZZ_SLICES):
        for source in sorted((units.ROOT / "tests/fuzz").glob("*_fuzz.cpp")):
            command = [sys.executable, "tests/suite/fuzz_slice.py", source.stem, FUZZ_SECONDS]
            yield Piece(f"fuzz/{source.stem} {number + 1} of {FUZZ_SLICES}", tasks=[
                Task(source.stem, command, builds.LOGS / f"{source.stem}-{number}.log", limit=FUZZ_LIMIT)])


def _bench():
    yield Piece("bench/build", tasks=[builds.environment_task("deepspeed"), builds.step("release", "launch")])
    for name in (*units.BENCHMARKS, "hosts"):
        command = [sys.executable, f"tests/bench/{name}.py", "--launch", "build/release/launch", "--build", "build"]
        yield Piece(f"bench/{name}", tasks=[Task(name, command, builds.LOGS / f"bench-{name}.log", alone="measures",
                                                 limit=7200)])


def _mutants():
    for area, count in collections.Counter(mutant.area for mutant in mutants.MUTANTS).items():
        yield Piece(f"mutants/{area}", tasks=[
            Task(area, [sys.executable, "tests/suite/mutants.py", area], builds.LOGS / f"mutant-{area}.log",
                 limit=3600 * (1 + count))])


def _tidy():
    script = ("scripts/install_dependencies build test tidy; cmake --preset tidy; "
              "cmake --build --preset tidy --target launch core_tests io_tests sim_tests")
    yield Piece("tidy", tasks=[Task("tidy", ["bash", "-ec", script], builds.LOGS / "tidy.log", limit=3 * 3600)])


def all_pieces():
    """In the order in which they are run."""
    yield Piece("tests")  # all there are, in every build
    yield Piece("torture", ("cli/test_torture",), "release", {"LAUNCH_TORTURE_ROUNDS": "300"})
    yield Piece("cuts", ("cli/test_cuts", "cli/test_two_rounds", "cli/test_old_requests"), "release",
                {"LAUNCH_CUT_ROUNDS": "50"})
    yield Piece("stalls", ("cli/test_stalls",), "release", {"LAUNCH_STALL_SECONDS": "25"})
    yield Piece("membership", ("cli/test_membership",), "release", {"LAUNCH_MEMBERSHIP_ROUNDS": "50"})
    yield Piece("membership/hosts", ("cli/test_majority", "cli/test_succession", "cli/test_listed_hosts"), "release",
                {"LAUNCH_MEMBERSHIP_ROUNDS": "10", "LAUNCH_SUCCESSION_TRIALS": "40"})
    yield Piece("kills", ("cli/test_any_moment",), "release", {"LAUNCH_KILL_STEP": "50"})
    for name in ("mixed", "elastic", "membership", "keep_alive", "etcd"):
        yield Piece(f"mixed/{name}", (f"interop/test_{name}.",), env={"LAUNCH_TEST_REPEAT": "10"})
    yield Piece("clusters/rounds", ("clusters/",), env={"LAUNCH_TEST_REPEAT": "5"})
    yield Piece("clusters/crowd", ("clusters/test_crowd",), "release", {"LAUNCH_CROWD": "100"})
    yield Piece("lines/compare", ("LivingRandom",), env={"LAUNCH_COMPARE_SEED": TODAY, "LAUNCH_COMPARE_CASES": "3000"})
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


class Record:
    """What all pieces gave, in STATE. Used by several threads."""

    def __init__(self, fresh):
        self._pieces = json.loads(STATE.read_text()) if STATE.exists() and not fresh else {}
        self._lock = threading.Lock()

    def good(self, piece):
        return self._pieces.get(piece.name, {}).get("good", False)

    def seconds(self, piece):
        return self._pieces[piece.name]["seconds"]

    def add(self, piece, good, seconds, told):
        commit = subprocess.run(["git", "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True,
                                check=False)
        with self._lock:
            self._pieces[piece.name] = {"good": good, "seconds": round(seconds), "day": TODAY,
                                        "commit": commit.stdout.strip(), "figures": told}
            STATE.write_text(json.dumps(self._pieces, indent=1))

    def bad(self):
        return [name for name, entry in self._pieces.items() if not entry["good"]]

    def count(self):
        return len(self._pieces)


class Aside(threading.Thread):
    """Runs pieces of tasks, as many at once as there are processors; the first one, which builds, before all others."""

    def __init__(self, pieces, record):
        super().__init__()
        self._pieces, self._record = list(pieces), record
        self._lock = threading.Lock()
        self._tasks = []  # that may be running
        self._stopped, self.failed = False, False

    def run(self):
        if self._pieces and self._pieces[0].name.endswith("/build") and not self._run_piece(self._pieces.pop(0)):
            return
        workers = [threading.Thread(target=self._work) for _ in os.sched_getaffinity(0)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def stop(self):
        """Ends what is under way; it will be run again."""
        self._stopped = True
        while self.is_alive():  # one that is just being started is not known yet
            for task in self._tasks:
                if task.process and task.process.returncode is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(task.process.pid, signal.SIGTERM)
            self.join(0.2)

    def _work(self):
        while not self._stopped:
            with self._lock:
                piece = self._pieces.pop(0) if self._pieces else None
            if not piece:
                return
            self._run_piece(piece)

    def _run_piece(self, piece):
        print(f"== {piece.name}: begins, in what time is left", flush=True)
        began = time.monotonic()
        self._tasks += piece.tasks
        good, told = _run_tasks(piece.tasks)
        if not self._stopped:
            self._record.add(piece, good, time.monotonic() - began, told)
            self.failed |= not good
        return good and not self._stopped


def _run_piece(piece, run_units, conclude, start):
    if piece.tasks:
        return _run_tasks(piece.tasks)
    result = run_units(_units_of(piece), deep=True, env=piece.env)
    return conclude(result, start) == 0, result.figures()


def run(parts, fresh, run_units, conclude, start):
    """Runs the pieces that have not been well since the last --fresh; the exit code."""
    record = Record(fresh)
    pieces = [piece for piece in all_pieces() if not parts or piece.part in parts or piece.name in parts]
    if not pieces:
        known = sorted({piece.part for piece in all_pieces()})
        print(f"scripts/test: no part is called {' or '.join(parts)}; there are {', '.join(known)}")
        return 2
    builds.LOGS.mkdir(parents=True, exist_ok=True)
    for piece in filter(record.good, pieces):
        print(f"== {piece.name}: was well before, {record.seconds(piece)} s")
    pieces = [piece for piece in pieces if not record.good(piece)]
    aside = Aside([piece for piece in pieces if piece.part == "fuzz"], record)
    first = [piece for piece in pieces if piece.part == "bench"]
    code = 0
    try:
        for piece in first + [piece for piece in pieces if piece.part not in ("bench", "fuzz")]:
            if piece.part != "bench" and not aside.ident:
                aside.start()
            print(f"\n== {piece.name}", flush=True)
            began = time.monotonic()
            good, told = _run_piece(piece, run_units, conclude, start)
            record.add(piece, good, time.monotonic() - began, told)
            code |= not good
        if not aside.ident:
            aside.start()
        aside.join()
    finally:
        aside.stop()
    bad = record.bad()
    print(f"\n{record.count() - len(bad)} pieces passed, {len(bad)} failed: {', '.join(bad) or 'none'}")
    print(f"their figures are in {STATE.relative_to(units.ROOT)}")
    return int(code or aside.failed)
