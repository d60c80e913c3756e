#include "launch/core/progress/hang_watch.hpp"

#include <chrono>
#include <cmath>
#include <utility>

namespace launch {
namespace {

using namespace std::chrono_literals;

// In a second. A worker that waits for others does nearly nothing of this, but its threads may wake up now and then.
constexpr double least_bytes = 4096;
constexpr double least_faults = 32;
constexpr double least_use = 0.15;     // of a processor
constexpr double least_change = 0.25;  // of the use, from one interval to the next
constexpr double least_of_any = 3;     // faults in an interval, which may be short

double grown(std::uint64_t before, std::uint64_t after) {
  return after > before ? static_cast<double>(after - before) : 0;
}

}  // namespace

Duration look_interval(Duration timeout) { return std::clamp<Duration>(timeout / 10, 200ms, 10s); }

void HangWatch::begin(Time now) {
  began_ = worked_ = now;
  stepped_.reset();
  sampled_.reset();
  known_.clear();
}

// After a pause of launch itself nobody knows what was meanwhile.
void HangWatch::sample(WorkTallies tallies, Time now) {
  const bool paused = sampled_ && now - *sampled_ > 3 * interval_ + 2s;
  if (paused) worked(now);
  if (paused && stepped_) stepped_ = now;
  const double seconds = sampled_ ? seconds_of(now - *sampled_) : 0;
  std::map<pid_t, Known> known;
  for (auto& [pid, tally] : tallies) {
    const auto before = known_.find(pid);
    Known next;
    if (before == known_.end()) {
      worked(now);
    } else if (seconds > 0) {
      next.use = std::max(tally.cpu_s - before->second.tally.cpu_s, 0.0) / seconds;
      next.measured = true;
      if (shows_work(before->second, tally, seconds)) worked(now);
    }
    next.tally = std::move(tally);
    known.emplace(pid, std::move(next));
  }
  if (known.size() < known_.size()) worked(now);
  known_ = std::move(known);
  sampled_ = now;
}

bool HangWatch::shows_work(const Known& before, const WorkTally& after, double seconds) {
  const WorkTally& then = before.tally;
  if (after.stopped || after.output != then.output || after.family != then.family) return true;
  if (grown(then.io_bytes, after.io_bytes) >= least_bytes * seconds) return true;
  const double faults = grown(then.faults, after.faults);
  if (faults >= least_of_any && faults >= least_faults * seconds) return true;
  const double use = std::max(after.cpu_s - then.cpu_s, 0.0) / seconds;
  const bool starves = then.runnable && after.runnable;  // others keep the processors busy
  if (!after.accelerator) return starves || use >= least_use;
  return before.measured && std::abs(use - before.use) >= least_change;
}

void HangWatch::heard(Time at) {
  const bool by_us = at >= disturbed_ && at <= undisturbed_;
  if (!by_us) worked(at);
}

void HangWatch::stepped(Time at) { stepped_ = std::max(stepped_.value_or(at), at); }

void HangWatch::disturbed(Time from, Time until) {
  disturbed_ = from;
  undisturbed_ = until;
  sampled_.reset();  // the next sample is compared with none
}

Quiet HangWatch::quiet(Time now) const {
  if (stepped_) return {now - *stepped_, true};
  return {now - worked_, false};
}

}  // namespace launch
