"""A worker that meets the others at their store as real ones do, and shows when it lived and how far it came.

The file lives/NODE.PID gets its world, its rank, the restarts, its first and last moment (of the clock that counts in
all processes alike), and the last word. It counts itself in at the store, waits until all of its world are in, and ends
well some time later, each rank a little later than the one before. With the argument "fails" after its node, rank 1
fails once before that. Where the store is lost it stays, as a worker does that hangs in a collective operation.
"""
import os
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

import wire  # noqa: E402

NODE, FAILS = sys.argv[1], "fails" in sys.argv[2:]
WORLD, RANK, RESTARTS = (int(os.environ[name]) for name in ("WORLD_SIZE", "RANK", "TORCHELASTIC_RESTART_COUNT"))
BEAT = 0.01
WORK = 0.3


class Life:
    def __init__(self):
        folder = pathlib.Path(os.environ["TEST_FOLDER"]) / "lives"
        folder.mkdir(exist_ok=True)
        self.file = os.open(folder / f"{NODE}.{os.getpid()}", os.O_CREAT | os.O_WRONLY)
        self.first = time.monotonic()
        self.say("begun")

    def say(self, word):
        self.word = word
        note = f"{WORLD} {RANK} {RESTARTS} {self.first:.6f} {time.monotonic():.6f} {word:8}\n"
        os.pwrite(self.file, note.encode(), 0)

    def live(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(BEAT)
            self.say(self.word)


def meet(life):
    with wire.Client(int(os.environ["MASTER_PORT"]), os.environ["MASTER_ADDR"], seconds=60.0) as store:
        store.add("meets", 1)
        while (count := store.add("meets", 0)) < WORLD:
            life.live(BEAT)
    life.say("met" if count == WORLD else "crowded")


def main():
    life = Life()
    try:
        meet(life)
    except OSError:
        life.live(1000)
    life.live(WORK)
    if FAILS and RESTARTS == 0:
        if RANK == 1:
            return 7
        life.live(1000)
    life.live(WORK + 0.15 * RANK)
    life.say("done")
    return 0


sys.exit(main())
