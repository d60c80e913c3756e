"""Checks the tree itself: rules of the house, documents, and the program that runs the tests. Needs no binary."""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "suite")]

import harness  # noqa: E402

harness.main(FOLDER, needs_launch=False)
