"""scripts/package, called as users call it, and the tools that install what it makes."""
import os
import pathlib
import platform
import subprocess

from harness import ROOT, Settings

MACHINE = platform.machine()
GLIBC, STATIC = f"{MACHINE}-glibc", f"{MACHINE}-static"


def call(*words, code=0, **options):
    """What the program said on both streams."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    assert done.returncode == code, f"{words} ended with {done.returncode}, not {code}:\n{done.stdout}"
    return done.stdout


def package(*words, code=0):
    """What is tested need not be a clone of the repository, so the time of its commit is given; and it need not be as
    small as what is released."""
    env = dict(os.environ, SOURCE_DATE_EPOCH="1783094065", LAUNCH_ZSTD_LEVEL="-3")
    return call(ROOT / "scripts/package", *words, code=code, env=env)


def pack(out):
    """The program under test as every kind of package. It is none of the portable ones, but they are packed alike."""
    for target in (GLIBC, STATIC):
        package("--out", out, "--binary", Settings.launch, target)
    return pathlib.Path(out)


def portable(out, *targets):
    """The folder with the portable programs and all that is made of them. LAUNCH_DIST names one that scripts/package
    has filled already; otherwise they are compiled, which takes minutes."""
    if "LAUNCH_DIST" in os.environ:
        return pathlib.Path(os.environ["LAUNCH_DIST"])
    package("--out", out, *targets)
    return pathlib.Path(out)


def one(folder, pattern):
    (found,) = pathlib.Path(folder).glob(pattern)
    return found


def runs(command, folder):
    """The command is launch: it says so, and runs a job."""
    words = [str(word) for word in command]
    assert call(*words, "--version").startswith("launch "), words
    script = pathlib.Path(folder) / "job.sh"
    script.write_text('#!/bin/sh\necho "rank $RANK of $WORLD_SIZE"\n')
    script.chmod(0o755)
    said = call(*words, "--nproc-per-node=2", "--no-python", script, env=dict(os.environ, OMP_NUM_THREADS="1"))
    assert sorted(said.splitlines()) == ["rank 0 of 2", "rank 1 of 2"], said
