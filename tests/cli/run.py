"""Runs the tests of the launch binary: python3 tests/cli/run.py --launch BINARY [--repeat N] [test_signals ...]"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import harness  # noqa: E402

harness.main(FOLDER)
