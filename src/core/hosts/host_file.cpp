#include "launch/core/hosts/host_file.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_line.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_file_bytes = 8U << 20U;

Error at_line(int number, std::string_view what) { return usage_error(fmt::format("line {}: {}", number, what)); }

Error too_many_hosts() { return usage_error(fmt::format("more than {} hosts are named", most_listed_hosts)); }

// What all lines together say.
class HostFileRows {
 public:
  Status add(HostLine line, int number) {
    number_ = number;
    deepspeed_ = deepspeed_ && line.deepspeed;
    for (const std::string& key : line.ignored) ++ignored_.try_emplace(key, Ignored{number, 0}).first->second.lines;
    // Ranges that come again and again would take long, in a file of any size.
    if (line.word.names.size() > 1) named_by_ranges_ += line.word.names.size();
    if (named_by_ranges_ > most_listed_hosts) return too_many_hosts();
    if (line.away) {
      for (const std::string& name : line.word.names) away_.emplace(name, number);
      return {};
    }
    has_counts_ = has_counts_ || line.count != HostCount::none;
    for (const std::string& name : line.word.names)
      if (Status done = add_host(line, name); !done) return done;
    return {};
  }

  Result<HostFile> finish() && {
    if (rows_.empty()) return usage_error("no host is named; write one a line, as in n1 slots=8");
    if (const Status done = count_lines(); !done) return done.error();
    if (const Status done = take_away(); !done) return done.error();
    HostFile file;
    for (Row& row : rows_)
      if (!row.away) file.hosts.push_back(std::move(row.entry));
    if (file.hosts.empty()) return usage_error("no host is left, since ^ takes away all that are named");
    file.deepspeed = deepspeed_;
    for (const auto& [key, where] : ignored_)
      file.notices.push_back(
          fmt::format("{}= has no effect (line {}{})", key, where.first,
                      where.lines > 1 ? fmt::format(" and {}", counted(where.lines - 1, "other line")) : ""));
    return file;
  }

 private:
  struct Row {
    HostEntry entry;
    int line = 0;
    HostCount count = HostCount::none;
    int times = 1;
    bool away = false;
  };
  struct Ignored {
    int first = 0;
    int lines = 0;
  };

  Status add_host(const HostLine& line, const std::string& name) {
    if (const auto place = places_.find(name); place != places_.end()) return add_again(rows_[place->second], line);
    if (rows_.size() == most_listed_hosts) return too_many_hosts();
    places_.emplace(name, rows_.size());
    Row row;
    row.entry.user = line.word.user;
    row.entry.name = name;
    row.entry.port = line.port;
    row.entry.workers = line.word.workers;
    row.line = number_;
    row.count = line.count;
    rows_.push_back(std::move(row));
    return {};
  }

  Status add_again(Row& row, const HostLine& line) {
    const std::string name = shown(row.entry.name);
    if (row.entry.user != line.word.user || row.entry.port != line.port)
      return usage_error(fmt::format("{} has another user or port than in line {}; write the same", name, row.line));
    if (row.count != line.count || row.count == HostCount::written) return named_twice(name, row.line);
    if (row.count == HostCount::none) {
      if (!again_) again_ = Again{name, row.line, number_};
      ++row.times;
    } else {
      row.entry.workers = *row.entry.workers + *line.word.workers;
    }
    if (row.times <= most_host_workers && row.entry.workers.value_or(1) <= most_host_workers) return {};
    return usage_error(fmt::format("{} has more than {} workers", name, most_host_workers));
  }

  static Error named_twice(const std::string& name, int first) {
    return usage_error(
        fmt::format("{} is named twice (first in line {}); give it one line with its number of workers, "
                    "as in n1 slots=8",
                    name, first));
  }

  // In a file without counts, a name that comes again says that each line is one worker.
  Status count_lines() {
    if (!again_) return {};
    if (has_counts_) return at_line(again_->line, named_twice(again_->name, again_->first).message);
    for (Row& row : rows_) row.entry.workers = row.times;
    return {};
  }

  Status take_away() {
    for (const auto& [name, line] : away_) {
      const auto place = places_.find(name);
      if (place == places_.end())
        return at_line(line, fmt::format("^ takes away {}, which the file does not name", shown(name)));
      rows_[place->second].away = true;
    }
    return {};
  }

  // The first name that came again without a count.
  struct Again {
    std::string name;
    int first = 0;
    int line = 0;
  };

  int number_ = 0;
  std::vector<Row> rows_;
  std::unordered_map<std::string, std::size_t> places_;
  std::map<std::string, int> away_;  // with the line that says so
  std::map<std::string, Ignored> ignored_;
  std::size_t named_by_ranges_ = 0;
  std::optional<Again> again_;
  bool has_counts_ = false;
  bool deepspeed_ = true;
};

}  // namespace

Result<HostFile> parse_host_file(std::string_view text) {
  if (text.size() > most_file_bytes)
    return usage_error(fmt::format("it has {} bytes, and a list of hosts may have at most {} MiB", text.size(),
                                   most_file_bytes >> 20U));
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  HostFileRows rows;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ++number;
    auto line = parse_host_line(text.substr(0, end));
    if (!line) return at_line(number, line.error().message);
    if (*line)
      if (const Status done = rows.add(std::move(**line), number); !done) return at_line(number, done.error().message);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(rows).finish();
}

}  // namespace launch
