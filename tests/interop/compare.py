"""Holds what launch gives its workers against what torchrun gives them: `judge`.

What may differ stands in WANTED, each with the sentence of docs/torchrun.md that says so. Of torchrun's side whatever
another run has anew is replaced by its shape (UUID and so on), whether it was run just now or is read from the record.
"""
import collections
import dataclasses
import hashlib
import json
import re
import socket

from bench import FOLLOW, REFUSED, SAME, Wanted, cause_of
from harness import ROOT

UUID, DIGITS, PORT, NAME = "@UUID@", "@DIGITS@", "@FREE_PORT@", "@HOST@"
INHERITED = "@INHERITED@"


def workers_of(outcome):
    """The fields of each rank, in order of rank."""
    paths = sorted((outcome.folder / "dump").glob("*.json"), key=lambda path: int(path.stem))
    return [plain(json.loads(path.read_bytes()), outcome) for path in paths]


def plain(facts, outcome):
    """Field -> value, without what depends on machine or folder: what the worker has of its launcher's starter, the
    free port, the random part of a folder's name.
    """
    env = facts["environment"]
    fields = {f"environment {name}": value for name, value in env.items()}
    for name in ("arguments", "command", "folder", "blocked"):
        fields[name] = facts[name]
    inherited = {name: facts[name] for name in ("umask", "nice", "cpus")}
    limits = facts.get("limits", {})
    for name, value in (*inherited.items(), *limits.items()):
        label = f"limit {name}" if name in limits else name
        fields[label] = INHERITED if value == outcome.inherited(name) else value
    fields.update({"own session": facts["session"] == facts["pid"], "own group": facts["group"] == facts["pid"]})
    fields.update(facts["masks"])
    for number, descriptor in facts["descriptors"].items():
        fields[f"descriptor {number}"] = descriptor["kind"]
    run_id = env.get("TORCHELASTIC_RUN_ID", "")

    def same(value):
        if isinstance(value, list):
            return [same(part) for part in value]
        if not isinstance(value, str):
            return value
        return shortened(re.sub(rf"\b{outcome.port}\b", "@PORT@", as_utf8(outcome.plain(value))))
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


def shortened(value):
    """Of a long text or list its size and digest, so that it can be compared but needs no place."""
    if isinstance(value, list):
        if len(value) <= 100:
            return [shortened(part) for part in value]
        return f"@{len(value)} LINES {digest(chr(10).join(value))}@"
    if isinstance(value, str) and len(value) > 1000:
        return f"@{len(value)} CHARACTERS {digest(value)}@"
    return value


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def shaped(line, fields):
    """torchrun's fields: of what each run has anew, the shape."""
    fields = dict(fields)
    address, port, run_id = (f"environment {name}" for name in ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"))
    if line.meets != "static" and fields.get(address) == socket.getfqdn():
        fields[address] = NAME
    if line.meets != "static" and is_port(fields.get(port)):
        fields[port] = PORT
    if is_uuid(fields.get(run_id)):
        fields[run_id] = UUID
    elif is_made_up(fields.get(run_id)):
        fields[run_id] = DIGITS
    return fields


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
    return line.meets != "static" and theirs == PORT and is_port(ours)


def keeps_id(line, theirs, ours):
    if line.meets != "home":
        return False
    return theirs == UUID and (ours == line.run_id if line.run_id else ours not in (None, "", "none"))


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


def passes(line, theirs, ours):
    """A file stands for the console here; which stream goes to which file is for test_logs."""
    muted = "PET_LOCAL_RANKS_FILTER" in line.env or any(re.match("--local[-_]r", word) for word in line.argv)
    return ours == "p" and (theirs == "-" or (muted and theirs == "c"))


def only_hup(line, theirs, ours):
    return 1 in line.state.get("ignored", ()) and int(ours, 16) == int(theirs, 16) | 1


def not_documented(cites):
    """Those that stand nowhere in docs/torchrun.md."""
    text = " ".join((ROOT / "docs/torchrun.md").read_text(encoding="utf-8").split())
    return sorted(cite for cite in set(cites) if cite not in text)


SAME_NAME = Rule("environment MASTER_ADDR", "", lambda line, theirs, ours: theirs == NAME and ours == socket.getfqdn())
# Two runs of torchrun itself differ so.
EACH_RUN = [
    Rule("environment MASTER_PORT", "", is_free_choice),
    Rule("environment TORCHELASTIC_RUN_ID", "",
         lambda line, theirs, ours: line.meets == "home" and theirs == UUID and is_uuid(ours)
         or theirs == DIGITS and is_made_up(ours)),
    SAME_NAME,
]
WANTED = [
    SAME_NAME,
    Rule("environment MASTER_ADDR", "Without `--master-port`: MASTER_ADDR is 127.0.0.1 and the port a free one.",
         lambda line, theirs, ours: line.meets != "static" and theirs == NAME and ours == "127.0.0.1"),
    Rule("environment MASTER_PORT", "Without `--master-port`: MASTER_ADDR is 127.0.0.1 and the port a free one.",
         is_free_choice),
    Rule("environment TORCHELASTIC_RUN_ID", "A given `--rdzv-id` is kept; without one, a fresh one is made.", keeps_id),
    Rule("environment TORCHELASTIC_RUN_ID", "where torchrun takes it, so does launch",
         lambda line, theirs, ours: line.meets == "static" and theirs == DIGITS and ours not in (None, "", "none")),
    Rule("environment TORCHELASTIC_ERROR_FILE",
         "The temporary folder for log and error files is removed unless something was written into it", same_tail),
    Rule("command|own .*|Sig.*|descriptor .*", "`--run-path` starts a Python that runs the file by `runpy.run_path`.",
         lambda line, theirs, ours: "--run-path" in line.argv),
    Rule("command", "Python is `PYTHON_EXEC`, else that of `VIRTUAL_ENV`, else that of `CONDA_PREFIX`", same_python),
    Rule("descriptor [12]", "With `--tee` a worker writes into a pipe to `launch`", is_piped),
    Rule("descriptor 2", "The standard error of a worker that goes to no file is a pipe", passes),
    Rule("SigIgn", "Under `nohup`, SIGHUP stays ignored.", only_hup),
    Rule("SigIgn|SigBlk|blocked", "Signals that were ignored or blocked when the launcher began are back to their",
         lambda line, theirs, ours: "ignored" in line.state or "blocked" in line.state),
    Rule("environment LC_CTYPE", "In the C locale nothing is added to the environment.",
         lambda line, theirs, ours: theirs == "C.UTF-8" and ours is None),
]


def with_state(line, state):
    return dataclasses.replace(line, state=state)


def left_of(line, outcome, is_torchrun=True):
    """What a line has left, as it is recorded: exit codes, the workers' fields, why it failed, the options that a help
    names.
    """
    workers = workers_of(outcome)
    left = {"ends": outcome.codes, "workers": [shaped(line, fields) for fields in workers] if is_torchrun else workers}
    if any(outcome.codes):
        left["said"] = outcome.reason()
    elif not workers:
        said = (outcome.folder / "0.out").read_text(errors="replace")
        left["options"] = sorted(options_in(said))
    return left


def options_in(text):
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text))


def differences(line, theirs, ours, rules, given=()):
    """(cause, detail) of everything that differs between two good ends, `given` variables of the lines apart."""
    theirs, ours = theirs["workers"], ours["workers"]
    if len(theirs) != len(ours):
        yield "number of workers", f"torchrun {len(theirs)}, launch {len(ours)}"
        return
    for rank, (expected, found) in enumerate(zip(theirs, ours)):
        for field in sorted((expected.keys() | found.keys()) - {f"environment {name}" for name in given}):
            left, right = expected.get(field), found.get(field)
            if left != right and not any(re.fullmatch(rule.field, field) and rule.holds(line, left, right)
                                         for rule in rules):
                yield field, f"rank {rank}: torchrun {left!r}, launch {right!r}"


def judge(line, theirs, outcome, rules, itself=False):
    """(cause, detail) of all that is wrong with launch's outcome of a line, and with what torchrun has left of it.

    `itself`: torchrun stands in launch's place.
    """
    expect, ours = line.expect, left_of(line, outcome, is_torchrun=False)
    good = [0] * len(line.nodes)
    if expect == FOLLOW:
        expect = SAME if theirs["ends"] == good else REFUSED
    if isinstance(expect, Wanted):
        allowed = expect.theirs, expect.ours
    else:
        allowed = ((0,), (0,)) if expect == SAME else ((1, 2), (2,))
    wrong = False
    for who, left, codes in (("torchrun", theirs, allowed[0]),
                             ("launch", ours, theirs["ends"] if itself else allowed[1])):
        said = theirs.get("said", "") if who == "torchrun" else outcome.said()
        if any(code not in codes for code in left["ends"]):
            wrong = True
            said = said if any(left["ends"]) else f"torchrun: {theirs.get('said')}"
            yield f"{who} ends with {left['ends']}, not {list(codes)}: {cause_of(said)}", said
        elif expect == REFUSED and left["workers"]:
            yield f"{who} refuses but starts workers", said
    if wrong or ours["ends"] != good:
        return
    if not isinstance(expect, Wanted) or itself:
        yield from differences(line, theirs, ours, rules)
    elif expect.like:
        yield from differences(line, theirs["like"], ours, rules, line.env.keys() ^ expect.like.env.keys()
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

