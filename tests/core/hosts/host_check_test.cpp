#include "launch/core/hosts/host_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace launch::host_check_test {

using enum CheckLevel;

HostSurvey sound_survey() {
  HostSurvey survey;
  survey.machine = "x86_64";
  survey.python = {"/usr/bin/python3", "3.11.2", "2.3.0", "CUDA 12.1", ""};
  survey.gpus = {{{"H100", "535.1", 81'000, 80'000}, {"H100", "535.1", 81'000, 80'000}}, 2, "CUDA", ""};
  survey.shm = {"/dev/shm", 20'000, 20'000};
  survey.tmp = {"/tmp", 20'000, 5'000};
  survey.limits = {1024, limitless, limitless};
  survey.name_leads_to = {"127.0.0.1", "10.0.0.1"};
  survey.interfaces = {{"eth0", {"10.0.0.1"}, 1500}};
  return survey;
}

struct Case {
  const char* what;
  std::function<void(HostSurvey&)> change;
  CheckNeeds needs;
  const char* check;
  CheckLevel level;
  const char* detail;
};

const std::vector<Case> cases{
    {"nothing", [](HostSurvey&) {}, {}, "job", ok, "the folder is there"},
    {"a program", [](HostSurvey&) {}, {true, false, 0}, "job", ok, "the folder and the program are there"},
    {"no folder",
     [](HostSurvey& s) {
       s.faults = {{"folder", "/a is not there"}};
     },
     {},
     "folder",
     fault,
     "/a is not there"},
    {"no Python",
     [](HostSurvey& s) {
       s.faults = {{"python", "no Python"}};
     },
     {},
     "python",
     fault,
     "no Python"},
    {"Python is broken",
     [](HostSurvey& s) { s.python.fault = "exit code 1"; },
     {},
     "python",
     warning,
     "/usr/bin/python3 does not answer: exit code 1"},
    {"slow",
     [](HostSurvey& s) { s.unfinished = "tmp"; },
     {},
     "tmp",
     warning,
     "not known, since this check did not end in time"},
    {"slow, needed",
     [](HostSurvey& s) { s.unfinished = "gpus"; },
     {true, true, 0},
     "gpus",
     fault,
     "not known, since this check did not end in time"},
    {"torch without GPUs",
     [](HostSurvey& s) { s.python.torch_for.clear(); },
     {},
     "torch",
     warning,
     "PyTorch 2.3.0 is for processors only, and there are GPUs"},
    {"a driver that hangs",
     [](HostSurvey& s) { s.gpus.fault = "nvidia-smi hangs"; },
     {},
     "gpus",
     warning,
     "nvidia-smi hangs"},
    {"and is needed",
     [](HostSurvey& s) { s.gpus.fault = "nvidia-smi hangs"; },
     {true, true, 0},
     "gpus",
     fault,
     "nvidia-smi hangs"},
    {"too many workers", [](HostSurvey&) {}, {true, false, 8}, "gpus", warning, "2 GPUs for 8 workers"},
    {"GPU in use",
     [](HostSurvey& s) { s.gpus.gpus[1].free_mib = 40'499; },
     {},
     "gpus",
     warning,
     "1 of 2 GPUs have less than half of their memory free"},
    {"left over",
     [](HostSurvey& s) {
       s.processes = {{7, "python a.py", "j", true, true}, {8, "sh", "", true, false}};
     },
     {},
     "processes",
     warning,
     "left over from an earlier job of yours: pid 7 (python a.py) of job j on a GPU, pid 8 (sh)"},
    {"another job",
     [](HostSurvey& s) {
       s.processes.assign(6, {7, "python", "", false, true});
     },
     {},
     "processes",
     warning,
     "in use by another job of yours: pid 7 (python) on a GPU, pid 7 (python) on a GPU, pid 7 (python) on a GPU, pid 7 "
     "(python) on a GPU and 2 more"},
    {"none left over", [](HostSurvey&) {}, {}, "processes", ok, "nothing is left over from an earlier job of yours"},
    {"shm is full",
     [](HostSurvey& s) { s.shm.free_mib = 0; },
     {},
     "shm",
     fault,
     "/dev/shm is full (DataLoader and NCCL share memory there; docker run --shm-size, or --ipc=host)"},
    {"shm of a container",
     [](HostSurvey& s) { s.shm.free_mib = 64; },
     {},
     "shm",
     warning,
     "only 64 MiB are free in /dev/shm (DataLoader and NCCL share memory there; docker run --shm-size, or "
     "--ipc=host)"},
    {"shm suffices", [](HostSurvey&) {}, {}, "shm", ok, "more than 16 GiB free in /dev/shm"},
    {"tmp is full",
     [](HostSurvey& s) { s.tmp.free_mib = 0; },
     {},
     "tmp",
     fault,
     "/tmp is full (workers' output and their files are kept there; clean it up, or set TMPDIR)"},
    {"tmp suffices", [](HostSurvey& s) { s.tmp.free_mib = 1000; }, {}, "tmp", ok, "more than 512 MiB free in /tmp"},
    {"few files",
     [](HostSurvey& s) { s.limits.open_files = 256; },
     {},
     "limits",
     warning,
     "only 256 open files (ulimit -n), 1024 are usual"},
    {"few of all",
     [](HostSurvey& s) {
       s.limits = {9, 8, 7};
       s.rdma_devices = 1;
     },
     {},
     "limits",
     warning,
     "only 9 open files (ulimit -n), 1024 are usual; 8 processes and threads (ulimit -u); 7 MiB of locked memory "
     "(ulimit -l), InfiniBand and RoCE need it unlimited"},
    {"memory may be locked",
     [](HostSurvey& s) { s.limits.locked_mib = 8; },
     {},
     "limits",
     ok,
     "open files, processes and locked memory suffice"},
    {"no name",
     [](HostSurvey& s) {
       s.name_leads_to.clear();
       s.name_fault = "unknown";
     },
     {},
     "name",
     warning,
     "its own name cannot be looked up there (unknown)"},
    {"Debian's name",
     [](HostSurvey& s) { s.name_leads_to = {"127.0.1.1"}; },
     {},
     "name",
     warning,
     "its own name leads to 127.0.1.1, the loopback (/etc/hosts)"},
    {"another's name",
     [](HostSurvey& s) { s.name_leads_to = {"10.0.0.9"}; },
     {},
     "name",
     warning,
     "its own name leads to 10.0.0.9, which is not its own address"},
    {"its name", [](HostSurvey&) {}, {}, "name", ok, "its own name leads to its own address"},
};

TEST(HostCheck, EachFindingHasItsRow) {
  for (const Case& one : cases) {
    HostSurvey survey = sound_survey();
    one.change(survey);
    const auto rows = check_host(3, survey, one.needs);
    EXPECT_THAT(rows, testing::Contains(CheckRow{3, one.check, one.level, one.detail})) << one.what;
  }
}

TEST(HostCheck, AHostThatIsWellHasNoWarning) {
  for (const CheckRow& row : check_host(0, sound_survey(), {true, true, 2})) EXPECT_EQ(row.level, ok) << row.detail;
}

TEST(HostCheck, WhatIsNotKnownIsNoFault) {
  HostSurvey nothing;
  nothing.unfinished = "processes";
  const auto rows = check_host(0, nothing, {});
  EXPECT_EQ(rows.size(), 2U) << "only the job, and that the rest is not known";
  for (const CheckRow& row : check_host(0, HostSurvey(), {})) EXPECT_EQ(row.level, ok) << row.detail;
}

}  // namespace launch::host_check_test
