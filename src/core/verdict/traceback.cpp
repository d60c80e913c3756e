#include "launch/core/verdict/traceback.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view traceback_header = "Traceback (most recent call last):";
constexpr std::size_t longest_traceback_line = 300;
constexpr std::size_t most_output_after = 64;  // lines; more: the worker went on after its exception

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// Without "[rank1]: ", which PyTorch's own hook for exceptions puts before each line.
std::string_view without_rank(std::string_view line) {
  constexpr std::string_view start = "[rank";
  if (!line.starts_with(start)) return line;
  const auto end = std::find_if_not(line.begin() + start.size(), line.end(), is_ascii_digit);
  const std::string_view rest = line.substr(static_cast<std::size_t>(end - line.begin()));
  return rest.starts_with("]: ") ? rest.substr(3) : line;
}

// The line of a frame, or of the place of a syntax error, which has no ", in f".
bool is_file_line(std::string_view line) {
  return line.starts_with("  File \"") && line.find("\", line ") != line.npos;
}

bool is_syntax_error_line(std::string_view line) {
  if (!is_file_line(line)) return false;
  const std::size_t number = line.rfind("\", line ") + 8;
  return number < line.size() && std::all_of(line.begin() + number, line.end(), is_ascii_digit);
}

// What Python draws below a source line.
bool is_marker_line(std::string_view line) { return line.find_first_not_of(" ^~") == line.npos; }

// The end of the exception's class in "package.Class: text" or "package.Class"; 0 if the line is something else.
std::size_t end_of_class(std::string_view line) {
  const auto is_of_name = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || byte >= 0x80 ||
           std::string_view("_.<>").find(c) != std::string_view::npos;  // "f.<locals>.Class"
  };
  const auto end = static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_of_name) - line.begin());
  if (end == 0 || is_ascii_digit(line[0]) || line[0] == '.' || line[end - 1] == '.') return 0;
  const std::string_view rest = line.substr(end);
  return rest.empty() || rest == ":" || rest.starts_with(": ") ? end : 0;
}

// If no header says that frames come before the line, only the name of its class can show that it is an exception.
bool is_named_as_error(std::string_view line) {
  const std::string_view name = line.substr(0, end_of_class(line));
  return name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Interrupt");
}

// Python continues after these.
bool announces_ignored(std::string_view line) {
  return line.starts_with("Exception ignored ") || line.starts_with("Error in atexit._run_exitfuncs") ||
         line.starts_with("--- Logging error ---");
}

bool announces_chained(std::string_view line) {
  return line.starts_with("During handling of the above exception, another exception occurred:") ||
         line.starts_with("The above exception was the direct cause of the following exception:");
}

class TracebackReader {
 public:
  explicit TracebackReader(std::size_t most_lines) : most_lines_(most_lines) {}

  void read(std::string_view raw) {
    const std::string colorless = without_colors(raw.substr(0, raw.find_last_not_of('\r') + 1));
    std::string_view line = without_rank(colorless);
    if (line.ends_with(traceback_header)) return begin(line.substr(0, line.size() - traceback_header.size()));
    if (line.starts_with(prefix_)) {
      line.remove_prefix(prefix_.size());
    } else if (line == std::string_view(prefix_).substr(0, prefix_.find_last_not_of(' ') + 1)) {
      return;
    }
    if (trim(line).empty()) return;
    read_text(line);
    before_ = announces_ignored(line) ? Before::ignored : announces_chained(line) ? Before::chained : Before::other;
    at_first_ = false;
  }

  std::optional<Traceback> last() && { return output_after_ > most_output_after ? std::nullopt : std::move(last_); }

 private:
  enum class Part {
    outside,
    frames,
    message
  };
  enum class Before {
    other,
    ignored,
    chained
  };

  // The text before a header stands before each line after it, too, if it is a log's prefix or the bar of an exception
  // group. If it is an unfinished line, such as a progress bar, it stands before none of them.
  void begin(std::string_view before_header) {
    constexpr std::string_view group = "Exception Group ";
    if (before_header.ends_with(group)) before_header.remove_suffix(group.size());
    prefix_ = before_header;
    if (prefix_.ends_with("+ ")) prefix_[prefix_.size() - 2] = '|';
    ignored_ = before_ == Before::ignored || (ignored_ && before_ == Before::chained);
    before_ = Before::other;
    begin_frames(true);
  }

  void begin_frames(bool has_header) {
    part_ = Part::frames;
    has_header_ = has_header;
    has_file_ = false;
    at_first_ = false;
    strays_ = 0;
    frames_.clear();
  }

  void read_text(std::string_view line) {
    if (part_ == Part::frames && read_frame(line)) return;
    if (part_ == Part::message && read_message(line)) return;
    if (part_ != Part::frames && is_syntax_error_line(line)) {  // Python shows one in the main script without a header
      ignored_ = false;
      begin_frames(false);
      read_frame(line);
      return;
    }
    ++output_after_;
  }

  bool read_frame(std::string_view line) {
    if (line.starts_with("  ")) {
      has_file_ = has_file_ || is_file_line(line);
      if (!is_marker_line(line)) frames_.push_back(without_controls(line, longest_traceback_line));
      if (frames_.size() > most_lines_) frames_.pop_front();
      return true;
    }
    if (has_header_ ? end_of_class(line) > 0 : has_file_ && is_named_as_error(line)) {
      end_with(line);
      return true;
    }
    // Another thread may write into the middle of a traceback, and the first line of all may be the rest of a line.
    if (has_header_ ? ++strays_ > most_output_after : !at_first_) part_ = Part::outside;
    return false;
  }

  void end_with(std::string_view line) {
    part_ = Part::message;
    message_goes_on_ = true;
    lacks_text_ = !ignored_ && trim(line).ends_with(':');
    lacks_all_text_ = lacks_text_ && trim(line).size() == end_of_class(line) + 1;
    if (ignored_) return;
    last_ = Traceback{{std::make_move_iterator(frames_.begin()), std::make_move_iterator(frames_.end())},
                      without_controls(trim(line), longest_traceback_line)};
    output_after_ = 0;
  }

  // An exception's text may have any number of lines; only indented ones, and PyTorch's native frames, surely belong to
  // it.
  bool read_message(std::string_view line) {
    const bool set_in = line[0] == ' ' || line[0] == '\t';
    if (std::exchange(lacks_text_, false) && (set_in || lacks_all_text_)) {
      last_->error = without_controls(fmt::format("{} {}", last_->error, trim(line)), longest_traceback_line);
      return true;
    }
    message_goes_on_ = message_goes_on_ && set_in;
    return message_goes_on_ || line.starts_with("frame #");
  }

  const std::size_t most_lines_;
  Part part_ = Part::frames;  // the text may begin within a traceback
  Before before_ = Before::other;
  std::string prefix_;
  bool at_first_ = true;
  bool has_header_ = false;
  bool has_file_ = false;
  bool ignored_ = false;
  bool message_goes_on_ = false;
  bool lacks_text_ = false;
  bool lacks_all_text_ = false;
  std::size_t strays_ = 0;
  std::size_t output_after_ = 0;
  std::deque<std::string> frames_;
  std::optional<Traceback> last_;
};

}  // namespace

std::optional<Traceback> last_traceback(std::string_view text, std::size_t most_lines) {
  TracebackReader reader(most_lines);
  for (const std::string_view line : split(text, '\n')) reader.read(line);
  return std::move(reader).last();
}

}  // namespace launch
