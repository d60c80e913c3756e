#include "launch/core/host/memory_events.hpp"

#include "launch/core/base/text.hpp"

#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::int64_t no_limit = std::int64_t{1} << 60;  // without one, version 1 has a number near the largest

std::string mebibytes(std::string_view bytes) {
  std::int64_t value = 0;
  bytes = trim(bytes);
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
  if (error != std::errc() || value <= 0 || value >= no_limit) return {};
  return fmt::format("{} MiB", value >> 20);
}

}  // namespace

std::optional<MemoryGroup> memory_group(std::string_view proc_cgroup) {
  std::optional<MemoryGroup> found;
  for (const std::string_view line : split(proc_cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == line.npos ? first : first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string path(line.substr(second + 1));
    if (path == "/") path.clear();
    if (controllers == "memory") return MemoryGroup{false, "/memory" + path};
    if (controllers.empty()) found = MemoryGroup{true, path};
  }
  return found;
}

std::optional<std::int64_t> oom_kills(std::string_view events) {
  constexpr std::string_view name = "oom_kill ";
  for (const std::string_view line : split(events, '\n'))
    if (line.starts_with(name)) return parse_int(trim(line.substr(name.size())));
  return std::nullopt;
}

void OomCount::look(std::optional<std::int64_t> count, Time now) {
  if (!before_ || !count || *count - *before_ <= times_) return;
  times_ = *count - *before_;
  went_up_ = now;
}

bool OomCount::explains_kill(Time now) {
  if (times_ <= explained_ || now - went_up_ > interval) return false;
  ++explained_;
  return true;
}

std::string oom_text(bool of_worker, std::int64_t times, std::string_view limit, std::string_view peak) {
  const std::string often = times == 1 ? "once" : fmt::format("{} times", times);
  std::string text = of_worker ? "killed by the out-of-memory killer"
                               : fmt::format("the out-of-memory killer struck {} in this attempt", often);
  std::vector<std::string> known;
  if (const std::string most = mebibytes(limit); !most.empty()) known.push_back("limit " + most);
  if (const std::string used = mebibytes(peak); !used.empty()) known.push_back("peak " + used);
  return known.empty() ? text : fmt::format("{} (its control group: {})", text, fmt::join(known, ", "));
}

}  // namespace launch
