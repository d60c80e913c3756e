#include "launch/core/control/status_screen.hpp"

#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/progress/progress_text.hpp"
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

// Each node with its workers.
void add_workers(std::string& text, const Screen& screen) {
  std::vector<ScreenTable::Column> columns = columns_of_workers();
  columns.insert(columns.begin(), {{"rank"}, {"pid"}});
  ScreenTable table(std::move(columns));
  for (const NodeReport& node : screen.nodes) {
    table.add_line(node_line(node));
    for (const WorkerReport& worker : node.workers) {
      std::vector<std::string> cells = {std::to_string(worker.rank), worker.pid == 0 ? "" : std::to_string(worker.pid)};
      add_cells(cells, worker);
      table.add_row(std::move(cells));
    }
  }
  table.add_to(text, screen.columns);
}

// Of all workers of a node. Steps: "18239-18240".
std::vector<std::string> cells_of(const NodeReport& node) {
  double cpu = 0;
  std::int64_t memory = 0;
  std::int64_t gpu_memory = 0;
  std::vector<double> steps;
  for (const WorkerReport& worker : node.workers) {
    cpu += worker.cpu_percent.value_or(0);
    memory += worker.memory_bytes.value_or(0);
    gpu_memory += worker.gpu_memory_bytes.value_or(0);
    if (worker.step) steps.push_back(*worker.step);
  }
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  std::string step = steps.empty() ? "" : number_text(*least);
  if (!steps.empty() && *least < *most) step += "-" + number_text(*most);
  return {std::to_string(node.node_rank),
          safe_text(node.host, longest_name),
          fmt::format("{:.0f}%", cpu),
          bytes_text(memory),
          gpu_memory > 0 ? bytes_text(gpu_memory) : "",
          step,
          states_text(all_workers({node}))};
}

// A row for each node, and after it one line for each of its workers that does not run.
void add_nodes(std::string& text, const Screen& screen) {
  ScreenTable table({{"node"}, {"host", false}, {"cpu"}, {"memory"}, {"gpu mem"}, {"step"}, {"workers", false}});
  for (const NodeReport& node : screen.nodes) {
    if (!node.fault.empty()) {
      table.add_line(node_line(node));
      continue;
    }
    table.add_row(cells_of(node));
    for (const WorkerReport& worker : node.workers) {
      if (worker.state == "running") continue;
      std::vector<std::string> cells;
      add_cells(cells, worker);
      const std::string& words = cells.back();
      table.add_line(fmt::format("  rank {}: {}{}{}", worker.rank, cells.front(), words.empty() ? "" : ", ", words));
    }
  }
  table.add_to(text, screen.columns);
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
  if (workers_of(screen.nodes) > most_rows) {
    add_nodes(text, screen);
  } else {
    add_workers(text, screen);
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
