"""PyTorch workers of the stories of failure that need a process group or a data loader; the argument says which."""
import datetime
import os
import signal
import sys
import time
import traceback

import short_lived  # noqa: F401
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

RANK = int(os.environ["RANK"])


def steps(count):
    for _ in range(count):
        dist.all_reduce(torch.ones(1))


def load_batch(number):
    raise ValueError(f"bad batch {number}")


def raises():
    """Rank 0 fails, the others wait for it in a collective."""
    steps(3)
    if RANK == 0:
        load_batch(3)
    steps(1)


def ends_early():
    """Rank 1 has less data than the others, and ends well."""
    steps(3 if RANK == 1 else 10)


def sleeps():
    """Rank 3 does not come to the third collective, and the flight recorders tell of it, if they are asked to. Rank 2
    ends first."""
    wait_in_vain(2)


def sleeps_and_one_loses():
    """As before, but rank 1 ends first, which has lost its connection to another one that timed out."""
    wait_in_vain(1)


def wait_in_vain(ends_first):
    """`ends_first`: when the others have said that they waited, too."""
    steps(2)
    store = dist.distributed_c10d._get_default_store()
    try:
        if RANK == 3:
            leave_record()
            time.sleep(300)
        steps(1)
    except RuntimeError:
        if RANK == ends_first:
            store.wait([f"said/{rank}" for rank in range(3) if rank != RANK])
            raise
        traceback.print_exc()
        store.set(f"said/{RANK}", "")
        time.sleep(300)
    finally:
        leave_record()


def leave_record():
    """What the watchdog of NCCL does when a collective has timed out."""
    if prefix := os.environ.get("TORCH_FR_DUMP_TEMP_FILE"):
        with open(f"{prefix}{RANK}.new", "wb") as file:
            file.write(torch._C._distributed_c10d._dump_fr_trace())
        os.rename(f"{prefix}{RANK}.new", f"{prefix}{RANK}")


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, number):
        if RANK == 1 and number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return number


def loses_a_loader():
    """What the kernel does to a process of a data loader when memory runs out."""
    for _ in DataLoader(Images(), num_workers=1, collate_fn=list):  # no tensors, whose files it would share
        pass
    steps(1)


STORIES = {story.__name__: story for story in (raises, ends_early, sleeps, sleeps_and_one_loses, loses_a_loader)}
SECONDS = {"sleeps": [6, 6, 4, 6], "sleeps_and_one_loses": [6, 60, 4, 60]}.get(sys.argv[1], [60] * 4)
HERE = os.path.join(os.environ["TEST_FOLDER"], f"here.{os.environ['MASTER_PORT']}.")
open(HERE + str(RANK), "w").close()
while not all(os.path.exists(HERE + str(rank)) for rank in range(int(os.environ["WORLD_SIZE"]))):
    time.sleep(0.02)  # until the slowest import has ended: the time-outs count from now on
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=SECONDS[RANK]))


def end_at_once(*error, tell=sys.excepthook):
    """At the end of the interpreter gloo may abort, and the story would be another one."""
    tell(*error)
    sys.stderr.flush()
    os._exit(1)


FIRST = {"raises": 0, "sleeps": 2, "sleeps_and_one_loses": 1, "loses_a_loader": 1}  # to fail; others end as they do
if RANK == FIRST.get(sys.argv[1]):
    sys.excepthook = end_at_once
steps(1)
STORIES[sys.argv[1]]()
if sys.argv[1] == "ends_early" and RANK == 1:
    os._exit(0)
time.sleep(0 if RANK == 1 else 300)
