#include "launch/core/control/top_screen.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t widest_host = 12;
constexpr double notable_age_s = 5;
constexpr double notable_cpu_percent = 50;

struct TopRow {
  const NodeReport* node = nullptr;
  const WorkerReport* worker = nullptr;
};

// Those that have failed, those that have not begun, those that run, those that have ended well.
int order_of(const WorkerReport& worker) {
  if (worker.state == "running") return 2;
  if (worker.state != "ended") return 1;
  return worker.end == "exit code 0" ? 3 : 0;
}

// Small differences come and go from one look to the next, and must not make the ranks change places.
bool is_worse(const TopRow& one, const TopRow& other) {
  const auto key = [](const WorkerReport& worker) {
    return std::tuple(order_of(worker), worker.step.value_or(1e300),
                      -std::floor(worker.last_line_age_s.value_or(-1) / notable_age_s),
                      std::floor(worker.cpu_percent.value_or(1e9) / notable_cpu_percent), worker.rank);
  };
  return key(*one.worker) < key(*other.worker);
}

ScreenTable table_of(const std::vector<TopRow>& rows, std::size_t count) {
  std::vector<ScreenTable::Column> columns = columns_of_workers();
  columns.insert(columns.begin(), {{"rank"}, {"host", false}});
  ScreenTable table(std::move(columns));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::string> cells = {std::to_string(rows[i].worker->rank), safe_text(rows[i].node->host, widest_host)};
    add_cells(cells, *rows[i].worker);
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace

std::string top_screen(const Screen& screen) {
  std::vector<std::string> lines;
  std::vector<TopRow> rows;
  for (const NodeReport& node : screen.nodes) {
    if (!node.fault.empty()) lines.push_back(node_line(node));
    for (const WorkerReport& worker : node.workers) rows.push_back({&node, &worker});
  }
  std::stable_sort(rows.begin(), rows.end(), is_worse);
  std::string text;
  add_title(text, screen);
  const std::size_t above = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;  // and the head
  const std::size_t room = std::max(screen.rows, above + 3) - above - 1;
  const std::size_t of_nodes = std::min(lines.size(), room / 2);
  const std::size_t of_workers = std::min(rows.size(), room - of_nodes);
  for (std::size_t i = 0; i < of_nodes; ++i) add_line(text, lines[i], screen.columns);
  table_of(rows, of_workers).add_to(text, screen.columns);
  std::string foot = "q ends";
  if (of_workers < rows.size())
    foot += fmt::format("; {} more ranks, none of them more urgent", rows.size() - of_workers);
  if (of_nodes < lines.size()) foot += fmt::format("; {} more nodes have not answered", lines.size() - of_nodes);
  add_line(text, foot, screen.columns);
  return text;
}

}  // namespace launch
