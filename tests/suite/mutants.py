"""Faults that are put into the program one by one: tests of the quick suite must find each.

    python3 tests/suite/mutants.py [AREA]...

Works on a copy of the tree in build/mutants. A mutant is found if a test that its words choose fails; it says which.
Exit code 0 if all were found, 1 otherwise.
"""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutants"


@dataclasses.dataclass(frozen=True)
class Mutant:
    area: str
    path: str
    right: str
    wrong: str
    words: tuple  # that choose tests


MUTANTS = (
    Mutant("store", "src/core/store/store_table.cpp",
           "found->second.append(request.payload);  // in place: a value that grows by many small pieces stays cheap\n"
           "  wake_all(request.key, answer);", "found->second.append(request.payload);", ("core/", "io/store")),
    Mutant("static", "src/core/job/ranks.cpp", "a.base_role_rank = role_sizes[member.role];",
           "a.base_role_rank = world_size;", ("core/", "cli/test_static")),
    Mutant("c10d", "src/core/c10d/membership.cpp",
           "const bool last = now.time >= last_call_;", "const bool last = true;",
           ("core/", "cli/test_elastic")),
    Mutant("restarts", "src/core/agent/restart_policy.cpp", "if (restarts < rules_.max_restarts)",
           "if (restarts <= rules_.max_restarts)", ("core/", "cli/test_elastic")),
    Mutant("supervision", "src/io/guard.cpp", "if (::kill(pid, SIGKILL) == 0) killed.insert(pid);",
           "killed.insert(pid);",
           ("cli/test_signals", "cli/test_torture")),
    Mutant("logs", "src/core/logs/line_router.cpp", "if (holds()) give_held(sink);", "(void)sink;",
           ("core/", "cli/test_log")),
    Mutant("options", "src/core/options/options.cpp",
           "->take_last()", "->take_first()", ("core/", "cli/test_options")),
    Mutant("verdict", "src/core/agent/agent.cpp", "if (!final || !event.failure.restart) blame(event.failure, now);",
           "if (final || !event.failure.restart) blame(event.failure, now);", ("core/", "cli/test_verdict")),
    Mutant("membership", "src/core/c10d/membership.cpp", "if (state_.redundancy_list.erase(node) == 0) continue;",
           "if (state_.redundancy_list.erase(node) > 0) continue;", ("core/", "cli/test_membership")),
    Mutant("succession", "src/core/c10d/succession.cpp", "2 * here > all) return true;",
           "2 * here >= all) return true;", ("core/",)),
    Mutant("succession", "src/core/c10d/succession.cpp", "|| !stopping_.empty() ||", "||", ("core/",)),
    Mutant("succession", "src/core/c10d/succession.cpp", "comeback.left <= left_ &&", "left_ >= 0 &&", ("core/",)),
    Mutant("environment", "src/core/config/worker_settings.cpp",
           'set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")', 'set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")',
           ("interop/test_compare",)),
    Mutant("events", "src/core/events/torchelastic_teller.cpp",
           "!first || (first->kind == Failure::Kind::worker && ranks_);", "!first;",
           ("core/", "interop/test_events")),
)


def copy_tree():
    """The files of this tree as they are now; what was built from the copy before stays."""
    COPY.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, COPY / name
        if source.is_file() and not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
    (COPY / "build").mkdir(exist_ok=True)
    if not (COPY / "build/venv").exists():
        (COPY / "build/venv").symlink_to(ROOT / "build/venv")


def found_by(mutant):
    """Names of tests that fail with it; None if it could not be made or built."""
    path = COPY / mutant.path
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.right) != 1:
        print(f"{mutant.path} has no longer: {mutant.right}")
        return None
    path.write_text(text.replace(mutant.right, mutant.wrong), encoding="utf-8")
    try:
        done = subprocess.run([sys.executable, "tests/suite", *mutant.words], cwd=COPY, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    finally:
        path.write_text(text, encoding="utf-8")
    if "FAILED build" in done.stdout:
        print(done.stdout)
        return None
    again = re.findall(r"^   again: scripts/test (.*)$", done.stdout, re.M)
    return [name for line in again for name in line.split()]


def lost():
    """Those whose line the program has no longer."""
    def text_of(mutant):
        return (ROOT / mutant.path).read_text(encoding="utf-8")

    return [mutant.area for mutant in MUTANTS if text_of(mutant).count(mutant.right) != 1]


def main():
    wanted = [mutant for mutant in MUTANTS if not sys.argv[1:] or mutant.area in sys.argv[1:]]
    copy_tree()
    code = 0
    for mutant in wanted:
        names = found_by(mutant)
        code |= not names
        print(f"  {mutant.area}: {'found by ' + ', '.join(names[:4]) if names else 'NOT FOUND'}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
