"""A small data-parallel training: each rank its share of the data, a falling loss, a checkpoint from rank 0.

usage: ddp_train.py CHECKPOINT [EPOCHS]
"""
import os
import sys

import short_lived  # noqa: F401
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

SAMPLES = 240


def data():
    """A plane with a little noise; the same on every rank."""
    source = torch.Generator().manual_seed(7)
    inputs = torch.randn(SAMPLES, 4, generator=source)
    noise = 0.01 * torch.randn(SAMPLES, 1, generator=source)
    return TensorDataset(inputs, inputs @ torch.tensor([[1.0], [-2.0], [3.0], [0.5]]) + 1.0 + noise)


def train_epoch(model, loader, optimizer):
    """The loss over all ranks, and how many samples this rank saw."""
    total, seen = torch.zeros(1), 0
    for inputs, wanted in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(inputs)
        seen += len(inputs)
    dist.all_reduce(total)
    return total.item() / SAMPLES, seen


def check_equal_on_all_ranks(model):
    """The point of the whole thing: after training every rank has the same weights."""
    flat = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    others = [torch.zeros_like(flat) for _ in range(dist.get_world_size())]
    dist.all_gather(others, flat)
    assert all(torch.equal(flat, other) for other in others), "the ranks' weights differ"


def save(model, path):
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), path + ".part")
        os.replace(path + ".part", path)
    dist.barrier()
    restored = torch.nn.Linear(4, 1)
    restored.load_state_dict(torch.load(path))
    assert torch.equal(restored.weight, model.module.weight), "the checkpoint is not the model"


def train(checkpoint, epochs):
    """What this rank has to tell. The model is gone before the process group: PyTorch 1.13 may hang for ever when
    the model holds the last reference to the group, since it then joins a thread that waits for the interpreter."""
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)  # DDP must make the models equal by itself
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    dataset = data()
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=10, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        loss, seen = train_epoch(model, loader, optimizer)
        assert seen == -(-SAMPLES // world), f"rank {rank} saw {seen} samples"
        losses.append(loss)
    assert losses[-1] < losses[0] / 2, f"the loss does not fall: {losses}"
    check_equal_on_all_ranks(model)
    save(model, checkpoint)
    return f"OK rank {rank} of {world}: {seen} samples, loss {losses[0]:.4f} to {losses[-1]:.4f}\n"


def main():
    checkpoint, epochs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    dist.init_process_group("gloo")
    text = train(checkpoint, epochs)
    sys.stdout.write(text)  # one write, so that lines of two ranks cannot mix
    dist.barrier()  # gloo may abort a process that leaves while a peer still reads from it
    dist.destroy_process_group()


main()
