#!/bin/bash
# Rank 0 alone is heard, with its role and rank before each line. LOG_RANK=0,1 would let two be heard.
NGPU=${NGPU:-8}
LOG_RANK=${LOG_RANK:-0}

PYTORCH_ALLOC_CONF="expandable_segments:True" \
torchrun --nproc_per_node=${NGPU} --rdzv_backend c10d --rdzv_endpoint="localhost:0" \
--local-ranks-filter ${LOG_RANK} --role rank --tee 3 \
-m torchtitan.train --module llama3 --config llama3_debugmodel "$@"
