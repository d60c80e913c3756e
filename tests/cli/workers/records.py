"""Rank 1 fails and writes its error file as torch's `record` does, the others sleep."""
import json
import os
import sys
import time

from all_up import all_up

all_up()
if os.environ["RANK"] == "1":
    text = 'Traceback (most recent call last):\n  File "train.py", line 7, in main\n    step()\nValueError: bad batch\n'
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        json.dump({"message": {"message": "ValueError: bad batch",
                               "extraInfo": {"py_callstack": text, "timestamp": "1"}}}, file)
    sys.exit(1)
time.sleep(300)
