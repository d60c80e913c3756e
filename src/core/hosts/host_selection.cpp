#include "launch/core/hosts/host_selection.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_word.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using Devices = std::vector<int>;
using Selection = std::unordered_map<std::string, Devices>;  // by host; empty: all devices

Result<Devices> read_devices(std::string_view text, std::string_view word) {
  Devices devices;
  for (const std::string_view part : split(text, ',')) {
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    const int device = number ? parse_int(part).value_or(most_host_workers) : most_host_workers;
    if (device >= most_host_workers)
      return usage_error(fmt::format("{} is not a device in {}; write the numbers of local devices, as in n1:0,2",
                                     shown(part), shown(word)));
    devices.push_back(device);
  }
  std::sort(devices.begin(), devices.end());
  if (const auto twice = std::adjacent_find(devices.begin(), devices.end()); twice != devices.end())
    return usage_error(fmt::format("device {} is named twice in {}", *twice, shown(word)));
  return devices;
}

Status check_devices(const HostEntry& host, const Devices& devices) {
  if (devices.empty() || !host.workers || devices.back() < *host.workers) return {};
  return usage_error(fmt::format("{} has no device {}: it has {}, numbered from 0", shown(host.name), devices.back(),
                                 counted(*host.workers, "worker")));
}

// One word for one or more hosts.
Status add_selected(Selection& selection, std::string_view word,
                    const std::unordered_map<std::string_view, const HostEntry*>& known) {
  const HostWordParts parts = host_word_parts(word);
  const auto names = parse_host_names(parts.names);
  if (!names) return names.error();
  Devices devices;
  if (parts.tail) {
    auto read = read_devices(*parts.tail, word);
    if (!read) return read.error();
    devices = std::move(*read);
  }
  for (const std::string& name : *names) {
    const auto host = known.find(name);
    if (host == known.end()) return usage_error(fmt::format("{} is not in the list of hosts", shown(name)));
    if (Status fits = check_devices(*host->second, devices); !fits) return fits;
    if (!selection.emplace(name, devices).second) return usage_error(fmt::format("{} is named twice", shown(name)));
  }
  return {};
}

Result<Selection> read_selection(std::string_view text, const std::vector<HostEntry>& hosts) {
  std::unordered_map<std::string_view, const HostEntry*> known;
  for (const HostEntry& host : hosts) known.emplace(host.name, &host);
  Selection selection;
  for (const std::string_view word : split(text, '@'))
    if (const Status done = add_selected(selection, trim(word), known); !done) return done.error();
  return selection;
}

void choose_devices(HostEntry& host, Devices devices) {
  host.workers = static_cast<int>(devices.size());
  host.devices = std::move(devices);
}

std::vector<HostEntry> included(std::vector<HostEntry> hosts, const Selection& selection) {
  std::vector<HostEntry> left;
  for (HostEntry& host : hosts) {
    const auto chosen = selection.find(host.name);
    if (chosen == selection.end()) continue;
    if (!chosen->second.empty()) choose_devices(host, chosen->second);
    left.push_back(std::move(host));
  }
  return left;
}

Devices all_but(int count, const Devices& devices) {
  Devices others;
  for (int device = 0; device < count; ++device)
    if (!std::binary_search(devices.begin(), devices.end(), device)) others.push_back(device);
  return others;
}

Result<std::vector<HostEntry>> without_excluded(std::vector<HostEntry> hosts, const Selection& selection) {
  std::vector<HostEntry> left;
  for (HostEntry& host : hosts) {
    const auto chosen = selection.find(host.name);
    if (chosen != selection.end()) {
      if (chosen->second.empty()) continue;
      if (!host.workers)
        return usage_error(
            fmt::format("which devices of {} are left cannot be told without its number of workers; give "
                        "it, as in n1:8 or slots=8",
                        shown(host.name)));
      Devices others = all_but(*host.workers, chosen->second);
      if (others.empty()) continue;
      choose_devices(host, std::move(others));
    }
    left.push_back(std::move(host));
  }
  return left;
}

Result<std::vector<HostEntry>> selected(std::vector<HostEntry> hosts, std::string_view text, bool include) {
  const auto selection = read_selection(text, hosts);
  if (!selection) return selection.error();
  auto left = include ? included(std::move(hosts), *selection) : without_excluded(std::move(hosts), *selection);
  if (!left) return left;
  if (left->empty()) return usage_error("no host is left");
  if (std::all_of(left->begin(), left->end(), [](const HostEntry& host) { return host.spare; }))
    return usage_error("only spares are left; at least one other host must stay");
  return left;
}

}  // namespace

Result<std::vector<HostEntry>> select_hosts(std::vector<HostEntry> hosts, std::string_view include,
                                            std::string_view exclude) {
  if (!include.empty() && !exclude.empty())
    return usage_error(fmt::format("{} and {} contradict each other; give only one of them",
                                   as_typed("--include", include), as_typed("--exclude", exclude)));
  if (include.empty() && exclude.empty()) return hosts;
  auto left = selected(std::move(hosts), include.empty() ? exclude : include, !include.empty());
  if (left) return left;
  const std::string typed = include.empty() ? as_typed("--exclude", exclude) : as_typed("--include", include);
  return usage_error(fmt::format("{}: {}", typed, left.error().message));
}

}  // namespace launch
