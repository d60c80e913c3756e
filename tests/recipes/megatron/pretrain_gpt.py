"""Stands in for Megatron-LM's pre-training: splits the ranks into tensor-parallel groups and sums within each."""
import argparse

import report
import torch.distributed as dist

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("--tensor-model-parallel-size", type=int, default=1)
parser.add_argument("--pipeline-model-parallel-size", type=int, default=1)
sizes, rest = parser.parse_known_args()


def parallel():
    width, world = sizes.tensor_model_parallel_size, dist.get_world_size()
    data_parallel, left = divmod(world, width * sizes.pipeline_model_parallel_size)
    assert left == 0, f"{world} ranks cannot be split"
    groups = [dist.new_group(list(range(first, first + width))) for first in range(0, world, width)]
    return {"data_parallel": data_parallel, "tensor_sum": report.sum_over(groups[dist.get_rank() // width]),
            "rest": rest}


report.work(parallel)
