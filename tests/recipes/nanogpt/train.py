"""Stands in for nanoGPT: settings from a file, then from --key=value; distributed when RANK is set."""
import os
import runpy
import sys

import report

settings = {"batch_size": 8, "gradient_accumulation_steps": 1}
for word in sys.argv[1:]:
    if word.startswith("--"):
        key, value = word[2:].split("=")
        found = {key: int(value)}
    else:
        found = runpy.run_path(word)
    settings.update({key: found[key] for key in settings if key in found})

assert int(os.environ.get("RANK", -1)) != -1, "not distributed"
world = int(os.environ["WORLD_SIZE"])
assert settings["gradient_accumulation_steps"] % world == 0
settings["gradient_accumulation_steps"] //= world
report.work(lambda: {"settings": settings, "device": f"cpu:{os.environ['LOCAL_RANK']}",
                     "master": os.environ["RANK"] == "0"})
