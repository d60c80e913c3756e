"""A worker that shows when it lived: the file beats/NODE.PID gets its world, its rank, and its first and last moment.

Moments are seconds of the clock that counts in all namespaces alike. Its arguments are the number of its node, and
whether it is stubborn: the last worker of such a node does not end when it is told to. The first worker of a node fails
when there is a file fail.NODE, and all end well when there is a file go.
"""
import os
import signal
import sys
import time

NODE, STUBBORN = sys.argv[1], sys.argv[2] == "stubborn" and os.environ["LOCAL_RANK"] != "0"
FOLDER = os.environ["TEST_FOLDER"]
WORLD, RANK = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])


def beat(file, first):
    os.pwrite(file, f"{WORLD} {RANK} {first:.6f} {time.monotonic():.6f}\n".encode(), 0)


def fails():
    if os.environ["LOCAL_RANK"] != "0":
        return False
    try:
        os.unlink(f"{FOLDER}/fail.{NODE}")
        return True
    except FileNotFoundError:
        return False


def live():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    os.makedirs(f"{FOLDER}/beats", exist_ok=True)
    file = os.open(f"{FOLDER}/beats/{NODE}.{os.getpid()}", os.O_CREAT | os.O_WRONLY)
    first = time.monotonic()
    beat(file, first)
    with open(f"{FOLDER}/told", "a", encoding="utf-8") as told:
        restarts = os.environ["TORCHELASTIC_RESTART_COUNT"]
        told.write(f"start {time.time()} {NODE} {RANK} {WORLD} {restarts} {os.getpid()}\n")
    while not os.path.exists(f"{FOLDER}/go"):
        if signal.sigtimedwait({signal.SIGTERM}, 0.02) and not STUBBORN:
            return 0
        if fails():
            return 7
        beat(file, first)
    return 0


sys.exit(live())
