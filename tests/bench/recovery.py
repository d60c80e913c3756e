"""How many jobs recover: 4 gloo workers with --max-restarts=3, of which one fails at a random point, once or twice.

On one node and on two, static and c10d; launch and torchrun in the same run. A job has recovered when every rank got
through its steps of all_reduce, each checked, and every launcher ended with 0 in time. The seed of a job that did not
is printed.
"""
import random
import re
import subprocess
import tempfile
import uuid

import tools
import processes

WORKER = tools.ROOT / "tests" / "interop" / "workers" / "restart_train.py"
MARKER = "LAUNCH_TEST_ID"
SECONDS = {"launch": 120, "torchrun": 45}  # torchrun's gloo workers wait for half an hour for one that is gone
STEPS = 10


def recovers(name, launcher, python, nodes, backend, seed):
    failures = random.Random(seed).randrange(1, 3)
    marker = uuid.uuid4().hex
    environment = {**tools.clean_environment(), MARKER: marker, "OMP_NUM_THREADS": "1", "PYTHON_EXEC": str(python)}
    with tempfile.TemporaryFile() as said:
        started = [subprocess.Popen([*line, str(WORKER), str(STEPS), str(failures), str(seed)], env=environment,
                                    stdin=subprocess.DEVNULL, stdout=said, stderr=said)
                   for line in tools.job_lines(launcher, nodes, 4 // nodes, backend, "--max-restarts=3",
                                                "--local-addr=127.0.0.1")]
        tools.wait_for(lambda: all(process.poll() is not None for process in started), SECONDS[name])
        ended = all(process.poll() == 0 for process in started)
        tools.wait_for(lambda: processes.kill(processes.marked(f"{MARKER}={marker}"))
                       or not processes.marked(f"{MARKER}={marker}"), 10)
        for process in started:
            process.wait()
        said.seek(0)
        text = said.read().decode(errors="replace")
    through = sorted(int(rank) for rank in re.findall(rf"OK rank (\d) of 4 attempt {failures}", text))
    if name == "launch" and not (ended and through == [0, 1, 2, 3]):
        print(f"launch, {nodes} nodes, {backend}, seed {seed}, {failures} failures: {text[-3000:]}", flush=True)
    return ended and through == [0, 1, 2, 3]


def main():
    parser = tools.parser(__doc__)
    parser.add_argument("--torchrun-rounds", type=int, help="torchrun's turns; otherwise 1 in 5, none when quick")
    parser.add_argument("--seed", type=int, default=1)
    arguments = tools.start(parser.parse_args())
    python = tools.torch_python(arguments.build)
    if python is None:
        raise SystemExit(f"no PyTorch in {arguments.build / 'venv'}: tests/interop/python_env.py installs it")
    rounds = 1 if arguments.quick else arguments.rounds or 25
    of_torchrun = arguments.torchrun_rounds
    if of_torchrun is None:
        of_torchrun = 0 if arguments.quick else max(1, rounds // 5)
    rows, all_recovered = [], True
    for nodes in (2,) if arguments.quick else (1, 2):
        for backend in ("c10d",) if arguments.quick else ("static", "c10d"):
            row = [f"{nodes} x {4 // nodes}, {backend}"]
            for name, launcher, count in (("launch", arguments.launch, rounds),
                                          ("torchrun", arguments.build / "venv" / "bin" / "torchrun", of_torchrun)):
                good = sum(recovers(name, launcher, python, nodes, backend, arguments.seed + number)
                           for number in range(count))
                row.append(f"{good} of {count}")
                all_recovered = all_recovered and (name != "launch" or good == count)
            rows.append(row)
            print(", ".join(row), flush=True)
    print("\njobs of 4 workers that recovered")
    tools.table(["job", "launch", "torchrun"], rows)
    raise SystemExit(not all_recovered)


if __name__ == "__main__":
    main()
