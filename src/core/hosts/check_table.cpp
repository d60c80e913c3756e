#include "launch/core/hosts/check_table.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_fold.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

constexpr std::size_t widest_hosts = 24;  // longer ones push the rest of their line to the right

std::string_view level_name(CheckLevel level) {
  return level == CheckLevel::ok ? "ok" : level == CheckLevel::warning ? "warning" : "fault";
}

std::string name_of_row(const CheckRow& row, const std::vector<std::string>& names) {
  return row.node < 0 ? "this host" : names[static_cast<std::size_t>(row.node)];
}

std::size_t place_of_check(std::string_view check) {
  return static_cast<std::size_t>(std::find(check_names.begin(), check_names.end(), check) - check_names.begin());
}

struct TableLine {
  const CheckRow* first = nullptr;  // of those that are equal but for the host
  std::vector<std::string> hosts;
  std::string folded;
};

// In the order in which they come.
std::vector<TableLine> folded_rows(const std::vector<CheckRow>& rows, const std::vector<std::string>& names) {
  std::vector<TableLine> lines;
  std::map<std::tuple<CheckLevel, std::string_view, std::string_view>, std::size_t> known;
  for (const CheckRow& row : rows) {
    const auto [at, fresh] = known.try_emplace({row.level, row.check, row.detail}, lines.size());
    if (fresh) lines.push_back({&row, {}, {}});
    lines[at->second].hosts.push_back(name_of_row(row, names));
  }
  for (TableLine& line : lines) line.folded = fold_hosts(line.hosts);
  return lines;
}

std::vector<std::string> hosts_with(CheckLevel level, const std::vector<CheckRow>& rows,
                                    const std::vector<std::string>& names) {
  std::vector<std::string> hosts;
  for (const CheckRow& row : rows)
    if (row.level == level) hosts.push_back(name_of_row(row, names));
  return hosts;
}

}  // namespace

std::vector<std::string> check_table(const std::vector<CheckRow>& rows, const std::vector<std::string>& names) {
  std::vector<TableLine> lines = folded_rows(rows, names);
  std::stable_sort(lines.begin(), lines.end(), [](const TableLine& left, const TableLine& right) {
    if (left.first->level != right.first->level) return left.first->level > right.first->level;
    return place_of_check(left.first->check) < place_of_check(right.first->check);
  });
  std::size_t hosts = 0;
  std::size_t words = 0;
  for (const TableLine& line : lines) {
    if (line.folded.size() <= widest_hosts) hosts = std::max(hosts, line.folded.size());
    words = std::max(words, line.first->check.size());
  }
  std::vector<std::string> table;
  table.reserve(lines.size());
  for (const TableLine& line : lines)
    table.push_back(fmt::format("{:<7}  {:<{}}  {:<{}}  {}", level_name(line.first->level), line.folded, hosts,
                                line.first->check, words, line.first->detail));
  return table;
}

std::vector<std::string> check_lines(const std::vector<CheckRow>& rows, const std::vector<std::string>& names) {
  std::vector<const CheckRow*> sorted;
  sorted.reserve(rows.size());
  for (const CheckRow& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CheckRow* left, const CheckRow* right) { return left->node < right->node; });
  std::vector<std::string> lines;
  for (const CheckRow* row : sorted) {
    const nlohmann::ordered_json json = {{"host", name_of_row(*row, names)},
                                         {"check", row->check},
                                         {"ok", row->level == CheckLevel::ok},
                                         {"level", level_name(row->level)},
                                         {"detail", row->detail}};
    lines.push_back(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  return lines;
}

CheckVerdict verdict_of(const std::vector<CheckRow>& rows, const std::vector<std::string>& names) {
  const auto faulty = hosts_with(CheckLevel::fault, rows, names);
  const auto warned = hosts_with(CheckLevel::warning, rows, names);
  if (!faulty.empty()) return {1, fmt::format("The job would fail: something is wrong on {}.", fold_hosts(faulty))};
  const std::string all = counted(static_cast<std::int64_t>(names.size()), "host");
  if (!warned.empty())
    return {0, fmt::format("The job would start on {}; look at the warnings of {}.", all, fold_hosts(warned))};
  return {0, fmt::format("The job would start on {}.", all)};
}

}  // namespace launch
