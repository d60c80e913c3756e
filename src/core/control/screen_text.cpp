#include "launch/core/control/screen_text.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/progress/progress_text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {

std::string age_text(double seconds) {
  if (seconds < 0.05) return "0 s";
  const auto time = of_seconds(std::min(seconds, 1e8));
  return to_text(std::chrono::round<std::chrono::duration<std::int64_t, std::deci>>(time));
}

std::string safe_text(const std::string& text, std::size_t most) {
  return without_controls(without_colors(text), most);
}

void add_line(std::string& text, const std::string& line, std::size_t columns) {
  std::string_view fits = beginning_of(line, std::max<std::size_t>(columns, 20));
  while (fits.ends_with(' ')) fits.remove_suffix(1);
  text += fits;
  text += '\n';
}

std::string states_text(const std::vector<const WorkerReport*>& workers) {
  std::map<std::string, int> counts;
  for (const WorkerReport* worker : workers) ++counts[safe_text(worker->state, longest_name)];
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [state, count] : counts) parts.push_back(fmt::format("{} {}", count, state));
  return parts.empty() ? "no worker" : fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<const WorkerReport*> all_workers(const std::vector<NodeReport>& nodes) {
  std::vector<const WorkerReport*> workers;
  for (const NodeReport& node : nodes)
    for (const WorkerReport& worker : node.workers) workers.push_back(&worker);
  return workers;
}

std::string title_of(const NodeReport& node) {
  std::string host = safe_text(node.host, longest_name);
  if (node.node_rank < 0) return host;
  return fmt::format("node {}{}{}", node.node_rank, host.empty() ? "" : " ", host);
}

std::vector<ScreenTable::Column> columns_of_workers() {
  return {{"state", false, 7}, {"cpu", true, 4}, {"memory", true, 7}, {"gpu mem", true, 7},
          {"step", true, 4},   {"rate"},         {"age", true, 6},    {"last line", false}};
}

void add_cells(std::vector<std::string>& cells, const WorkerReport& worker) {
  const auto size = [](const std::optional<std::int64_t>& bytes) { return bytes ? bytes_text(*bytes) : ""; };
  const bool spoke = worker.last_line_age_s && !worker.last_line.empty();
  std::string words = safe_text(worker.end, longest_name);
  if (spoke) words += (words.empty() ? "" : "; ") + safe_text(worker.last_line, 1000);
  cells.push_back(safe_text(worker.state, longest_name));
  cells.push_back(worker.cpu_percent ? fmt::format("{:.0f}%", *worker.cpu_percent) : "");
  cells.push_back(size(worker.memory_bytes));
  cells.push_back(size(worker.gpu_memory_bytes));
  cells.push_back(worker.step ? number_text(*worker.step) : "");
  cells.push_back(worker.step && worker.rate ? rate_text(*worker.rate) : "");
  cells.push_back(spoke ? age_text(*worker.last_line_age_s) : "");
  cells.push_back(std::move(words));
}

std::string node_line(const NodeReport& node) {
  if (!node.fault.empty()) return fmt::format("{}: {}", title_of(node), safe_text(node.fault, 300));
  const std::string since = node.since.empty() ? "" : fmt::format(" since {}", safe_text(node.since, longest_name));
  return fmt::format("{} (pid {}): {}{}, {}", title_of(node), node.pid, safe_text(node.state, longest_name), since,
                     age_text(node.age_s));
}

std::string spread_of(const std::vector<NodeReport>& nodes) {
  std::vector<RankStep> steps;
  for (const WorkerReport* worker : all_workers(nodes))
    if (worker->step)
      steps.push_back({worker->rank, *worker->step, worker->rate, worker->step_age_s, worker->step_jump.value_or(0)});
  return spread_text(steps);
}

void add_title(std::string& text, const Screen& screen) {
  const auto known =
      std::find_if(screen.nodes.begin(), screen.nodes.end(), [](const NodeReport& node) { return node.fault.empty(); });
  if (known == screen.nodes.end()) return;
  const std::string nodes = counted(std::max<int>(known->nnodes, 1), "node");
  add_line(text,
           fmt::format("job {}: {}; {}, {}; round {}, {}", shown(known->run_id), safe_text(known->program, 200), nodes,
                       states_text(all_workers(screen.nodes)), known->round, counted(known->restart, "restart")),
           screen.columns);
  if (const std::string spread = spread_of(screen.nodes); !spread.empty()) add_line(text, spread, screen.columns);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 4> units = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return value < 10 && unit > 1 ? fmt::format("{:.1f} {}", value, units[unit])
                                : fmt::format("{:.0f} {}", value, units[unit]);
}

}  // namespace launch
