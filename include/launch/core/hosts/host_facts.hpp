// What a host says of itself when it is checked before a job (launch --check): a survey, as a value and as one line of
// JSON. io/host_probe makes it on the host; the head reads it, and core/hosts/host_check says what is wrong with it.
// Pure. Sizes are MiB, times are those of the host's own wall clock. Whoever reads it must not trust it: texts are cut
// to lines that are safe to show, lists and numbers are bounded, and members that are not known are ignored. Only what
// is no object at all is an error (protocol).
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/host/gpu_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

constexpr std::int64_t not_known = -1;
constexpr std::int64_t limitless = -2;  // of a limit

// Why the node could not start there.
struct SurveyFault {
  std::string check;  // "folder", "job", "python"
  std::string reason;

  bool operator==(const SurveyFault&) const = default;
};

struct SurveyedPython {
  std::string path;       // of the interpreter; empty: there is none
  std::string version;    // "3.11.2"; empty: it did not say
  std::string torch;      // "2.3.0"; empty: there is none
  std::string torch_for;  // "CUDA 12.1", "ROCm 6.0"; empty: processors only, or not known
  std::string fault;      // why it did not answer

  bool operator==(const SurveyedPython&) const = default;
};

struct SurveyedGpus {
  std::vector<GpuLine> gpus;
  int devices = 0;    // that the kernel shows to this user, whatever tool is installed
  std::string kind;   // of these: "CUDA", "ROCm", "XPU", "NPU"; empty: there are none
  std::string fault;  // why the vendor's tool did not answer

  bool operator==(const SurveyedGpus&) const = default;
};

// A process of this user that looks like one of an earlier job.
struct SurveyedProcess {
  int pid = 0;
  std::string command;
  std::string run_id;   // TORCHELASTIC_RUN_ID; empty: it has none
  bool orphan = false;  // the launch or torchrun that started it is gone
  bool on_gpu = false;

  bool operator==(const SurveyedProcess&) const = default;
};

struct SurveyedSpace {
  std::string path;
  std::int64_t total_mib = not_known;
  std::int64_t free_mib = not_known;

  bool operator==(const SurveyedSpace&) const = default;
};

struct SurveyedLimits {
  std::int64_t open_files = not_known;
  std::int64_t processes = not_known;
  std::int64_t locked_mib = not_known;

  bool operator==(const SurveyedLimits&) const = default;
};

struct SurveyedInterface {
  std::string name;
  std::vector<std::string> addresses;
  int mtu = 0;  // 0: not known

  bool operator==(const SurveyedInterface&) const = default;
};

struct HostSurvey {
  std::vector<SurveyFault> faults;
  std::string machine;  // "x86_64"
  SurveyedPython python;
  SurveyedGpus gpus;
  std::vector<SurveyedProcess> processes;
  SurveyedSpace shm, tmp;
  SurveyedLimits limits;
  std::vector<std::string> name_leads_to;  // the addresses that its own name has there
  std::string name_fault;                  // why there are none
  std::vector<SurveyedInterface> interfaces;
  int rdma_devices = 0;
  std::int64_t asked_us = 0;     // when the question came
  std::int64_t answered_us = 0;  // when the answer went
  std::string unfinished;        // the check that did not end in time, so that it and what follows it is not known

  bool operator==(const HostSurvey&) const = default;
};

constexpr std::size_t longest_survey = std::size_t{64} << 10;

// In one line, within longest_survey: what exceeds the bounds is cut or left out.
std::string to_json(const HostSurvey& survey);

Result<HostSurvey> parse_survey(std::string_view json);

}  // namespace launch
