#include "launch/core/verdict/last_words.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/verdict/terminate_text.hpp"
#include "launch/core/verdict/traceback.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_traceback_lines = 8;
constexpr std::size_t most_quoted = 4;
constexpr std::size_t longest_last_line = 300;

// What a terminal would show of it in the end: of a line that is written again and again, as a progress bar is, the
// last state. Empty lines are left out.
std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most_quoted) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    std::string_view line = text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
    text.remove_suffix(line.size());
    while (line.ends_with('\r')) line.remove_suffix(1);
    line.remove_prefix(line.rfind('\r') + 1);
    std::string shown = without_controls(without_colors(line), longest_last_line);
    if (!trim(shown).empty()) lines.push_back(std::move(shown));
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace

void add_words(Failure& failure, const LastWords& words) {
  failure.detail = error_message(words.error_json);
  const bool said = !failure.detail.empty();
  if (said) failure.error_file = words.error_file;
  const std::string text = said ? error_traceback(words.error_json) : words.errors;
  if (const auto traceback = last_traceback(text, most_traceback_lines)) {
    failure.frames = traceback->frames;
    failure.causes = traceback->causes;
    failure.members = traceback->members;
    if (!said) failure.detail = traceback->error;
  }
  if (const auto terminated = terminate_text(words.errors); terminated && !said) {
    if (!failure.detail.empty()) failure.causes.push_back(failure.detail);  // it ended the worker after that
    failure.detail = *terminated;
  }
  if (failure.detail.empty()) failure.last_lines = last_lines(words.errors);
  failure.log_file = words.log_file;
  failure.note = words.note;
  if (!said && words.errors.empty() && !words.output_file.empty()) {
    failure.log_file = words.output_file;
    if (failure.note.empty()) failure.note = "it wrote nothing to standard error; the log is its standard output";
  }
}

void add_note(Failure& failure, const std::string& found) {
  if (found.empty()) return;
  if (!failure.note.empty()) failure.note += "; ";
  failure.note += found;
}

std::string note_of_full_disk(const std::string& log_file) {
  return fmt::format(
      "the file system of {} is full, so what the worker said may be missing there, and may be why it failed",
      log_file);
}

SaysOfOthers says_of_others(const LastWords& words) {
  Failure failure;
  failure.kind = Failure::Kind::worker;
  add_words(failure, words);
  if (timed_out(failure)) return SaysOfOthers::timed_out;
  return speaks_of_others(failure) ? SaysOfOthers::lost_contact : SaysOfOthers::nothing;
}

}  // namespace launch
