#include "launch/core/verdict/stack_text.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t longest_stack_line = 300;
constexpr std::size_t deepest_stack = 256;

enum class StackSource {
  py_spy_main,
  py_spy_other,
  faulthandler
};

struct ThreadStack {
  StackSource source = StackSource::py_spy_other;
  std::vector<std::string> frames;
};

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

// `Thread 123 (idle): "MainThread"`, or "Current thread 0x00007f12 (most recent call first):".
std::optional<StackSource> thread_line(std::string_view line) {
  const bool current = line.starts_with("Current thread 0x");
  if (!current && !line.starts_with("Thread ")) return std::nullopt;
  if (line.ends_with(" (most recent call first):")) return StackSource::faulthandler;
  if (current || !(line.ends_with(')') || line.ends_with('"'))) return std::nullopt;
  return line.ends_with("): \"MainThread\"") ? StackSource::py_spy_main : StackSource::py_spy_other;
}

// `  File "x.py", line 3 in f`; empty for another line.
std::string faulthandler_frame(std::string_view line) {
  constexpr std::string_view start = "  File \"";
  constexpr std::string_view middle = "\", line ";
  const std::size_t end = line.rfind(middle);
  if (!line.starts_with(start) || end == line.npos || end < start.size()) return {};
  const std::string_view file = line.substr(start.size(), end - start.size());
  const std::string_view rest = line.substr(end + middle.size());
  const std::size_t in = rest.find(" in ");
  if (in == rest.npos) return {};
  const std::string_view number = rest.substr(0, in);
  return fmt::format("{} ({}{}{})", rest.substr(in + 4), file, is_number(number) ? ":" : "",
                     is_number(number) ? number : "");
}

// `    all_reduce (torch/distributed/distributed_c10d.py:2810)`; lines of --locals are indented deeper.
std::string py_spy_frame(std::string_view line) {
  constexpr std::string_view start = "    ";
  if (!line.starts_with(start) || !line.ends_with(')') || line.find(" (", start.size()) == line.npos) return {};
  line.remove_prefix(start.size());
  return line[0] == ' ' ? std::string() : std::string(line);
}

std::vector<ThreadStack> thread_stacks(std::string_view text) {
  std::vector<ThreadStack> stacks;
  bool within = false;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string colorless = without_colors(raw.substr(0, raw.find_last_not_of('\r') + 1));
    const std::string_view line = colorless;
    if (const auto source = thread_line(line)) {
      stacks.push_back({*source, {}});
      within = true;
    } else if (line.empty() || line[0] != ' ') {
      within = false;
    } else if (within && stacks.back().frames.size() < deepest_stack) {
      const bool by_faulthandler = stacks.back().source == StackSource::faulthandler;
      const std::string frame = by_faulthandler ? faulthandler_frame(line) : py_spy_frame(line);
      if (!frame.empty()) stacks.back().frames.push_back(without_controls(frame, longest_stack_line));
    }
  }
  return stacks;
}

struct FrameParts {
  std::string_view function;  // without the names of the class or function around it
  std::string_view file;
  bool has_line = false;
};

FrameParts parts_of(std::string_view frame) {
  FrameParts parts;
  const std::size_t open = frame.find(" (");
  parts.function = frame.substr(0, open);
  parts.function.remove_prefix(parts.function.rfind('.') + 1);  // npos + 1 is 0
  if (open == frame.npos) return parts;
  parts.file = frame.substr(open + 2);
  if (parts.file.ends_with(')')) parts.file.remove_suffix(1);
  const std::size_t colon = parts.file.rfind(':');
  parts.has_line = colon != parts.file.npos && is_number(parts.file.substr(colon + 1));
  if (parts.has_line) parts.file = parts.file.substr(0, colon);
  return parts;
}

bool says_little(std::string_view frame) {
  static constexpr std::string_view wrappers[] = {
      "wrapper", "_call_impl", "_wrapped_call_impl", "inner", "decorate_context", "<lambda>", "_fn"};
  static constexpr std::string_view waits[] = {"threading.py",
                                               "selectors.py",
                                               "queue.py",
                                               "socket.py",
                                               "multiprocessing/connection.py",
                                               "multiprocessing/queues.py"};
  static constexpr std::string_view native[] = {".c", ".cc", ".cpp", ".cu", ".cxx", ".h", ".hpp", ".so"};
  const FrameParts parts = parts_of(frame);
  const auto is_function = [&](std::string_view name) { return parts.function == name; };
  const auto is_file = [&](std::string_view name) {
    if (!parts.file.ends_with(name)) return false;
    return parts.file.size() == name.size() || parts.file[parts.file.size() - name.size() - 1] == '/';
  };
  const auto has_suffix = [&](std::string_view suffix) { return parts.file.ends_with(suffix); };
  return !parts.has_line || std::any_of(std::begin(wrappers), std::end(wrappers), is_function) ||
         std::any_of(std::begin(waits), std::end(waits), is_file) ||
         std::any_of(std::begin(native), std::end(native), has_suffix);
}

}  // namespace

std::vector<std::string> main_stack(std::string_view text) {
  std::vector<ThreadStack> stacks = thread_stacks(text);
  std::erase_if(stacks, [](const ThreadStack& stack) { return stack.frames.empty(); });
  if (stacks.empty()) return {};
  const auto is_main = [](const ThreadStack& stack) { return stack.source == StackSource::py_spy_main; };
  if (const auto main = std::find_if(stacks.begin(), stacks.end(), is_main); main != stacks.end()) return main->frames;
  // The faulthandler lists the newest thread first.
  return stacks.back().source == StackSource::faulthandler ? stacks.back().frames : stacks.front().frames;
}

std::string stack_summary(const std::vector<std::string>& stack) {
  if (stack.empty()) return {};
  const auto telling = std::find_if_not(stack.begin(), stack.end(), says_little);
  return telling == stack.end() ? stack.front() : *telling;
}

}  // namespace launch
