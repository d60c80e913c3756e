"""What workers write in tests of the logs: lines that say whose they are and which, and may hold anything."""
import random

from player import NAMES

BYTES = bytes(0x2e if byte in b"\r\n" else byte for byte in range(256))
LETTERS = ("a", "z", " ", "ä", "ß", "中", "\N{GRINNING FACE}")


def line(chance, name, number, short):
    """A line that says whose it is and which, and goes on with letters or with any bytes but the ends of lines."""
    if not short and chance.random() < 0.03:
        return b"\n"
    size = chance.randrange(200)
    if not short and chance.random() < 0.02:
        size = chance.randrange(4096, 20000) if chance.random() < 0.95 else chance.randrange(1 << 16, 1 << 18)
    if chance.random() < 0.5:
        return b"%s %d %s\n" % (name, number, "".join(chance.choices(LETTERS, k=size // 2)).encode())
    return b"%s %d %s\n" % (name, number, chance.randbytes(size).translate(BYTES))


def text(chance, rank, stream, count, short=False):
    name = b"w%d %s" % (rank, NAMES[stream].encode())
    lines = [line(chance, name, number, short) for number in range(count)]
    if lines and not short and chance.random() < 0.3:
        lines[-1] = lines[-1][:-1]
    return b"".join(lines)


def chunks(chance, data):
    """Sizes of pieces of the data, cut anywhere."""
    largest = chance.choice([8, 300, 300, 5000, 1 << 20] if len(data) < 4000 else [300, 5000, 1 << 20])
    left = len(data)
    while left > 0:
        size = min(left, chance.randint(1, largest))
        left -= size
        yield size


def steady(rank, stream, size, longest=200):
    """About so many bytes of numbered lines."""
    chance = random.Random(rank)
    pad = bytes(0x21 + number % 90 for number in range(longest))
    lines, left = [], size
    while left > 0:
        lines.append(b"w%d %s %d %s\n" % (rank, NAMES[stream].encode(), len(lines), pad[chance.randrange(longest):]))
        left -= len(lines[-1])
    return b"".join(lines)
