"""Runs tasks beside each other: what waits beside what computes, what measures time alone, in the end.

A task is a command with what it needs before it may begin. Each has a log, a time limit and a session of its own; when
a task ends, nothing that it has started is left.
"""
import dataclasses
import os
import pathlib
import select
import signal
import subprocess
import time

import processes

AT_MOST = 20  # tests at once, however little each does
PATIENCE = 5.0  # seconds between the request to end and SIGKILL


@dataclasses.dataclass
class Task:
    name: str
    command: list
    log: pathlib.Path
    needs: tuple = ()  # names of tasks that must have succeeded
    load: float = 0.0  # processors that it keeps busy
    alone: str = ""  # why nothing may run beside it
    builds: bool = False  # gets only the time that tests leave; one at a time
    limit: float = 900.0  # seconds
    env: dict = dataclasses.field(default_factory=dict)
    order: float = 0.0  # among those that may begin, the highest begins first
    # What became of it.
    code: int = None  # None: never begun
    began: float = 0.0
    seconds: float = 0.0
    worked: float = 0.0  # seconds of processors that it and what it has waited for have used
    why: str = ""  # what ended it, or kept it from beginning
    process: subprocess.Popen = None

    @property
    def good(self):
        return self.code == 0


class Scheduler:
    """run() gives the tasks in the order of their ends. `cores`: how much load at once."""

    def __init__(self, tasks, cores):
        self._pending = sorted(tasks, key=lambda task: -task.order)
        self._cores = cores
        self._running = {}  # descriptor -> task
        self._good, self._bad = set(), set()

    def run(self):
        try:
            while self._pending or self._running:
                yield from self._give_up()
                while task := self._next():
                    self._start(task)
                yield from self._collect()
        finally:
            for task in self._running.values():
                stop(task.process)
                reaped(task.process)

    def running(self):
        return list(self._running.values())

    def _give_up(self):
        """Those whose needs have failed will never begin."""
        for task in [task for task in self._pending if self._bad.intersection(task.needs)]:
            self._pending.remove(task)
            self._bad.add(task.name)
            task.why = f"{self._bad.intersection(task.needs).pop()} has failed"
            yield task

    def _next(self):
        ready = [task for task in self._pending if self._good.issuperset(task.needs)]
        first = next((task for task in ready if self._fits(task)), None)
        if first:
            self._pending.remove(first)
        return first

    def _fits(self, task):
        running = list(self._running.values())
        if any(other.alone for other in running):
            return False
        if task.builds:
            return not any(other.builds for other in running)
        if task.alone:  # when everything else is done
            return not running and not any(not other.alone for other in self._pending)
        tests = [other for other in running if not other.builds]
        return not tests or len(tests) < AT_MOST and task.load + sum(other.load for other in tests) <= self._cores

    def _start(self, task):
        task.log.parent.mkdir(parents=True, exist_ok=True)
        command = ["nice", "-n", "19", *task.command] if task.builds else task.command
        task.began = time.monotonic()
        with open(task.log, "wb") as log:
            task.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, env={**os.environ, **task.env},
                                            start_new_session=True)
        self._running[os.pidfd_open(task.process.pid)] = task

    def _collect(self):
        """Waits until a task ends or the time of one is up."""
        poller = select.poll()
        for descriptor in self._running:
            poller.register(descriptor, select.POLLIN)
        up = min((task.began + task.limit for task in self._running.values()), default=time.monotonic())
        ready = [descriptor for descriptor, _ in poller.poll(max(0.0, up - time.monotonic()) * 1000 + 1)]
        now = time.monotonic()
        late = [descriptor for descriptor, task in self._running.items() if task.began + task.limit <= now]
        for descriptor in {*ready, *late}:
            task = self._running.pop(descriptor)
            os.close(descriptor)
            if descriptor not in ready:
                task.why = f"still running after {task.limit:.0f} s"
                stop(task.process)
            task.code, task.worked = reaped(task.process)
            task.seconds = time.monotonic() - task.began
            (self._good if task.good and not task.why else self._bad).add(task.name)
            yield task



def reaped(process):
    """Waits for a process; its exit code and the seconds of processors that it used."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def stop(process):
    """Ends a process and all below it, but leaves it to be waited for: first asks its session to tidy up."""
    below = processes.descendants_of(process.pid)
    ended = os.pidfd_open(process.pid)
    os.killpg(process.pid, signal.SIGTERM)  # it was not waited for: its group exists
    if not select.select([ended], [], [], PATIENCE)[0]:
        below |= processes.descendants_of(process.pid) | {process.pid}
    os.close(ended)
    processes.kill(pid for pid in below if processes.alive(pid))
