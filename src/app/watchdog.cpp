#include "launch/app/watchdog.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace launch {
namespace asio = boost::asio;

namespace {

constexpr double longest_look_away_s = 10;

}  // namespace

Watchdog::Watchdog(asio::any_io_executor executor, ExpiryCallback on_expired)
    : executor_(executor),
      opened_(std::make_shared<std::optional<Result<TimerPipe>>>()),
      on_expired_(std::move(on_expired)),
      alarm_(executor) {}

asio::awaitable<Status> Watchdog::open(DiskThread& disk, std::string path, Time give_up) {
  const auto open = [path, executor = executor_, opened = opened_] {
    opened->emplace(TimerPipe::open(executor, path));
    return true;
  };
  auto opening = disk.run_until(give_up, open);
  const auto done = co_await std::move(opening);
  co_return done && !**opened_ ? Status((*opened_)->error()) : Status();
}

void Watchdog::begin() {
  timers_ = {};
  starting_ = true;
}

Status Watchdog::hear() {
  if (pipe_) return {};
  if (!**opened_) return (*opened_)->error();
  pipe_.emplace(std::move(***opened_));
  run_in_background(executor_, hear_requests());
  run_in_background(executor_, wait_for_expiry());
  return {};
}

void Watchdog::all_started() {
  starting_ = false;
  alarm_.cancel();
}

asio::awaitable<void> Watchdog::hear_requests() {
  while (true) {
    const auto line = co_await pipe_->next_line();
    if (!line) co_return;
    take(*line);
  }
}

asio::awaitable<void> Watchdog::wait_for_expiry() {
  while (true) {
    if (!starting_) tell_expired();
    set_alarm();
    (void)co_await alarm_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

void Watchdog::take(const std::string& line) {
  const auto request = parse_timer_request(line);
  if (!request) return complain(request.error().message);
  if (const Status kept = timers_.on(*request); !kept) return complain(kept.error().message);
  alarm_.cancel();
}

void Watchdog::tell_expired() {
  for (const ExpiredTimer& timer : timers_.expired(unix_time()))
    if (!on_expired_(timer))
      complain(fmt::format("watchdog timer '{}' of pid {} expired, but that is no process of this job", timer.scope,
                           timer.pid));
}

void Watchdog::set_alarm() {
  Time when = never;
  if (const auto next = timers_.next(); next && !starting_) {
    const std::chrono::duration<double> seconds(std::clamp(*next - unix_time(), 0.0, longest_look_away_s));
    when = later(now(), std::chrono::ceil<Duration>(seconds));
  }
  alarm_.expires_at(to_steady(when));
}

// A worker that causes one complaint after the other must not fill the log.
void Watchdog::complain(const std::string& what) {
  if (complaints_left_-- > 0) log_warning(what);
}

}  // namespace launch
