"""The store that launch serves against PyTorch's libuv server: server CPU per operation, and the time of a barrier.

One C program speaks the wire protocol with many connections, each with one request outstanding; both servers take turns
in one run. "GET" is the bare request; "WAIT+GET" is what a real client's get() sends, two round trips; in "SET+GET" and
"SET+WAIT+GET" the unanswered SET comes first. An operation is the whole named sequence. The barrier: each of N
connections connects, sends VALIDATE and PING, ADDs 1 and WAITs for a key that the last one SETs.
"""
import contextlib
import signal
import subprocess
import time

import tools
import limits
import processes

OPERATIONS = {"ADD": "add", "GET": "get", "WAIT+GET": "wait_get", "SET+GET": "set_get", "SET+WAIT+GET": "set_wait_get"}
CONNECTIONS = (1, 16, 256)
BARRIERS = (1000, 5000)


class Server:
    """A process that serves a store at a port of its own."""

    def __init__(self, command, port, load):
        self.port, self.load = port, load
        self.process = subprocess.Popen([str(word) for word in command], env=tools.clean_environment(),
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        if not tools.wait_for(self.answers, 30):
            raise RuntimeError(f"{command} does not serve")

    def cpu_seconds(self):
        return sum(map(processes.cpu_seconds, processes.launcher(self.process.pid)))

    def answers(self):
        return subprocess.run([str(self.load), str(self.port), "add", "1", "0"], check=False,
                              capture_output=True).returncode == 0

    def run(self, *words):
        done = subprocess.run([str(word) for word in (self.load, self.port, *words)], check=True, capture_output=True,
                              text=True)
        return [int(word) for word in done.stdout.split()]

    def microseconds_per_operation(self, operation, connections, seconds):
        """(server CPU, time) of one operation."""
        before = self.cpu_seconds()
        count, duration = self.run(operation, connections, seconds)
        cpu = self.cpu_seconds() - before
        return cpu * 1e6 / count, duration / 1e3 / count

    def barrier(self, connections):
        """(milliseconds, server CPU in milliseconds)."""
        before = self.cpu_seconds()
        (duration,) = self.run("barrier", connections)
        time.sleep(0.2)  # the server sees the connections close; the next turn must not pay for it
        return duration / 1e6, (self.cpu_seconds() - before) * 1e3

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


@contextlib.contextmanager
def servers(arguments):
    """name -> Server for launch and, where PyTorch is installed, its own."""
    load = tools.compiled("store_load.c", arguments.build)
    port, other = tools.free_port(), tools.free_port()
    found = {"launch": Server([arguments.launch, f"--master-port={port}", "sleep", "100000"], port, load)}
    python = tools.torch_python(arguments.build)
    if python:
        found["libuv"] = Server([python, tools.FOLDER / "torch_store.py", other], other, load)
    try:
        yield found
    finally:
        for server in found.values():
            server.stop()


def compare(rounds, found, measure):
    """The medians of the first and of the second number that `measure(server)` gives, by server."""
    results = tools.in_turns(rounds, {name: (lambda server=server: measure(server)) for name, server in found.items()})
    return [tools.medians({name: [pair[part] for pair in pairs] for name, pairs in results.items()}) for part in (0, 1)]


def row(name, first, second):
    """launch, libuv and their ratio for each of the two numbers."""
    cells = [name]
    for values in (first, second):
        other = values.get("libuv")
        cells += [f"{values['launch']:.2f}", f"{other:.2f}" if other else "-",
                  tools.ratio(values["launch"], other) if other else "-"]
    return cells


def main():
    arguments = tools.start(tools.parser(__doc__).parse_args())
    rounds = 1 if arguments.quick else arguments.rounds or 5
    seconds = 0.2 if arguments.quick else 0.5
    with limits.many_descriptors(), servers(arguments) as found:
        rows = [row(f"{name} x {count}", *compare(rounds, found, lambda server: server.microseconds_per_operation(
            operation, count, seconds))) for name, operation in OPERATIONS.items() for count in CONNECTIONS]
        print(f"\nmicroseconds per operation, closed loop, medians of {rounds} turns")
        tools.table(["operation x connections", "launch CPU", "libuv CPU", "ratio", "launch time", "libuv time",
                     "ratio"], rows)
        rows = [row(f"{count} connections", *compare(rounds, found, lambda server: server.barrier(count)))
                for count in BARRIERS]
        print(f"\nmilliseconds of a barrier, connecting included, medians of {rounds} turns")
        tools.table(["barrier", "launch time", "libuv time", "ratio", "launch CPU", "libuv CPU", "ratio"], rows)


if __name__ == "__main__":
    main()
