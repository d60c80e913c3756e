"""Runs command lines through torchrun and through launch, and compares what the workers were given and the ends.

A Line is one command line; Bench runs many of them, several at once, by the zygote; `judge` holds two runs against each
other. What may differ stands in WANTED, each with the sentence of docs/torchrun.md that says so.
"""
import collections
import dataclasses
import itertools
import json
import os
import pathlib
import re
import shutil
import socket

from harness import ROOT, Settings, free_port, wait_for
from torch_job import TorchCase

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 120  # for one process; torchrun takes one, but logging a traceback costs it five of the processor more
AT_ONCE = 4  # launchers; torchrun mostly waits
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
    """Words @PORT@, @WORK@, @FOLDER@ and @PYTHON@ stand for a free port, the programs, the run's own folder, Python.

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
    """One line under one launcher: an exit code for each node (None: killed at the deadline), facts for each rank."""
    folder: pathlib.Path
    port: int
    codes: list
    facts: list = dataclasses.field(default_factory=list)

    def said(self):
        texts = (path.read_text(errors="replace") for path in sorted(self.folder.glob("*.err")))
        size = 3000 if None in self.codes else 300
        return "\n".join(text.strip()[-size:] for text in texts)


class Zygote:
    """Our end of torchrun_zygote.py."""

    def __init__(self, case, python, torchrun):
        self._socket, theirs = socket.socketpair()
        with theirs:
            env = {"LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
            self._run = case.start([python, HERE / "torchrun_zygote.py", torchrun], env=env, stdin=theirs)
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
    """Runs lines in a folder with programs for them; PROGRAMS in compare_cases.py says which."""

    def __init__(self, zygote, folder, python, torchrun):
        self._zygote, self._folder = zygote, folder
        self._python, self._torchrun = str(python), str(torchrun)
        self._launchers = {"torchrun": self._torchrun, "like": self._torchrun, "launch": str(Settings.launch)}
        if Settings.launch == torchrun.resolve():
            self._launchers["launch"] = self._torchrun
        self.work = folder / "work"

    def use_as(self, side, program):
        self._launchers[side] = str(program)

    def run(self, jobs, at_once=AT_ONCE):
        """Yields (key, Outcome) for each (key, side, line) in the order of their ends."""
        waiting, active, owners = collections.deque(jobs), {}, {}
        while waiting or active:
            while waiting and self._fits(waiting[0][2], active, at_once):
                key, side, line = waiting.popleft()
                job = active[key, side] = [line, Outcome(self._place(key, side), free_port(), [None] * len(line.nodes))]
                for node, request in enumerate(self._requests(line, job[1], side)):
                    if node and line.after:
                        wait_for((job[1].folder / line.after).exists, SECONDS)
                    owners[self._zygote.ask(**request)] = (key, side, node)
                job.append(len(line.nodes))
            answer = self._zygote.answer()
            key, side, node = owners.pop(answer["id"])
            job = active[key, side]
            job[1].codes[node] = answer["code"]
            job[2] -= 1
            if job[2] == 0:
                del active[key, side]
                yield (key, side), self._read(job[1])

    @staticmethod
    def _fits(line, active, at_once):
        running = [job[0] for job in active.values()]
        if line.alone or any(other.alone for other in running):
            return not running
        return sum(len(other.nodes) for other in running) < at_once

    def _place(self, key, side):
        folder = self._folder / f"{key}-{side}"
        for name in ("dump", "tmp", "far/away"):
            (folder / name).mkdir(parents=True)
        (folder / "link").symlink_to("far/away")
        return folder

    def _requests(self, line, outcome, side):
        folder = outcome.folder
        stand_ins = {"@PORT@": str(outcome.port), "@WORK@": str(self.work), "@FOLDER@": str(folder),
                     "@PYTHON@": self._python}

        def real(text):
            for name, value in stand_ins.items():
                text = text.replace(name, value)
            return text
        binaries = os.path.dirname(self._python)
        env = {"PATH": f"{binaries}:{self.work}/bin:/usr/bin:/bin", "VIRTUAL_ENV": os.path.dirname(binaries),
               "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": f"{folder}/tmp", "DUMP_FOLDER": f"{folder}/dump",
               "PYTHONDONTWRITEBYTECODE": "1", **line.env}
        env = {name: real(value) for name, value in env.items() if value is not None}
        for node, words in enumerate(line.nodes):
            argv = [self._launchers[side], *(real(word) for word in (*words, *line.argv))]
            yield {"argv": argv, "env": env, "cwd": real(line.folder), "input": "/dev/null", "state": line.state,
                   "out": f"{folder}/{node}.out", "err": f"{folder}/{node}.err", "seconds": SECONDS}

    @staticmethod
    def _read(outcome):
        paths = sorted((outcome.folder / "dump").glob("*.json"), key=lambda path: int(path.stem))
        outcome.facts = [plain(json.loads(path.read_bytes()), outcome) for path in paths]
        return outcome

    @staticmethod
    def forget(outcome):
        shutil.rmtree(outcome.folder, ignore_errors=True)


class BenchCase(TorchCase):
    """Has a bench of its own; it is for the test to put programs into bench.work."""

    def setUp(self):
        super().setUp()
        python, torchrun = self.python("2.13"), self.torchrun()
        self.zygote = Zygote(self, python, torchrun)
        self.bench = Bench(self.zygote, self.folder, python, torchrun)

    def tearDown(self):
        code = self.zygote.close()
        super().tearDown()
        self.assertEqual(0, code)


def plain(facts, outcome):
    """Field -> value, without what each run has anew: its folder, its free port, the random part of a folder's name."""
    env = facts["environment"]
    fields = {f"environment {name}": value for name, value in env.items()}
    for name in ("arguments", "command", "folder", "umask", "nice", "cpus", "blocked"):
        fields[name] = facts[name]
    fields.update({"own session": facts["session"] == facts["pid"], "own group": facts["group"] == facts["pid"]})
    fields.update({f"limit {name}": value for name, value in facts.get("limits", {}).items()})
    fields.update(facts["masks"])
    for number, descriptor in facts["descriptors"].items():
        fields[f"descriptor {number}"] = descriptor["kind"]
    run_id = env.get("TORCHELASTIC_RUN_ID", "")

    def same(value):
        if isinstance(value, list):
            return [same(part) for part in value]
        if not isinstance(value, str):
            return value
        value = as_utf8(value.replace(str(outcome.folder), "@FOLDER@"))
        return re.sub(rf"\b{outcome.port}\b", "@PORT@", value)
    fields = {name: same(value) for name, value in fields.items()}
    error_file = fields.get("environment TORCHELASTIC_ERROR_FILE", "")
    error_file = error_file.replace(f"/{run_id}_", "/@ID@_") if run_id else error_file
    error_file = re.sub(r"/torchelastic_[a-z0-9_]{8}/", "/torchelastic_********/", error_file)
    fields["environment TORCHELASTIC_ERROR_FILE"] = re.sub(r"_[a-zA-Z0-9_]{8}/attempt_", "_********/attempt_",
                                                           error_file)
    return fields


def as_utf8(text):
    """What fact_dump.c writes byte by byte becomes the text that env_dump.py writes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


@dataclasses.dataclass(frozen=True)
class Rule:
    field: str  # a pattern
    cite: str
    holds: object  # (line, theirs, ours) -> bool; None stands for a field that is not there


def is_uuid(text):
    return bool(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text or ""))


def is_made_up(text):
    """torchrun's own choice for an empty --rdzv-id."""
    return bool(re.fullmatch(r"\d{20,40}", text or ""))


def is_port(text):
    return (text or "").isdigit() and 1023 < int(text) < 65536


def is_free_choice(line, theirs, ours):
    return line.meets != "static" and is_port(theirs) and is_port(ours)


def keeps_id(line, theirs, ours):
    if line.meets != "home":
        return False
    return is_uuid(theirs) and (ours == line.run_id if line.run_id else ours not in (None, "", "none", theirs))


def same_tail(line, theirs, ours):
    """Below a temporary folder of another name."""
    if not (theirs or "").startswith("@FOLDER@/tmp/torchelastic_"):
        return False
    tail = r".*/(attempt_\d+/\d+/error\.json)"
    theirs, ours = (re.fullmatch(tail, path or "") for path in (theirs, ours))
    return bool(theirs and ours and theirs[1] == ours[1])


def same_python(line, theirs, ours):
    """The name of the interpreter, where no virtual environment is active."""
    return "VIRTUAL_ENV" in line.env and theirs[1:] == ours[1:] and theirs[0] + "3" == ours[0]


def is_piped(line, theirs, ours):
    tees = "PET_TEE" in line.env or any(re.match(r"--?\w*t", word) for word in line.argv)
    return tees and (theirs, ours) == ("-", "p")


def only_hup(line, theirs, ours):
    return 1 in line.state.get("ignored", ()) and int(ours, 16) == int(theirs, 16) | 1


def not_documented(cites):
    """Those that stand nowhere in docs/torchrun.md."""
    text = " ".join((ROOT / "docs/torchrun.md").read_text(encoding="utf-8").split())
    return sorted(cite for cite in set(cites) if cite not in text)


# Two runs of torchrun itself differ so.
EACH_RUN = [
    Rule("environment MASTER_PORT", "", is_free_choice),
    Rule("environment TORCHELASTIC_RUN_ID", "",
         lambda line, theirs, ours: line.meets == "home" and is_uuid(theirs) and is_uuid(ours)
         or is_made_up(theirs) and is_made_up(ours)),
]
WANTED = [
    Rule("environment MASTER_ADDR", "Without `--master-port`: MASTER_ADDR is 127.0.0.1 and the port a free one.",
         lambda line, theirs, ours: line.meets != "static" and theirs == socket.getfqdn() and ours == "127.0.0.1"),
    Rule("environment MASTER_PORT", "Without `--master-port`: MASTER_ADDR is 127.0.0.1 and the port a free one.",
         is_free_choice),
    Rule("environment TORCHELASTIC_RUN_ID", "A given `--rdzv-id` is kept; without one, a fresh one is made.", keeps_id),
    Rule("environment TORCHELASTIC_RUN_ID", "where torchrun takes it, so does launch",
         lambda line, theirs, ours: line.meets == "static" and is_made_up(theirs) and ours not in (None, "", "none")),
    Rule("environment TORCHELASTIC_ERROR_FILE",
         "The temporary folder for log and error files is removed unless something was written into it", same_tail),
    Rule("command|own .*|Sig.*|descriptor .*", "`--run-path` starts a Python that runs the file by `runpy.run_path`.",
         lambda line, theirs, ours: "--run-path" in line.argv),
    Rule("command", "Python is `PYTHON_EXEC`, else that of `VIRTUAL_ENV`, else that of `CONDA_PREFIX`", same_python),
    Rule("descriptor [12]", "With `--tee` a worker writes into a pipe to `launch`", is_piped),
    Rule("SigIgn", "Under `nohup`, SIGHUP stays ignored.", only_hup),
    Rule("SigIgn|SigBlk|blocked", "Signals that were ignored or blocked when the launcher began are back to their",
         lambda line, theirs, ours: "ignored" in line.state or "blocked" in line.state),
    Rule("environment LC_CTYPE", "In the C locale nothing is added to the environment.",
         lambda line, theirs, ours: theirs == "C.UTF-8" and ours is None),
]


def differences(line, theirs, ours, rules, given=()):
    """(cause, detail) of everything that differs between two good outcomes, `given` variables of the lines apart."""
    if len(theirs.facts) != len(ours.facts):
        yield "number of workers", f"torchrun {len(theirs.facts)}, launch {len(ours.facts)}"
        return
    for rank, (expected, found) in enumerate(zip(theirs.facts, ours.facts)):
        for field in sorted((expected.keys() | found.keys()) - {f"environment {name}" for name in given}):
            left, right = expected.get(field), found.get(field)
            if left != right and not any(re.fullmatch(rule.field, field) and rule.holds(line, left, right)
                                         for rule in rules):
                yield field, f"rank {rank}: torchrun {left!r}, launch {right!r}"


def cause_of(said):
    """The last line of a message without what it quotes, and without numbers."""
    last = said.splitlines()[-1] if said else "not a word"
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'|\"[^\"]*\"|(?<!\w)-+[^\s,;:]+|\S+=\S+", "…", last))[:110]


def judge(line, outcomes, rules, itself=False):
    """(cause, detail) of all that is wrong with a line's outcomes. `itself`: torchrun stands in launch's place."""
    expect, theirs, ours = line.expect, outcomes["torchrun"], outcomes["launch"]
    good = [0] * len(line.nodes)
    if expect == FOLLOW:
        expect = SAME if theirs.codes == good else REFUSED
    if isinstance(expect, Wanted):
        allowed = expect.theirs, expect.ours
    else:
        allowed = ((0,), (0,)) if expect == SAME else ((1, 2), (2,))
    wrong = False
    for who, outcome, codes in (("torchrun", theirs, allowed[0]),
                                ("launch", ours, theirs.codes if itself else allowed[1])):
        if any(code not in codes for code in outcome.codes):
            wrong = True
            said = outcome.said() if any(outcome.codes) else f"torchrun: {theirs.said()}"
            yield f"{who} ends with {outcome.codes}, not {list(codes)}: {cause_of(said)}", said
        elif expect == REFUSED and outcome.facts:
            yield f"{who} refuses but starts workers", outcome.said()
    if wrong or ours.codes != good:
        return
    if not isinstance(expect, Wanted) or itself:
        yield from differences(line, theirs, ours, rules)
    elif expect.like:
        yield from differences(line, outcomes["like"], ours, rules, line.env.keys() ^ expect.like.env.keys()
                               | {name for name in line.env if line.env[name] != expect.like.env.get(name)})


class Report:
    """Gathers what differs, by cause."""

    def __init__(self):
        self.causes = collections.defaultdict(list)

    def add(self, line, found):
        for cause, detail in found:
            if not any(known is line for known, _ in self.causes[cause]):
                self.causes[cause].append((line, detail))

    def __str__(self):
        parts = []
        for cause, found in sorted(self.causes.items(), key=lambda item: -len(item[1])):
            line, detail = found[0]
            others = ", ".join(other.name for other, _ in found[1:9])
            parts.append(f"{len(found)} x {cause}\n    e.g. {line}\n    " + detail.replace("\n", "\n    ")
                         + (f"\n    also {others}{' …' if len(found) > 9 else ''}" if others else ""))
        return f"{len(self.causes)} causes:\n\n" + "\n\n".join(parts)

