#include "launch/core/control/hang_report.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/control/status_screen.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_hang_lines = 32;
constexpr std::size_t widest_line = 200;
constexpr double longest_quiet_s = 1e9;

using Tenths = std::chrono::duration<std::int64_t, std::deci>;

std::map<int, std::vector<std::string>> stacks_of(const std::vector<NodeReport>& nodes) {
  std::map<int, std::vector<std::string>> stacks;
  for (const NodeReport& node : nodes)
    for (const WorkerReport& worker : node.workers)
      if (!worker.stack.empty()) stacks[worker.rank] = worker.stack;
  return stacks;
}

}  // namespace

std::vector<NodeQuiet> quiet_of(const std::vector<NodeReport>& nodes) {
  std::vector<NodeQuiet> result;
  for (const NodeReport& node : nodes) {
    NodeQuiet one{node.node_rank, std::nullopt};
    if (node.quiet_s) {
      const Duration time = of_seconds(std::clamp(*node.quiet_s, 0.0, longest_quiet_s));
      one.quiet = Quiet{time, node.quiet_by_steps};
    }
    result.push_back(one);
  }
  return result;
}

bool have_moved(const std::vector<NodeReport>& before, const std::vector<NodeReport>& after) {
  const auto then = stacks_of(before);
  for (const auto& [rank, stack] : stacks_of(after))
    if (const auto known = then.find(rank); known != then.end() && known->second != stack) return true;
  return false;
}

std::string no_progress_text(Duration quiet) {
  return fmt::format("no progress for {}", to_text(std::chrono::floor<Tenths>(quiet)));
}

std::vector<std::string> hang_lines(const std::vector<NodeReport>& nodes) {
  const std::string spread = spread_of(nodes);
  std::vector<std::string> lines;
  if (!spread.empty()) lines.push_back(spread);
  const std::string screen = stacks_screen({nodes, widest_line});
  for (const std::string_view line : split(screen, '\n'))
    if (!line.empty()) lines.emplace_back(line);
  if (lines.size() > most_hang_lines) {
    const auto more = static_cast<std::int64_t>(lines.size() - most_hang_lines);
    lines.resize(most_hang_lines);
    lines.push_back(fmt::format("and {} more", counted(more, "line")));
  }
  return lines;
}

}  // namespace launch
