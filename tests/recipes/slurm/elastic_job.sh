#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST))
head_node=${nodes[0]}

srun torchrun \
  --nnodes 2 \
  --nproc_per_node 1 \
  --rdzv_id $RANDOM \
  --rdzv_backend c10d \
  --rdzv_endpoint $head_node:$MASTER_PORT \
  train.py --job $SLURM_JOB_ID
