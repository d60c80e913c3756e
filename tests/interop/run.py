"""Runs launch with real PyTorch workers and beside real torchrun: python3 tests/interop/run.py --launch BINARY [...]

Names come from a private /etc/hosts, so that a silent name server is not taken for launch's doing.
"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import harness  # noqa: E402
import names  # noqa: E402

names.enter()
harness.main(FOLDER)
