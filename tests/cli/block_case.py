"""The base of tests of code blocks: programs, hosts and folders that stand for those of the reader."""
import functools
import json
import os
import pathlib
import subprocess
import sys

import hosts
from code_blocks import blocks_with, shaped
from harness import Settings
from job import JobCase

SUBSTITUTES = {  # what this machine cannot have, or would take long
    "/scratch/logs": "scratch/logs",
    "--nproc-per-node=gpu": "--nproc-per-node=2",
    "--log-max-size=100M": "--log-max-size=100K",
}
NAMESPACE = ["unshare", *["--map-root-user"] * (os.geteuid() != 0), "--mount", "--uts"]
# The shell of a host: it has a name, and knows others by name. What place.py has mounted there is in the way.
SHELL = """hostname "$0" && { umount /etc/hosts 2> /dev/null || true; } && mount --bind "$1" /etc/hosts &&
exec bash -e -o pipefail -c "$2"
"""
WORKERS = pathlib.Path(__file__).parent / "workers"


def shows(document, beginning):
    """Marks the test of the block that begins so; it is given the block."""
    def mark(test):
        @functools.wraps(test)
        def body(self):
            (block,) = blocks_with(document, beginning)
            test(self, block)
        body.shows = (document, beginning)
        return body
    return mark


class BlockCase(JobCase):
    builds = ("release",)  # as the documents say
    load = 1.0

    def setUp(self):
        super().setUp()
        self.need(subprocess.run([*NAMESPACE, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0,
                  "a mount namespace (root)")
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "launch").symlink_to(Settings.launch)
        self.train("notes.py")
        others = "".join(f"{hosts.address(rank + 1)} node{rank} node{rank}.example n{rank}\n" for rank in range(4))
        (self.folder / "hosts").write_text("127.0.0.1 localhost n7\n" + others)

    def train(self, worker, name="train.py"):
        """What the reader's program is."""
        self.program((WORKERS / worker).read_text(), name)

    def shell(self, script, host="n7", before=(), **env):
        """Starts a script on that host, in the test's folder."""
        for name, substitute in SUBSTITUTES.items():
            script = script.replace(name, substitute)
        env = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "PYTHON_EXEC": sys.executable,
               "PYTHONPATH": str(WORKERS), "OMP_NUM_THREADS": "1", **env}
        return self.start([*before, *NAMESPACE, "sh", "-c", SHELL, host, self.folder / "hosts", script], env=env,
                          cwd=self.folder)

    def plain(self, text):
        """With the paths that the documents have, and without what is different each time."""
        return shaped(text.replace(f"{self.folder}/scratch", "/scratch").replace(str(self.folder), "/work")
                      .replace(sys.executable, "/usr/bin/python3"))

    def play(self, block, first=0, **env):
        """Runs its commands one after the other; the first one ends with that code. Lines may come in any order."""
        for number, (command, lines) in enumerate(block.commands()):
            run = self.shell(command, **env)
            self.expect([0 if number else first], [run])
            if lines != ["..."]:
                came = self.plain(run.out + run.err).splitlines()
                self.assertEqual(sorted(map(shaped, lines)), sorted(came), f"{block.place}: {command}")

    def on_hosts(self, count, script, code=0, **env):
        """Runs `script(rank)` on each of the hosts n0, n1, ...; what has run, and ended with this code."""
        self.need(hosts.possible(), "network namespaces (root, iproute2)")
        with hosts.Hosts(count) as place:
            runs = [self.shell(script(rank), f"n{rank}", place.inside(rank + 1), **env) for rank in range(count)]
            self.expect([code] * count, runs)
        return runs

    def seen(self):
        """What each worker was given, by rank; after that the next job may begin."""
        found = {int(path.suffix[1:]): json.loads(path.read_text()) for path in self.folder.glob("seen.*")}
        self.forget("seen.*")
        return found
