"""Rank 1 fails by an exception that another one led to; the other rank sleeps."""
import os
import time

from all_up import all_up


def load(batch):
    return batch["labels"]


def step():
    try:
        load({})
    except KeyError as error:
        raise ValueError("bad batch 17") from error


all_up()
if os.environ["RANK"] == "1":
    step()
time.sleep(3600)
