"""Installs DeepSpeed, beside whose launcher hosts.py measures, into BUILD/deepspeed; it finds PyTorch in BUILD/venv.

None of its kernels is built. Can be run again: what is there stays. pdsh, by which it starts its hosts, comes from
Debian (scripts/install_dependencies clusters).
"""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "interop"))

import python_env  # noqa: E402

DEEPSPEED = "deepspeed==0.19.8"
# What it imports, and what it is built with. Without dependencies, so that none brings another PyTorch.
PACKAGES = ("annotated-types==0.8.0", "einops==0.8.2", "hjson==3.1.0", "msgpack==1.2.4", "ninja==1.13.2",
            "packaging==26.3", "psutil==7.2.2", "py-cpuinfo==9.0.0", "pydantic==2.14.4", "pydantic-core==2.50.5",
            "setuptools==84.2.1", "tqdm==4.70.1", "typing-inspection==0.4.5", "wheel==0.48.0")


def starter(build):
    """Its program; None if it was not installed."""
    path = pathlib.Path(build) / "deepspeed" / "bin" / "deepspeed"
    return path if os.access(path, os.X_OK) else None


def site_packages(python):
    """Where the packages of this interpreter are."""
    done = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True,
                          capture_output=True, text=True)
    return pathlib.Path(done.stdout.strip())


def make(build):
    if starter(build):
        return
    with_torch = python_env.make(build)
    folder = build / "deepspeed"
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (site_packages(python) / "torch.pth").write_text(f"{site_packages(with_torch)}\n")
    python_env.say(f"installing {DEEPSPEED}")
    python_env.install(python, "--no-deps", *PACKAGES)
    os.environ["DS_BUILD_OPS"] = "0"
    python_env.install(python, "--no-deps", "--no-build-isolation", DEEPSPEED)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    make(parser.parse_args().build.resolve())


if __name__ == "__main__":
    main()
