#!/bin/bash
# Lightning finds by the environment that somebody else starts its processes.
torchrun --nproc_per_node=2 --nnodes=1 --node_rank 0 train.py --devices 2
