#include "launch/core/control/status_screen.hpp"

#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/progress/progress_text.hpp"
#include "launch/core/verdict/stack_text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::size_t most_rows = 64;
constexpr std::size_t longest_name = 40;

std::string ago(double seconds) {
  if (seconds < 0.05) return "0 s";
  const auto time = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, 1e8)));
  return to_text(std::chrono::round<std::chrono::duration<std::int64_t, std::deci>>(time));
}

std::string safe(const std::string& text, std::size_t most) { return without_controls(without_colors(text), most); }

// At most `columns` bytes, cut between characters.
void add_line(std::string& text, const std::string& line, std::size_t columns) {
  std::string_view fits = beginning_of(line, std::max<std::size_t>(columns, 20));
  while (fits.ends_with(' ')) fits.remove_suffix(1);
  text += fits;
  text += '\n';
}

std::size_t workers_of(const std::vector<NodeReport>& nodes) {
  std::size_t count = 0;
  for (const NodeReport& node : nodes) count += node.workers.size();
  return count;
}

// "3 running, 1 ended".
std::string states_of(const std::vector<const WorkerReport*>& workers) {
  std::map<std::string, int> counts;
  for (const WorkerReport* worker : workers) ++counts[safe(worker->state, longest_name)];
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
  std::string host = safe(node.host, longest_name);
  if (node.node_rank < 0) return host;
  return fmt::format("node {}{}{}", node.node_rank, host.empty() ? "" : " ", host);
}

std::string row_of(const WorkerReport& worker) {
  const std::string cpu = worker.cpu_percent ? fmt::format("{:.0f}%", *worker.cpu_percent) : "-";
  const std::string memory = worker.memory_bytes ? bytes_text(*worker.memory_bytes) : "-";
  std::string line;
  if (!worker.end.empty()) line = safe(worker.end, longest_name);
  if (worker.step) line += fmt::format("{}{}", line.empty() ? "" : "; ", step_text(*worker.step, worker.rate));
  if (worker.last_line_age_s && !worker.last_line.empty())
    line += fmt::format("{}{} ago: {}", line.empty() ? "" : "; ", ago(*worker.last_line_age_s),
                        safe(worker.last_line, 1000));
  return fmt::format("{:>6}  {:>8}  {:<8}  {:>6}  {:>9}  {}", worker.rank,
                     worker.pid == 0 ? "-" : std::to_string(worker.pid), safe(worker.state, longest_name), cpu, memory,
                     line);
}

// A node as one row.
std::string fold(const NodeReport& node) {
  double cpu = 0;
  std::int64_t memory = 0;
  std::vector<const WorkerReport*> workers;
  for (const WorkerReport& worker : node.workers) {
    workers.push_back(&worker);
    cpu += worker.cpu_percent.value_or(0);
    memory += worker.memory_bytes.value_or(0);
  }
  return fmt::format("{}: {}, {:.0f}% of a processor, {}", title_of(node), states_of(workers), cpu, bytes_text(memory));
}

std::string node_line(const NodeReport& node) {
  if (!node.fault.empty()) return fmt::format("{}: {}", title_of(node), safe(node.fault, 300));
  const std::string since = node.since.empty() ? "" : fmt::format(" since {}", safe(node.since, longest_name));
  return fmt::format("{} (pid {}): {}{}, {}", title_of(node), node.pid, safe(node.state, longest_name), since,
                     ago(node.age_s));
}

void add_title(std::string& text, const Screen& screen) {
  const auto known =
      std::find_if(screen.nodes.begin(), screen.nodes.end(), [](const NodeReport& node) { return node.fault.empty(); });
  if (known == screen.nodes.end()) return;
  const std::string nodes = counted(std::max<int>(known->nnodes, 1), "node");
  add_line(text,
           fmt::format("job {}: {}; {}, {}; round {}, {}", shown(known->run_id), safe(known->program, 200), nodes,
                       states_of(all_workers(screen.nodes)), known->round, counted(known->restart, "restart")),
           screen.columns);
  std::vector<RankStep> steps;
  for (const WorkerReport* worker : all_workers(screen.nodes))
    if (worker->step) steps.push_back({worker->rank, *worker->step});
  if (const std::string spread = spread_text(steps); !spread.empty()) add_line(text, spread, screen.columns);
}

}  // namespace

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

std::string jobs_screen(const Screen& screen) {
  std::size_t widest = 6;
  for (const NodeReport& node : screen.nodes) widest = std::max(widest, shown(node.run_id).size());
  std::string text;
  if (!screen.nodes.empty())
    add_line(text,
             fmt::format("{:<{}}  {:>8}  {:<9}  {:>5}  {:>7}  {:>8}  program", "run id", widest, "pid", "state", "node",
                         "workers", "age"),
             screen.columns);
  for (const NodeReport& node : screen.nodes)
    add_line(text,
             fmt::format("{:<{}}  {:>8}  {:<9}  {:>5}  {:>7}  {:>8}  {}", shown(node.run_id), widest, node.pid,
                         safe(node.state, longest_name), node.node_rank < 0 ? "-" : std::to_string(node.node_rank),
                         node.workers.size(), ago(node.age_s), safe(node.program, 300)),
             screen.columns);
  return text;
}

std::string status_screen(const Screen& screen) {
  std::string text;
  add_title(text, screen);
  const bool folded = workers_of(screen.nodes) > most_rows;
  if (!folded && workers_of(screen.nodes) > 0)
    add_line(text, fmt::format("{:>6}  {:>8}  {:<8}  {:>6}  {:>9}  last line", "rank", "pid", "state", "cpu", "memory"),
             screen.columns);
  for (const NodeReport& node : screen.nodes) {
    add_line(text, folded && node.fault.empty() ? fold(node) : node_line(node), screen.columns);
    for (const WorkerReport& worker : node.workers)
      if (!folded || worker.state != "running") add_line(text, row_of(worker), screen.columns);
  }
  return text;
}

std::string stacks_screen(const Screen& screen) {
  std::map<std::string, std::vector<int>> places;
  std::vector<int> unknown;
  for (const WorkerReport* worker : all_workers(screen.nodes)) {
    if (worker->stack.empty()) {
      if (worker->state == "running") unknown.push_back(worker->rank);
      continue;
    }
    places[safe(stack_summary(worker->stack), 300)].push_back(worker->rank);
  }
  std::vector<std::pair<std::string, std::vector<int>>> rows(places.begin(), places.end());
  for (auto& [place, ranks] : rows) std::sort(ranks.begin(), ranks.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& one, const auto& other) { return one.second.size() > other.second.size(); });
  std::string text;
  for (const auto& [place, ranks] : rows)
    add_line(text, fmt::format("{}: in {}", ranges_in_words("rank", ranks), place), screen.columns);
  std::sort(unknown.begin(), unknown.end());
  if (!unknown.empty())
    add_line(text,
             fmt::format("{}: no stack (py-spy on PATH, or --stack-signal, would show it)",
                         ranges_in_words("rank", unknown)),
             screen.columns);
  for (const NodeReport& node : screen.nodes)
    if (!node.fault.empty()) add_line(text, node_line(node), screen.columns);
  return text;
}

std::string done_screen(const Screen& screen) {
  std::string text;
  for (const NodeReport& node : screen.nodes) {
    const std::string& said = node.fault.empty() ? node.done : node.fault;
    if (!said.empty()) add_line(text, fmt::format("{}: {}", title_of(node), safe(said, 300)), screen.columns);
  }
  return text;
}

}  // namespace launch
