"""A worker that uses the collectives of a real process group and checks every number against what its rank implies."""
import os
import sys

import short_lived  # noqa: F401
import torch
import torch.distributed as dist


def check(name, expected, found):
    if expected != found:
        raise AssertionError(f"rank {os.environ['RANK']}: {name} is {found}, expected {expected}")


def sums(rank, world):
    value = torch.tensor([rank + 1.0, 10.0 * rank])
    dist.all_reduce(value)
    check("all_reduce", [world * (world + 1) / 2, 10.0 * world * (world - 1) / 2], value.tolist())
    gathered = [torch.zeros(1) for _ in range(world)]
    dist.all_gather(gathered, torch.tensor([float(rank * rank)]))
    check("all_gather", [float(other * other) for other in range(world)], [item.item() for item in gathered])


def groups(rank, world):
    """Two groups that overlap nowhere; every rank makes both, as the interface wants it."""
    for members in ([r for r in range(world) if r % 2 == 0], [r for r in range(world) if r % 2 == 1]):
        group = dist.new_group(members)
        if rank in members:
            value = torch.tensor([float(rank)])
            dist.all_reduce(value, group=group)
            check("all_reduce of a group", float(sum(members)), value.item())


def objects(rank, world):
    box = [{"from": 0, "world": world, "text": "x" * 5000} if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    check("broadcast object", (0, world, 5000), (box[0]["from"], box[0]["world"], len(box[0]["text"])))
    gathered = [None] * world
    dist.all_gather_object(gathered, (rank, int(os.environ["LOCAL_RANK"])))
    check("gathered ranks", list(range(world)), [item[0] for item in gathered])


def local_ranks():
    if hasattr(dist, "get_node_local_rank"):
        check("node local rank", int(os.environ["LOCAL_RANK"]), dist.get_node_local_rank())


def store_of_the_group(rank, world):
    """What programs do with the default store: a counter and a value that one of them sets."""
    from torch.distributed.distributed_c10d import _get_default_store
    store = _get_default_store()
    store.add("test/counter", 1)
    if rank == world - 1:
        store.set("test/value", "from the last")
    check("stored value", b"from the last", store.get("test/value"))
    dist.barrier()
    check("counter", world, store.add("test/counter", 0))


def main():
    dist.init_process_group("gloo", init_method="env://")
    rank, world = dist.get_rank(), dist.get_world_size()
    check("rank", int(os.environ["RANK"]), rank)
    check("world size", int(os.environ["WORLD_SIZE"]), world)
    sums(rank, world)
    dist.barrier()
    groups(rank, world)
    objects(rank, world)
    local_ranks()
    store_of_the_group(rank, world)
    sys.stdout.write(f"OK rank {rank} of {world}\n")  # one write, so that lines of two ranks cannot mix
    dist.barrier()  # gloo may abort a process that leaves while a peer still reads from it
    dist.destroy_process_group()


main()
