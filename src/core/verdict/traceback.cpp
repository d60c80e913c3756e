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
constexpr std::size_t most_before_last_error = 150;
constexpr std::size_t most_causes = 6;
constexpr std::size_t most_members = 8;
constexpr std::size_t most_depth = 8;          // of groups within groups
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

bool is_syntax_error(std::string_view error) {
  const std::string_view name = error.substr(0, end_of_class(error));
  return name.ends_with("SyntaxError") || name == "IndentationError" || name == "TabError";
}

// `File "x.py", line 3, in f` as "x.py:3 in f"; empty if it is another line.
std::string place_of(std::string_view frame) {
  constexpr std::string_view start = "  File \"";
  constexpr std::string_view middle = "\", line ";
  const auto file_end = frame.find(middle);
  if (!frame.starts_with(start) || file_end == frame.npos) return "";
  const std::string_view rest = frame.substr(file_end + middle.size());
  const auto comma = rest.find(", ");
  const std::string_view function = comma == rest.npos ? "" : rest.substr(comma + 1);
  return fmt::format("{}:{}{}", frame.substr(start.size(), file_end - start.size()), rest.substr(0, comma), function);
}

// The error and where it was raised, in one line.
std::string in_one_line(const Traceback& traceback) {
  const auto frame = std::find_if(traceback.frames.rbegin(), traceback.frames.rend(), is_file_line);
  const std::string place = frame == traceback.frames.rend() ? "" : place_of(*frame);
  return place.empty() ? traceback.error
                       : without_controls(fmt::format("{} ({})", traceback.error, place), longest_traceback_line);
}

// What Python draws between the members of an exception group: "+-+---- 1 ----" before the first one of a group,
// "+---- 2 ----" before another one, "+--------" after the last one.
struct GroupLine {
  std::size_t column = 0;  // of the bar that stands before the lines of the member
  bool opens = false;
  bool closes = false;
};

std::optional<GroupLine> group_line(std::string_view line) {
  constexpr std::string_view dashes = "----------------";
  GroupLine found;
  found.column = line.find('+');
  if (found.column == line.npos || line.find_first_not_of(' ') != found.column) return std::nullopt;
  found.opens = line.substr(found.column).starts_with("+-+");
  if (found.opens) found.column += 2;
  const std::string_view drawn = line.substr(found.column + 1);
  if (!drawn.starts_with(dashes) || !drawn.ends_with(dashes)) return std::nullopt;
  found.closes = drawn.find_first_not_of('-') == drawn.npos;
  return found;
}

class TracebackReader {
 public:
  explicit TracebackReader(std::size_t most_lines) : most_lines_(most_lines) {}

  void read(std::string_view raw) {
    const std::string colorless = without_colors(raw.substr(0, raw.find_last_not_of('\r') + 1));
    std::string_view line = without_rank(colorless);
    if (line.ends_with(traceback_header)) return begin(line.substr(0, line.size() - traceback_header.size()));
    if (const auto drawn = group_line(line); drawn && (depth_ > 0 || (drawn->opens && ends_with_group())))
      return turn(*drawn);
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
    if (!before_header.ends_with("| ")) depth_ = 0;
    prefix_ = before_header;
    if (prefix_.ends_with("+ ")) prefix_[prefix_.size() - 2] = '|';
    ignored_ = before_ == Before::ignored || (ignored_ && before_ == Before::chained);
    causes_.clear();
    if (before_ == Before::chained && depth_ == 0 && last_ && !ignored_) {
      causes_ = last_->causes;
      causes_.push_back(in_one_line(*last_));
      if (causes_.size() > most_causes) causes_.erase(causes_.begin() + 1);  // the first one is what matters
    }
    led_on_ = before_ == Before::chained;
    before_ = Before::other;
    begin_frames(true);
  }

  bool ends_with_group() const {
    return part_ == Part::message && last_ && !ignored_ && last_->error.find("sub-exception") != std::string::npos;
  }

  // At another member of the group that was the last exception, or at its end.
  void turn(const GroupLine& drawn) {
    if (depth_ == 0) outermost_ = drawn.column;
    depth_ = std::min(1 + (drawn.column - std::min(drawn.column, outermost_)) / 2, most_depth);
    prefix_ = std::string(drawn.column, ' ') + "| ";
    part_ = Part::outside;
    before_ = Before::other;
    led_on_ = false;
    expects_member_ = !drawn.closes;
  }

  void add_member(const Traceback& member) {
    std::vector<std::string>& members = last_->members;
    std::string text = in_one_line(member);
    if (led_on_ && !members.empty()) {
      members.back() =
          without_controls(fmt::format("{}, which led to {}", members.back(), text), longest_traceback_line);
    } else if (members.size() < most_members) {
      members.push_back(without_controls(std::string(2 * (depth_ - 1), ' ') + text, longest_traceback_line));
    }
  }

  void begin_frames(bool has_header) {
    part_ = Part::frames;
    has_header_ = has_header;
    has_file_ = false;
    at_first_ = false;
    expects_member_ = false;
    strays_ = 0;
    frames_.clear();
    marker_.clear();
  }

  void read_text(std::string_view line) {
    if (part_ == Part::frames && read_frame(line)) return;
    if (part_ == Part::message && read_message(line)) return;
    if (std::exchange(expects_member_, false) && end_of_class(line) > 0)  // one that was never raised
      return add_member({{}, without_controls(trim(line), longest_traceback_line), {}, {}});
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
      marker_ = is_marker_line(line) ? line : "";
      if (marker_.empty()) frames_.push_back(without_controls(line, longest_traceback_line));
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
    const std::string error = without_controls(trim(line), longest_traceback_line);
    if (ignored_) return forget_if_last(error);
    Traceback ended{{std::make_move_iterator(frames_.begin()), std::make_move_iterator(frames_.end())},
                    error,
                    std::move(causes_),
                    {}};
    if (is_syntax_error(ended.error) && !marker_.empty() && !ended.frames.empty()) add_marker(ended.frames);
    const std::size_t after_last = std::exchange(output_after_, 0);
    if (depth_ > 0) return add_member(ended);
    if (ended.causes.empty()) {
      before_last_ = std::move(last_);
      output_before_last_ = after_last;
    }
    last_ = std::move(ended);
  }

  // Cython has Python's hook print an exception before it says that it ignores it, and prints it again.
  void forget_if_last(const std::string& error) {
    const bool printed_twice = last_ && before_last_ && last_->error == error &&
                               std::equal(frames_.begin(), frames_.end(), last_->frames.begin(), last_->frames.end());
    if (!printed_twice) return;
    last_ = std::exchange(before_last_, std::nullopt);
    output_after_ += output_before_last_;
  }

  void add_marker(std::vector<std::string>& frames) const {
    if (frames.size() == most_lines_) frames.erase(frames.begin());
    frames.push_back(without_controls(marker_, longest_traceback_line));
  }

  // An exception's text may have any number of lines; only indented ones, and PyTorch's native frames, surely belong to
  // it.
  bool read_message(std::string_view line) {
    const bool set_in = line[0] == ' ' || line[0] == '\t';
    if (std::exchange(lacks_text_, false) && (set_in || lacks_all_text_) && depth_ == 0) {
      last_->error = without_controls(fmt::format("{} {}", last_->error, trim(line)), longest_traceback_line);
      return true;
    }
    if (read_last_error(line)) return true;
    message_goes_on_ = message_goes_on_ && set_in;
    return message_goes_on_ || line.starts_with("frame #");
  }

  // PyTorch's text of an NCCL error ends with what NCCL itself said, after a line of its own.
  bool read_last_error(std::string_view line) {
    if (std::exchange(expects_last_error_, false)) {
      last_->error = without_controls(
          fmt::format("{}; last error: {}", beginning_of(last_->error, most_before_last_error), trim(line)),
          longest_traceback_line);
      return true;
    }
    expects_last_error_ = last_ && !ignored_ && depth_ == 0 && trim(line) == "Last error:";
    return expects_last_error_;
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
  bool expects_last_error_ = false;
  bool lacks_all_text_ = false;
  std::size_t strays_ = 0;
  std::size_t output_after_ = 0;
  std::deque<std::string> frames_;
  std::string marker_;  // that stands below the last line of the frames
  std::vector<std::string> causes_;
  bool led_on_ = false;    // the exception came after the one before it
  std::size_t depth_ = 0;  // of groups, in whose members the text is
  std::size_t outermost_ = 0;
  bool expects_member_ = false;
  std::optional<Traceback> last_;
  std::optional<Traceback> before_last_;  // and before those that led to the last one
  std::size_t output_before_last_ = 0;    // lines between the two
};

}  // namespace

std::optional<Traceback> last_traceback(std::string_view text, std::size_t most_lines) {
  TracebackReader reader(most_lines);
  for (const std::string_view line : split(text, '\n')) reader.read(line);
  return std::move(reader).last();
}

}  // namespace launch
