"""The same job under torchrun and under launch: what each leaves in files, and what each shows of its workers' words.

Rows 83 to 93 and 108 of the checklist; log_lines.py has the command lines.
"""
import os
import pathlib
import re
import stat

from compare import BenchCase, Outcome, Report, Rule, Wanted, cause_of, not_documented
from harness import Case
from log_lines import ABSENT, JOB, install, line, table
from torch_job import TorchCase

GONE = "written into it, and so is the empty folder of a job in `--log-dir`, of an attempt, and of a rank."
RULES = [
    Rule("path (logs|tmp|rel)", GONE,
         lambda line, theirs, ours: theirs[1].startswith("empty: ") and ours == (theirs[0], "empty")),
    Rule(r"path .*/attempt_\d+/evidence\.txt", "the form of the report on a failed job, and what is kept for it",
         lambda line, theirs, ours: theirs == ABSENT),
    Rule(r"path .*/attempt_\d+(/\d+)?", GONE,
         lambda line, theirs, ours: ours == ABSENT and theirs[1].startswith("empty")),
]
ELSEWHERE = ("dump", "torchinductor_")  # what workers note for each other; what PyTorch leaves after a traceback
STAMP = r"[EW]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ torch/distributed/[\w/]+\.py:\d+\] "
# All that a launcher says itself, as whole lines; anything else counts as a worker's. The last four: torchrun's node 0
# may end while others still ask its store.
TORCHRUN_SAYS = re.compile("|".join("^" + text for text in (
    rf"{STAMP}Sending process \d+ closing signal SIGTERM\n",
    rf"{STAMP}failed \(exitcode: -?\d+\) local_rank: \d \(pid: \d+\) of binary: \S+\n",
    rf"{STAMP}no error file defined for parent, to copy child error file \(\S+\)\n",
    r"Traceback \(most recent call last\):\n(?: .*\n)+(?:ValueError|NotADirectoryError|FileNotFoundError): .*\n",
    r"Traceback \(most recent call last\):\n(?: .*\n)+\S+\.ChildFailedError: \n={3,}\n(?:.*\n)*?={3,}\n",
    r"usage: torchrun (?:.*\n)+torchrun: error: .*\n",
    rf"{STAMP}Error waiting on exit barrier\. .*\n(?:{STAMP}.*\n)+",
    rf"{STAMP}The node '\S+' has failed to shutdown the rendezvous 'J' due to an error of type \w+\.\n",
    rf"{STAMP}The node '\S+' has failed to send a keep-alive heartbeat to the rendezvous 'J' due to an error .*\n",
    r"\[W\d{4} [\d:.]+ \w+\.cpp:\d+\] \[c10d\] .*\n(?:Exception raised from .*\n(?:frame #.*\n|<omitting .*\n)+\n)?",
)), re.M)
LAUNCH_SAYS = re.compile("|".join("^launch: " + text for text in (
    r"warning: rank \d .*: exit code 3; starting all workers anew, restart \d of \d\n",
    r"warning: --start-method fork has no effect: .*\n",
    r"error: --(?:redirects|tee) \S+: expected .*\n",
    r"waiting for the (?:other nodes:|store of node 0 at) .*\n",
    r"\S+ \(pid \d+\) joins; starting all workers anew\n",
    r"\./fails FAILED \(run id J\)\n(?:  .*\n)+",
)), re.M)


class View:
    """fields: what one run has left. `path P` is (mode, content) of a file or folder, `out N` and `err N` lines of a
    node's workers on the console, sorted.

    The random parts of names are starred; folders that get one name so are numbered in the order of their contents.
    """

    def __init__(self, line, outcome, says):
        self._top = outcome.folder
        given = [word.removeprefix("--log-dir=") for word in line.argv if word.startswith("--log-dir=")]
        name = given[-1] if given else line.env.get("PET_LOG_DIR", "")
        self._logs = name and pathlib.Path(os.path.realpath(self._top / name.replace("@FOLDER@", str(self._top))))
        self.fields = {}
        for node in range(len(outcome.codes)):
            self.fields[f"out {node}"] = sorted(self._text(self._top / f"{node}.out").split("\n"))
            errors = self._text(self._top / f"{node}.err")
            self.fields[f"err {node}"] = sorted(says.sub("", errors).split("\n"))
        self.fields.update({f"path {path}": value for path, value in self._below(self._top).items()
                            if not re.fullmatch(r"\d\.(out|err)", path)})

    def _plain(self, text):
        text = text.replace(str(self._top), "@FOLDER@")
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "@UUID@", text)
        text = re.sub(r"\btorchelastic_(\w{6}|\w{8})/", "torchelastic_********/", text, flags=re.A)
        return re.sub(r"_\w{8}/(?=attempt_)", "_********/", text, flags=re.A)

    def _text(self, path):
        return self._plain(path.read_bytes().decode(errors="backslashreplace"))

    def _below(self, folder):
        """Path -> (mode, content). A tree without files is one entry, with the names of its folders for content."""
        entries = []
        for path in sorted(folder.iterdir()):
            is_link = path.is_symlink()
            if path.name.startswith(ELSEWHERE) or is_link and path.name == "latest" and folder == self._logs:
                continue
            inner = self._below(path) if path.is_dir() and not is_link else None
            below = {"/" + name: value for name, value in inner.items()} if inner else {}
            if is_link:
                content = f"link to {os.readlink(path)}"
            elif inner is None:
                content = self._text(path)
                if path.name.startswith("filtered_"):  # several workers', in any order
                    content = "\n".join(sorted(content.split("\n")))
            elif all(value[1].startswith("empty") for value in inner.values()):
                names = [name + value[1].removeprefix("empty") for name, value in inner.items()]
                content, below = ": ".join(["empty", *([" and ".join(names)] if names else [])]), {}
            else:
                content = "folder"
            name = self._plain(path.name + ("/attempt_" if inner else "")).removesuffix("/attempt_")
            entries.append((name, {"": (oct(stat.S_IMODE(path.lstat().st_mode)), content), **below}))
        return self._numbered(sorted(entries, key=repr))

    @staticmethod
    def _numbered(entries):
        names = [name for name, _ in entries]
        found = {}
        for index, (name, below) in enumerate(entries):
            number = f" {names[:index].count(name) + 1}" if names.count(name) > 1 else ""
            found.update({name + number + path: value for path, value in below.items()})
        return found


def short(value):
    text = repr(value)
    return text if len(text) < 600 else f"{text[:300]} … {text[-300:]}"


def judge(line, outcomes):
    """(cause, detail) of all that is wrong with a line's outcomes."""
    wanted = line.expect if isinstance(line.expect, Wanted) else Wanted("", (0,), (0,))
    for side, codes in (("torchrun", wanted.theirs), ("launch", wanted.ours), ("like", wanted.ours)):
        outcome = outcomes.get(side)
        if outcome and any(code not in codes for code in outcome.codes):
            yield f"{side} ends with {outcome.codes}, not {list(codes)}: {cause_of(outcome.said())}", outcome.said()
    theirs = View(line, outcomes["torchrun"], TORCHRUN_SAYS).fields
    ours = View(line, outcomes["launch"], LAUNCH_SAYS).fields
    found = list(differences(line, theirs, ours))
    if wanted.like:
        found = list(differences(line, View(wanted.like, outcomes["like"], TORCHRUN_SAYS).fields, ours))
    yield from found
    if line.check:
        yield from line.check(theirs, ours)


def differences(line, theirs, ours):
    for field in sorted(theirs.keys() | ours.keys()):
        left, right = theirs.get(field, ABSENT), ours.get(field, ABSENT)
        if left != right and not any(re.fullmatch(rule.field, field, re.S) and rule.holds(line, left, right)
                                     for rule in (*RULES, *line.rules)):
            yield field, f"torchrun {short(left)}\nlaunch   {short(right)}"


class Logs(BenchCase):
    def setUp(self):
        super().setUp()
        install(self.bench.work)
        self.report = Report()

    def compare(self, lines):
        """Runs each line under both and reports what differs and is not wanted."""
        outcomes = {number: {} for number in range(len(lines))}
        jobs = [(number, side, one) for number, line in enumerate(lines) for side, one in self.sides(line)]
        for (number, side), outcome in self.bench.run(jobs):
            mine = outcomes[number]
            mine[side] = outcome
            if len(mine) == len(self.sides(lines[number])):
                self.report.add(lines[number], judge(lines[number], mine))
                for done in mine.values():
                    self.bench.forget(done)
        if self.report.causes:
            self.fail(str(self.report))

    @staticmethod
    def sides(line):
        more = [("like", line.expect.like)] if isinstance(line.expect, Wanted) and line.expect.like else []
        return [("torchrun", line), ("launch", line), *more]

    def test_rows(self):
        self.compare(table())


# What torchrun's node 1 says now and then where node 0 was faster to end, between words of workers.
LATE = """a worker's
[W1122 10:51:20.801549475 TCPStore.cpp:138] [c10d] recvValueWithTimeout failed on SocketImpl(fd=3): Connection reset
Exception raised from recvBytes at /pytorch/torch/csrc/distributed/c10d/Utils.hpp:784 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation) + 0x9d (0x7fc899179b8d in /lib/libc10.so)
<omitting python frames>
frame #31: _start + 0x21 (0x563215a32081 in /bin/python)

E1122 10:51:20.374000 32145 torch/distributed/elastic/agent/server/api.py:1008] Error waiting on exit barrier. Elapsed
E1122 10:51:20.374000 32145 torch/distributed/elastic/agent/server/api.py:1008] Traceback (most recent call last):
another worker's
"""


class Itself(Case):
    """The comparison finds what differs, and nothing else."""

    def test_launchers_own_words_are_left_out(self):
        self.assertEqual("a worker's\nanother worker's\n", TORCHRUN_SAYS.sub("", LATE))
        self.assertEqual("a worker's\nlaunch: x\n", LAUNCH_SAYS.sub("", (
            "launch: ./fails FAILED (run id J)\n  root cause  rank 1\n  exit code  3\na worker's\nlaunch: x\n")))

    def outcome(self, side, random, *lines):
        top = self.folder / side
        for rank in (0, 1):
            place = top / f"logs/J_{random}/attempt_0/{rank}"
            place.mkdir(parents=True)
            for name in ("stdout.log", "stderr.log"):
                (place / name).write_text(f"{place}/error.json\n")
        (top / "0.out").write_text("".join(lines))
        (top / "0.err").write_text("")
        return Outcome(top, 1, [0])

    def found(self, theirs, ours):
        return {cause for cause, _ in judge(line(), {"torchrun": theirs, "launch": ours})}

    def test_differences_are_found(self):
        theirs, ours = self.outcome("t", "a_b0c9dz", "a\n", "b\n"), self.outcome("l", "Z_B0C9D_", "b\n", "a\n")
        logs = ours.folder / "logs"
        (logs / "latest").symlink_to("J_Z_B0C9D_")
        self.assertEqual(set(), self.found(theirs, ours))
        job = logs / "J_Z_B0C9D_/attempt_0"
        (job / "0/stdout.log").write_text("other\n")
        (job / "0/stderr.log").chmod(0o640)
        (job / "1/stdout.log").unlink()
        (job / "1/latest").symlink_to(".")
        (job / "2").mkdir()
        job.parent.chmod(0o711)
        for name, text in (("out", "a\nb"), ("err", "launch: some word\n")):
            (ours.folder / f"0.{name}").write_text(text)
        ours.codes = [2]
        found = self.found(theirs, ours)
        self.assertEqual(1, len([cause for cause in found if cause.startswith("launch ends with [2], not [0]")]))
        self.assertEqual({"out 0", "err 0", f"path {JOB}"} | {f"path {JOB}/attempt_0/{name}" for name in (
            "0/stdout.log", "0/stderr.log", "1/stdout.log", "1/latest", "2")},
            {cause for cause in found if not cause.startswith("launch ends")})

    def test_folders_of_nodes_are_told_apart_by_their_contents(self):
        theirs, ours = self.outcome("t", "aaaaaaaa"), self.outcome("l", "bbbbbbbb")
        for outcome, other in ((theirs, "zzzzzzzz"), (ours, "00000000")):
            place = outcome.folder / f"logs/J_{other}/attempt_0/0"
            place.mkdir(parents=True)
            (place / "stdout.log").write_text("of the second node\n")
        self.assertEqual(set(), self.found(theirs, ours))
        (place / "stdout.log").write_text("other\n")
        self.assertEqual({f"path {JOB} 2/attempt_0/0/stdout.log"}, self.found(theirs, ours))


class Citations(TorchCase):
    def test_each_stands_in_the_document(self):
        cites = [line.expect.cite for line in table() if isinstance(line.expect, Wanted)]
        self.assertEqual([], not_documented(cites + [rule.cite for line in table() for rule in line.rules]
                                            + [rule.cite for rule in RULES]))
