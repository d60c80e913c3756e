// The parts of which launch-ctl's screens are made: names, ages, sizes and rows that fit. Pure. Whatever comes from a
// worker or another node goes through safe_text(), so nothing of it can move the reader's cursor. It chooses nothing
// that is shown.
#pragma once

#include "launch/core/control/node_report.hpp"

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
// Columns of memory: the second one, that of GPUs, is there if it is known of a worker.
bool any_on_gpu(const std::vector<NodeReport>& nodes);
std::string memory_head(bool gpus);
std::string memory_of(const WorkerReport& worker, bool gpus);
// What the worker does or did last: "exit code 3; 2 s ago: step 7".
std::string last_words_of(const WorkerReport& worker);
// How far the workers are, and who is behind; empty: their steps are not known.
std::string spread_of(const std::vector<NodeReport>& nodes);
// Use of processors, for a row: "99%".
std::string cpu_of(const WorkerReport& worker);
// The row about the whole job.
void add_title(std::string& text, const Screen& screen);

}  // namespace launch
