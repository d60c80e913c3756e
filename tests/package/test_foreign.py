"""The program for the other machine, under qemu-user: its tests of core and io, and a job of shell scripts.

What qemu-user 7.2 itself cannot do, and what a static program cannot, is in LACKS. Tests that need it are left out
here; they hold on a real machine.
"""
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
LACKS = {  # what it does instead of that -> tests that see it
    "refuses PR_SET_CHILD_SUBREAPER, so what a worker leaves behind goes to init": (
        "Family.*", "Guard.WhatAKilledAgentLeavesIsKilled", "OneProcess.CanBeSignalledThoughPidfdsAreRefused"),
    "refuses PR_SET_SECCOMP, so that no call can be made to fail": (
        "KernelProbe.*", "Child.ToldItsExitCodeThoughWaitidIsRefused"),
    "makes a copy of the process for CLONE_VM and CLONE_VFORK, so a child cannot tell why it failed": (
        "Spawn.TellsStageAndReasonOfEachFailure", "Spawn.AFailedStartLeavesNoChild", "LookAt.OneThatIsStuckInTheKernel",
        "AWorkerStart.StopsAtTheFirstWorkerThatCannotBeMade",
        "AWorkerStart.NoWorkerRunsThatComesAfterTheOneThatCannotBeMade",
        "PipedPrograms.OneThatCannotBeExecutedIsAnErrorAndNobodyIsCalled",
        "PipedPrograms.AScriptWhoseFirstLineNamesNoProgramIsForTheShell"),
    "refuses CLONE_FILES without CLONE_THREAD, and knows no clone3": (
        "Spawn.ThroughSlots*", "ASpawnCrew.*", "WorkerCgroup.WorkersBeginInItAndEndWithIt"),
    "applies no limit of threads or memory": (
        "*NoThreadCanBeHad*", "Connect.LocalhostIsKnownThoughNothingCanBeLookedUp",
        "StderrTapTest.WithoutAThreadThereIsAnError", "ThreadError.SaysWhatIsInTheWay",
        "StdinFeederTest.NoCopyIsAnErrorWithItsReason"),
    "knows no TIOCGDEV": (
        "MessageConsoleTest.*", "ConsoleQueues.APipeThatMayNotBeOpenedAgainIsNotWaitedFor",
        "ConsoleQueues.WhatMayBlockHoldsUpNobody", "EventSinks.ATerminalThatTakesNothingIsOneWarning"),
    "shows less of itself in /proc": ("WorkTally.GrowsWithWhatAProcessDoes", "WorkerLook.SeesProcessorTimeAndMemory"),
    "leaves its children to this machine": ("RemotePlace.TheMachineIsNamedAsUnameNamesIt",),
    "a static program loads no library": ("GpuLibrary*", "PmixExchange.*"),
    "catches signals itself, and says less of their senders": (
        "ProcessLook.KnowsWhatAProcessCatches", "Guard.TheAgentHearsOfItsEnd",
        "Signals.ASenderIsNamedAsFarAsItIsKnown", "Disk.HearsNoSignal"),
    "is slow with thousands of connections, and loses a timer now and then": (
        "StoreServerTest.ThousandsOfSilentConnectionsDoNotMatter",
        "StoreServerTest.WhoHasAWillAndSaysNothingIsTakenForDead"),
}
MOST_LACKED = 100  # tests of io; there are some 640


@harness.long(covered_by="the same tests on this machine, and package/test_packages")
class Foreign(Case):
    builds = ("release",)
    load = 2.0

    def setUp(self):
        super().setUp()
        self.qemu = shutil.which(f"qemu-{OTHER}-static")
        self.need(self.qemu, f"qemu-user for {OTHER}")
        self.folder_of_programs = binaries.build(product.TARGETS[f"{OTHER}-static"], ("core_tests", "io_tests"))

    def passed(self, program, *words):
        """How many tests passed, of how many."""
        said = call(self.qemu, self.folder_of_programs / "tests" / program, "--gtest_brief=1", *words)
        print(f"\n  {program}:", *re.findall(r"(?m)^\[ .*", said))
        return int(re.search(r"\[  PASSED  \] (\d+) test", said)[1]), int(re.search(r"\] (\d+) tests? from", said)[1])

    def test_tests(self):
        passed, ran = self.passed("core_tests")
        self.assertGreaterEqual(passed, ran - 2)  # those that are skipped need what a C library lacks
        left_out = ":".join(pattern for patterns in LACKS.values() for pattern in patterns)
        everything = call(self.qemu, self.folder_of_programs / "tests" / "io_tests", "--gtest_list_tests")
        passed, ran = self.passed("io_tests", f"--gtest_filter=-{left_out}")
        self.assertGreaterEqual(passed, ran - 4)
        self.assertLessEqual(len(re.findall(r"(?m)^  \w", everything)) - ran, MOST_LACKED)

    def test_a_job(self):
        worker = self.program("#!/bin/sh\necho rank $RANK of $WORLD_SIZE\nexit $RANK\n")
        line = [self.qemu, self.folder_of_programs / "launch", "--nproc-per-node=2", worker]
        run = self.start(line)
        self.expect([1], [run], seconds=60)
        self.assertEqual({"rank 0 of 2", "rank 1 of 2"}, set(run.out.splitlines()), str(run))
        self.assertIn("root cause     rank 1", run.err)
