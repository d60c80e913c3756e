#include "launch/core/options/help.hpp"

#include "launch/core/options/option_table.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::size_t least_columns = 60;
constexpr std::size_t most_columns = 100;  // a longer line is hard to read
constexpr std::size_t text_indent = 6;
constexpr std::size_t brief_indent = 30;

constexpr std::string_view usage_lines = R"(Usage: launch [OPTION...] PROGRAM [ARGUMENT...]
       launch [OPTION...] -m MODULE [ARGUMENT...]
)";

constexpr std::string_view introduction[] = {
    "Starts the workers of a distributed training job on this node, as torchrun does, and ends with their exit code. "
    "Run it once on every node of the job.",
    "PROGRAM is a Python file, a shell script or a compiled program. The first argument that is not an option is "
    "PROGRAM; everything after it goes to the workers, and ${local_rank} becomes the worker's local rank.",
    "In brackets: the environment variable that counts if the option is not given, and the default.",
};

constexpr std::string_view spelling =
    "Write --option=VALUE or --option VALUE, --node_rank as well as --node-rank, or any unambiguous beginning of a "
    "name; the last of repeated options counts. A variable switches an option without a value by a number (0 is off), "
    "true, false, yes or no.";

struct Example {
  std::string_view about, lines;
};

constexpr Example examples[] = {
    {"One node, a worker for each GPU:", "    launch --nproc-per-node=gpu train.py --epochs 3\n"},
    {"Two nodes with two workers each: this line on both, K is 0 on HOST and 1 on the other:",
     "    launch --nnodes=2 --nproc-per-node=2 --node-rank=K \\\n"
     "      --master-addr=HOST --master-port=29500 train.py\n"},
    {"All hosts from here, by ssh:", "    launch --hosts n[1-8] --nproc-per-node=8 train.py\n"},
    {"What would be started, and where each setting comes from:", "    launch --explain --nproc-per-node=4 ./train\n"},
};

std::size_t readable(std::size_t columns) {
  return columns == 0 ? usual_columns : std::clamp(columns, least_columns, most_columns);
}

// `text` in lines that begin with `indent` blanks and fit the columns.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string result;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) result += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (indent + line.size() + 1 + word.size() > columns) end_line();
    if (!line.empty()) line += ' ';
    line += word;
  }
  end_line();
  return result;
}

std::string usage_of(const OptionRow& row) {
  const std::string short_name = row.short_name.empty() ? "" : fmt::format("{}, ", row.short_name);
  return fmt::format("{}{}{}{}", short_name, row.name, row.takes == OptionValue::required ? " " : "", row.value);
}

std::string sources_of(const OptionRow& row) {
  std::vector<std::string> parts(row.variables.begin(), row.variables.end());
  if (!row.initial.empty()) parts.push_back(fmt::format("default {}", row.initial));
  return parts.empty() ? "" : fmt::format("[{}]", fmt::join(parts, "; "));
}

// The option on the left, and behind it its sources, or below it if both do not fit into one line.
std::string entry(const OptionRow& row, std::size_t columns) {
  const std::string usage = usage_of(row);
  const std::string sources = sources_of(row);
  std::string result = "  " + usage;
  if (!sources.empty()) {
    const bool fits = 2 + usage.size() + 1 + sources.size() <= columns;
    result += fits ? " " + sources : "\n" + wrapped(sources, text_indent, columns);
  }
  if (result.back() == '\n') result.pop_back();
  return result + "\n" + wrapped(row.text, text_indent, columns);
}

// The option on the left, and on the right its few words and its default.
std::string brief_entry(const OptionRow& row, std::size_t columns) {
  std::string left = "  " + usage_of(row);
  left.resize(std::max(left.size() + 1, brief_indent), ' ');
  const std::string initial = row.initial.empty() ? "" : fmt::format(" (default {})", row.initial);
  std::string right = wrapped(std::string(row.brief) + initial, brief_indent, columns);
  return right.replace(0, std::min(left.size(), brief_indent), left);
}

std::string examples_text(std::size_t columns) {
  std::string result = "\nExamples:\n";
  for (const Example& example : examples) result += wrapped(example.about, 2, columns).append(example.lines);
  return result;
}

}  // namespace

std::string version_text() { return "launch " LAUNCH_VERSION "\n" LAUNCH_BUILD "\n"; }

std::string help_text(std::size_t columns) {
  columns = readable(columns);
  std::string result(usage_lines);
  for (const std::string_view paragraph : introduction) result += "\n" + wrapped(paragraph, 0, columns);
  const OptionRow* before = nullptr;
  for (const OptionRow& row : option_table()) {
    if (before == nullptr || before->group != row.group) result += fmt::format("\n{}:\n", heading(row.group));
    result += entry(row, columns);
    before = &row;
  }
  return result + "\n" + wrapped(spelling, 0, columns) + examples_text(columns);
}

std::string short_help_text(std::size_t columns) {
  columns = readable(columns);
  std::string result(usage_lines);
  result += "\n" + wrapped(introduction[0], 0, columns) + "\n";
  for (const OptionRow& row : option_table())
    if (!row.brief.empty()) result += brief_entry(row, columns);
  return result + examples_text(columns);
}

std::string text_of(const HelpCommand& command, std::size_t columns) {
  return command.brief ? short_help_text(columns) : help_text(columns);
}

}  // namespace launch
