#!/bin/bash
# The same script on every node: which one this is, is found by its own address.
IPs=(127.0.0.2 127.0.0.3)
LOCAL_HOST=$(hostname -I | awk '{print $1}')
NPROC_PER_NODE=1
NNODES=${#IPs[@]}
MASTER_ADDR=${IPs[0]}
MASTER_PORT=$PORT
NODE_RANK=""

for i in "${!IPs[@]}"; do
  if [ "$LOCAL_HOST" == "${IPs[$i]}" ]; then
    NODE_RANK=$i
    break
  fi
done
if [[ $NODE_RANK == "" ]]; then
  echo "$LOCAL_HOST is not in the list of nodes" >&2
  exit 1
fi

torchrun \
  --nnodes=$NNODES \
  --nproc_per_node=$NPROC_PER_NODE \
  --node_rank=$NODE_RANK \
  --master_addr=$MASTER_ADDR \
  --master_port=$MASTER_PORT \
  train.py "$@"
