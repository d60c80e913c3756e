"""The body of scripts/test: finds the tests, builds what they need and runs them. scripts/test has the usage."""
import argparse
import ctypes
import json
import os
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import builds  # noqa: E402
import long_parts  # noqa: E402
import place  # noqa: E402
import report  # noqa: E402
import units  # noqa: E402
from scheduler import Scheduler, Task  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
SECONDS = builds.BUILD / "test-seconds.json"  # how long units took the last time
USUAL = builds.ROOT / "tests/data/test_seconds.json"  # on another machine: what is long of a SECONDS of all units
WORK = builds.BUILD / "test-work.json"  # and how long they kept a processor busy
GUESS = {"interop": 30, "clusters": 20, "cli": 8, "core": 25, "sim": 8, "bench": 20}  # if it was never run here


def say(text=""):
    print(text, flush=True)


def tasks_of(found, deep, env, known):
    """unit label -> its task, and the builds before them. `known`: seconds that units took before."""
    tasks = {}
    for unit in found:
        stem = unit.label.replace("/", "-").replace(" ", "-")
        needs = ((f"build {unit.build} {unit.target}",) if unit.build else ())
        needs += (unit.environment,) if unit.environment else ()
        results = builds.LOGS / f"{stem}.json"
        results.unlink(missing_ok=True)
        tasks[unit.label] = Task(unit.label, unit.command(results, deep), builds.LOGS / f"{stem}.log", needs,
                                 load=unit.load, alone=unit.alone, limit=7200 if deep else 400,
                                 env={**unit.env(), **(env or {})},
                                 order=known.get(unit.label, GUESS.get(unit.folder, 5)))
    before = list(builds.build_tasks(found))
    before += [builds.environment_task(name) for name in sorted({unit.environment for unit in found} - {""})]
    return tasks, before


def run(found, deep=False, env=None, began=None):
    """Runs these units; the report. Says each end as it comes."""
    by_label = {unit.label: unit for unit in found}
    taken = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
    tasks, before = tasks_of(found, deep, env, {**json.loads(USUAL.read_text()), **taken})
    result = report.Report(place.must_run_everything())
    start, done = began or time.monotonic(), 0
    for task in Scheduler([*before, *tasks.values()], len(os.sched_getaffinity(0))).run():
        clock = f"{time.monotonic() - start:5.0f} s "
        if task.name not in by_label:
            say(f"{clock}{'' if task.good else 'FAILED '}{task.name}: {task.seconds:.0f} s")
            if not task.good:
                result.faults.append(task)
            result.span(task.name if " " not in task.name else f"building {task.name.split()[1]}", task)
            continue
        done += 1
        unit = by_label[task.name]
        say(f"{clock}[{done:3}/{len(tasks)}] "
            + result.add(unit, task, builds.LOGS / f"{task.log.stem}.json"))
        if task.code is not None:
            taken[task.name] = round(task.seconds, 1)
            result.span(f"tests of {unit.build or 'the house'}", task)
    SECONDS.write_text(json.dumps(taken, indent=0, sort_keys=True))
    WORK.write_text(json.dumps({label: round(worked, 1) for worked, label in sorted(result.work, reverse=True)},
                               indent=0))
    return result


def conclude(result, start):
    """What a person needs at the end; the exit code."""
    for text in result.failures():
        say(text)
    good, bad, skipped = result.counts()
    say("\n== the slowest tests")
    for line in result.slowest():
        say("   " + line)
    say("\n== the tests that keep processors busy for the longest time")
    for line in result.busiest():
        say("   " + line)
    say("\n== times")
    for part, (begin, end, worked) in result.spans.items():
        say(f"   {part:20} {end - begin:5.0f} s, from {begin - start:4.0f} s on; {worked:5.0f} s of a processor")
    say(f"   logs are in {builds.LOGS.relative_to(units.ROOT)}/")
    say(f"\nall of it took {(time.monotonic() - start) / 60:.1f} minutes")
    say(f"{good} passed, {bad} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if not bad and good else 1


def select(patterns, deep):
    """The units that are wanted; a test of --long alone is run if nothing of the quick suite has the name."""
    found = units.all_units(deep)
    if not patterns:
        return found
    return units.matching(found, patterns) or units.matching(units.all_units(True), patterns)


def show(patterns, deep):
    """The names of tests; of those that only --long runs with what stands for them in the quick suite."""
    found = units.all_units(deep)
    found = units.matching(found, patterns) if patterns else found
    covered = {test: by for unit in found for test, by in unit.covered.items() if by}
    for test in sorted(covered if deep else {test for unit in found for test in unit.tests}):
        say(f"{test}: {covered[test]}" if deep else test)
    return 0


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/test")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--began", type=float, default=0.0, help="seconds that scripts/test has used before")
    parser.add_argument("patterns", nargs="*")
    return parser.parse_args()


def main():
    given = arguments()
    start = time.monotonic() - given.began
    # What loses its parent comes to us, so that nothing of a test that was cut off is left.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if given.list:
        return show(given.patterns, given.long)
    if given.long:
        return long_parts.run(given.patterns, given.fresh, run, conclude, start)
    found = select(given.patterns, False)
    if given.without_torch:
        found = [unit for unit in found if unit.environment != "torch"]
    if not found:
        say(f"scripts/test: no test has {' or '.join(given.patterns)} in its name; scripts/test --list shows all")
        return 2
    shutil.rmtree(builds.LOGS, ignore_errors=True)
    builds.LOGS.mkdir(parents=True)
    return conclude(run(found, began=start), start)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
