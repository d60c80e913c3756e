"""The portable programs on other systems, old and new: installed, a job of each kind, removed."""
import os
import re
import shutil
import tempfile
import time

import harness
import systems
from harness import ROOT, Case
from packing import GLIBC, MACHINE, STATIC, call, one, portable

MIB = 2**20
JOB = """
job() {
  launch --version | head -n 1
  launch --nproc-per-node=4 --no-python /tmp/rank
  for node in 0 1; do
    launch --nnodes=2 --nproc-per-node=2 --node-rank=$node --master-addr=localhost --master-port=29513 \\
      --no-python /tmp/rank &
  done
  wait
}
"""
RANKS = sorted(f"rank {rank} of 4" for rank in (0, 0, 1, 1, 2, 2, 3, 3))


@harness.long(covered_by="package/test_packages, but for the compiler and the systems")
class Systems(Case):
    builds = ("release",)
    load = 2.0

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix="launch-dist-")
        cls.out = portable(cls.made, GLIBC, STATIC)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.made)

    def system(self, name):
        """A copy of it, to be changed."""
        source = systems.FOLDER / name
        self.need((source / "complete").exists(), f"{source}, which tests/package/systems.py makes,")
        root = self.folder / name
        call("cp", "-a", "--reflink=auto", source, root)
        (root / "tmp/rank").write_text('#!/bin/sh\necho "rank $RANK of $WORLD_SIZE"\n')
        (root / "tmp/rank").chmod(0o755)
        for path in (ROOT / "scripts/quickstart_train.py", *self.artefacts()):
            shutil.copy(path, root / "tmp")
        return root

    def artefacts(self):
        patterns = (f"*{MACHINE}.deb", f"*manylinux*{MACHINE}.whl", f"launch-*-{STATIC}")
        return [one(self.out, pattern) for pattern in patterns]

    def inside(self, root, script):
        prepare = 'mount --bind /dev "$1/dev"; mount -t proc proc "$1/proc"; mkdir -p "$1/wheels"; '
        if systems.WHEELS.is_dir():
            prepare += f'mount --bind "{systems.WHEELS}" "$1/wheels"; '
        enter = 'exec chroot "$1" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin sh -ec "$2"'
        return call("unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", prepare + enter, "inside",
                    root, JOB + script)

    def assert_ran(self, said):
        self.assertRegex(said, "(?m)^launch [0-9]+[.][0-9]+[.][0-9]+$")
        self.assertEqual(RANKS, sorted(line for line in said.splitlines() if line.startswith("rank ")), said)

    def files_of(self, root):
        """All but what apt and dpkg keep of what they did."""
        noted = re.compile("var/(lib/(dpkg|apt)|log|cache)/|run/")
        found = set()
        for folder, _, names in os.walk(root):
            found |= {os.path.relpath(os.path.join(folder, name), root) for name in names}
        return {path for path in found if not noted.match(path)}

    def test_the_debian_package(self):
        for name in systems.SYSTEMS:
            with self.subTest(system=name):
                root = self.system(name)
                before = self.files_of(root)
                said = self.inside(root, "apt-get install -y /tmp/launchrun-*.deb; job; apt-get remove -y launchrun")
                self.assert_ran(said)
                self.assertEqual(before, self.files_of(root))
                shutil.rmtree(root)

    def test_the_debian_package_is_as_debian_wants_it(self):
        self.need(shutil.which("lintian"), "lintian")
        self.assertEqual("", call("lintian", "--allow-root", "--fail-on=none", *self.artefacts()[:1]))

    def test_the_static_file(self):
        for name in systems.SYSTEMS:
            with self.subTest(system=name):
                root = self.system(name)
                self.assert_ran(self.inside(root, "mv /tmp/launch-*-static /usr/bin/launch; job"))
                shutil.rmtree(root)

    def test_the_wheel(self):
        for name in [name for name, packages in systems.SYSTEMS.items() if packages]:
            with self.subTest(system=name):
                root = self.system(name)
                said = self.inside(root, "python3 -m venv /venv; . /venv/bin/activate; pip install --no-index "
                                         "--find-links /tmp launchrun; job; pip uninstall -y launchrun")
                self.assert_ran(said)
                self.assertEqual([], [path for path in self.files_of(root) if "launchrun/" in path or
                                      path.endswith(("bin/launch", "bin/launchrun"))])
                shutil.rmtree(root)

    def test_the_main_job_from_the_wheel(self):
        """Debian 12 with Python and nothing else: PyTorch and launch by one call of pip."""
        root = self.system("bookworm")
        self.need(any(systems.WHEELS.glob("torch-*")), f"PyTorch in {systems.WHEELS}")
        began = time.monotonic()
        self.inside(root, "python3 -m venv /venv; /venv/bin/pip install -q --no-index --find-links /tmp "
                          "--find-links /wheels launchrun torch")
        installed = time.monotonic()
        said = self.inside(root, """
            . /venv/bin/activate
            export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1
            node() {
              launch --nnodes=2 --nproc-per-node=2 --node-rank=$1 --master-addr=127.0.0.1 --master-port=29513 \\
                /tmp/quickstart_train.py
            }
            node 0 & first=$!
            node 1
            wait $first
            """)
        ended = time.monotonic()
        self.assertRegex(said, "(?i)loss")
        mib = {name: sum(path.stat().st_size for path in (root / "venv").rglob("*") if path.is_file() and ours(path))
               / MIB for name, ours in (("all", lambda path: True), ("launchrun", lambda path: "launch" in path.name))}
        print(f"\n  installed in {installed - began:.1f} s: {mib['all']:.0f} MiB, {mib['launchrun']:.1f} of them "
              f"launch; 2 x 2 workers trained in {ended - installed:.1f} s")
