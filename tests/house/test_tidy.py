"""clang-tidy over the sources that were changed last. `scripts/test --long tidy` looks at all of them."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 5  # files; each takes a core some ten seconds
COMMITS = 10


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def source_of(path):
    """What is compiled, for a header: its source."""
    if path.startswith("include/launch/") and path.endswith(".hpp"):
        return "src/" + path.removeprefix("include/launch/").removesuffix(".hpp") + ".cpp"
    return path


def changed_last():
    """Sources, those changed last first: not committed, new, then by commit."""
    changed = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    changed += git("log", f"-{COMMITS}", "--name-only", "--format=")
    sources = dict.fromkeys(source_of(path) for path in changed)
    return [source for source in sources if source.endswith(".cpp") and (ROOT / source).exists()]


def compiled():
    """The sources that `cmake --preset tidy` knows how to compile."""
    subprocess.run(["cmake", "--preset", "tidy"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    commands = json.loads((ROOT / "build/tidy/compile_commands.json").read_text())
    return {os.path.relpath(command["file"], ROOT) for command in commands}


def complaints(source):
    command = ["clang-tidy-14", "--quiet", "-p", "build/tidy", source]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return ended.stdout + (ended.stderr if ended.returncode and not ended.stdout else "")


@unittest.skipUnless(shutil.which("clang-tidy-14") and shutil.which("clang++-14"),
                     "without clang-tidy 14: scripts/install_dependencies tidy")
class Tidy(unittest.TestCase):
    load = 2

    def test_what_was_changed_last_is_clean(self):
        known = compiled()
        sources = [source for source in changed_last() if source in known][:MOST]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for source, said in zip(sources, pool.map(complaints, sources)):
                with self.subTest(source):
                    self.assertEqual(said, "")
