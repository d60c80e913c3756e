"""What heart-beats cost the host of a store: launch waits for its second node, and a C program beats on its store.

Every connection sends a beat (PING) each interval, all spread evenly, so nearly every beat wakes the host by itself:
the dear case. The interval is the one that launch chooses for so many nodes (core/heartbeat). The processor time is
that of launch's own processes over the span, less what as many silent connections cost. Fails when a beat is not
answered.
"""
import contextlib
import statistics
import subprocess

import tools
import limits
import processes

SIZES = {1000: 1000, 4000: 4000, 10000: 10000}  # nodes: milliseconds between two beats of one
SECONDS = 10
PING = ("0d02020202", "02020202")


@contextlib.contextmanager
def host(launch):
    """(process, port) of a launch that serves the store of a job whose second node never comes."""
    port = tools.free_port()
    words = [launch, "--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}",
             "--rdzv-conf=is_host=1", "--rdzv-id=beats", "--local-addr=127.0.0.1", "sleep", "600"]
    process = subprocess.Popen([str(word) for word in words], env=tools.clean_environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process, port
    finally:
        process.terminate()
        process.wait()


def cpu_seconds(process):
    return sum(map(processes.cpu_seconds, processes.launcher(process.pid)))


def mebibytes(process):
    return sum(map(processes.memory_kib, processes.launcher(process.pid))) / 1024


def answers(load, port):
    return subprocess.run([str(word) for word in (load, port, 1, 0, 0, *PING)], check=False, stdin=subprocess.DEVNULL,
                          capture_output=True).returncode == 0


def measure(launch, load, connections, interval, seconds):
    """(% of a core, MiB before, MiB with all connections, beats a second, worst answer in milliseconds)."""
    with host(launch) as (process, port):
        if not tools.wait_for(lambda: answers(load, port), 30):
            raise RuntimeError(f"{launch} does not serve")
        before = mebibytes(process)
        words = [str(word) for word in (load, port, connections, interval, seconds, *PING)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as beating:
            if beating.stdout.readline() != "ready\n":
                raise RuntimeError(f"{connections} connections were not greeted")
            used = cpu_seconds(process)
            line = beating.stdout.readline()
            if not line:
                raise RuntimeError("the beats broke off")
            used = cpu_seconds(process) - used
            memory = mebibytes(process)
        sent, answered, worst = map(int, line.split())
        if answered != sent:
            raise RuntimeError(f"{answered} of {sent} beats were answered")
        return used / seconds * 100, before, memory, sent / seconds, worst / 1000


def main():
    arguments = tools.start(tools.parser(__doc__).parse_args())
    rounds = 1 if arguments.quick else arguments.rounds or 3
    sizes = dict([next(iter(SIZES.items()))]) if arguments.quick else SIZES
    seconds = 2 if arguments.quick else SECONDS
    load = tools.compiled("beat_load.c", arguments.build)
    kinds = {(count, interval): lambda count=count, interval=interval: measure(arguments.launch, load, count, interval,
                                                                              seconds)
             for count, every in sizes.items() for interval in (0, every)}
    with limits.many_descriptors():
        results = tools.in_turns(rounds, kinds)
    columns = {kind: [statistics.median(numbers) for numbers in zip(*values)] for kind, values in results.items()}
    print(f"\n{seconds} s each, medians of {rounds} turns")
    rows = []
    for (count, interval), (core, before, memory, rate, worst) in columns.items():
        if interval:
            core -= columns[count, 0][0]
            rows.append([f"{count}", f"{interval}", f"{rate:.0f}", f"{core:.2f}", f"{core * 1e4 / rate:.1f}",
                         f"{memory - before:.1f}", f"{worst:.1f}"])
    tools.table(["nodes", "ms between beats", "beats/s", "% of a core", "us a beat", "MiB", "worst answer ms"], rows)


if __name__ == "__main__":
    main()
