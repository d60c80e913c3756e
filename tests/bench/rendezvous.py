"""First agent started to last worker started, and a worker's exit to the last worker started anew: launch and torchrun.

Two and four agents with one worker each, on this machine, static and c10d with MIN = MAX. The worker is a small C
program. All take turns; medians and ratios are printed. torchrun gets --local-addr, so that no name is looked up.
"""
import os
import struct
import subprocess
import tempfile
import time

import tools

SECONDS = 120


def read_stamps(path, count):
    with open(path, "rb") as file:
        stamps = [stamp for (stamp,) in struct.iter_unpack("<q", file.read())]
    if len(stamps) != count:
        raise RuntimeError(f"{path}: {len(stamps)} of {count} times")
    return stamps


def run(launcher, count, backend, worker, options, folder, files):
    """Starts one agent a node at once; the moment before that, and the times in each file."""
    paths = {name: os.path.join(folder, name) for name in ("STAMP_FILE", "END_FILE", "AGAIN_FILE")}
    environment = {**tools.clean_environment(), **paths, "OMP_NUM_THREADS": "1"}
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    started = [subprocess.Popen([*line, worker], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
               for line in tools.job_lines(launcher, count, 1, backend, *options)]
    for process in started:
        said, _ = process.communicate(timeout=SECONDS)
        if process.returncode != 0:
            raise RuntimeError(f"{process.args} ended with {process.returncode}: {said.decode(errors='replace')}")
    return began, *(read_stamps(paths[name], 1 if name == "END_FILE" else count) for name in files)


def start_time(launcher, count, backend, worker, options):
    with tempfile.TemporaryDirectory(prefix="launch-bench-") as folder:
        began, stamps = run(launcher, count, backend, worker, options, folder, ["STAMP_FILE"])
    return (max(stamps) - began) / 1e6


def restart_time(launcher, count, backend, worker, options):
    with tempfile.TemporaryDirectory(prefix="launch-bench-") as folder:
        _, ended, again = run(launcher, count, backend, worker, [*options, "--max-restarts=1"], folder,
                              ["END_FILE", "AGAIN_FILE"])
    return (max(again) - ended[0]) / 1e6


def main():
    arguments = tools.start(tools.parser(__doc__).parse_args())
    rounds = 1 if arguments.quick else arguments.rounds or 5
    torchrun = arguments.build / "venv" / "bin" / "torchrun"
    launchers = {"launch": (arguments.launch, [])}
    if torchrun.exists():
        launchers["torchrun"] = (torchrun, ["--no-python", "--local-addr=127.0.0.1"])
    stamp = tools.compiled("stamp_worker.c", arguments.build)
    restart = tools.compiled("restart_worker.c", arguments.build)
    rows = []
    for what, measure, worker in (("start", start_time, stamp), ("restart", restart_time, restart)):
        for backend in ("static", "c10d"):
            # torchrun restarts the failed node of a static job alone: there is nothing to compare.
            peers = {name: launcher for name, launcher in launchers.items()
                     if name == "launch" or (what, backend) != ("restart", "static")}
            for count in (2,) if arguments.quick else (2, 4):
                measurements = {name: lambda line=line: measure(line[0], count, backend, worker, line[1])
                                for name, line in peers.items()}
                found = tools.medians(tools.in_turns(rounds, measurements))
                theirs = found.get("torchrun")
                rows.append([f"{what}, {backend}, {count} agents", f"{found['launch']:.2f}",
                             f"{theirs:.0f}" if theirs else "-",
                             tools.ratio(theirs, found["launch"]) if theirs else "-"])
    print("\nmilliseconds, medians")
    tools.table(["", "launch", "torchrun", "torchrun/launch"], rows)


if __name__ == "__main__":
    main()
