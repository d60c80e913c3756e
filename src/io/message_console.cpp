#include "launch/io/message_console.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/host.hpp"
#include "launch/io/process_look.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view line_away = "\r\x1b[K";  // clears a terminal's line, as if it had never been there
constexpr Duration between_changes = 1s;
constexpr Duration among_workers_lines = 10s;
constexpr Duration between_lines = 30s;

bool terminal_of(int fd, unsigned& device) { return ::ioctl(fd, TIOCGDEV, &device) == 0; }

}  // namespace

void MessageConsole::open(int fd) {
  fd_ = fd;
  owner_ = ::getpid();
  output_ = PatientOutput(fd);
}

std::size_t MessageConsole::width() const { return columns_of(fd_); }

bool MessageConsole::in_background() const { return is_in_background(owner_, fd_); }

// The text that removes the line of progress, if that is shown. In the background that line is the shell's by now.
std::string_view MessageConsole::clear_line() {
  const bool ours = std::exchange(shown_, false) || uncleared_;
  return ours && !in_background() ? line_away : std::string_view();
}

void MessageConsole::say(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  progress_.clear();
  unsure_ = false;
  const std::string_view before = clear_line();
  const std::string_view beginning = begin_line();
  if (before.empty() && beginning.empty()) return output_.write(lines);
  output_.write(fmt::format("{}{}{}", before, beginning, lines));
}

// A bar may have left the cursor hidden and colours on.
std::string_view MessageConsole::begin_line() {
  if (!unfinished_.exchange(false)) return {};
  return width() > 0 ? "\x1b[0m\x1b[?25h\n" : "\n";
}

void MessageConsole::show_progress(std::string_view line) {
  const std::size_t columns = width();
  const std::lock_guard lock(mutex_);
  if (columns == 0 || lent_) return say_line(line);
  if (in_background()) {
    shown_ = false;
    progress_.clear();
    if (now() < next_word_) return;
    next_word_ = later(now(), between_lines);
    return say_line(line);
  }
  if (std::exchange(unsure_, false)) return say_line(line);
  progress_ = first_clauses(line, columns - 1);
  if (turns_ == 0) draw();
}

void MessageConsole::say_line(std::string_view line) {
  output_.write(fmt::format("{}{}{}\n", clear_line(), begin_line(), line));
}

// A terminal that is held (Ctrl-S) keeps the line that it has.
void MessageConsole::draw() {
  if (output_.offer(fmt::format("\r{}\x1b[K", progress_))) shown_ = true;
}

void MessageConsole::end_progress() {
  const std::lock_guard lock(mutex_);
  progress_.clear();
  next_word_ = {};
  if (shown_) output_.write(clear_line());
}

Duration MessageConsole::progress_interval() const {
  const std::lock_guard lock(mutex_);
  if (width() == 0) return between_lines;
  return lent_ ? among_workers_lines : between_changes;
}

bool MessageConsole::shares(int fd) const {
  unsigned ours = 0, theirs = 0;
  return terminal_of(fd_, ours) && terminal_of(fd, theirs) && ours == theirs;
}

void MessageConsole::lend(int fd) {
  const std::lock_guard lock(mutex_);
  lent_ = lent_ || shares(fd);
}

void MessageConsole::take_back() {
  const std::lock_guard lock(mutex_);
  unsure_ = std::exchange(lent_, false) || unsure_;
}

// Earlier messages may wait for a terminal that is held, as the turn itself would.
MessageConsole::Turn::Turn(MessageConsole& console) : console_(console) {
  while (!console_.flush(1h)) {
  }
  const std::lock_guard lock(console_.mutex_);
  opening_ = console_.clear_line();
  ++console_.turns_;
  console_.uncleared_ = console_.uncleared_ || !opening_.empty();
}

MessageConsole::Turn::~Turn() {
  const std::lock_guard lock(console_.mutex_);
  if (--console_.turns_ > 0) return;
  console_.uncleared_ = false;
  if (!console_.progress_.empty() && !console_.in_background()) console_.draw();
}

MessageConsole& message_console() {
  static MessageConsole console;
  return console;
}

}  // namespace launch
