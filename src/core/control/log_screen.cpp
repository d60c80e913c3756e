#include "launch/core/control/log_screen.hpp"

#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;

// A bar that is drawn over itself is shown as it was last.
std::string_view last_state_of(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t at = line.rfind('\r');
  return at == std::string_view::npos ? line : line.substr(at + 1);
}

}  // namespace

std::string log_screen(const Screen& screen) {
  std::string text;
  for (const NodeReport& node : screen.nodes) {
    const std::size_t digits = std::to_string(std::max(node.world_size - 1, 0)).size();
    for (const WorkerReport& worker : node.workers)
      for (const LogPiece& piece : worker.log) {
        std::string_view lines = piece.text;
        if (lines.ends_with('\n')) lines.remove_suffix(1);
        for (const std::string_view line : split(lines, '\n'))
          text += fmt::format("[{:>{}}] {}\n", worker.rank, digits,
                              safe_text(std::string(last_state_of(line)), longest_line));
      }
  }
  return text;
}

std::string words_beside_logs(const std::vector<NodeReport>& nodes, WordsTold& told) {
  std::map<std::string, std::vector<int>> fresh;
  std::map<std::string, std::string> title;  // of who says it first
  for (const NodeReport& node : nodes)
    for (const std::string& words : {node.fault, node.note}) {
      if (words.empty() || !told.emplace(node.node_rank, words).second) continue;
      fresh[words].push_back(node.node_rank);
      title.emplace(words, title_of(node));
    }
  std::string text;
  for (auto& [words, ranks] : fresh) {
    std::sort(ranks.begin(), ranks.end());
    const std::string who = ranks.size() == 1 ? title[words] : ranges_in_words("node", ranks);
    text += fmt::format("launch-ctl: {}: {}\n", who, safe_text(words, 300));
  }
  return text;
}

}  // namespace launch
