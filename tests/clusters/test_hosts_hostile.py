"""What is at the other end of a connection of launch --hosts may be anything: it is named, and costs nothing else."""
import os
import struct

from cluster_case import ClusterCase
from harness import Settings
from job import UP

OUTPUT, PEER_BYTES = 8, 15  # kinds of frames, as docs and core/hosts/host_messages count them


def frame(kind, body, length=None):
    return bytes([kind]) + struct.pack(">I", len(body) if length is None else length) + body


class Hostile(ClusterCase):
    load = 0.3

    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "launch").symlink_to(Settings.launch)
        self.path = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def greeting(self):
        """That of a launch of this version."""
        version = self.output_of("--version").split()[1]
        return f"launch-remote 1 {version} 4711 h2\n".encode()

    def job(self, script, said=b""):
        """Three hosts, of which h2 says this and then runs this script."""
        (self.folder / "said").write_bytes(said)
        self.program(f'#!/bin/sh\ncat "$TEST_FOLDER/said"\n{script}\n', "hostile")
        command = f"[ {{host}} = h2 ] && exec {self.folder}/hostile; exec {{command}}"
        return self.launch("--hosts=h[1-3]", "--nproc-per-node=1", f"--start-with=exec:{command}", self.worker(UP),
                           env=self.path)

    def expect_named(self, run, says, code=1, seconds=60):
        self.expect([code], [run], seconds=seconds)
        self.assertRegex(run.err, rf"h2: .*{says}")
        self.assertEqual([], self.up(), "no worker starts")
        self.assertLess(len(run.err), 4_000, "what comes from there is not shown at length")

    def test_garbage(self):
        self.expect_named(self.job("exec sleep 300", os.urandom(200_000)),
                          "too much text before launch --remote answered")

    def test_gigabytes_instead_of_a_greeting(self):
        self.expect_named(self.job("exec cat /dev/zero"), "too much text before launch --remote answered")

    def test_gigabytes_after_the_greeting(self):
        greeting = self.greeting()
        self.expect_named(self.job("exec cat /dev/zero", greeting), "not launch: a frame of an unknown kind 0")

    def test_frames_that_are_too_long(self):
        greeting = self.greeting()
        self.expect_named(self.job("exec cat /dev/zero", greeting + frame(OUTPUT, b"", 0xFFFFFFFF)),
                          "not launch: a frame output of 4294967295 bytes")

    def test_output_before_anything_runs(self):
        line = frame(OUTPUT, b"\0from nobody\n")
        run = self.job("exec sleep 300", self.greeting() + line * 1_000 + b"\0" * 5)
        self.expect_named(run, "not launch: a frame of an unknown kind 0")
        self.assertNotIn("from nobody", run.out)

    def test_words_about_connections_of_others(self):
        run = self.job("exec sleep 300", self.greeting() + frame(PEER_BYTES, struct.pack(">I", 2) + b"x"))
        self.expect_named(run, "it speaks of node 2, whose connection it does not have")

    def test_another_version_and_another_protocol(self):
        self.expect_named(self.job("exec sleep 300", b"launch-remote 1 0.0.1 4711 h2\n"), "has launch 0.0.1, this is")
        self.expect_named(self.job("exec sleep 300", b"launch-remote 77 what-ever\n"), "speaks protocol 77")

    def test_nothing(self):
        self.expect_named(self.job("exec sleep 300"), "launch did not answer within 30 s", code=124, seconds=90)
