"""A PyTorch worker that fails in the way that its argument names."""
import datetime
import os
import sys
import time

import short_lived  # noqa: F401
import torch
import torch.distributed as dist
from torch.distributed.elastic import timer
from torch.distributed.elastic.multiprocessing.errors import record

RANK = int(os.environ["RANK"])


def load_batch():
    time.sleep(300)


def step():
    raise ValueError("bad batch")


def end_at_once(*error, tell=sys.excepthook):
    """At the end of the interpreter gloo may abort."""
    tell(*error)
    sys.stderr.flush()
    os._exit(1)


@record
def recorded():
    if RANK == 1:
        step()
    time.sleep(300)


def plain():
    dist.init_process_group("gloo")
    dist.barrier()
    if RANK == 1:
        sys.excepthook = end_at_once
        step()
    time.sleep(300)


def hangs():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
    dist.barrier()
    if RANK != 1:  # of two that wait, the second to end may be the first to exit, and blames its peer
        load_batch()
    sys.excepthook = end_at_once
    dist.all_reduce(torch.ones(1))


def times_out():
    timer.configure(timer.FileTimerClient(os.environ["TORCHELASTIC_TIMER_FILE"]))
    with timer.expires(after=300):  # which is released
        pass
    if RANK == 1:
        with timer.expires(after=1, scope="step"):
            load_batch()
    time.sleep(300)


{"recorded": recorded, "plain": plain, "hangs": hangs, "times_out": times_out}[sys.argv[1]]()
