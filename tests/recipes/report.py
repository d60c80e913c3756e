"""What the stand-ins share: a process group over gloo, a small training by all its ranks, a report of what was given.

A recipe's program calls work(); each rank's facts come to $REPORT_FOLDER/<RANK>.json, and one line to each stream.
"""
import faulthandler
import json
import os
import sys

faulthandler.enable()  # says where, should a process abort


def tell(**facts):
    """Writes down this rank's facts: its environment, arguments and folder, and those that the program adds."""
    facts = {"environment": dict(os.environ), "arguments": sys.argv[1:], "program": os.path.relpath(sys.argv[0]),
             "folder": os.path.basename(os.getcwd()), **facts}
    path = os.path.join(os.environ["REPORT_FOLDER"], os.environ["RANK"] + ".json")
    with open(path + ".part", "w", encoding="utf-8") as out:
        json.dump(facts, out, indent=1)
    os.rename(path + ".part", path)
    # One write each, so that lines of two ranks cannot mix.
    sys.stdout.write(f"loss of rank {os.environ['RANK']}: {facts['loss']}\n")
    sys.stderr.write(f"note of rank {os.environ['RANK']}: {facts['sum']}\n")


def sum_over(group=None):
    """Every rank of the group gives its rank + 1."""
    import torch
    import torch.distributed as dist
    value = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(value, group=group)
    return value.item()


def train(steps=5, rate=0.1):
    """Fits a line to all ranks' points, the gradients summed by all_reduce. The last loss, the same on every rank."""
    import torch
    import torch.distributed as dist
    points = torch.randn(16, dtype=torch.float64, generator=torch.Generator().manual_seed(dist.get_rank()))
    wanted = 3 * points + 1
    line = torch.zeros(2, dtype=torch.float64)
    for _ in range(steps):
        error = line[0] * points + line[1] - wanted
        mean = torch.stack([(error * error).mean(), 2 * (error * points).mean(), 2 * error.mean()])
        dist.all_reduce(mean)
        mean /= dist.get_world_size()
        line -= rate * mean[1:]
    return round(mean[0].item(), 9)


def leave():
    """The end of every program. gloo may abort a process that leaves while a peer still reads from it, so all meet; and
    once, on a busy machine, a rank aborted close to its end all the same, so nothing of PyTorch is taken down.
    """
    import torch.distributed as dist
    dist.barrier()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def work(more=None):
    """The whole program. `more` is called within the group and returns further facts."""
    import torch.distributed as dist
    dist.init_process_group("gloo")
    tell(sum=sum_over(), loss=train(), **(more() if more else {}))
    leave()
