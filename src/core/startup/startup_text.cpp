#include "launch/core/startup/startup_text.hpp"

#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t longest_host = 40;
constexpr std::size_t widest_bar = 60, narrowest_bar = 16;
constexpr std::size_t most_node_rows = 32, most_rank_rows = 16, most_missing = 8;
constexpr double clearly_later_s = 1, clearly_slower = 1.5;

std::string seconds(double time) { return fmt::format("{:.1f} s", time); }

std::string name_of(const StartupTable& table, int node) {
  const auto host = table.hosts.find(node);
  return host == table.hosts.end() ? "" : without_controls(host->second, longest_host);
}

// The slowest node, if its ranks joined much later than those of the others.
std::string straggler_line(const StartupTable& table) {
  const std::vector<StartupGroup> groups = groups_by_node(table);
  if (groups.size() < 2 || !groups[0].median) return "";
  std::vector<StartupRank> others;
  for (const StartupRank& rank : table.ranks)
    if (rank.node != groups[0].node) others.push_back(rank);
  const auto usual = median_arrival(others);
  const double own = *groups[0].median;
  if (!usual || own < *usual + clearly_later_s || own < *usual * clearly_slower) return "";
  return fmt::format("slowest node: {}, median {}; the median of the others is {}",
                     node_in_words(table, groups[0].node), seconds(own), seconds(*usual));
}

std::string formed_line(const StartupTable& table) {
  const auto median = median_arrival(table.ranks);
  const std::string line = fmt::format("all {} have joined: {} after the first exec", counted(table.world_size, "rank"),
                                       seconds(table.formed.value_or(0)));
  return median ? line + fmt::format(" (median {})", seconds(*median)) : line;
}

std::string rank_line(const StartupTable& table, const StartupRank& rank) {
  return fmt::format("rank {} on {} joined after {}: {}", rank.rank, node_in_words(table, rank.node),
                     seconds(rank.store.value_or(0)), phases_in_words(rank));
}

std::string missing_line(const StartupTable& table, const StartupRank& rank) {
  std::string line = fmt::format("rank {} on {} {}", rank.rank, node_in_words(table, rank.node),
                                 table.is_certain() ? "has not joined" : "was not seen at the store");
  if (!rank.started) return line + ": it has not been started";
  line += fmt::format(": {} since its exec, ", seconds(table.now - *rank.started));
  return line + (rank.output ? fmt::format("its first output was after {}", seconds(*rank.output - *rank.started))
                             : "no output that launch has seen");
}

// A character for each moment, which says what the rank is on its way to.
std::string bar_of(const StartupTable& table, const StartupRank& rank, double end, std::size_t width) {
  std::string bar;
  for (std::size_t i = 0; i < width; ++i) {
    const double time = end * (static_cast<double>(i) + 0.5) / static_cast<double>(width);
    const auto is_after = [time](std::optional<double> moment) { return moment && time >= *moment; };
    char sign = ' ';
    if (is_after(rank.started)) sign = '=';
    if (is_after(rank.output)) sign = '-';
    if (is_after(rank.store)) sign = '.';
    if (is_after(rank.store) && is_after(table.formed)) sign = ':';
    if (is_after(rank.step)) sign = '>';
    bar += sign;
  }
  return bar;
}

std::string time_of(const std::optional<double>& time) { return time ? seconds(*time) : "-"; }

// All rows of one screen.
class Rows {
 public:
  Rows(const StartupTable& table, std::size_t columns) : table_(table), end_(end_of(table)) {
    for (const auto& [node, host] : table.hosts) names_ = std::max(names_, name_of(table, node).size());
    names_ = std::min<std::size_t>(names_, 24);
    const std::size_t rest = columns > names_ + 40 ? columns - names_ - 40 : 0;
    width_ = std::clamp(rest, narrowest_bar, widest_bar);
  }

  std::string head(const char* what) const {
    const std::string end = seconds(end_);
    return fmt::format("{:>6} {:>6} {:<{}} {:>9} {:>9}  0{:>{}}\n", what, "node", "host", names_, "output", "store",
                       end, width_ - 1);
  }

  std::string row(const std::string& what, const StartupRank& rank) const {
    std::string line = fmt::format("{:>6} {:>6} {:<{}} {:>9} {:>9}  {}", what, rank.node,
                                   beginning_of(name_of(table_, rank.node), names_), names_, time_of(rank.output),
                                   time_of(rank.store), bar_of(table_, rank, end_, width_));
    while (line.ends_with(' ')) line.pop_back();
    return line + '\n';
  }

 private:
  const StartupTable& table_;
  double end_;
  std::size_t names_ = 4;
  std::size_t width_ = narrowest_bar;
};

// The rank of a node that joined in the middle stands for all of them.
const StartupRank& middle_of(const StartupGroup& group) {
  const auto found = std::find_if(group.ranks.begin(), group.ranks.end(),
                                  [&](const StartupRank& rank) { return rank.store && rank.store == group.median; });
  return found == group.ranks.end() ? group.ranks.front() : *found;
}

std::string node_rows(const StartupTable& table, const Rows& rows) {
  const std::vector<StartupGroup> groups = groups_by_node(table);
  if (groups.size() < 2) return "";
  std::string text = "\n" + rows.head("ranks");
  for (std::size_t i = 0; i < std::min(groups.size(), most_node_rows); ++i)
    text += rows.row(std::to_string(groups[i].ranks.size()), middle_of(groups[i]));
  if (groups.size() > most_node_rows)
    text += fmt::format("and {} that were faster\n",
                        counted(static_cast<std::int64_t>(groups.size() - most_node_rows), "node"));
  return text;
}

// A connection whose rank is not known may be that of any rank.
std::string missing_title(const StartupTable& table, std::size_t missing) {
  if (table.is_certain())
    return fmt::format(
        "{} of {} {}\n", missing, counted(table.world_size, "rank"),
        missing == 1 ? "has not joined; the others wait for it" : "have not joined; the others wait for them");
  std::string text = "it is not known which ranks have joined";
  if (!table.store_known)
    text += ": node 0 does not say which processes use the workers' store";
  else if (table.clients == 0)
    text += ": no process of a worker has connected to the job's store";
  return text + '\n';
}

std::string missing_rows(const StartupTable& table) {
  const std::vector<StartupRank> missing = missing_ranks_of(table);
  if (table.formed || missing.empty()) return "";
  std::string text = missing_title(table, missing.size());
  for (std::size_t i = 0; i < std::min(missing.size(), most_missing); ++i)
    text += missing_line(table, missing[i]) + '\n';
  std::vector<int> more;
  for (std::size_t i = most_missing; i < missing.size(); ++i) more.push_back(missing[i].rank);
  if (!more.empty())
    text += fmt::format("nor {} {}\n", table.is_certain() ? "have" : "were", ranges_in_words("rank", more));
  return text;
}

}  // namespace

std::string node_in_words(const StartupTable& table, int node) {
  const std::string host = name_of(table, node);
  return host.empty() ? fmt::format("node {}", node) : fmt::format("node {} ({})", node, host);
}

std::string phases_in_words(const StartupRank& rank) {
  const double store = rank.store.value_or(0), started = rank.started.value_or(0);
  const std::string late = started >= 0.1 ? fmt::format("it was started after {}, ", seconds(started)) : "";
  if (!rank.output || *rank.output >= store)
    return fmt::format("{}{} to the store, without output", late, seconds(store - started));
  return fmt::format("{}{} to its first output, {} from there to the store", late, seconds(*rank.output - started),
                     seconds(store - *rank.output));
}

std::vector<std::string> startup_lines(const StartupTable& table) {
  std::vector<std::string> lines = {formed_line(table)};
  if (std::string line = straggler_line(table); !line.empty()) lines.push_back(std::move(line));
  for (const StartupRank& rank : slowest_ranks(table, slowest_told)) lines.push_back(rank_line(table, rank));
  return lines;
}

std::string startup_screen(const StartupTable& table, std::size_t columns) {
  if (table.ranks.empty()) return "no worker has been started\n";
  const Rows rows(table, columns);
  std::string text = table.formed ? formed_line(table) + '\n' : missing_rows(table);
  if (table.formed)
    if (const std::string line = straggler_line(table); !line.empty()) text += line + '\n';
  if (table.unplaced > 0)
    text += fmt::format("{} to the store: it is not known whose {}\n",
                        counted(static_cast<std::int64_t>(table.unplaced), "connection"),
                        table.unplaced == 1 ? "it is" : "they are");
  text += node_rows(table, rows);
  const bool all = table.ranks.size() <= most_rank_rows;
  const std::vector<StartupRank> slowest = slowest_ranks(table, all ? most_rank_rows : slowest_told);
  if (!slowest.empty()) text += "\n" + rows.head("rank");
  for (const StartupRank& rank : slowest) text += rows.row(std::to_string(rank.rank), rank);
  return text + "\nuntil = first output, - the store, . the last rank, : its first step; > steps\n";
}

}  // namespace launch
