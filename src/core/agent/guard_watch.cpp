#include "launch/core/agent/guard_watch.hpp"

#include <algorithm>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t enough_ends = 3;  // Ctrl-C three times: stop, soon, now
constexpr std::ptrdiff_t enough_unheard = 2;
constexpr Duration time_to_hear = 1s;      // for an agent that is only busy
constexpr Duration second_chance = 500ms;  // after the guard itself slept

constexpr int looks_to_believe = 5;        // one step apart
constexpr int most_looks = 10;             // if the guard rarely gets to run
constexpr Duration longest_proof = 400ms;  // since the other nodes go on soon
constexpr int proofs_per_patience = 8;
constexpr Duration between_kills = 10ms;

}  // namespace

void GuardWatch::handed_on(int signal, SignalWay way, std::uint32_t number, Time now) {
  if (volley_.is_new(signal, way, now)) ends_.push_back(number);
}

GuardWatch::Act GuardWatch::look(const AgentSign& sign, Time now) {
  if (is_refused(sign, now)) return Act::end_all;
  return stands_still(sign, now) ? Act::end_workers : Act::nothing;
}

Time GuardWatch::deadline() const { return std::min(next_look_, give_up_.value_or(never)); }

bool GuardWatch::is_refused(const AgentSign& sign, Time now) {
  // The numbers may wrap around.
  const auto unheard = std::count_if(ends_.begin(), ends_.end(), [&](std::uint32_t number) {
    return static_cast<std::int32_t>(number - sign.heard) > 0;
  });
  if (ends_.size() < enough_ends || unheard < enough_unheard) {
    give_up_.reset();
    return false;
  }
  if (!give_up_) give_up_ = later(now, time_to_hear);
  if (now < *give_up_) return false;
  if (!excused_ && now > later(*give_up_, second_chance)) {
    excused_ = true;
    give_up_ = later(now, second_chance);
    return false;
  }
  return true;
}

bool GuardWatch::stands_still(const AgentSign& sign, Time now) {
  const Duration proof = std::min<Duration>(sign.patience / proofs_per_patience, longest_proof);
  const Duration step = proof / (looks_to_believe - 1);
  const bool watched = sign.patience > Duration::zero();
  const Time suspicious = watched ? later(sign.turned, sign.patience - proof) : never;
  if (sign.turned != turned_ || now < suspicious) {
    turned_ = sign.turned;
    suspects_ = ended_ = false;
    looks_ = timely_ = 0;
  }
  if (now < suspicious || ended_) {
    next_look_ = ended_ ? never : suspicious;
    return false;
  }
  if (!suspects_) {
    suspects_ = true;
    next_look_ = suspicious;
  }
  const auto believes = [this] { return timely_ >= looks_to_believe || looks_ >= most_looks; };
  if (now < next_look_) return believes();
  const bool timely = now <= later(next_look_, step);
  ++looks_;
  timely_ += static_cast<int>(timely);
  const bool enough = believes();
  next_look_ = later(enough || !timely ? now : next_look_, enough ? between_kills : step);
  return enough;
}

}  // namespace launch
