"""What each launcher leaves in files and shows of its workers' words: launch against the record of torchrun.

Rows 83 to 93 and 108 of the checklist; log_lines.py has the command lines.
"""
import kinds
from bench import Outcome, Wanted
from compare import not_documented
from comparison import Comparison, Living
from harness import Case, long
from log_lines import JOB, line, table
from log_view import LAUNCH_SAYS, RULES, TORCHRUN_SAYS, judge, left_of
from torch_job import TorchCase


class Logs(Comparison):
    load = 1.5

    def test_rows(self):
        kind = kinds.logs()
        self.hold(kind, kind.lines)


@long("test_logs.Logs against the record, and test_living")
class LivingLogs(Living):
    load = 1.5

    def test_rows(self):
        kind = kinds.logs()
        self.live(kind, kind.lines)


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

    builds = ("release",)

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
        return Outcome(line(), top, 1, [0])

    def found(self, theirs, ours):
        return {cause for cause, _ in judge(line(), left_of(line(), theirs), ours)}

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
