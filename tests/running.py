"""Starting programs and waiting for them: never without a deadline, never through a pipe that somebody holds open."""
import os
import random
import select
import socket
import subprocess
import tempfile
import time


def wait_for(condition, seconds=10.0):
    """Asks until `condition()` is true; gives what it returned last, so something false when time is up."""
    end = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.005)
    return result


def free_port():
    """A port nobody listens on, below those that the system hands out by itself, so that nobody else is given it."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket(socket.AF_INET6) as probe:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("::", port))
                return port
            except OSError:
                continue


class Run:
    """One started program; its output goes to files. Times are those of time.time().

    `popen` starts it, by default as a process of its own; what it gives has pid, returncode, poll, wait and kill.
    """

    def __init__(self, command, environment, folder, popen=subprocess.Popen, **options):
        self.command = [str(word) for word in command]
        self._out = tempfile.TemporaryFile(dir=folder)
        self._err = tempfile.TemporaryFile(dir=folder)
        self.started = time.time()
        self.ended = None
        options = {"stdin": subprocess.DEVNULL, "stdout": self._out, "stderr": self._err, **options}
        self._process = popen(self.command, env=environment, **options)
        self.pid = self._process.pid
        self.exit_descriptor = os.pidfd_open(self.pid)

    def wait(self, seconds=30.0):
        """The exit code as a shell shows it; None when it still runs."""
        watch([self], time.monotonic() + seconds)
        return self.code

    def note_end(self):
        self.ended = time.time()
        self._process.wait()

    @property
    def code(self):
        code = self._process.returncode
        return 128 - code if code is not None and code < 0 else code

    @property
    def seconds(self):
        return self.ended - self.started

    def signal(self, number):
        os.kill(self.pid, number)

    @property
    def out(self):
        return _text(self._out)

    @property
    def err(self):
        return _text(self._err)

    def close(self):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self.exit_descriptor)
        self._out.close()
        self._err.close()

    def __str__(self):
        return f"$ {' '.join(self.command)}\n[exit code {self.code}]\n{self.out}{self.err}"


def _text(file):
    return os.pread(file.fileno(), 1 << 24, 0).decode(errors="replace")


def watch(runs, end):
    """Waits until all have ended or the clock (monotonic) says `end`, and notes each end. The ones still running."""
    by_descriptor = {run.exit_descriptor: run for run in runs if run.ended is None}
    poller = select.poll()
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    while by_descriptor:
        ready = poller.poll(max(0.0, end - time.monotonic()) * 1000)
        if not ready:
            break
        for descriptor, _ in ready:
            poller.unregister(descriptor)
            by_descriptor.pop(descriptor).note_end()
    return list(by_descriptor.values())
