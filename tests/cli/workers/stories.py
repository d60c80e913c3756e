"""Workers of the stories of failure that need no PyTorch; the argument says which one. Those that do not fail sleep."""
import os
import signal
import sys
import time

from all_up import all_up

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
OF_SECOND_NODE = os.environ["GROUP_RANK"] == "1"


def load(batch):
    return batch["labels"]


def step():
    try:
        load({})
    except KeyError as error:
        raise ValueError("bad batch 17") from error


def lack_a_module():
    import launch_has_no_such_module  # noqa: F401


def save(folder):
    with open(f"{folder}/checkpoint", "wb") as file:
        file.write(b"x" * (1 << 20))


all_up()
how = sys.argv[1]
if how == "all" or (how == "one" and RANK == 3):
    load({})
elif how == "chained" and RANK == WORLD - 1:
    step()
elif how == "text" and RANK == 3:
    sys.exit("config is wrong: there is no data set 'imagenet-22k' below /data")
elif how == "signal" and RANK == 3:
    os.kill(os.getpid(), signal.SIGSEGV)
elif how == "import" or (how == "import on one node" and OF_SECOND_NODE):
    lack_a_module()
elif how == "full disk" and RANK == 3:
    save(sys.argv[2])
elif how == "greedy" and OF_SECOND_NODE:
    block = bytearray(1 << 30)
    block[:] = b"1" * len(block)
time.sleep(300)
