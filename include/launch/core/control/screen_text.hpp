// The parts of which launch-ctl's screens are made: names, ages, sizes and rows that fit. Pure. Whatever comes from a
// worker or another node goes through safe_text(), so nothing of it can move the reader's cursor. It chooses nothing
// that is shown.
#pragma once

#include "launch/core/control/node_report.hpp"
#include "launch/core/control/screen_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace launch {

inline constexpr std::size_t longest_name = 40;

struct Screen {
  std::vector<NodeReport> nodes;
  std::size_t columns = 80;
  std::size_t rows = 24;  // of a page; the other screens are as long as they must be
};

// "1.5 GiB", "700 MiB", "12 KiB".
std::string bytes_text(std::int64_t bytes);
// "0.4 s", "3 min".
std::string age_text(double seconds);
// Without what a terminal would obey, at most so long.
std::string safe_text(const std::string& text, std::size_t most);
// Adds at most `columns` bytes, cut between characters, and a line end.
void add_line(std::string& text, const std::string& line, std::size_t columns);

std::vector<const WorkerReport*> all_workers(const std::vector<NodeReport>& nodes);
// "3 running, 1 ended".
std::string states_text(const std::vector<const WorkerReport*>& workers);
// "node 1 n1".
std::string title_of(const NodeReport& node);
// The node's own row.
std::string node_line(const NodeReport& node);
// The columns of each table of workers, after those that say which one it is, and a worker's cells in them; empty ones
// are not known. The last one is what it did last: "exit code 3; step 7".
std::vector<ScreenTable::Column> columns_of_workers();
void add_cells(std::vector<std::string>& cells, const WorkerReport& worker);
// How far the workers are, and who is behind; empty: their steps are not known.
std::string spread_of(const std::vector<NodeReport>& nodes);
// The row about the whole job.
void add_title(std::string& text, const Screen& screen);

}  // namespace launch
