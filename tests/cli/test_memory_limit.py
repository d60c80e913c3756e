"""A worker that the kernel ends for want of memory: the report says so."""
import os
import signal
import sys
import time

import memory_group
from harness import Settings, wait_for
from job import SLEEP, JobCase


class MemoryLimit(JobCase):
    GREEDY = "x = bytearray(1 << 30)\nx[:] = b'1' * len(x)\n"
    LIMIT = r" \(its control group: limit 512 MiB, peak"

    def in_a_group(self, *words):
        return self.start(memory_group.inside(self, Settings.launch, *words))

    def test_the_out_of_memory_killer_is_named(self):
        greedy = self.program(f"#!{sys.executable}\n" + self.GREEDY, "greedy")
        parent = self.worker(f"{greedy}\nexit $?\n")
        for worker, words in ((greedy, r"signal 9 \(SIGKILL\), killed by the out-of-memory killer"),
                              (parent, "exit code 137; the out-of-memory killer struck once in this attempt")):
            run = self.in_a_group("--no-python", worker)
            self.expect([137], [run])
            self.assert_says(run, words + self.LIMIT)

    def test_it_is_not_blamed_for_what_another_kills_later(self):
        helper = self.program(f"#!{sys.executable}\n" + self.GREEDY, "helper")
        worker = self.worker(f'if [ $RANK = 0 ]; then {helper}; date +%s%N > "$TEST_FOLDER/struck"; fi\n',
                             'echo $$ > "$TEST_FOLDER/pid.$RANK"\n', SLEEP)
        run = self.in_a_group("--nproc-per-node=2", "--no-python", worker)
        struck = self.folder / "struck"
        self.assertTrue(wait_for(lambda: struck.exists() and struck.read_text().endswith("\n"), 60), run)
        end_of_blame = int(struck.read_text()) / 1e9 + 2
        self.assertTrue(wait_for(lambda: time.time() > end_of_blame, 10))
        pid = self.folder / "pid.1"
        self.assertTrue(wait_for(lambda: pid.exists() and pid.read_text().endswith("\n"), 60), run)
        os.kill(int(pid.read_text()), signal.SIGKILL)
        self.expect([137], [run])
        self.assert_says(run, r"rank 1 .*: signal 9 \(SIGKILL\), not sent by launch "
                              r"\(but by a scheduler, another process or a user\); "
                              "the out-of-memory killer struck once in this attempt" + self.LIMIT)
        self.assertNotIn("killed by the out-of-memory killer", run.err)
