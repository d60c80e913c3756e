#include "launch/core/hosts/host_compare.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_fold.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr const char* nothing_there = "none";

// What is compared; nullopt: it is not known.
using ReadValue = std::optional<std::string> (*)(const HostSurvey&);

std::optional<std::string> machine_of(const HostSurvey& survey) {
  return survey.machine.empty() ? std::nullopt : std::optional(survey.machine);
}

// One that is missing although the program needs it is a fault already.
bool python_is_known(const HostSurvey& survey) {
  const auto& faults = survey.faults;
  if (std::any_of(faults.begin(), faults.end(), [](const auto& one) { return one.check == "python"; })) return false;
  return survey.python.fault.empty() && survey.unfinished != "python" && survey.unfinished.empty();
}

std::optional<std::string> python_of_host(const HostSurvey& survey) {
  if (!python_is_known(survey)) return std::nullopt;
  return survey.python.version.empty() ? nothing_there : survey.python.version;
}

std::optional<std::string> torch_of_host(const HostSurvey& survey) {
  const SurveyedPython& python = survey.python;
  if (!python_is_known(survey)) return std::nullopt;
  if (python.torch.empty()) return nothing_there;
  return python.torch_for.empty() ? python.torch : fmt::format("{} for {}", python.torch, python.torch_for);
}

std::optional<std::string> gpus_of_host(const HostSurvey& survey) {
  const SurveyedGpus& found = survey.gpus;
  if (!found.gpus.empty()) return fmt::format("{} x {}", found.gpus.size(), found.gpus.front().name);
  if (!found.fault.empty() || !survey.unfinished.empty()) return std::nullopt;
  return found.devices > 0 ? fmt::format("{} x {}", found.devices, found.kind) : nothing_there;
}

std::optional<std::string> driver_of_host(const HostSurvey& survey) {
  if (survey.gpus.gpus.empty() || survey.gpus.gpus.front().driver.empty()) return std::nullopt;
  return survey.gpus.gpus.front().driver;
}

struct Comparison {
  const char* check;
  ReadValue read;
};

constexpr Comparison comparisons[] = {{"machine", machine_of},
                                      {"python", python_of_host},
                                      {"torch", torch_of_host},
                                      {"gpus", gpus_of_host},
                                      {"driver", driver_of_host}};

bool share_an_address(const SurveyedHost& left, const SurveyedHost& right) {
  return std::find_first_of(left.addresses.begin(), left.addresses.end(), right.addresses.begin(),
                            right.addresses.end()) != left.addresses.end();
}

// Containers of a machine have its boot id, too, but other addresses.
std::vector<CheckRow> same_machines(const std::vector<SurveyedHost>& hosts, const std::vector<std::string>& names) {
  std::vector<CheckRow> rows;
  std::unordered_map<std::string_view, std::vector<const SurveyedHost*>> by_boot;
  for (const SurveyedHost& host : hosts) {
    if (host.boot_id.empty()) continue;
    auto& before = by_boot[host.boot_id];
    const auto same =
        std::find_if(before.begin(), before.end(), [&](const auto* one) { return share_an_address(*one, host); });
    if (same != before.end())
      rows.push_back({host.node, "machine", CheckLevel::warning,
                      fmt::format("it is the same machine as {}", names[static_cast<std::size_t>((*same)->node)])});
    before.push_back(&host);
  }
  return rows;
}

}  // namespace

std::vector<CheckRow> compare_values(const std::string& check, const std::vector<HostValue>& values,
                                     const std::vector<std::string>& names) {
  std::map<std::string_view, std::vector<std::string>> having;
  for (const HostValue& one : values) having[one.value].push_back(names[static_cast<std::size_t>(one.node)]);
  std::string_view usual;
  for (const HostValue& one : values)
    if (usual.empty() || having[one.value].size() > having[usual].size()) usual = one.value;
  std::vector<CheckRow> rows;
  for (const HostValue& one : values) {
    const auto& others = having[usual];
    if (one.value == usual) {
      rows.push_back({one.node, check, CheckLevel::ok, one.value});
    } else {
      rows.push_back(
          {one.node, check, CheckLevel::warning,
           fmt::format("{}; {} {} {}", one.value, fold_hosts(others), others.size() == 1 ? "has" : "have", usual)});
    }
  }
  return rows;
}

std::vector<CheckRow> compare_hosts(const std::vector<SurveyedHost>& hosts, const std::vector<std::string>& names) {
  std::vector<CheckRow> rows;
  const auto add = [&rows](std::vector<CheckRow> more) { rows.insert(rows.end(), more.begin(), more.end()); };
  for (const Comparison& comparison : comparisons) {
    std::vector<HostValue> values;
    for (const SurveyedHost& host : hosts)
      if (auto value = comparison.read(host.survey)) values.push_back({host.node, *std::move(value)});
    add(compare_values(comparison.check, values, names));
  }
  add(same_machines(hosts, names));
  return rows;
}

}  // namespace launch
