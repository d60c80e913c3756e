"""A console that is a pipe, read at once or as slowly as a test likes, and what must be true of the lines on it."""
import os
import re
import select
import threading

PREFIX = re.compile(rb"\[default(\d+)\]:")
LONGEST_HELD = 1 << 16  # of a longer line launch shows pieces
SHORTEST_GAP = 0.15  # seconds inside a line after which pieces of it may be shown: launch waits 0.2 for the rest


class Console:
    """`writer` is for the programs. By default all is read as soon as it comes, otherwise when a test says so."""

    def __init__(self, reads=True):
        self.reader, self.writer = os.pipe()
        self.reads = reads
        self.chunks = []
        self._thread = None

    def handed_over(self):
        """The programs have the end for writing: when they have ended, so has the text."""
        os.close(self.writer)
        self.writer = None
        if self.reads:
            self.read_on()

    def read_on(self):
        """From now on all is read as soon as it comes."""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while chunk := os.read(self.reader, 1 << 16):
            self.chunks.append(chunk)

    def take(self, size, seconds):
        """One read, where something comes in this time."""
        if select.select([self.reader], [], [], seconds)[0]:
            self.chunks.append(os.read(self.reader, size))

    @property
    def taken(self):
        return b"".join(self.chunks)

    @property
    def size(self):
        """Bytes so far."""
        return sum(map(len, self.chunks))

    def text(self, seconds=60.0):
        """All of it, to the end."""
        if not self._thread:
            self.read_on()
        self._thread.join(seconds)
        if self._thread.is_alive():
            raise AssertionError(f"somebody still has the console open after {seconds} s")
        self.close()
        return self.taken

    def close(self):
        """May be called twice; a reader that still waits keeps its descriptor."""
        if self.writer is not None:
            os.close(self.writer)
            self.writer = None
        if self.reader is not None and not (self._thread and self._thread.is_alive()):
            os.close(self.reader)
            self.reader = None


def sort_lines(text, prefix=PREFIX):
    """Prefix number -> lines behind that prefix, and the lines without one, in order."""
    lines = text.split(b"\n")
    if lines.pop():
        raise AssertionError(f"the console ends in an unfinished line: {text[-200:]!r}")
    by_number, others = {}, []
    for line in lines:
        if match := prefix.match(line):
            by_number.setdefault(int(match[1]), []).append(line[match.end():])
        else:
            others.append(line)
    return by_number, others


def whole_lines(text):
    """The lines of a stream; one that is unfinished at the end counts."""
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


class Matcher:
    """Lays shown lines along the text of a stream. `gap(offset)`: seconds between the bytes before and behind it."""

    def __init__(self, text, shown, gap):
        self.text, self.wanted, self.shown, self.gap = text, whole_lines(text), shown, gap
        self.pieces = 0

    def difference(self):
        """None where every line is shown exactly once, in order, and untorn; otherwise what is wrong."""
        if self.wanted == self.shown:
            return None
        at, offset = 0, 0
        for number, line in enumerate(self.wanted):
            used = self._shown_as(number, line, at, offset)
            if not used:
                return (f"line {number} of {len(self.wanted)}, {len(line)} bytes at {offset}, is {line[:100]!r}; shown "
                        f"is, as line {at} of {len(self.shown)}, {[shown[:100] for shown in self.shown[at:at + 3]]!r}")
            at, offset, self.pieces = at + used, offset + len(line) + 1, self.pieces + used - 1
        return None if at == len(self.shown) else f"shown beyond the end: {self.shown[at:at + 3]!r}"

    def _shown_as(self, number, line, at, offset):
        """How many shown lines, from number `at`, make up this one; 0: they do not."""
        length = 0
        for used, piece in enumerate(self.shown[at:at + 1 + len(line)], 1):
            if not line.startswith(piece, length):
                return 0
            length += len(piece)
            if length == len(line):
                # Its end may come late and alone, and is then shown as an empty line.
                late = self._empty(self.shown, at + used) > self._empty(self.wanted, number + 1)
                return used + (late and self._may_cut(offset + length, piece))
            if not piece or not self._may_cut(offset + length, piece):
                return 0
        return 0

    def _may_cut(self, offset, piece):
        return offset < len(self.text) and (len(piece) >= LONGEST_HELD or self.gap(offset) >= SHORTEST_GAP)

    @staticmethod
    def _empty(lines, begin):
        """How many empty lines follow each other from there."""
        end = begin
        while end < len(lines) and not lines[end]:
            end += 1
        return end - begin
