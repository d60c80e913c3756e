"""Workers that play what a test has composed, and note what they did: workers/player.c, its plans, its notes.

A Part is the part of one worker. What it has begun to write and has written is known however it died.
"""
import array
import functools
import mmap
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

from console import Console, Matcher
from harness import Settings
from job import JobCase

SOURCE = pathlib.Path(__file__).resolve().parent / "workers" / "player.c"
OUT, ERR = STREAMS = (0, 1)
NAMES = ("stdout", "stderr")
WRITE, PAUSE, EXIT, RAISE, GATE, DEAF, FORK = 0, 2, 3, 4, 5, 6, 7  # as in player.c; 1 is WRITE to the other stream
HEAD, RECORD = struct.Struct("8Q"), struct.Struct("4Q")


@functools.cache
def sanitized():
    """Whether the binary has sanitizers, which take five to ten times the time."""
    with open(Settings.launch, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as program:
        return any(program.find(word) >= 0 for word in (b"__asan_init", b"__tsan_init"))


class Part:
    """What the worker of `rank` writes: `data`, bytes of stdout and stderr, by `operations`."""

    def __init__(self, rank):
        self.rank = rank
        self.data = [b"", b""]
        self.operations = []
        self.spoilt = False  # its end makes the job fail
        self._notes = None

    def write(self, stream, size):
        if size:
            self.operations.append((WRITE + stream, size))

    def write_all(self, stream, data, step=1 << 16):
        """Adds to a stream, and writes that in steps of so many bytes."""
        self.data[stream] += data
        for begin in range(0, len(data), step):
            self.write(stream, min(step, len(data) - begin))

    def do(self, kind, argument=0):
        self.operations.append((kind, argument))

    def store(self, folder):
        for name, data in (("out", self.data[OUT]), ("err", self.data[ERR]),
                           ("plan", array.array("I", [word for pair in self.operations for word in pair]).tobytes())):
            (folder / f"{name}.{self.rank}").write_bytes(data)
        with open(folder / f"notes.{self.rank}", "w+b") as file:
            file.truncate(HEAD.size + RECORD.size * len(self.operations))
            self._notes = mmap.mmap(file.fileno(), 0)

    def _head(self, index):
        return struct.unpack_from("Q", self._notes, 8 * index)[0]

    def begun(self, stream):
        return self._head(stream)

    def done(self, stream):
        return self._head(2 + stream)

    @property
    def gate(self):
        """The number of the last gate that it has come to."""
        return self._head(4)

    def open_gate(self, number):
        struct.pack_into("Q", self._notes, 8 * 5, number)

    @property
    def ended(self):
        """Whether it came to an exit; false of one that was killed."""
        return self._head(6) == 1

    def gap(self, stream, offset):
        """Seconds that may have passed between the bytes before and behind `offset`, by the worker's own clock."""
        writes = [RECORD.unpack_from(self._notes, HEAD.size + RECORD.size * number) for number in range(self._head(7))]
        before = max(write[1:] for write in writes if write[0] == stream and write[1] < offset)
        behind = max(write[1:] for write in writes if write[0] == stream and write[1] <= offset)
        return (behind[2] - before[1]) / 1e9 if behind[2] else float("inf")


class PlayerCase(JobCase):
    """Compiles the player, and runs jobs of it whose console is two pipes."""

    @classmethod
    def setUpClass(cls):
        home = tempfile.mkdtemp(prefix="launch-test-")
        cls.addClassCleanup(shutil.rmtree, home)
        cls.player = pathlib.Path(home) / "player"
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-static", "-o", str(cls.player), str(SOURCE)], check=True)

    def stage(self, parts):
        """A fresh folder that holds what these workers need."""
        stage = pathlib.Path(tempfile.mkdtemp(prefix="stage-", dir=self.folder))
        for part in parts:
            part.store(stage)
        return stage

    def play(self, parts, *options, out=None, err=None, shared=False, stage=None, before=()):
        """Starts one launch of these workers; `out` and `err` of the run are the consoles. A shared one stays open."""
        stage = stage or self.stage(parts)
        out, err = out or Console(), err or Console()
        for console in (out, err):
            self.addCleanup(console.close)
        run = self.start([*before, Settings.launch, "--omp-threads=1", *options, self.player],
                         env={"PLAYER_FOLDER": str(stage)}, stdout=out.writer, stderr=err.writer)
        if not shared:
            out.handed_over()
            err.handed_over()
        run.consoles = (out, err)
        return run

    def check_file(self, said, part, stream, path):
        """The file holds what was written before the end, whole; its bytes."""
        text = path.read_bytes()
        self.assertTrue(part.data[stream].startswith(text), f"{said}: {path.name} holds other bytes than were written")
        self.assertTrue(part.done(stream) <= len(text) <= part.begun(stream), f"{said}: {len(text)} bytes in "
                        f"{path.name}, {part.done(stream)} were written and {part.begun(stream)} begun")
        return text

    def check_shown(self, said, part, stream, text, shown):
        """Every line of this text is shown, once, in order and whole, but for pieces where the worker paused."""
        matcher = Matcher(text, shown, lambda offset: part.gap(stream, offset))
        self.assertIsNone(matcher.difference(), f"{said}: {NAMES[stream]} of rank {part.rank}")
        return matcher.pieces
