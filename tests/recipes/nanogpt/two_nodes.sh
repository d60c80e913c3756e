#!/bin/bash
# On the first node with NODE_RANK=0, on the other with NODE_RANK=1.
torchrun --nproc_per_node=2 --nnodes=2 --node_rank=$NODE_RANK --master_addr=127.0.0.1 --master_port=$PORT \
  train.py config/train_gpt2.py --batch_size=6
