#!/bin/bash
# Accelerate without `accelerate launch`: the script asks nothing but the environment.
torchrun --nproc_per_node 2 train.py --epochs 2
