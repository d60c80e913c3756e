#include "launch/core/hosts/host_notices.hpp"

#include "launch/core/hosts/host_fold.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::size_t most_machines_named = 8;

using NamesByKey = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

void note_machines_named_twice(const std::vector<ReadyHost>& hosts, std::vector<std::string>& notices) {
  NamesByKey machines;
  for (const ReadyHost& host : hosts)
    if (!host.ready.boot_id.empty()) machines[{host.ready.boot_id, host.ready.hostname}].push_back(host.name);
  for (const auto& [machine, names] : machines) {
    if (names.size() < 2) continue;
    if (notices.size() == most_machines_named) {
      notices.emplace_back("more hosts are the same machine under several names");
      return;
    }
    notices.push_back(fmt::format("{} are the same machine ({}): their workers share its devices", fold_hosts(names),
                                  machine.second));
  }
}

void note_architectures(const std::vector<ReadyHost>& hosts, std::vector<std::string>& notices) {
  std::map<std::string, std::vector<std::string>> names;
  for (const ReadyHost& host : hosts)
    if (!host.ready.machine.empty()) names[host.ready.machine].push_back(host.name);
  if (names.size() < 2) return;
  std::vector<std::string> parts;
  parts.reserve(names.size());
  for (const auto& [machine, of] : names)
    parts.push_back(fmt::format("{} {} {}", fold_hosts(of), of.size() == 1 ? "is" : "are", machine));
  notices.push_back(fmt::format("the hosts have different architectures: {}", fmt::join(parts, "; ")));
}

}  // namespace

std::vector<std::string> notices_on_hosts(const std::vector<ReadyHost>& hosts) {
  std::vector<std::string> notices;
  note_machines_named_twice(hosts, notices);
  note_architectures(hosts, notices);
  return notices;
}

}  // namespace launch
