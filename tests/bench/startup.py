"""Command to last of N workers started: launch, torchrun --no-python, Hydra's mpiexec, and a bare fork+exec loop.

The worker is a small C program that notes the time first thing in main. All take turns; medians and ratios are printed.
"""
import argparse
import os
import shutil
import struct
import subprocess
import tempfile

import tools

TORCHRUN_SIZES = {1, 8}  # more only with --full: it needs a minute each


def named_build(text):
    name, _, program = text.partition("=")
    if not name or not os.access(program, os.X_OK):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=FILE with a program")
    return name, program


def commands(arguments, size, worker):
    """name -> command line that starts `size` workers."""
    found = {"launch": [arguments.launch, f"--nproc-per-node={size}", worker],
             "fork+exec": [tools.compiled("fork_exec.c", arguments.build), size, worker]}
    for name, program in arguments.beside:
        found[name] = [program, f"--nproc-per-node={size}", worker]
    hydra = shutil.which("mpiexec.hydra")
    if hydra:
        found["hydra"] = [hydra, "-n", size, worker]
    torchrun = arguments.build / "venv" / "bin" / "torchrun"
    if torchrun.exists() and (arguments.full or size in TORCHRUN_SIZES):
        found["torchrun"] = [torchrun, "--no-python", f"--nproc-per-node={size}", worker]
    return {name: [str(word) for word in command] for name, command in found.items()}


def measure(stopwatch, command, size):
    """Milliseconds from the command's start to the start of the last worker."""
    with tempfile.TemporaryDirectory(prefix="launch-bench-") as folder:
        stamps = os.path.join(folder, "stamps")
        environment = {**tools.clean_environment(), "STAMP_FILE": stamps, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([stopwatch, *command], env=environment, capture_output=True, text=True, check=False,
                              timeout=600)
        if done.returncode != 0:
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr}")
        with open(stamps, "rb") as file:
            times = [stamp for (stamp,) in struct.iter_unpack("<q", file.read())]
    if len(times) != size:
        raise RuntimeError(f"{command} started {len(times)} of {size} workers")
    return (max(times) - int(done.stdout.split()[0])) / 1e6


def rounds_for(arguments, name, size):
    if arguments.quick:
        return 2
    if name == "torchrun":
        return 5 if size in TORCHRUN_SIZES else 1
    return arguments.rounds or (30 if size < 512 else 10)


def measure_size(arguments, stopwatch, worker, size):
    """Median milliseconds of each launcher; the slow ones have fewer turns, spread among the first rounds."""
    lines = commands(arguments, size, worker)
    turns = {name: rounds_for(arguments, name, size) for name in lines}
    results = {name: [] for name in lines}
    for number in range(max(turns.values())):
        for name, line in lines.items():
            if number < turns[name]:
                results[name].append(measure(stopwatch, line, size))
    return tools.medians(results)


def row(size, found):
    """The line of the table; what was not measured is a dash."""
    names = ("launch", "fork+exec", "hydra", "torchrun")
    times = [f"{found[name]:.2f}" if name in found else "-" for name in names]
    slower = tools.ratio(found["torchrun"], found["launch"]) if "torchrun" in found else "-"
    return [size, *times, slower, tools.ratio(found["launch"], found.get("hydra")),
            tools.ratio(found["launch"], found["fork+exec"])]


def rows_of_builds(arguments, size, found):
    """The same for each other build of launch, and how it compares with the first."""
    return [[size, name, f"{found[name]:.2f}", tools.ratio(found[name], found["launch"]),
             tools.ratio(found[name], found.get("hydra")), tools.ratio(found[name], found["fork+exec"])]
            for name, _ in arguments.beside]


def main():
    parser = tools.parser(__doc__)
    parser.add_argument("--full", action="store_true", help="torchrun with 64 and 512 workers too")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=FILE",
                        type=named_build,
                        help="another build of launch that takes its turns, too, such as a portable one")
    arguments = tools.start(parser.parse_args())
    arguments.beside = [(name, tools.installed(program, arguments.build)) for name, program in arguments.beside]
    stopwatch = tools.compiled("stopwatch.c", arguments.build)
    worker = tools.compiled("stamp_worker.c", arguments.build)
    rows, others = [], []
    for size in (1, 8, 64) if arguments.quick else (1, 8, 64, 512):
        found = measure_size(arguments, stopwatch, worker, size)
        rows.append(row(size, found))
        others += rows_of_builds(arguments, size, found)
    print("\nmilliseconds from command to last worker started (medians)")
    tools.table(["workers", "launch", "fork+exec", "hydra", "torchrun", "torchrun/launch", "launch/hydra",
                 "launch/fork+exec"], rows)
    if others:
        tools.table(["workers", "build", "ms", "build/launch", "build/hydra", "build/fork+exec"], others)


if __name__ == "__main__":
    main()
