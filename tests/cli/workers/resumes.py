"""All ranks say the same two lines at the same time, except that rank 4 had to wait in between."""
import os

from all_up import all_up

all_up()
print("loading checkpoint step_1200", flush=True)
print("resuming, after waiting for a lock" if os.environ["RANK"] == "4" else "resuming", flush=True)
