#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export NNODES=$SLURM_NNODES GPUS_PER_NODE=1

srun --nodes=$NNODES --ntasks-per-node=1 --kill-on-bad-exit=1 bash -c 'torchrun \
  --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE --node_rank $SLURM_NODEID \
  --master_addr $MASTER_ADDR --master_port $MASTER_PORT train.py --job $SLURM_JOB_ID'
