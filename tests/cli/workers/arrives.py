"""A worker that starts as a real one does: it says so, tells the store its pid as PyTorch's client does, uses a key,
and makes steps.

Arguments: "hold=R" lets rank R wait for the file "go" before it connects, and say so with "up.R"; "silent" writes no
first line. All others say that they are up when they have made a step, and live until they are ended.
"""
import os
import pathlib
import signal
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

import wire  # noqa: E402

FOLDER, RANK = pathlib.Path(os.environ["TEST_FOLDER"]), os.environ["RANK"]


def up():
    (FOLDER / f"up.{RANK}").touch()


if "silent" not in sys.argv:
    print("imports are done", flush=True)
if f"hold={RANK}" in sys.argv:
    up()
    while not (FOLDER / "go").exists():
        time.sleep(0.01)
with wire.Client(int(os.environ["MASTER_PORT"]), os.environ["MASTER_ADDR"], seconds=60.0, greet=False) as store:
    store.send(wire.hello())
    store.read(4)
    store.add("met", 1)
    print("step 1", flush=True)
    up()
    signal.pause()
