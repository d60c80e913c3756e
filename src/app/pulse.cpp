#include "launch/app/pulse.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/guard.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr int beats_per_patience = 24;
constexpr Duration longest_interval = 500ms;

}  // namespace

Pulse::Pulse(const boost::asio::any_io_executor& executor, pid_t guard, Mailbox& mailbox)
    : life_(guard == 0 ? nullptr : life_sign()), guard_(guard), mailbox_(mailbox), timer_(executor) {}

// A node of torchrun in a static job waits for others as long as it takes.
void Pulse::before(const AgentAction& action) {
  const auto* start = std::get_if<StartWorkers>(&action);
  if (start != nullptr) begin(start->round.can_restart ? start->round.longest_stall : Duration());
  if (std::holds_alternative<AnnounceRound>(action) || std::holds_alternative<EnterBarrier>(action) ||
      std::holds_alternative<Finish>(action))
    stop();
}

void Pulse::begin(Duration patience) {
  if (life_ == nullptr || patience == Duration::zero()) return;
  patience_ = patience;
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

void Pulse::beat() {
  const Time at = now();
  const Duration stall = std::chrono::round<std::chrono::milliseconds>(at - std::exchange(turned_, at));
  life_->turn(at, patience_);
  if (life_->take_stall() > Duration::zero()) mailbox_.put_first(StoodStill{stall});  // ahead of the workers' ends
  timer_.expires_after(std::min<Duration>(patience_ / beats_per_patience, longest_interval));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && runs_) beat();
  });
}

}  // namespace launch
