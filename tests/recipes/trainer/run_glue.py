"""Stands in for a script built on Transformers' Trainer: its flags, and the local rank by flag or by variable."""
import argparse
import os

import report


def options():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name, kind in {"model_name_or_path": str, "task_name": str, "output_dir": str, "max_seq_length": int,
                       "per_device_train_batch_size": int, "learning_rate": float, "num_train_epochs": float}.items():
        parser.add_argument("--" + name, type=kind, required=True)
    parser.add_argument("--do_train", action="store_true")
    parser.add_argument("--do_eval", action="store_true")
    parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
    found = vars(parser.parse_args())
    if found["local_rank"] == -1:
        found["local_rank"] = int(os.environ["LOCAL_RANK"])
    return found


found = options()
total = found["per_device_train_batch_size"] * int(os.environ["WORLD_SIZE"])
report.work(lambda: {"options": found, "total_train_batch_size": total})
