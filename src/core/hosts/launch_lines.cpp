#include "launch/core/hosts/launch_lines.hpp"

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view name_of_launch = "launch: ";
constexpr std::size_t most_warnings = 64;

}  // namespace

bool LaunchLines::is_one(std::string_view line) { return line.starts_with(name_of_launch); }

std::optional<std::string> LaunchLines::as_shown(int node, const std::string& host, std::string_view line) {
  const std::string_view text = line.substr(name_of_launch.size());
  if (text.starts_with("error: ")) return std::string(line);
  if (!text.starts_with("warning: ")) return fmt::format("{}{}: {}", name_of_launch, host, text);
  if (is_repeated(node, line)) return std::nullopt;
  return std::string(line);
}

bool LaunchLines::is_repeated(int node, std::string_view line) {
  if (warned_.size() > most_warnings) return false;
  return warned_.try_emplace(std::string(line), node).first->second != node;
}

}  // namespace launch
