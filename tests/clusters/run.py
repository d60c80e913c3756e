"""Runs the tests with real schedulers: python3 tests/clusters/run.py --launch BINARY [test_slurm ...]"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "cli")]

import harness  # noqa: E402

harness.main(FOLDER)
