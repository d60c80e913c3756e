#include "launch/io/log_console.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration longest_hold = 200ms;  // of an unfinished line
constexpr Duration progress_hold = 5s;    // of one that is rewritten again and again
constexpr Duration fold_window = 100ms;   // within this, other ranks may say the same

}  // namespace

const char* name_of_console(int fd) { return fd == STDOUT_FILENO ? "standard output" : "standard error"; }

LogConsole::LogConsole(ConsoleStyle style, LogExchange& exchange, int number, std::optional<int> filtered)
    : style_(std::move(style)), exchange_(exchange), number_(number), filtered_(filtered), sink_(style_.fd) {}

void LogConsole::add_stream(int stream, int local_rank, const LogFile& file, int pipe) {
  streams_.push_back({stream, local_rank, &file, pipe, LineRouter(), Time(), false});
}

void LogConsole::run() {
  if (style_.fold) fold_.emplace(static_cast<int>(streams_.size()), fold_window);
  std::uint64_t seen = 0;
  bool last = false;
  while (true) {
    while (pass()) {
    }
    if (last) break;
    Time due = fold_ ? fold_->due() : never;
    for (const Stream& stream : streams_) due = std::min(due, held_until(stream));
    exchange_.await_news(number_, seen, due);
    last = exchange_.input_closed();
  }
  const Time when = now();
  for (Stream& stream : streams_) flush(stream, when);
  if (fold_) fold_->give_all([this](auto line, auto& who) { print_folded(line, who); });
  write_out();
  sink_.finish();
  tell_of_loss();
}

// Shows some of each stream, so that a worker that never stops writing does not silence the others. True if there was
// any.
bool LogConsole::pass() {
  const Time when = now();
  if (style_.prefix.timed()) time_ = log_time_text();
  bool any = false;
  for (Stream& stream : streams_) {
    any = show_more(stream, when) || any;
    if (held_until(stream) > when) continue;
    if (goes_on(stream)) {
      stream.held_since = when;
    } else {
      flush(stream, when);
    }
  }
  if (fold_) fold_->give_due(when, [this](auto line, auto& who) { print_folded(line, who); });
  write_out();
  return any;
}

bool LogConsole::show_more(Stream& stream, Time when) {
  const auto show = exchange_.next_show(stream.number);
  if (!show) return false;
  std::uint64_t size = show->size;
  if (show->bytes) {
    route(stream, std::string_view(*show->bytes).substr(show->skip), when);
  } else {
    buffer_.clear();
    if (show->piece.size > 0) stream.file->read_back(show->piece, buffer_);
    if (!buffer_.empty()) {
      size = buffer_.size();
      route(stream, buffer_, when);
    } else {
      flush(stream, when);
      say(stream, fmt::format("[launch: {} bytes are neither here nor in the file]", size), when);
    }
  }
  exchange_.shown(stream.number, size);
  return true;
}

void LogConsole::route(Stream& stream, std::string_view bytes, Time when) {
  const bool held = stream.router.holds();
  stream.gave = false;
  stream.router.feed(bytes, [&](std::string_view line) {
    stream.gave = true;
    say(stream, line, when);
  });
  if (stream.router.holds() && (stream.gave || !held)) stream.held_since = when;
}

Time LogConsole::held_until(const Stream& stream) {
  if (!stream.router.holds()) return never;
  return later(stream.held_since, stream.router.rewritten() ? progress_hold : longest_hold);
}

// True if the rest of its line is on the way, and launch has not read it yet.
bool LogConsole::goes_on(const Stream& stream) const { return exchange_.reading() || bytes_waiting(stream.pipe) > 0; }

void LogConsole::flush(Stream& stream, Time when) {
  stream.router.flush([&](std::string_view line) { say(stream, line, when); });
}

void LogConsole::say(const Stream& stream, std::string_view line, Time when) {
  if (style_.ranks && !style_.ranks->has(LocalRank(stream.local_rank))) return;
  if (!fold_) return print(stream.local_rank, line);
  const auto index = static_cast<int>(&stream - streams_.data());
  fold_->take(index, line, when, [this](auto folded, auto& who) { print_folded(folded, who); });
}

// The fold knows streams by their index in streams_.
void LogConsole::print_folded(std::string_view line, const std::vector<int>& places) {
  std::vector<int> local_ranks;
  for (const int place : places) local_ranks.push_back(streams_[static_cast<std::size_t>(place)].local_rank);
  print(local_ranks, line);
}

template <class Who>
void LogConsole::print(const Who& who, std::string_view line) {
  sink_.take([&](std::string& text) {
    style_.prefix.add(text, who, time_);
    text += line;
    text += '\n';
  });
  if (!filtered_) return;
  // Filters apply to the worker's own words, not to the prefix.
  const auto holds = [&](const std::string& filter) { return line.find(filter) != std::string_view::npos; };
  if (std::none_of(style_.filters.begin(), style_.filters.end(), holds)) return;
  style_.filtered_prefix.add(filtered_lines_, who, time_);
  filtered_lines_ += line;
  filtered_lines_ += '\n';
}

void LogConsole::tell_of_loss() {
  if (sink_.lost() == 0 || std::exchange(told_of_loss_, true)) return;
  log_warning(fmt::format("lines are lost because the {} cannot be written: {}; the job goes on",
                          name_of_console(style_.fd), sink_.reason()));
}

void LogConsole::write_out() {
  sink_.write();
  tell_of_loss();
  if (filtered_lines_.empty()) return;
  exchange_.await_room(*filtered_);
  (void)exchange_.receive(*filtered_, std::exchange(filtered_lines_, {}));
}

}  // namespace launch
