"""Steps of all_reduce by gloo, each checked; a victim fails at a random step of an attempt that is to fail.

Usage: restart_train.py STEPS FAILURES SEED. In each of the first FAILURES attempts one rank, chosen by the seed and the
attempt, ends at a step of its own choosing: by exit code, by signal, or by an exception. The others then fail too, or
are stopped. In the attempt after that all ranks must get through, and say so.
"""
import os
import random
import signal
import sys
import time

import short_lived  # noqa: F401
import torch
import torch.distributed as dist


def fail(kind):
    if kind == 0:
        os._exit(7)
    if kind == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    raise RuntimeError("the victim of this attempt")


def main():
    steps, failures, seed = (int(word) for word in sys.argv[1:4])
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    # In a mixed job the launchers count for themselves: a file that all share counts the attempts that failed.
    marks = os.environ.get("ATTEMPTS")
    if marks:
        attempt = len(os.listdir(marks))
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    choice = random.Random(seed * 1000 + attempt)
    victim, step_to_fail, kind = choice.randrange(size), choice.randrange(-1, steps), choice.randrange(3)
    victim = int(os.environ.get("VICTIM", victim))
    dying = attempt < failures and rank == victim

    def die():
        if marks:
            os.close(os.open(os.path.join(marks, str(attempt)), os.O_CREAT | os.O_WRONLY))
        fail(kind)

    if dying and step_to_fail < 0:
        die()
    dist.init_process_group("gloo")
    for step in range(steps):
        if dying and step == step_to_fail:
            die()
        value = torch.tensor([float(rank + step)])
        dist.all_reduce(value)
        expected = size * (size - 1) / 2 + size * step
        if value.item() != expected:
            raise AssertionError(f"rank {rank}, step {step}: {value.item()} is not {expected}")
        if attempt < failures:
            time.sleep(0.02)
    dist.barrier()
    dist.destroy_process_group()
    # One write: ranks share a console.
    os.write(1, f"OK rank {rank} of {size} attempt {attempt}\n".encode())


main()
