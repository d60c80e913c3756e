"""A worker that leaves connections to the store behind, and looks whether it sees anything of those before it.

Its argument is how often the job is restarted. All rounds use the same keys. Before anybody of a round has written,
there must be nothing; afterwards every value is the round's number, and what is counted is a multiple of it plus two,
which no other round next to it adds. What is not so goes to a file seen.ROUND.RANK.

Its connections go to the test, which holds them for longer than the worker lives, as the kernel of a lost host does.
"""
import os
import pathlib
import signal
import socket
import sys
import time

sys.path += map(str, pathlib.Path(__file__).resolve().parents[1:3])

import wire  # noqa: E402
from old_requests import requests_of  # noqa: E402

RESTARTS = int(sys.argv[1])
FOLDER = os.environ["TEST_FOLDER"]
ROUND, RANK, WORLD = (int(os.environ[name]) for name in ("TORCHELASTIC_RESTART_COUNT", "RANK", "WORLD_SIZE"))
PLACE = int(os.environ["MASTER_PORT"]), os.environ["MASTER_ADDR"]


def see(what):
    with open(f"{FOLDER}/seen.{ROUND}.{RANK}", "a", encoding="utf-8") as seen:
        seen.write(what + "\n")


def look_for_others(store):
    if count := store.add("/count", 0) % (ROUND + 2):
        see(f"the count is off by {count}")
    for rank in range(WORLD):
        if (value := store.get(f"/value/{rank}")) not in (b"", str(ROUND).encode()):
            see(f"/value/{rank} is {value}")


def look_before_others(store):
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        if count := store.add("/count", 0):
            see(f"there is a count of {count} before there is anybody")
        for rank in range(WORLD):
            if value := store.get(f"/value/{rank}"):
                see(f"/value/{rank} is {value} before there is anybody")


def meet(store, name):
    there = store.add(name, 1)
    while there < WORLD:
        time.sleep(0.01)
        there = store.add(name, 0)
    if there > WORLD:
        see(f"{there} have come to {name}")


def hand_over(kind, client):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
        way.connect(f"{FOLDER}/keeper")
        socket.send_fds(way, [f"{kind} {ROUND} {RANK}".encode()], [client.socket.fileno()])
    client.close()


def live():
    store = wire.Client(*PLACE, seconds=60)
    look_before_others(store)
    meet(store, "/begin")
    for kind in ("busy", "half", "quiet"):
        client = wire.Client(*PLACE)
        if kind == "busy":
            client.send(requests_of(ROUND, RANK) * 100)
        elif kind == "half":
            client.send(requests_of(ROUND, RANK)[:11])
        hand_over(kind, client)
    meet(store, "/handed over")
    end = time.monotonic() + 0.3
    while time.monotonic() < end or (ROUND < RESTARTS and RANK != ROUND % WORLD):
        look_for_others(store)
        time.sleep(0.01)
    if ROUND < RESTARTS:
        return 7
    meet(store, "/end")
    return 0


signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.exit(live())
