#include "launch/core/hosts/host_check.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/job/endpoint.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::int64_t mib_per_gib = 1024;
constexpr std::int64_t little_shm_mib = 256;  // a container has 64 MiB if nobody asks for more
constexpr std::int64_t little_tmp_mib = 256;
constexpr std::int64_t few_open_files = 1024;
constexpr std::int64_t few_processes = 1024;
constexpr std::int64_t little_locked_mib = 1024;
constexpr std::size_t most_shown_processes = 4;
constexpr const char* shm_advice = "DataLoader and NCCL share memory there; docker run --shm-size, or --ipc=host";

// Collects the rows of one host.
struct HostRows {
  int node;
  std::vector<CheckRow> rows;

  void add(std::string check, CheckLevel level, std::string detail) {
    rows.push_back({node, std::move(check), level, std::move(detail)});
  }
};

std::string size_text(std::int64_t mib) {
  return mib < mib_per_gib ? fmt::format("{} MiB", mib) : fmt::format("{} GiB", mib / mib_per_gib);
}

// As a bound, so that hosts that are nearly equal say the same.
std::string at_least(std::int64_t mib) {
  return "more than " + size_text(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(mib))));
}

void check_job(const HostSurvey& survey, const CheckNeeds& needs, HostRows& rows) {
  for (const SurveyFault& one : survey.faults) rows.add(one.check, CheckLevel::fault, one.reason);
  if (survey.faults.empty())
    rows.add("job", CheckLevel::ok, needs.program ? "the folder and the program are there" : "the folder is there");
  if (survey.unfinished.empty()) return;
  const bool needed = needs.gpus && survey.unfinished == "gpus";
  rows.add(survey.unfinished, needed ? CheckLevel::fault : CheckLevel::warning,
           "not known, since this check did not end in time");
}

void check_python(const HostSurvey& survey, HostRows& rows) {
  const SurveyedPython& python = survey.python;
  if (!python.fault.empty())
    rows.add("python", CheckLevel::warning, fmt::format("{} does not answer: {}", python.path, python.fault));
  if (!python.torch.empty() && python.torch_for.empty() && survey.gpus.devices > 0)
    rows.add("torch", CheckLevel::warning,
             fmt::format("PyTorch {} is for processors only, and there are GPUs", python.torch));
}

void check_gpus(const HostSurvey& survey, const CheckNeeds& needs, HostRows& rows) {
  const SurveyedGpus& gpus = survey.gpus;
  if (!gpus.fault.empty()) rows.add("gpus", needs.gpus ? CheckLevel::fault : CheckLevel::warning, gpus.fault);
  if (gpus.devices > 0 && needs.workers > gpus.devices)
    rows.add("gpus", CheckLevel::warning,
             fmt::format("{} for {}", counted(gpus.devices, "GPU"), counted(needs.workers, "worker")));
  const auto used = std::count_if(gpus.gpus.begin(), gpus.gpus.end(), [](const GpuLine& gpu) {
    return gpu.free_mib >= 0 && gpu.total_mib > 0 && gpu.free_mib < gpu.total_mib / 2;
  });
  if (used > 0)
    rows.add("gpus", CheckLevel::warning,
             fmt::format("{} of {} have less than half of their memory free", used, counted(gpus.gpus.size(), "GPU")));
}

std::string process_text(const SurveyedProcess& one) {
  std::string text = fmt::format("pid {} ({})", one.pid, one.command);
  if (!one.run_id.empty()) text += fmt::format(" of job {}", one.run_id);
  if (one.on_gpu) text += " on a GPU";
  return text;
}

void check_processes(const HostSurvey& survey, HostRows& rows) {
  const auto add = [&](bool orphan, std::string_view what) {
    std::vector<std::string> shown_ones;
    std::size_t all = 0;
    for (const SurveyedProcess& one : survey.processes)
      if (one.orphan == orphan && ++all <= most_shown_processes) shown_ones.push_back(process_text(one));
    if (all == 0) return;
    const std::string more = all > shown_ones.size() ? fmt::format(" and {} more", all - shown_ones.size()) : "";
    rows.add("processes", CheckLevel::warning, fmt::format("{}: {}{}", what, fmt::join(shown_ones, ", "), more));
  };
  add(true, "left over from an earlier job of yours");
  add(false, "in use by another job of yours");
  if (survey.processes.empty() && survey.unfinished != "processes")
    rows.add("processes", CheckLevel::ok, "nothing is left over from an earlier job of yours");
}

struct SpaceRule {
  std::string_view check;
  std::int64_t little_mib;
  std::string_view advice;
};

void check_space(const SurveyedSpace& space, const SpaceRule& rule, HostRows& rows) {
  if (space.free_mib == not_known) return;
  const std::string check(rule.check);
  if (space.free_mib == 0)
    return rows.add(check, CheckLevel::fault, fmt::format("{} is full ({})", space.path, rule.advice));
  if (space.free_mib < rule.little_mib)
    return rows.add(check, CheckLevel::warning,
                    fmt::format("only {} are free in {} ({})", size_text(space.free_mib), space.path, rule.advice));
  rows.add(check, CheckLevel::ok, fmt::format("{} free in {}", at_least(space.free_mib), space.path));
}

bool is_below(std::int64_t limit, std::int64_t least) { return limit >= 0 && limit < least; }

void check_limits(const HostSurvey& survey, HostRows& rows) {
  const SurveyedLimits& limits = survey.limits;
  std::vector<std::string> low;
  if (is_below(limits.open_files, few_open_files))
    low.push_back(fmt::format("{} open files (ulimit -n), {} are usual", limits.open_files, few_open_files));
  if (is_below(limits.processes, few_processes))
    low.push_back(fmt::format("{} processes and threads (ulimit -u)", limits.processes));
  if (survey.rdma_devices > 0 && is_below(limits.locked_mib, little_locked_mib))
    low.push_back(fmt::format("{} of locked memory (ulimit -l), InfiniBand and RoCE need it unlimited",
                              size_text(limits.locked_mib)));
  if (!low.empty()) return rows.add("limits", CheckLevel::warning, fmt::format("only {}", fmt::join(low, "; ")));
  if (limits.open_files != not_known)
    rows.add("limits", CheckLevel::ok, "open files, processes and locked memory suffice");
}

void check_name(const HostSurvey& survey, HostRows& rows) {
  const auto& found = survey.name_leads_to;
  if (found.empty() && survey.name_fault.empty()) return;
  if (found.empty())
    return rows.add("name", CheckLevel::warning,
                    fmt::format("its own name cannot be looked up there ({})", survey.name_fault));
  std::vector<std::string_view> own;
  for (const SurveyedInterface& one : survey.interfaces)
    own.insert(own.end(), one.addresses.begin(), one.addresses.end());
  const auto is_own = [&](const std::string& one) { return std::find(own.begin(), own.end(), one) != own.end(); };
  if (std::all_of(found.begin(), found.end(), is_loopback))
    return rows.add("name", CheckLevel::warning,
                    fmt::format("its own name leads to {}, the loopback (/etc/hosts)", found.front()));
  if (!own.empty() && std::none_of(found.begin(), found.end(), is_own))
    return rows.add("name", CheckLevel::warning,
                    fmt::format("its own name leads to {}, which is not its own address", found.front()));
  rows.add("name", CheckLevel::ok, "its own name leads to its own address");
}

}  // namespace

std::vector<CheckRow> check_host(int node, const HostSurvey& survey, const CheckNeeds& needs) {
  HostRows rows{node, {}};
  check_job(survey, needs, rows);
  check_python(survey, rows);
  check_gpus(survey, needs, rows);
  check_processes(survey, rows);
  check_space(survey.shm, {"shm", little_shm_mib, shm_advice}, rows);
  check_space(survey.tmp,
              {"tmp", little_tmp_mib, "workers' output and their files are kept there; clean it up, or set TMPDIR"},
              rows);
  check_limits(survey, rows);
  check_name(survey, rows);
  return std::move(rows.rows);
}

}  // namespace launch
