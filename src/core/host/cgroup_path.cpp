#include "launch/core/host/cgroup_path.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace launch {
namespace {

// mountinfo writes blanks, line ends and backslashes as \040 and the like.
std::string without_escapes(std::string_view text) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string result;
  while (!text.empty()) {
    if (text.size() >= 4 && text[0] == '\\' && std::all_of(text.begin() + 1, text.begin() + 4, octal)) {
      result += static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
      text.remove_prefix(4);
    } else {
      result += text[0];
      text.remove_prefix(1);
    }
  }
  return result;
}

std::optional<std::string_view> unified_path(std::string_view proc_cgroup) {
  for (const std::string_view line : split(proc_cgroup, '\n'))
    if (line.starts_with("0::/")) return line.substr(3);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> cgroup_folder(std::string_view proc_cgroup, std::string_view mountinfo) {
  const auto path = unified_path(proc_cgroup);
  // "/.." is a group above all that this namespace shows.
  if (!path || path->starts_with("/..")) return std::nullopt;
  for (const std::string_view line : split(mountinfo, '\n')) {
    // ID PARENT DEVICE ROOT PLACE OPTIONS [MORE...] - TYPE ...
    const auto type = line.find(" - cgroup2 ");
    const auto fields = split(line, ' ');
    if (type == line.npos || fields.size() < 6) continue;
    std::string root = without_escapes(fields[3]);
    if (root == "/") root.clear();
    if (!path->starts_with(root)) continue;
    const std::string_view below = path->substr(root.size());
    if (!below.empty() && below[0] != '/') continue;
    return without_escapes(fields[4]) + std::string(below == "/" ? "" : below);
  }
  return std::nullopt;
}

std::string cgroup_prefix(unsigned long pid_namespace, pid_t pid) {
  return fmt::format("launch-{}-{}-", pid_namespace, pid);
}

std::optional<pid_t> cgroup_maker(std::string_view name, unsigned long pid_namespace) {
  const auto parts = split(name, '-');
  if (parts.size() != 4 || parts[0] != "launch" || parts[1] != std::to_string(pid_namespace)) return std::nullopt;
  return parse_int(parts[2]);
}

bool is_populated(std::string_view events) {
  const auto lines = split(events, '\n');
  return std::find(lines.begin(), lines.end(), "populated 0") == lines.end();
}

}  // namespace launch
