#!/usr/bin/env python3
"""A small real training with DistributedDataParallel, for scripts/quickstart: which of two spirals is a point on?

Data are made here from a fixed seed, so nothing is fetched. Every rank trains on its own share; rank 0 reports.
Exit code 0 when the loss fell as it should and all ranks ended with the same model, 1 otherwise.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

SAMPLES, EPOCHS, REPORT_EVERY, BATCH = 4096, 40, 4, 64


def say(text):
    sys.stdout.write(text + "\n")  # one write a line, so that lines of several ranks do not mix
    sys.stdout.flush()


def two_spirals():
    """Points of two spirals around each other, and which one each point belongs to."""
    generator = torch.Generator().manual_seed(7)
    arm = torch.arange(SAMPLES) % 2
    angle = 0.5 + 6.0 * torch.rand(SAMPLES, generator=generator)
    turned = angle + 3.14159 * arm
    points = torch.stack((angle * torch.cos(turned), angle * torch.sin(turned)), dim=1) / 6.5
    return TensorDataset(points + 0.02 * torch.randn(SAMPLES, 2, generator=generator), arm)


def mean_over_ranks(value):
    total = torch.tensor([float(value)])
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def train_one_epoch(model, optimizer, loader):
    loss_function = torch.nn.CrossEntropyLoss()
    total = 0.0
    for points, arm in loader:
        optimizer.zero_grad()
        loss = loss_function(model(points), arm)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def train(rank, data):
    torch.manual_seed(7)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    sampler = DistributedSampler(data, shuffle=True, seed=7)
    loader = DataLoader(data, batch_size=BATCH, sampler=sampler)
    losses = []
    for epoch in range(1, EPOCHS + 1):
        sampler.set_epoch(epoch)
        losses.append(mean_over_ranks(train_one_epoch(model, optimizer, loader)))
        if rank == 0 and (epoch == 1 or epoch % REPORT_EVERY == 0):
            say(f"epoch {epoch:2d}: loss {losses[-1]:.4f}")
    return model, losses


def same_on_all_ranks(model):
    flat = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    low, high = flat.clone(), flat.clone()
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    return torch.equal(low, high)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    data = two_spirals()
    share = len(DistributedSampler(data))
    say(f"rank {rank} of {world} (node {os.environ['GROUP_RANK']}, local rank {os.environ['LOCAL_RANK']}): "
        f"{share} of {SAMPLES} samples, PyTorch {torch.__version__}")
    dist.barrier()  # every rank has introduced itself before the first loss

    model, losses = train(rank, data)
    fell = losses[-1] < 0.2 * losses[0]
    same = same_on_all_ranks(model)
    if rank == 0:
        verdict = "fell" if fell else "did not fall as it should"
        say(f"the loss {verdict}: {losses[0]:.4f} to {losses[-1]:.4f}; "
            f"the {world} models are {'equal' if same else 'DIFFERENT'}")
    # PyTorch 1.13 may hang for ever when the model is the last to hold the process group.
    del model
    # Nobody leaves while another still talks: gloo may abort a process whose peer is gone.
    dist.barrier()
    dist.destroy_process_group()
    return 0 if fell and same else 1


if __name__ == "__main__":
    sys.exit(main())
