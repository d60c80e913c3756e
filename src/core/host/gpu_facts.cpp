#include "launch/core/host/gpu_facts.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_told_gpu_facts = 1024;
constexpr std::size_t most_told_processes = 16384;
constexpr std::size_t longest_name = 128;
constexpr std::string_view mark_of_gpu = "gpu";
constexpr std::string_view mark_of_process = "process";
constexpr std::string_view mark_of_none = "none";

template <class Number>
std::string count_word(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "-";
}

template <class Number>
std::optional<Number> count_in(std::string_view word) {
  Number value{};
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool good = fault == std::errc() && end == word.data() + word.size() && value >= 0;
  return good ? std::optional(value) : std::nullopt;
}

std::string clean_name(std::string_view text) { return without_controls(text, longest_name); }

}  // namespace

std::string to_lines(const GpuFact& gpu) {
  std::string lines =
      fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", mark_of_gpu, count_word(gpu.used_bytes), count_word(gpu.total_bytes),
                  count_word(gpu.busy_percent), clean_name(gpu.uuid), clean_name(gpu.name));
  for (const GpuProcess& process : gpu.processes)
    lines += fmt::format("{}\t{}\t{}\n", mark_of_process, process.pid, count_word(process.bytes));
  return lines;
}

std::string no_gpus_line(std::string_view why) { return fmt::format("{}\t{}\n", mark_of_none, clean_name(why)); }

Result<GpuFacts> parse_gpu_facts(std::string_view lines) {
  GpuFacts gpus;
  std::size_t processes = 0;
  for (const std::string_view line : split(lines, '\n')) {
    const auto words = split(line, '\t');
    if (words[0] == end_of_gpus.substr(0, end_of_gpus.size() - 1)) return gpus;
    if (words[0] == mark_of_none && words.size() == 2) return Error{ErrorCode::closed, std::string(words[1])};
    if (words[0] == mark_of_gpu && words.size() == 6 && gpus.size() < most_told_gpu_facts) {
      gpus.push_back({std::string(words[4]),
                      std::string(words[5]),
                      count_in<std::int64_t>(words[1]),
                      count_in<std::int64_t>(words[2]),
                      count_in<int>(words[3]),
                      {}});
    } else if (words[0] == mark_of_process && words.size() == 3 && !gpus.empty() && processes++ < most_told_processes) {
      const auto pid = count_in<pid_t>(words[1]);
      if (pid && *pid > 0) gpus.back().processes.push_back({*pid, count_in<std::int64_t>(words[2])});
    } else {
      break;
    }
  }
  return Error{ErrorCode::protocol, "NVIDIA's library ended the process that asked it"};
}

std::optional<std::int64_t> gpu_memory_of(const GpuFacts& gpus, const std::vector<pid_t>& pids) {
  std::optional<std::int64_t> sum;
  for (const GpuFact& gpu : gpus)
    for (const GpuProcess& process : gpu.processes)
      if (process.bytes && std::find(pids.begin(), pids.end(), process.pid) != pids.end())
        sum = sum.value_or(0) + *process.bytes;
  return sum;
}

}  // namespace launch
