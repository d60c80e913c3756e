"""Stands in for a DeepSpeed program: its two flags, and the batch sizes that must fit the number of ranks."""
import argparse
import json

import report
import torch.distributed as dist

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("--deepspeed", action="store_true", required=True)
parser.add_argument("--deepspeed_config", required=True)
parser.add_argument("--local_rank", type=int, default=-1)
options = parser.parse_args()
with open(options.deepspeed_config, encoding="utf-8") as file:
    config = json.load(file)


def engine():
    each = config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"]
    assert each * dist.get_world_size() == config["train_batch_size"], "the batch sizes do not fit"
    return {"stage": config["zero_optimization"]["stage"], "local_rank_flag": options.local_rank}


report.work(engine)
