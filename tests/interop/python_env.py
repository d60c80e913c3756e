"""Makes the Python environments that the interop tests use, and prints their interpreters.

BUILD/venv gets PyTorch from the package index; Debian's python3-torch speaks the old dialect of the store's protocol.
Can be run again: what is there stays.
"""
import argparse
import json
import pathlib
import subprocess
import sys

TORCH = "2.13.0"
NEW = f"torch=={TORCH}"
# Accelerate and Lightning with what they import, for test_recipes.py; py-spy, for test_failures.py; rich with what it
# imports, and tqdm, for test_bars.py; python-etcd with what it imports, by which torchrun talks to an etcd. Installed
# without dependencies, so that none brings another PyTorch. Lightning 2.6.2 and 2.6.3 were malicious uploads: raise the
# pin with care.
PACKAGES = {"accelerate": "1.15.0", "dnspython": "2.9.2", "huggingface-hub": "2.4.0", "lightning": "2.6.1",
            "lightning-utilities": "0.15.3", "markdown-it-py": "4.3.0", "mdurl": "0.1.2", "packaging": "26.3",
            "psutil": "7.2.2", "py-spy": "0.4.3", "Pygments": "2.21.0", "python-etcd": "0.4.5", "PyYAML": "6.0.3",
            "rich": "15.0.0", "safetensors": "0.8.0", "torchmetrics": "1.9.0", "tqdm": "4.70.1", "urllib3": "2.8.0"}
OLD_PYTHON = pathlib.Path("/usr/bin/python3")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def torch_version(python):
    """The version of PyTorch that this interpreter imports, None without one."""
    if not pathlib.Path(python).exists():
        return None
    code = "import torch, torch.distributed; print(torch.__version__)"
    result = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def installed_version(python):
    """The same, asked of the files: importing PyTorch takes two seconds of a processor."""
    if not pathlib.Path(python).exists():
        return None
    code = ("import importlib.util as u, runpy; "
            "print(runpy.run_path(u.find_spec('torch').submodule_search_locations[0] + '/version.py')['__version__'])")
    result = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def new_python(build):
    return pathlib.Path(build) / "venv" / "bin" / "python"


def old_python():
    """Debian's interpreter when it has a PyTorch of the old dialect, else None."""
    version = installed_version(OLD_PYTHON)
    return OLD_PYTHON if version and version.startswith("1.") else None


def missing(python):
    """Names of PACKAGES that this interpreter has not, or has in another version."""
    code = ("import importlib.metadata as m, json; "
            "print(json.dumps({d.metadata['Name'].lower().replace('_', '-'): d.version for d in m.distributions()}))")
    found = json.loads(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout)
    return [name for name, version in PACKAGES.items() if found.get(name.lower()) != version]


def say(text):
    print(text, file=sys.stderr, flush=True)


def install(python, *what):
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what], check=True)


def make(build):
    python = new_python(build)
    if (torch_version(python) or "").startswith(TORCH):
        say(f"{python} has PyTorch {TORCH} already")
    else:
        if not python.exists():
            say(f"making a virtual environment in {python.parent.parent}")
            subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
        say(f"installing {NEW} and numpy into it (about 1 GB, a minute or two)")
        install(python, NEW, "numpy")
    if wanted := missing(python):
        say(f"installing {', '.join(wanted)}")
        install(python, "--no-deps", *(f"{name}=={PACKAGES[name]}" for name in wanted))
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
