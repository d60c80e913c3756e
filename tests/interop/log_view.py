"""What a job has left in files and on the console, as a View, and `judge`, which holds launch's against torchrun's."""
import os
import pathlib
import re
import socket
import stat

from bench import Wanted, cause_of
from compare import Rule, shortened
from log_lines import ABSENT, VARIES

GONE = "written into it, and so is the empty folder of a job in `--log-dir`, of an attempt, and of a rank."
RULES = [
    Rule("path (logs|tmp|rel)", GONE,
         lambda line, theirs, ours: theirs[1].startswith("empty: ") and ours == [theirs[0], "empty"]),
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
    r"Traceback \(most recent call last\):\n(?: .*\n)+(?:Value|NotADirectory|FileNotFound|OS)Error: .*\n",
    r"Traceback \(most recent call last\):\n(?: .*\n)+\S+\.ChildFailedError: \n={3,}\n(?:.*\n)*?={3,}\n",
    r"usage: torchrun (?:.*\n)+torchrun: error: .*\n",
    rf"{STAMP}Error waiting on exit barrier\. .*\n(?:{STAMP}.*\n)+",
    rf"{STAMP}The node '\S+' has failed to shutdown the rendezvous 'J' due to an error of type \w+\.\n",
    rf"{STAMP}The node '\S+' has failed to send a keep-alive heartbeat to the rendezvous 'J' due to an error .*\n",
    r"\[W\d{4} [\d:.]+ \w+\.cpp:\d+\] \[c10d\] .*\n(?:Exception raised from .*\n(?:frame #.*\n|<omitting .*\n)+\n)?",
)), re.M)
LAUNCH_SAYS = re.compile("|".join("^launch: " + text for text in (
    r"warning: rank \d .*: exit code 3; restarting all workers, restart \d of \d, at [\d: -]+\n",
    r"warning: --start-method fork has no effect: .*\n",
    r"error: --(?:redirects|tee) \S+: expected .*\n",
    r"(?:waiting for nodes? |.*; waiting for the store of node 0 at ).*\n",
    r"\S+ \(pid \d+\) joins; restarting all workers, at [\d: -]+\n",
    r"output of the workers is in .+ \(host \S+\)\n",
    r"\./fails FAILED \(run id J\)\n(?:  .*\n)+",
)), re.M)


class View:
    """fields: what one run has left. `path P` is [mode, content] of a file or folder, `out N` and `err N` lines of a
    node's workers on the console, sorted.

    The random parts of names are starred; folders that get one name so are numbered in the order of their contents.
    """

    def __init__(self, line, outcome, says):
        self._top, self._outcome = outcome.folder, outcome
        self._tells_host = "host" in repr(line.env).lower()
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
        text = self._outcome.plain(text)
        if self._tells_host:
            text = text.replace(socket.gethostname(), "@HOST@")
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "@UUID@", text)
        text = re.sub(r"\btorchelastic_(\w{6}|\w{8})/", "torchelastic_********/", text, flags=re.A)
        return re.sub(r"_\w{8}/(?=attempt_)", "_********/", text, flags=re.A)

    def _text(self, path):
        return self._plain(path.read_bytes().decode(errors="backslashreplace"))

    def _below(self, folder):
        """Path -> [mode, content]. A tree without files is one entry, with the names of its folders for content."""
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
            entries.append((name, {"": [oct(stat.S_IMODE(path.lstat().st_mode)), content], **below}))
        return self._numbered(sorted(entries, key=repr))

    @staticmethod
    def _numbered(entries):
        names = [name for name, _ in entries]
        found = {}
        for index, (name, below) in enumerate(entries):
            number = f" {names[:index].count(name) + 1}" if names.count(name) > 1 else ""
            found.update({name + number + path: value for path, value in below.items()})
        return found


def left_of(line, outcome):
    """What torchrun has left of a line, as it is recorded."""
    fields = View(line, outcome, TORCHRUN_SAYS).fields
    fields = {name: VARIES if line.varies and re.fullmatch(line.varies, name) else shortened(value)
              for name, value in fields.items()}
    said = {"said": outcome.reason()} if any(outcome.codes) else {}
    return {"ends": outcome.codes, **said, "fields": fields}


def judge(line, theirs, outcome):
    """(cause, detail) of all that is wrong with launch's outcome of a line, and with what torchrun has left of it."""
    wanted = line.expect if isinstance(line.expect, Wanted) else Wanted("", (0,), (0,))
    if any(code not in wanted.theirs for code in theirs["ends"]):
        said = theirs.get("said", "")
        yield f"torchrun ends with {theirs['ends']}, not {list(wanted.theirs)}: {said}", said
    if any(code not in wanted.ours for code in outcome.codes):
        yield f"launch ends with {outcome.codes}, not {list(wanted.ours)}: {cause_of(outcome.said())}", outcome.said()
    if wanted.like and any(code not in wanted.ours for code in theirs["like"]["ends"]):
        yield f"torchrun ends with {theirs['like']['ends']} at the line alike", theirs["like"].get("said", "")
    ours = View(line, outcome, LAUNCH_SAYS).fields
    short = {name: shortened(value) for name, value in ours.items()}
    yield from differences(line, (theirs["like"] if wanted.like else theirs)["fields"], short)
    if line.check:
        yield from line.check(theirs["fields"], ours)


def short(value):
    text = repr(value)
    return text if len(text) < 600 else f"{text[:300]} … {text[-300:]}"


def differences(line, theirs, ours):
    for field in sorted(theirs.keys() | ours.keys()):
        left, right = theirs.get(field, ABSENT), ours.get(field, ABSENT)
        if left not in (right, VARIES) and not any(re.fullmatch(rule.field, field, re.S)
                                                   and rule.holds(line, left, right)
                                                   for rule in (*RULES, *line.rules)):
            yield field, f"torchrun {short(left)}\nlaunch   {short(right)}"
