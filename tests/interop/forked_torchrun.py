"""Starts the real torchrun without waiting for it to import PyTorch: torchrun_zygote.py, one a program, forks it.

What is forked is a child of this process, as if subprocess.Popen had started it; ForkedTorchrun in test_forked.py shows
that a user and a worker cannot tell. One cannot tell it from outside by /proc/PID/cmdline and environ: those are the
zygote's.
"""
import atexit
import functools
import json
import os
import pathlib
import signal
import socket
import subprocess

from harness import Case, clean_environment

SCRIPT = pathlib.Path(__file__).resolve().parent / "torchrun_zygote.py"
SECONDS = 60  # for the import, and for a fork
OPTIONS = {"stdin", "stdout", "stderr", "cwd", "start_new_session"}  # of subprocess.Popen that are known here
# Variables that an interpreter or PyTorch reads at its start: with them it must be started.
AT_START = ("LD_", "PYTHON", "TORCH_CPP_", "TORCH_DISTRIBUTED_DEBUG", "TORCH_LOGS", "TORCH_SHOW_CPP")
READ_LATER = {"PYTHON_EXEC"}


def can_fork(env, options):
    return options.keys() <= OPTIONS and not any(name.startswith(AT_START) for name in env.keys() - READ_LATER)


class Forked:
    """A torchrun of ours, in the words of subprocess.Popen."""

    def __init__(self, pid):
        self.pid = pid
        self.returncode = None

    def _wait(self, flags):
        if self.returncode is None and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | flags):
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def poll(self):
        return self._wait(os.WNOHANG)

    def wait(self):
        return self._wait(0)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)


class Zygote:
    def __init__(self, torchrun):
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(SECONDS)
        with theirs:
            env = {**clean_environment(), "LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
            python = torchrun.read_text(encoding="utf-8").splitlines()[0].removeprefix("#!")
            self._process = subprocess.Popen([python, SCRIPT, torchrun], stdin=theirs, env=env)
        self.pid = self._process.pid
        Case.servants.add(self.pid)
        atexit.register(self.close)
        self._lines = self._socket.makefile("rb")
        self._answer()

    def _answer(self):
        line = self._lines.readline()
        if not line:
            raise EOFError(f"the zygote has ended with {self._process.wait(SECONDS)}")
        return json.loads(line)

    def popen(self, command, env, stdin, stdout, stderr, cwd=None, start_new_session=False):
        """Like subprocess.Popen, which calls them so."""
        files = [os.open(os.devnull, os.O_RDWR) if file == subprocess.DEVNULL else
                 os.dup(file if isinstance(file, int) else file.fileno()) for file in (stdin, stdout, stderr)]
        request = {"id": 0, "orphan": True, "argv": command, "env": env, "cwd": str(cwd or os.getcwd()),
                   "session": start_new_session}
        data = json.dumps(request).encode() + b"\n"
        try:
            self._socket.sendall(data[socket.send_fds(self._socket, [data], files):])
            return Forked(self._answer()["pid"])
        finally:
            for file in files:
                os.close(file)

    def close(self):
        self._lines.close()
        self._socket.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@functools.cache
def zygote(torchrun):
    """That of this program; it ends with it."""
    return Zygote(torchrun)
