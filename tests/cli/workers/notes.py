"""Notes what it was given, for the test of whoever started it, and says a loss."""
import json
import os
import sys

rank = os.environ["RANK"]
with open(f"{os.environ['TEST_FOLDER']}/seen.{rank}", "w") as file:
    json.dump({**os.environ, "arguments": sys.argv[1:]}, file)
sys.stdout.write(f"epoch 0 loss {'0.651' if rank == '1' else '0.648'}\n")  # one write, so that lines do not mix
