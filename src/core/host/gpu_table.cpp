#include "launch/core/host/gpu_table.hpp"

#include "launch/core/base/text.hpp"

#include <limits>
#include <optional>

namespace launch {
namespace {

constexpr std::size_t longest_gpu_word = 100;

// The next cell of a line, taken off its front.
std::string_view next_cell(std::string_view& line) {
  const auto comma = line.find(',');
  const std::string_view cell = trim(line.substr(0, comma));
  line = comma == std::string_view::npos ? std::string_view() : line.substr(comma + 1);
  return cell;
}

std::int64_t mib_of(std::string_view cell) {
  const auto number = parse_int(cell);
  return number && *number >= 0 ? *number : -1;
}

std::string word_of_gpu(std::string_view cell) {
  return cell.starts_with('[') ? "" : without_controls(cell, longest_gpu_word);
}

std::optional<GpuLine> parse_gpu_line(std::string_view line) {
  if (line.find(',') == std::string_view::npos) return std::nullopt;
  GpuLine gpu;
  gpu.driver = word_of_gpu(next_cell(line));
  gpu.total_mib = mib_of(next_cell(line));
  gpu.free_mib = mib_of(next_cell(line));
  gpu.name = word_of_gpu(trim(line));  // the rest: a name may have a comma
  return gpu.name.empty() ? std::nullopt : std::optional(std::move(gpu));
}

std::optional<GpuProcessLine> parse_gpu_process_line(std::string_view line) {
  const auto pid = parse_int(next_cell(line));
  if (!pid || *pid <= 0 || *pid == std::numeric_limits<int>::max()) return std::nullopt;
  return GpuProcessLine{*pid, mib_of(next_cell(line))};
}

template <class Line>
std::vector<Line> parse_each(std::string_view csv, std::size_t most, std::optional<Line> (*parse)(std::string_view)) {
  std::vector<Line> lines;
  for (const std::string_view text : split(csv, '\n')) {
    if (lines.size() == most) break;
    if (auto line = parse(text)) lines.push_back(*std::move(line));
  }
  return lines;
}

}  // namespace

std::vector<GpuLine> parse_gpu_lines(std::string_view csv) { return parse_each(csv, most_gpu_lines, parse_gpu_line); }

std::vector<GpuProcessLine> parse_gpu_process_lines(std::string_view csv) {
  return parse_each(csv, most_gpu_process_lines, parse_gpu_process_line);
}

}  // namespace launch
