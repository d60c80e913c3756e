# Settings that replace train.py's own.
batch_size = 12
gradient_accumulation_steps = 5 * 8
