#include "launch/io/log_exchange.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"

#include <chrono>
#include <memory>
#include <utility>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr auto settling = 200ms;  // of a pipe whose writer has ended
constexpr Duration file_delay = 5ms;
constexpr std::size_t enough_to_write = std::size_t{256} << 10;

}  // namespace

int LogExchange::add_stream(std::optional<int> console) {
  backlog_.add_stream(console.has_value());
  console_of_.push_back(console);
  if (console) news_of_.resize(std::max(news_of_.size(), static_cast<std::size_t>(*console) + 1));
  return static_cast<int>(console_of_.size()) - 1;
}

void LogExchange::await_room(int stream) {
  std::unique_lock lock(mutex_);
  for (Time at = backlog_.room_at(stream); at > now(); at = backlog_.room_at(stream))
    room_.wait_until(lock, to_steady(at));
}

void LogExchange::mark_reading(bool reading) {
  const std::lock_guard lock(mutex_);
  reading_ = reading;
  if (!reading) received_.notify_all();
}

LogBacklog::Bytes LogExchange::receive(int stream, std::string bytes) {
  auto shared = std::make_shared<const std::string>(std::move(bytes));
  const std::lock_guard lock(mutex_);
  const std::size_t before = backlog_.unwritten();
  backlog_.receive(stream, shared, now());
  if (before == 0 || (before < enough_to_write && backlog_.unwritten() >= enough_to_write)) written_.notify_one();
  if (const auto console = console_of_[static_cast<std::size_t>(stream)]) {
    ++news_of_[static_cast<std::size_t>(*console)];
    news_.notify_all();
  }
  return shared;
}

void LogExchange::close() {
  const std::lock_guard lock(mutex_);
  --givers_;
  written_.notify_one();
}

void LogExchange::close_input() {
  const std::lock_guard lock(mutex_);
  input_closed_ = true;
  for (std::uint64_t& news : news_of_) ++news;
  news_.notify_all();
  received_.notify_all();
}

bool LogExchange::input_closed() const {
  const std::lock_guard lock(mutex_);
  return input_closed_;
}

std::optional<LogBacklog::Write> LogExchange::next_write() {
  std::unique_lock lock(mutex_);
  while (true) {
    // A file need not get each line at once, so a little waits for more.
    const Time due = later(backlog_.waiting_since(), file_delay);
    if (givers_ == 0 || backlog_.unwritten() >= enough_to_write || now() >= due) {
      if (auto write = backlog_.next_write()) return write;
      if (givers_ == 0) return std::nullopt;
    }
    if (due == never) {
      written_.wait(lock);
    } else {
      written_.wait_until(lock, to_steady(due));
    }
  }
}

void LogExchange::wrote(const LogBacklog::Write& write, const LogBacklog::Written& result) {
  const std::lock_guard lock(mutex_);
  backlog_.wrote(write, result, now());
  room_.notify_all();
}

std::optional<LogBacklog::Show> LogExchange::next_show(int stream) const {
  const std::lock_guard lock(mutex_);
  return backlog_.next_show(stream);
}

void LogExchange::shown(int stream, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  backlog_.shown(stream, size, now());
  room_.notify_all();
}

void LogExchange::await_news(int console, std::uint64_t& seen, Time until) {
  std::unique_lock lock(mutex_);
  const std::uint64_t& news = news_of_[static_cast<std::size_t>(console)];
  const auto there = [&] { return news != seen; };
  if (until == never) {
    news_.wait(lock, there);
  } else {
    news_.wait_until(lock, to_steady(until), there);
  }
  seen = news;
}

bool LogExchange::reading() const {
  const std::lock_guard lock(mutex_);
  return reading_;
}

bool LogExchange::stalled() const {
  const std::lock_guard lock(mutex_);
  return backlog_.stalled();
}

std::uint64_t LogExchange::end(int stream) const {
  const std::lock_guard lock(mutex_);
  return backlog_.end(stream);
}

std::uint64_t LogExchange::lost(int stream) const {
  const std::lock_guard lock(mutex_);
  return backlog_.lost(stream);
}

bool LogExchange::all_written() const {
  const std::lock_guard lock(mutex_);
  return backlog_.all_written();
}

Time LogExchange::last_progress() const {
  const std::lock_guard lock(mutex_);
  return backlog_.last_progress();
}

std::string LogExchange::tail(int stream, const std::function<bool()>& settled) {
  std::unique_lock lock(mutex_);
  received_.wait_for(lock, settling, [&] { return input_closed_ || (!reading_ && settled()); });
  return backlog_.tail(stream);
}

}  // namespace launch
