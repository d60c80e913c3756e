"""Finds all tests, without building anything: classes of Python tests by asking their run.py, GoogleTest's by reading.

A test's name is FOLDER/FILE.CLASS.TEST: cli/test_logs.Files.test_modes, core/agent_test.Agent.StartsWorkers.
A unit is what is started as one process; its parts run one after the other.
"""
import concurrent.futures
import dataclasses
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON_FOLDERS = ("house", "cli", "interop", "package", "clusters")
GTEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)


@dataclasses.dataclass
class Unit:
    folder: str
    name: str  # FILE.CLASS of Python's tests, the binary of GoogleTest's
    build: str  # dev, release, tsan, or empty if nothing needs to be built
    tests: list  # their names
    load: float = 1.0
    alone: str = ""
    shard: tuple = ()  # (number, of): this part of a GoogleTest binary's tests
    only_some: bool = False  # `tests` is less than all of the unit
    covered: dict = dataclasses.field(default_factory=dict)  # test -> what stands for it in the quick suite

    @property
    def label(self):
        part = f" {self.shard[0] + 1}/{self.shard[1]}" if self.shard else ""
        build = f" ({self.build})" if self.build else ""
        return f"{self.folder}/{self.name}{part}{build}"

    @property
    def environment(self):
        """What it needs from the network, or nothing."""
        for_systems = ("test_foreign", "test_images", "test_portable", "test_systems")
        if self.folder == "package" and self.name.startswith(for_systems):
            return "systems"
        if self.folder == "clusters":
            return {"test_mixed": "torch", "test_starters": "mpi"}.get(self.name.partition(".")[0], "")
        if self.folder == "house" and self.name.startswith("test_manifests"):
            return "schemas"
        return {"interop": "torch", "bench": "torch", "package": "packers"}.get(self.folder, "")

    @property
    def target(self):
        """What ninja is to make for it."""
        return self.name if self.folder in BINARIES else "launch"

    def command(self, results, deep):
        place = [sys.executable, ROOT / "tests/place.py"]
        if self.folder in BINARIES:
            words = [*place, ROOT / "build" / self.build / "tests" / self.name]
            names = ":".join(f"{name}:*/{name}/*" for name in (test.partition(".")[2] for test in self.tests))
            return words + ["--gtest_filter=" + names] * self.only_some
        if self.folder == "bench":
            return [sys.executable, ROOT / f"tests/bench/{self.name}.py", "--quick", "--build", ROOT / "build",
                    "--launch", ROOT / "build" / self.build / "launch"]
        words = [sys.executable, ROOT / "tests" / self.folder / "run.py", "--results", results]
        words += ["--launch", ROOT / "build" / self.build / "launch"] if self.build else []
        words += ["--long"] if deep else []
        return words + ([test.partition("/")[2] for test in self.tests] if self.only_some else [self.name])

    def env(self):
        return {"GTEST_SHARD_INDEX": str(self.shard[0]), "GTEST_TOTAL_SHARDS": str(self.shard[1])} if self.shard else {}


@dataclasses.dataclass(frozen=True)
class Binary:
    """A GoogleTest binary: whose build is tested in the quick suite, and with --long; in how many shards."""
    quick: tuple
    long: tuple
    shards: int = 1
    alone: str = ""
    load: float = 1.0


BINARIES = {  # folder -> binary -> how
    "core": {"core_tests": Binary(("dev",), ("dev", "release"), shards=2)},
    "sim": {"sim_tests": Binary(("release",), ("release", "dev"), shards=2)},
    "io": {"io_tests": Binary(("dev",), ("dev", "release", "tsan"), alone="looks at clocks"),
           "thread_tests": Binary(("tsan",), ("tsan",), shards=2)},
}
BENCHMARKS = ("startup", "memory", "store", "rendezvous", "recovery", "logs", "agents", "host_lost", "beats",
              "control")
THREADED = ("background_test", "disk_thread_test", "event_sink_test", "line_sink_test", "log_console_test",
            "log_exchange_test", "log_file_test", "log_file_model_test", "log_relay_test", "message_console_test",
            "patient_output_test", "spawn_crew_test", "stderr_tap_test", "stdin_feeder_test",
            "worker_start_test")


def _gtests(folder, binary):
    for path in sorted((ROOT / "tests" / folder).rglob("*_test.cpp")):
        if binary == "thread_tests" and path.stem not in THREADED:
            continue
        for suite, test in GTEST.findall(path.read_text(encoding="utf-8")):
            yield f"{folder}/{path.stem}.{suite}.{test}"


def _binaries(deep):
    for folder, binaries in BINARIES.items():
        for name, how in binaries.items():
            tests = list(_gtests(folder, name))
            if deep and name == "thread_tests":
                continue  # io_tests has them
            for build in how.long if deep else how.quick:
                for shard in range(how.shards):
                    yield Unit(folder, name, build, tests, how.load, how.alone,
                               (shard, how.shards) if how.shards > 1 else ())


def _listed(folder):
    done = subprocess.run([sys.executable, ROOT / "tests" / folder / "run.py", "--list"], check=True,
                          capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _python_units(deep):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        listed = dict(zip(PYTHON_FOLDERS, pool.map(_listed, PYTHON_FOLDERS)))
    for folder, entries in listed.items():
        for entry in entries:
            covered = {f"{folder}/{entry['unit']}.{test}": by for test, by in entry["tests"].items()}
            tests = list(covered) if deep else [test for test, by in covered.items() if not by]
            builds = entry["builds"]
            if deep and builds:
                builds = entry["only"] or sorted({*builds, "dev", "release"} if folder == "cli" else builds)
            for build in builds or [""]:
                if tests:
                    yield Unit(folder, entry["unit"], build, tests, entry["load"], entry["alone"], covered=covered)


def _benchmarks():
    """That they still run. Their figures mean something with --long only, where nothing runs beside them."""
    for name in BENCHMARKS:
        yield Unit("bench", name, "release", [f"bench/{name}"])


def all_units(deep=False):
    """Those of the quick suite; `deep`: of all there is, but for the benchmarks."""
    return [*_python_units(deep), *_binaries(deep), *([] if deep else _benchmarks())]


def matching(units, patterns):
    """What of these units one of the words stands in; a unit of which only some tests match has only these."""
    def wanted(test):
        return any(pattern in test for pattern in patterns)

    found = []
    for unit in units:
        tests = [test for test in unit.tests if wanted(test)]
        some = len(tests) < len(unit.tests)
        if tests and not (some and unit.shard and unit.shard[0]):  # a few tests need no shards
            found.append(dataclasses.replace(unit, tests=tests, only_some=some, shard=() if some else unit.shard))
    return found
