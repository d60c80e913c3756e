"""Forks a torchrun for each request, importing torch.distributed.run once, or starts any other program likewise.

    PYTHON torchrun_zygote.py TORCHRUN     with one end of a socket pair as standard input

A request is a line of JSON: id, argv (its first word is the program), env, cwd, input, out and err (paths), seconds,
and `state`, see take_state. TORCHRUN as the program is forked, any other is executed. Answers are lines as well:
{"ready"} once, then {"id", "pid", "code"} at each end; the code is a shell's, or null when the seconds ran out and the
process was killed. Ends when the other side hangs up.

A request with `orphan` is for forked_torchrun.py: id, argv of a torchrun, env, cwd and session (whether it begins one),
and with the line come the three descriptors that become its standard files. Once the answer {"id", "pid"} is there it
has no parent, so it belongs to whoever adopts orphans.
"""
import atexit
import functools
import gc
import json
import locale
import logging
import os
import pathlib
import re
import resource
import select
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import types

UMASK = 0o022
PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)  # every interpreter does, so a forked torchrun is to keep it


def take_state(state):
    """What a process inherits besides its files: umask, nice, cpus, limits, descriptors to open, signals.

    cpus: see `chosen`; limits: name -> [soft, hard]; descriptors: number -> path; ignored, blocked: signal numbers.
    """
    os.umask(state.get("umask", UMASK))
    if "cpus" in state:
        os.sched_setaffinity(0, chosen(state["cpus"]))
    os.nice(state.get("nice", 0))
    for name, values in state.get("limits", {}).items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), values)
    for number, path in state.get("descriptors", {}).items():
        place(os.open(path, os.O_RDONLY), int(number))
    for number in state.get("ignored", ()):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, state.get("blocked", ()))


@functools.cache
def processors():
    """All that this process could be given, whatever it has now."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(4096))
    usable = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, mine)
    return usable


def chosen(numbers):
    """The first, second and so on of them, by numbers from 0."""
    return [processors()[number] for number in numbers]


def forget_signals():
    """Whoever started us may have ignored some."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, *PYTHON_IGNORES}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def place(descriptor, number):
    os.dup2(descriptor, number)
    if descriptor != number:
        os.close(descriptor)


def take_environment(env):
    os.environ.clear()
    os.environ.update(env)


def take_locale(env):
    """An interpreter that starts in the C locale asks for UTF-8 by a variable, which its children see too (PEP 538)."""
    try:
        name = locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:
        name = "C"
    if name == "C" and not env.get("LC_ALL") and env.get("PYTHONCOERCECLOCALE") != "0":
        os.environ["LC_CTYPE"] = "C.UTF-8"
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")


def exit_code(main):
    """Runs it as an interpreter runs a script's `sys.exit(main())`; the exit code."""
    try:
        result = main()
    except SystemExit as end:
        result = end.code
    except KeyboardInterrupt:
        traceback.print_exc()
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
        return 1
    if result is None or isinstance(result, int):
        return (result or 0) & 0xFF
    print(result, file=sys.stderr)
    return 1


def be_torchrun(argv, main):
    """The script bin/torchrun, as far as it and what it starts can tell."""
    take_locale(os.environ)
    script = types.ModuleType("__main__")
    script.__file__ = argv[0]
    sys.modules["__main__"] = script
    sys.path[0] = os.path.dirname(argv[0])
    sys.argv = list(argv)
    tempfile.tempdir = None
    time.tzset()
    code = exit_code(main)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def take_log_level(env):
    """What torch.distributed's loggers read when they are made, which was in the zygote."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("torch.distributed") and getattr(logger, "level", logging.NOTSET) != logging.NOTSET:
            logger.setLevel(env.get("LOGLEVEL", logger.level))


class Zygote:
    def __init__(self, torchrun):
        self._torchrun = torchrun
        self._socket = socket.socket(fileno=os.dup(0))
        self._unread = b""
        self._descriptors = []  # that came with requests
        self._running = {}  # descriptor of the process -> (request, pid, end of its time)
        self._late = set()  # pids whose time was up
        self._poller = select.poll()
        self._poller.register(self._socket, select.POLLIN)

    def answer(self, **words):
        self._socket.sendall(json.dumps(words).encode() + b"\n")

    def serve(self):
        self.answer(ready=os.getpid())
        while True:
            for descriptor, _ in self._poller.poll(self._patience()):
                if descriptor in self._running:
                    self._collect(descriptor)
                elif not self._receive():
                    return
            for descriptor, (request, pid, end) in self._running.items():
                if end <= time.monotonic():
                    self._running[descriptor] = request, pid, time.monotonic() + 2
                    self._end(pid)

    def _end(self, pid):
        """SIGABRT first: torchrun then writes down where it stands."""
        os.kill(pid, signal.SIGKILL if pid in self._late else signal.SIGABRT)
        self._late.add(pid)

    def _patience(self):
        """Milliseconds until somebody's time is up, None when nobody runs."""
        ends = [end for _, _, end in self._running.values()]
        return max(0.0, min(ends) - time.monotonic()) * 1000 + 1 if ends else None

    def _receive(self):
        data, descriptors, _, _ = socket.recv_fds(self._socket, 1 << 20, 3)
        self._descriptors += descriptors
        *lines, self._unread = (self._unread + data).split(b"\n")
        for request in map(json.loads, lines):
            if request.get("orphan"):
                self._start_orphan(request)
            else:
                self._start(request)
        return data

    def _start_orphan(self, request):
        """The one that is forked here forks in its turn and ends, before the answer is given."""
        main_of(self._torchrun)  # before the fork: once for all
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            if (pid := os.fork()) == 0:
                for descriptor in (ours, theirs):
                    os.close(descriptor)
                self._be_orphan(request)
            os.write(theirs, str(pid).encode())
            os._exit(0)
        os.waitpid(child, 0)
        pid = int(os.read(ours, 20))
        for descriptor in (ours, theirs, *self._descriptors):
            os.close(descriptor)
        self._descriptors = []
        self.answer(id=request["id"], pid=pid)

    def _be_orphan(self, request):
        """In the grandchild: never returns."""
        code = 127
        try:
            for number, descriptor in enumerate(self._descriptors):
                os.dup2(descriptor, number)
            for descriptor in (self._socket.fileno(), *self._running, *self._descriptors):
                os.close(descriptor)
            if request["session"]:
                os.setsid()
            os.chdir(request["cwd"])
            take_environment(request["env"])
            take_log_level(request["env"])
            code = be_torchrun(request["argv"], main_of(self._torchrun))
            threading._shutdown()  # what an interpreter does at its end
            atexit._run_exitfuncs()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _start(self, request):
        if request["argv"][0] == self._torchrun:
            main_of(self._torchrun)  # before the fork: once for all
        pid = os.fork()
        if pid == 0:
            self._become(request)
        descriptor = os.pidfd_open(pid)
        self._running[descriptor] = (request, pid, time.monotonic() + request["seconds"])
        self._poller.register(descriptor, select.POLLIN)

    def _collect(self, descriptor):
        request, pid, _ = self._running.pop(descriptor)
        self._poller.unregister(descriptor)
        os.close(descriptor)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        late = pid in self._late
        self._late.discard(pid)
        self.answer(id=request["id"], pid=pid, code=None if late else 128 - code if code < 0 else code)

    def _become(self, request):
        """In the child: never returns."""
        code = 127
        try:
            os.setsid()
            for descriptor in (self._socket.fileno(), *self._running):
                os.close(descriptor)
            place(os.open(request["input"], os.O_RDONLY), 0)
            for number, path in ((1, request["out"]), (2, request["err"])):
                place(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
            os.chdir(request["cwd"])
            code = self._run(request)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _run(self, request):
        argv = request["argv"]
        if argv[0] == self._torchrun:
            take_environment(request["env"])
            take_state(request["state"])
            return be_torchrun(argv, main_of(self._torchrun))
        for number in PYTHON_IGNORES:
            signal.signal(number, signal.SIG_DFL)
        take_state(request["state"])
        os.execve(argv[0], argv, request["env"])


@functools.cache
def main_of(torchrun):
    """What bin/torchrun says in its first lines, read there so that it is the same module."""
    module = re.search(r"^from ([\w.]+) import main$", pathlib.Path(torchrun).read_text(encoding="utf-8"), re.M)[1]
    gc.disable()  # imports only add
    imported = __import__(module, fromlist=["main"])
    gc.enable()
    gc.freeze()  # so that a child's collector does not copy every page
    return imported.main


def main():
    forget_signals()
    Zygote(sys.argv[1]).serve()


if __name__ == "__main__":
    main()
