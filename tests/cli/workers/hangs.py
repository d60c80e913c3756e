"""Rank 0 hangs in one place, the others in another, and the last one ends by a signal, DIE_BY."""
import faulthandler
import os
import signal
import sys
import threading
import time

from all_up import all_up

if os.environ.get("REGISTER"):
    faulthandler.register(signal.SIGUSR2, all_threads=True)


def mark_when_there():
    """From a thread of its own, so that the main thread is found at one line only."""
    main = threading.main_thread().ident
    while sys._current_frames()[main].f_code.co_name not in ("all_reduce", "load_batch"):
        time.sleep(0.01)
    open(f"{os.environ['TEST_FOLDER']}/there.{os.environ['RANK']}", "w").close()


def all_reduce():
    time.sleep(300)


def load_batch():
    time.sleep(300)


rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
all_up()
if rank == world - 1:
    while len([name for name in os.listdir(os.environ["TEST_FOLDER"]) if name.startswith("there.")]) < world - 1:
        time.sleep(0.01)
    os.kill(os.getpid(), int(os.environ.get("DIE_BY", "6")))
threading.Thread(target=mark_when_there, daemon=True).start()
load_batch() if rank == 0 else all_reduce()
