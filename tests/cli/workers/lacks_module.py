"""Rank 1 asks for a module that no Python of this test has; the other rank sleeps."""
import os
import time

from all_up import all_up

all_up()
if os.environ["RANK"] == "1":
    import launch_has_no_such_module
time.sleep(3600)
