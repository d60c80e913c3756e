#include "launch/core/control/status_screen.hpp"

#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/verdict/stack_text.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::size_t most_rows = 64;

std::size_t workers_of(const std::vector<NodeReport>& nodes) {
  std::size_t count = 0;
  for (const NodeReport& node : nodes) count += node.workers.size();
  return count;
}

std::string row_of(const WorkerReport& worker, bool gpus) {
  return fmt::format("{:>6}  {:>8}  {:<8}  {:>6}  {}  {}", worker.rank,
                     worker.pid == 0 ? "-" : std::to_string(worker.pid), safe_text(worker.state, longest_name),
                     cpu_of(worker), memory_of(worker, gpus), last_words_of(worker));
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
  return fmt::format("{}: {}, {:.0f}% of a processor, {}", title_of(node), states_text(workers), cpu,
                     bytes_text(memory));
}

}  // namespace

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
                         safe_text(node.state, longest_name), node.node_rank < 0 ? "-" : std::to_string(node.node_rank),
                         node.workers.size(), age_text(node.age_s), safe_text(node.program, 300)),
             screen.columns);
  return text;
}

std::string status_screen(const Screen& screen) {
  std::string text;
  add_title(text, screen);
  const bool gpus = any_on_gpu(screen.nodes);
  const bool folded = workers_of(screen.nodes) > most_rows;
  if (!folded && workers_of(screen.nodes) > 0)
    add_line(text,
             fmt::format("{:>6}  {:>8}  {:<8}  {:>6}  {}  last line", "rank", "pid", "state", "cpu", memory_head(gpus)),
             screen.columns);
  for (const NodeReport& node : screen.nodes) {
    add_line(text, folded && node.fault.empty() ? fold(node) : node_line(node), screen.columns);
    for (const WorkerReport& worker : node.workers)
      if (!folded || worker.state != "running") add_line(text, row_of(worker, gpus), screen.columns);
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
    places[safe_text(stack_summary(worker->stack), 300)].push_back(worker->rank);
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
             fmt::format("{}: no stack (py-spy on PATH, or --evidence=states:SIGNAL, would show it)",
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
    if (!said.empty()) add_line(text, fmt::format("{}: {}", title_of(node), safe_text(said, 300)), screen.columns);
  }
  return text;
}

}  // namespace launch
