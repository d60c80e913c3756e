// What the user is told while workers are being stopped: how many processes are left, when they will be killed, and
// which ones did not obey. AgentLoop uses it, and tells it when. It stops nothing itself, and has no errors. Times are
// those of io/clock.
#pragma once

#include "launch/app/worker_group.hpp"
#include "launch/core/base/announcer.hpp"
#include "launch/core/base/time.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <sys/types.h>

namespace launch {

class StopProgress {
 public:
  // New workers start, or what runs after them: nothing of it has been told to exit.
  void begin() { told_.reset(); }
  // The workers are told to exit now.
  void tell();
  // Says how many are left, if it is time for that. `kills_at`: when they will be killed; nullopt: they will not.
  void count_down(std::optional<Time> kills_at, const WorkerGroup& workers);
  // When count_down() must come, or `other` if that is earlier.
  Time next(Time other) const { return std::min(other, countdown_ ? countdown_->next() : never); }
  // These will be killed now.
  void tell_kill(const std::vector<pid_t>& left) const;

 private:
  std::optional<Time> told_;            // when the workers were told to exit
  std::optional<Announcer> countdown_;  // to SIGKILL
};

}  // namespace launch
