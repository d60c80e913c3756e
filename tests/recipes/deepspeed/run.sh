#!/bin/bash
# DeepSpeed without its own launcher, which would need ssh between the nodes.
torchrun --nproc_per_node=1 --nnodes=2 --node_rank=$NODE_RANK --master_addr=127.0.0.1 \
  --master_port=$PORT train.py --deepspeed --deepspeed_config ds.json
