"""Nodes of two versions in one job: the last release and what is here work together; if the protocol differs, they
say so. The other versions are compiled here, in build/versions. LAUNCH_OTHER_VERSION names one instead of the last tag.
"""
import os
import subprocess

import harness
from harness import ROOT, Case, Settings
from packing import call
from running import free_port, wait_for

FOLDER = ROOT / "build/versions"


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False).stdout.strip()


def last_release():
    """Of what came before what is checked out."""
    return os.environ.get("LAUNCH_OTHER_VERSION") or git("describe", "--tags", "--abbrev=0", "--match=v[0-9]*", "HEAD^")


def compiled(name, revision, *edit):
    """`launch` of that revision, after the edit of one of its files."""
    source = FOLDER / name
    call("rm", "-rf", source)
    source.mkdir(parents=True)
    call("bash", "-ec", f'git -C "{ROOT}" archive "{revision}" | tar -x -C "{source}"')
    if edit:
        call("sed", "-i", *edit, cwd=source)
    call("cmake", "--preset", "release", cwd=source)
    call("cmake", "--build", "--preset", "release", "--target", "launch", cwd=source)
    return source / "build/release/launch"


@harness.long(covered_by="core/common_settings_test.CommonSettings.AVersionMayDifferIfTheProtocolDoesNot")
class Versions(Case):
    builds = ("release",)
    load = 2.0

    def both(self, first, second, words, refused=False):
        """A job of two nodes, each started by a program of its own: exit codes, and all that they said. If one is
        refused in a c10d job, the other would wait for another node."""
        port = free_port()
        nodes = [subprocess.Popen([program, "--nnodes=2", "--nproc-per-node=2", *words(node, port), "--no-python",
                                   self.folder / "worker"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env=dict(os.environ, OMP_NUM_THREADS="1"))
                 for node, program in enumerate((first, second))]
        if refused and words == self.c10d:
            self.assertTrue(wait_for(lambda: any(node.poll() is not None for node in nodes), 60))
            for node in nodes:
                node.terminate()
        said = [node.communicate(timeout=60)[0] for node in nodes]
        return [node.returncode for node in nodes], said

    @staticmethod
    def static(node, port):
        return [f"--node-rank={node}", "--master-addr=127.0.0.1", f"--master-port={port}"]

    @staticmethod
    def c10d(_, port):
        return ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=job"]

    def pairs(self, other):
        """Both ways round, static and c10d."""
        for programs in ((Settings.launch, other), (other, Settings.launch)):
            for words in (self.static, self.c10d):
                with self.subTest(first=programs[0], words=words.__name__):
                    yield lambda words=words, programs=programs, **more: self.both(*programs, words, **more)

    def worker(self, script):
        path = self.folder / "worker"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def test_the_last_release_and_this(self):
        release = last_release()
        self.need(release, "the tag of a release before this one")
        other = compiled("before", release)
        print(f"\n  {release} and what is here")
        for job in self.pairs(other):
            self.worker('echo "rank $RANK of $WORLD_SIZE"\n')
            codes, said = job()
            self.assertEqual([0, 0], codes, said)
            ranks = sorted(line for line in "".join(said).splitlines() if line.startswith("rank"))
            self.assertEqual([f"rank {rank} of 4" for rank in range(4)], ranks, said)
            self.worker('[ "$RANK" != 3 ] || exit 7\nsleep 300\n')
            codes, said = job()
            self.assertEqual([7, 7], codes, said)
            for each in said:
                self.assertRegex(each, "root cause +rank 3 ")

    def test_another_protocol_is_refused(self):
        other = compiled("after", "HEAD", 's/protocol = "1"/protocol = "2"/', "src/core/config/common_settings.cpp")
        self.worker("exit 0\n")
        for job in self.pairs(other):
            codes, said = job(refused=True)
            self.assertNotIn(0, codes, said)
            self.assertIn(2, codes, said)
            for each in said:
                self.assertRegex(each, r"speaks protocol of launch [12], the job [12]; run the same version of launch")
