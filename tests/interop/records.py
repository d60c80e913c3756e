"""What torchrun does with each line, as text files: tests/data/torchrun-2.13/KIND/GROUP.json, made by record.py.

What most workers of a file have in common stands there once. Rank 0 has only what it has otherwise, a further rank
what differs from rank 0, its number apart; null is what a worker has not. So a change in what torchrun gives is a
change of few lines.
"""
import collections
import json
import pathlib

from harness import ROOT
from kinds import asked

FOLDER = ROOT / "tests/data/torchrun-2.13"
AGAIN = "python3 tests/interop/record.py"


class Missing(Exception):
    """The record has not got a line, or another one by its name."""


def write(folder, kind, entries):
    """Writes name -> entry of all lines of a kind; files that it no longer has are removed."""
    groups = collections.defaultdict(dict)
    for line in kind.lines:
        if line.name in entries:
            groups[kind.group(line)][line.name] = entries[line.name]
    place = pathlib.Path(folder) / kind.name
    place.mkdir(parents=True, exist_ok=True)
    for path in place.glob("*.json"):
        if path.stem not in groups:
            path.unlink()
    for group, found in groups.items():
        (place / f"{group}.json").write_text(text_of(packed(found)) + "\n", encoding="utf-8")


def read(folder, kind):
    """Name -> entry of all that is recorded of a kind."""
    entries = {}
    for path in sorted((pathlib.Path(folder) / kind.name).glob("*.json")):
        entries.update(unpacked(json.loads(path.read_text(encoding="utf-8"))))
    return entries


def of(kind, folder=FOLDER):
    """A function that gives the recorded entry of a line; it must be of that very line."""
    entries = read(folder, kind)

    def find(line):
        entry = entries.get(line.name)
        if entry is None:
            raise Missing(f"{kind.name}, {line}: is not in {folder}; record it: {AGAIN} {kind.name}")
        lines = [(line, entry), *((like, entry.get("like", {})) for side, like in kind.theirs(line) if side == "like")]
        for one, recorded in lines:
            if as_read(asked(one)) != recorded.get("asked"):
                raise Missing(f"{kind.name}, {line}: has changed since it was recorded as {recorded.get('asked')}; "
                              f"record it again: {AGAIN} {kind.name}")
        return entry
    return find


def as_read(entry):
    """An entry as it is when it has been written and read."""
    return json.loads(json.dumps(entry))


def parts_of(entries):
    """Every entry that has workers."""
    for entry in entries.values():
        yield entry
        if "like" in entry:
            yield entry["like"]


def packed(entries):
    workers = [worker for entry in parts_of(entries) for worker in entry.get("workers", ())[:1]]
    common = {}
    for name in sorted({name for worker in workers for name in worker}):
        value, times = collections.Counter(json.dumps(worker.get(name)) for worker in workers).most_common(1)[0]
        if times * 2 > len(workers) and value != "null":
            common[name] = json.loads(value)

    def pack(entry):
        entry = dict(entry)
        if "workers" in entry:
            entry["workers"] = [apart(worker, like_first(entry["workers"][0], rank) if rank else common)
                                for rank, worker in enumerate(entry["workers"])]
        if "like" in entry:
            entry["like"] = pack(entry["like"])
        return entry
    return {**({"common": common} if common else {}), "lines": {name: pack(entry) for name, entry in entries.items()}}


def unpacked(file):
    entries = file["lines"]
    for entry in parts_of(entries):
        workers = []
        for rank, own in enumerate(entry.get("workers", ())):
            worker = {**(like_first(workers[0], rank) if rank else file.get("common", {})), **own}
            workers.append({name: value for name, value in worker.items() if value is not None})
        if "workers" in entry:
            entry["workers"] = workers
    return entries


def like_first(first, rank):
    """What this rank has when it has nothing of its own but its number."""
    worker = dict(first)
    for name in ("RANK", "LOCAL_RANK", "ROLE_RANK"):
        if first.get(f"environment {name}") == "0":
            worker[f"environment {name}"] = str(rank)
    name = "environment TORCHELASTIC_ERROR_FILE"
    if name in worker:
        worker[name] = worker[name].replace("/0/error.json", f"/{rank}/error.json")
    return worker


def apart(worker, other):
    """What a worker has and the other has not, or has otherwise."""
    return {name: worker.get(name) for name in sorted(worker.keys() | other.keys())
            if worker.get(name) != other.get(name)}


def text_of(value, indent=""):
    """JSON with a line for each member, but short values in one line."""
    text = json.dumps(value)
    if len(indent) + len(text) <= 110 and not (isinstance(value, dict) and {"lines", "ends", "fields"} & value.keys()):
        return text
    inner = indent + " "
    if isinstance(value, dict) and value:
        members = [f"{inner}{json.dumps(name)}: {text_of(part, inner)}" for name, part in value.items()]
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(inner + text_of(part, inner) for part in value) + f"\n{indent}]"
    return text


def changes(recorded, found):
    """(cause, detail) of each difference between two entries of a line."""
    for name in sorted(recorded.keys() | found.keys()):
        before, now = recorded.get(name), found.get(name)
        if before == now:
            continue
        if name == "like":
            yield from ((f"at the line alike, {cause}", detail) for cause, detail in changes(before or {}, now or {}))
        elif name == "workers" and before and now and len(before) == len(now):
            for rank, (old, new) in enumerate(zip(before, now)):
                yield from members(old, new, f"rank {rank}: ")
        elif name in ("fields", "console") and before and now:
            yield from members(before, now, "")
        else:
            yield name, told(before, now)


def members(old, new, where):
    for field in sorted(old.keys() | new.keys()):
        if old.get(field) != new.get(field):
            yield field, where + told(old.get(field), new.get(field))


def told(before, now):
    """Two values, or of two long lists the members that only one has."""
    if isinstance(before, list) and isinstance(now, list) and len(repr(before)) > 200:
        return (f"recorded {[one for one in before if one not in now]}\n"
                f"now      {[one for one in now if one not in before]}")
    return f"recorded {before!r}, now {now!r}"
