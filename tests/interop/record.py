#!/usr/bin/env python3
"""Records what torchrun does with every command line of the tests, or compares what it does now with the record.

    python3 tests/interop/record.py                                 records all of it again
    python3 tests/interop/record.py logs table:nccl                 the lines of a kind, or those whose name begins so
    python3 tests/interop/record.py --compare --python PYTHON       another PyTorch's torchrun, against the record

Each line is run twice, and what is not the same both times is not recorded but told. Exit code 1 if there is that, or
if something differs.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import kinds  # noqa: E402
import place  # noqa: E402
import python_env  # noqa: E402
import records  # noqa: E402
from bench import UMASK, Bench, Zygote, without_links  # noqa: E402
from compare import Report  # noqa: E402
from harness import ROOT  # noqa: E402
from running import Run  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=pathlib.Path, default=python_env.new_python(ROOT / "build"),
                        help="the interpreter of a virtual environment with PyTorch (default: %(default)s)")
    parser.add_argument("--torchrun", type=pathlib.Path, help="default: the one beside the interpreter")
    parser.add_argument("--into", type=pathlib.Path, default=records.FOLDER,
                        help="the folder of the record (default: %(default)s)")
    parser.add_argument("--compare", action="store_true", help="record nothing: print what differs from the record")
    parser.add_argument("--times", type=int, help="how often each line is run (default: 2, with --compare 1)")
    parser.add_argument("what", nargs="*", metavar="KIND[:NAME]", help="table, random, logs, events, recipes")
    options = parser.parse_args()
    options.python, options.into = without_links(options.python), options.into.absolute()
    options.torchrun = (options.torchrun or options.python.parent / "torchrun").absolute()
    options.times = options.times or (1 if options.compare else 2)
    unknown = {word.partition(":")[0] for word in options.what} - {kind.name for kind in kinds.all_kinds()}
    if unknown or not options.python.exists() or not options.torchrun.exists():
        parser.error(f"there is no {', '.join(unknown) or options.python if unknown else options.torchrun}")
    return options


class Recorder:
    def __init__(self, options, folder):
        self._options, self._folder = options, folder
        self.unsteady = Report()

    def _start(self, command, env, **words):
        return Run(command, {"PATH": "/usr/bin:/bin", "HOME": str(self._folder), **env}, self._folder, **words)

    def entries(self, kind, lines):
        """Name -> entry of each line; of several runs the first one's."""
        folder = self._folder / kind.name
        zygote = Zygote(self._start, self._options.python, self._options.torchrun)
        bench = Bench(zygote, folder, self._options.python, self._options.torchrun)
        folder.mkdir()
        kind.install(bench.work)
        entries = {}
        for number in range(self._options.times):
            for line, outcomes in bench.together(lines, kind.theirs, kind.at_once):
                entry = records.as_read(kind.entry(line, outcomes))
                self.unsteady.add(line, records.changes(entries.setdefault(line.name, entry), entry))
                if sys.stderr.isatty():
                    say(f"\r{kind.name}, {number + 1} of {self._options.times}: {line.name:40}", end="")
        zygote.close()
        say(f"\r{kind.name}: {len(lines)} lines, each {self._options.times} times{'':20}")
        return {line.name: entries[line.name] for line in lines}


def say(text, end="\n"):
    print(text, file=sys.stderr, end=end, flush=True)


def chosen(kind, what):
    """The lines of a kind that are wanted."""
    names = [word.partition(":")[2] for word in what if word.partition(":")[0] == kind.name]
    return [line for line in kind.lines if not what or any(line.name.startswith(name) for name in names)]


def work(options, folder):
    recorder, differ, taken = Recorder(options, folder), Report(), 0
    for kind in kinds.all_kinds():
        lines = chosen(kind, options.what)
        if not lines:
            continue
        entries = recorder.entries(kind, lines)
        taken += len(lines)
        recorded = records.read(options.into, kind)
        for line in lines:
            differ.add(line, records.changes(recorded.get(line.name, {}), entries[line.name]))
        if not options.compare:
            records.write(options.into, kind, {**recorded, **entries})
    return taken, differ, recorder.unsteady


def main():
    options = arguments()
    place.enter()
    os.umask(UMASK)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="launch-record-"))
    try:
        taken, differ, unsteady = work(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if unsteady.causes:
        print(f"Not the same in each run, {unsteady}\n")
    if options.compare and differ.causes:
        print(f"Not as recorded, {differ}\n")
    print(f"{taken} lines {'compared with' if options.compare else 'recorded in'} {options.into}")
    sys.exit(1 if unsteady.causes or options.compare and differ.causes else 0)


if __name__ == "__main__":
    main()
