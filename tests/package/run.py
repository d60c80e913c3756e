"""Runs the tests of what users install: python3 tests/package/run.py --launch BINARY [test_packages ...]"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import harness  # noqa: E402

harness.main(FOLDER)
