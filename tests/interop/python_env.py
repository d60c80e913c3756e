"""Makes the Python environments that the interop tests use, and prints their interpreters.

BUILD/venv gets PyTorch from the package index; Debian's python3-torch speaks the old dialect of the store's protocol.
Can be run again: what is there stays.
"""
import argparse
import pathlib
import subprocess
import sys

TORCH = "2.13.0"
NEW = f"torch=={TORCH}"
OLD_PYTHON = pathlib.Path("/usr/bin/python3")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def torch_version(python):
    """The version of PyTorch that this interpreter imports, None without one."""
    if not pathlib.Path(python).exists():
        return None
    code = "import torch, torch.distributed; print(torch.__version__)"
    result = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def new_python(build):
    return pathlib.Path(build) / "venv" / "bin" / "python"


def old_python():
    """Debian's interpreter when it has a PyTorch of the old dialect, else None."""
    version = torch_version(OLD_PYTHON)
    return OLD_PYTHON if version and version.startswith("1.") else None


def say(text):
    print(text, file=sys.stderr, flush=True)


def make(build):
    python = new_python(build)
    if (torch_version(python) or "").startswith(TORCH):
        say(f"{python} has PyTorch {TORCH} already")
        return python
    if not python.exists():
        say(f"making a virtual environment in {python.parent.parent}")
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
    say(f"installing {NEW} and numpy into it (about 1 GB, a minute or two)")
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NEW, "numpy"],
                   check=True)
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    build = parser.parse_args().build.resolve()
    print(make(build))
    if old_python():
        print(old_python())
    else:
        say("Debian's python3-torch is not there (apt install python3-torch): tests of the old dialect are left out")


if __name__ == "__main__":
    main()
