"""Steps of all_reduce by gloo, each checked, until the folder JOB_FOLDER has a file `go`.

A rank notes its first right sum there, as `round.PID.RANK.WORLD`. One that loses its peers fails, but only after a
while: its launcher has to notice by itself that a node has gone, and to stop it.
"""
import datetime
import os
import pathlib
import sys
import time

import short_lived  # noqa: F401
import torch
import torch.distributed as dist

FOLDER = pathlib.Path(os.environ["JOB_FOLDER"])
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
PATIENCE = 20  # seconds


def say(text):
    os.write(1, f"{text}\n".encode())  # one write: ranks share a console


def step():
    """Whether rank 0 had seen `go` when it came here; all ranks learn it in the same step."""
    end = float(RANK == 0 and (FOLDER / "go").exists())
    value = torch.tensor([1.0, float(RANK), end])
    dist.all_reduce(value)
    ones, ranks, end = value.tolist()
    if (ones, ranks) != (SIZE, SIZE * (SIZE - 1) / 2):
        say(f"WRONG rank {RANK} of {SIZE}: {ones} ranks, whose sum is {ranks}")
        os._exit(3)
    return bool(end)


def train():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=PATIENCE))
    end = step()
    (FOLDER / f"round.{os.getpid()}.{RANK}.{SIZE}").touch()
    while not end:
        time.sleep(0.05)
        end = step()
    dist.barrier()
    dist.destroy_process_group()


try:
    train()
except RuntimeError as error:
    sys.stderr.write(f"rank {RANK} of {SIZE} has lost its peers: {error}\n")
    time.sleep(PATIENCE)
    sys.exit(3)
say(f"OK rank {RANK} of {SIZE} attempt {os.environ['TORCHELASTIC_RESTART_COUNT']}")
