"""What the benchmarks share: building small C programs, taking turns, medians, and tables with ratios."""
import argparse
import atexit
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(FOLDER.parent))

import place  # noqa: E402
from harness import clean_environment  # noqa: E402,F401  (benchmarks take it from here)
from running import free_port, wait_for  # noqa: E402,F401


def parser(description):
    """The options that every benchmark has."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--launch", type=pathlib.Path, default=ROOT / "build" / "release" / "launch")
    result.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="where venv and helpers lie")
    result.add_argument("--rounds", type=int, help="how often everything takes its turn")
    result.add_argument("--quick", action="store_true", help="a smoke run: few rounds, small sizes, no claim")
    return result


def start(arguments):
    """Absolute paths, and names that resolve, so that no side waits for a name server."""
    arguments.launch, arguments.build = arguments.launch.resolve(), arguments.build.resolve()
    if not os.access(arguments.launch, os.X_OK):
        sys.exit(f"no launch binary at {arguments.launch}: build it, or name it with --launch")
    place.enter()
    arguments.launch = installed(arguments.launch, arguments.build)
    return arguments


def installed(program, build):
    """A copy of it, as users have one. The linker writes a file here and there, and the system then maps it page by
    page, which costs a tenth of the time in which one worker starts."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="installed-", dir=build))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(shutil.copy(program, folder / "launch"))


def compiled(source, build, static=True):
    """BUILD/bench/NAME from the C file beside us, made again when the source is newer."""
    source = FOLDER / source
    program = build / "bench" / source.stem
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-o", str(program), str(source)]
    subprocess.run(command + ["-static"] * static, check=True)
    return program


def torch_python(build):
    """The interpreter with PyTorch's libuv store, None where it is not installed."""
    python = build / "venv" / "bin" / "python"
    return python if python.exists() else None


def job_lines(launcher, nodes, nproc, backend, *options):
    """The command lines of one job on this machine without its program, in order of node rank, as users type them."""
    port = free_port()
    for rank in range(nodes):
        line = [launcher, f"--nnodes={nodes}", f"--nproc-per-node={nproc}", *options]
        if backend == "static":
            line += [f"--node-rank={rank}", "--master-addr=127.0.0.1", f"--master-port={port}"]
        else:
            line += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-id=job{port}"]
        yield [str(word) for word in line]


def in_turns(rounds, measurements):
    """name -> list of results; every round lets each have one turn, so that a busy moment hits all alike."""
    results = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, measure in measurements.items():
            results[name].append(measure())
    return results


def medians(results):
    return {name: statistics.median(values) for name, values in results.items()}


def table(header, rows):
    """Prints columns as wide as their widest cell, the first to the left, numbers to the right."""
    rows = [header, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells), flush=True)


def ratio(value, base):
    return f"{value / base:.2f}" if base else "-"
