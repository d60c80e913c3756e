"""Runs command lines through torchrun and through launch, several at once, each in a folder of its own.

A Line is one command line; a Bench runs lines by the zygote; an Outcome is what a line left behind.
"""
import collections
import dataclasses
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import sys

import python_env
from harness import Settings, free_port, wait_for
from torch_job import TorchCase
from torchrun_zygote import UMASK, chosen, processors

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 120  # for one process; torchrun takes one, but logging a traceback costs it five of the processor more
AT_ONCE = 4  # launchers; they mostly wait
SAME, REFUSED, FOLLOW = "same", "refused", "follow"


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A line at which the two are meant to part: why, and with which exit codes.

    When launch runs what torchrun does not, `like` says at which command line torchrun would do the same.
    """
    cite: str
    theirs: tuple = (1, 2)
    ours: tuple = (2,)
    like: "Line" = None


@dataclasses.dataclass(frozen=True)
class Line:
    """Words @PORT@, @WORK@, @FOLDER@, @PYTHON@ and @HOST@ stand for a free port, the programs, the run's own folder,
    Python, this machine's name.

    expect: SAME (both end with 0 and the workers see the same), REFUSED (torchrun with 1 or 2, launch with 2, no worker
    starts), FOLLOW (whichever of the two torchrun does), or a Wanted.
    """
    name: str
    argv: tuple
    env: dict = dataclasses.field(default_factory=dict)  # None takes a variable away
    nodes: tuple = ((),)  # for each node the words before argv
    expect: object = SAME
    state: dict = dataclasses.field(default_factory=dict)  # see torchrun_zygote.take_state
    meets: str = "home"  # home (nothing given, or --standalone), c10d or static: who chooses address, port and run id
    run_id: str = ""  # the one given, where launch is to keep it
    alone: bool = False  # takes a port that others would take too
    folder: str = "@WORK@"  # where it is started
    after: str = ""  # a file in the run's folder: each node but the first is started when it is there

    def __str__(self):
        env = " ".join(f"{name}={value!r}" for name, value in self.env.items())
        nodes = "" if self.nodes == ((),) else f" on nodes {self.nodes}"
        state = f" with {self.state}" if self.state else ""
        return f"{self.name}: {env} torchrun {list(self.argv)}{nodes}{state}".replace(":  ", ": ")


@dataclasses.dataclass
class Outcome:
    """One line under one launcher: an exit code for each node (None: killed at the deadline), and its folder."""
    line: Line
    folder: pathlib.Path
    port: int
    codes: list
    places: dict = dataclasses.field(default_factory=dict)  # path -> stand-in

    def said(self):
        texts = (path.read_text(errors="replace") for path in sorted(self.folder.glob("*.err")))
        size = 3000 if any(code is None or code > 128 for code in self.codes) else 300
        return "\n".join(text.strip()[-size:] for text in texts)

    def reason(self):
        """Why it failed, without what another run has anew."""
        texts = (path.read_text(errors="replace").strip() for path in sorted(self.folder.glob("*.err")))
        return cause_of(self.plain("\n".join(texts)))

    def plain(self, text):
        for path, stand_in in ((str(self.folder), "@FOLDER@"), *self.places.items()):
            text = text.replace(path, stand_in)
        return text

    def inherited(self, name):
        """What the launcher was given of its starter's state."""
        state = self.line.state
        if name == "umask":
            return state.get(name, UMASK)
        if name == "nice":
            return min(19, os.nice(0) + state.get(name, 0))
        if name == "cpus":
            return chosen(state[name]) if name in state else sorted(os.sched_getaffinity(0))
        given = state.get("limits", {}).get(name)
        return given or list(resource.getrlimit(getattr(resource, f"RLIMIT_{name}")))


def is_possible(line):
    """This machine has the processors that the line is to be given."""
    return max(line.state.get("cpus", (0,))) < len(processors())


def cause_of(said):
    """The last line of a message without what it quotes, and without numbers."""
    last = said.splitlines()[-1] if said else "not a word"
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'|\"[^\"]*\"|(?<!\w)-+[^\s,;:]+|\S+=\S+", "…", last))[:110]


class Zygote:
    """Our end of torchrun_zygote.py; `start` starts a program, as harness.Case does."""

    def __init__(self, start, python, torchrun):
        self._socket, theirs = socket.socketpair()
        with theirs:
            env = {"LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
            self._run = start([python, HERE / "torchrun_zygote.py", torchrun], env=env, stdin=theirs)
        self._lines = self._socket.makefile("rb")
        self._numbers = itertools.count()
        self.pid = self.answer(60)["ready"]

    def ask(self, **request):
        number = next(self._numbers)
        self._socket.sendall(json.dumps({"id": number, **request}).encode() + b"\n")
        return number

    def answer(self, seconds=SECONDS + 20):
        self._socket.settimeout(seconds)
        line = self._lines.readline()
        if not line:
            raise EOFError(f"the zygote has ended:\n{self._run}")
        return json.loads(line)

    def close(self):
        self._lines.close()
        self._socket.close()
        return self._run.wait(30)


class Bench:
    """Runs lines in a folder with programs for them, in `work`. Their interpreter is `python`, in an environment of
    its own.
    """

    def __init__(self, zygote, folder, python, torchrun):
        self._zygote, self._folder = zygote, folder
        self.python, self._torchrun = str(python), str(torchrun)
        self._launchers = {"torchrun": self._torchrun, "like": self._torchrun, "launch": str(Settings.launch)}
        if torchrun and Settings.launch == pathlib.Path(torchrun).resolve():
            self._launchers["launch"] = self._torchrun
        self.work = folder / "work"

    def below(self, name):
        """Another bench with the same launchers, in a folder of this one's."""
        bench = Bench(self._zygote, self._folder / name, self.python, self._torchrun)
        bench._launchers = dict(self._launchers)
        bench._folder.mkdir()
        return bench

    def use_as(self, side, program):
        self._launchers[side] = str(program)

    def launcher(self, side):
        return self._launchers[side]

    def together(self, lines, sides, at_once):
        """Runs each line under all its sides, `sides(line)` being pairs (side, line), and yields
        (line, {side: outcome}) when the last has ended; the folders last until the next one is asked for.
        """
        lines = [line for line in lines if is_possible(line)]
        outcomes = {number: {} for number in range(len(lines))}
        jobs = [(number, side, one) for number, line in enumerate(lines) for side, one in sides(line)]
        for (number, side), outcome in self.run(jobs, at_once):
            mine = outcomes[number]
            mine[side] = outcome
            if len(mine) == len(sides(lines[number])):
                yield lines[number], mine
                for done in mine.values():
                    shutil.rmtree(done.folder, ignore_errors=True)

    def run(self, jobs, at_once):
        """Yields (key, Outcome) for each (key, side, line) in the order of their ends."""
        waiting, active, owners = collections.deque(jobs), {}, {}
        while waiting or active:
            while waiting and self._fits(waiting[0][2], active, at_once):
                key, side, line = waiting.popleft()
                outcome = self._outcome(key, side, line)
                active[key, side] = [outcome, len(line.nodes)]
                for node, request in enumerate(self._requests(line, outcome, side)):
                    if node and line.after:
                        wait_for((outcome.folder / line.after).exists, SECONDS)
                    owners[self._zygote.ask(**request)] = (key, side, node)
            answer = self._zygote.answer()
            key, side, node = owners.pop(answer["id"])
            job = active[key, side]
            job[0].codes[node] = answer["code"]
            job[1] -= 1
            if job[1] == 0:
                del active[key, side]
                yield (key, side), job[0]

    @staticmethod
    def _fits(line, active, at_once):
        running = [job[0].line for job in active.values()]
        if line.alone or any(other.alone for other in running):
            return not running
        return not running or sum(len(other.nodes) for other in (*running, line)) <= at_once

    def _outcome(self, key, side, line):
        folder = self._folder / f"{key}-{side}"
        for name in ("dump", "tmp", "far/away"):
            (folder / name).mkdir(parents=True)
        (folder / "link").symlink_to("far/away")
        venv = os.path.dirname(os.path.dirname(self.python))
        places = {str(self.work): "@WORK@", str(HERE): "@HERE@", venv: "@VENV@", os.path.realpath(venv): "@VENV@"}
        return Outcome(line, folder, free_port(), [None] * len(line.nodes), places)

    def _requests(self, line, outcome, side):
        folder = outcome.folder
        for node, (argv, env, cwd) in enumerate(self.commands(line, outcome, side)):
            yield {"argv": argv, "env": env, "cwd": cwd, "input": "/dev/null", "state": line.state,
                   "out": f"{folder}/{node}.out", "err": f"{folder}/{node}.err", "seconds": SECONDS}

    def commands(self, line, outcome, side):
        """(words, environment, folder) of each node."""
        folder = outcome.folder
        stand_ins = {"@PORT@": str(outcome.port), "@WORK@": str(self.work), "@FOLDER@": str(folder),
                     "@PYTHON@": self.python, "@HOST@": socket.gethostname()}

        def real(text):
            for name, value in stand_ins.items():
                text = text.replace(name, value)
            return text
        if hasattr(line, "commands"):
            return line.commands(self, outcome, side, real)
        env = {**self.environment(folder), **line.env}
        env = {name: real(value) for name, value in env.items() if value is not None}
        return [([self._launchers[side], *(real(word) for word in (*words, *line.argv))], env, real(line.folder))
                for words in line.nodes]

    def environment(self, folder):
        binaries = os.path.dirname(self.python)
        return {"PATH": f"{binaries}:{self.work}/bin:/usr/bin:/bin", "VIRTUAL_ENV": os.path.dirname(binaries),
                "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": f"{folder}/tmp", "DUMP_FOLDER": f"{folder}/dump",
                "PYTHONDONTWRITEBYTECODE": "1"}


def without_links(python):
    """By the folder's own name, else PyTorch logs other paths; the interpreter itself is a link, by which it knows its
    environment.
    """
    return python.parent.resolve() / python.name


def bare_environment(folder):
    """A virtual environment without anything in it; its interpreter."""
    python = pathlib.Path(os.path.realpath(sys.executable))
    (folder / "bin").mkdir(parents=True)
    for name in ("python", "python3"):
        (folder / "bin" / name).symlink_to(python)
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
    return folder / "bin" / "python"


class BenchCase(TorchCase):
    """Has a bench of its own.

    `real`: with the torchrun and the interpreter of PyTorch 2.13; else there is no torchrun, and Python is bare.
    """

    real = False

    def setUp(self):
        super().setUp()
        os.umask(UMASK)
        python, torchrun = self.python("2.13") if self.real else bare_environment(self.folder / "venv"), ""
        if self.real:
            torchrun = self.torchrun()
        self.zygote = Zygote(self.start, python, torchrun)
        self.bench = Bench(self.zygote, self.folder, python, torchrun)

    def python(self, version):
        """Without a look into the package: importing it costs two seconds of the processor."""
        python = python_env.new_python(Settings.build)
        packages = python.parent.parent.glob(f"lib/python3*/site-packages/torch-{version}.*")
        self.need(any(packages), f"PyTorch {version} (tests/interop/python_env.py installs it)")
        return without_links(python)

    def tearDown(self):
        code = self.zygote.close()
        super().tearDown()
        self.assertEqual(0, code)
