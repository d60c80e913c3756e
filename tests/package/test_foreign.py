"""The program for the other machine, under qemu-user: its tests of core and io, and a job."""
import re
import shutil
import sys

import harness
from harness import ROOT, Case
from packing import MACHINE, call

sys.path.append(str(ROOT / "scripts/packaging"))
import binaries  # noqa: E402
import product  # noqa: E402

OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[MACHINE]


def passed(said):
    return int(re.search(r"\[  PASSED  \] (\d+) test", said).group(1))


@harness.long(covered_by="the same tests on this machine")
class Foreign(Case):
    builds = ("release",)
    load = 2.0

    def setUp(self):
        super().setUp()
        self.qemu = shutil.which(f"qemu-{OTHER}-static")
        self.need(self.qemu, f"qemu-user for {OTHER}")
        self.programs = binaries.build(product.TARGETS[f"{OTHER}-static"], ("core_tests", "io_tests"))

    def test_decisions(self):
        said = call(self.qemu, self.programs / "tests/core_tests", "--gtest_brief=1")
        print(f"\n  core_tests: {passed(said)} passed")
