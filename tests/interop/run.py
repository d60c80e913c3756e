"""Runs launch with real PyTorch workers and beside real torchrun: python3 tests/interop/run.py --launch BINARY [...]

They need a place of their own (place.py), so that a silent name server is not taken for launch's doing.
"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "cli")]

import harness  # noqa: E402

harness.main(FOLDER, needs_place=True)
