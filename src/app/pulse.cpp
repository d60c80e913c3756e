#include "launch/app/pulse.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/guard.hpp"

#include <algorithm>
#include <utility>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr int beats_per_patience = 24;
constexpr Duration longest_interval = 500ms;

}  // namespace

Pulse::Pulse(const boost::asio::any_io_executor& executor, pid_t guard, std::function<void(Duration)> on_stall)
    : life_(guard == 0 ? nullptr : life_sign()), guard_(guard), on_stall_(std::move(on_stall)), timer_(executor) {}

void Pulse::begin(Limits limits, std::function<Time()> last_answered) {
  if (life_ == nullptr || limits.stall == Duration::zero()) return;
  limits_ = limits;
  last_answered_ = std::move(last_answered);
  runs_ = true;
  turned_ = now();
  (void)life_->take_stall();
  beat();
  call_guard(guard_);
}

void Pulse::stop() {
  if (!std::exchange(runs_, false)) return;
  timer_.cancel();
  life_->turn(now(), Duration::zero());
}

void Pulse::hear() {
  if (life_ != nullptr) life_->hear();
}

void Pulse::look() {
  if (!runs_ || life_->take_stall() == Duration::zero()) return;
  const Time at = now();
  on_stall_(std::chrono::round<std::chrono::milliseconds>(at - std::exchange(turned_, at)));
}

// How long the loop may stall from now on.
Duration Pulse::patience() const {
  if (limits_.silence == Duration::zero()) return limits_.stall;
  const Duration left = later(last_answered_(), limits_.silence) - turned_;
  return std::clamp<Duration>(left, 1ms, limits_.stall);
}

void Pulse::beat() {
  look();
  if (!runs_) return;  // look() has stopped it
  turned_ = now();
  life_->turn(turned_, patience());
  timer_.expires_after(std::min<Duration>(limits_.stall / beats_per_patience, longest_interval));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && runs_) beat();
  });
}

}  // namespace launch
