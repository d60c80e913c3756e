// torchrun's file timers: a worker asks to be ended if it does not release its timer in time. Each request is one line
// of JSON.
//
// A timer is identified by process and scope. Times are seconds since 1970, as in the worker's Python.
#pragma once

#include "launch/core/base/error.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace launch {

struct TimerRequest {
  int pid = 0;
  std::string scope;      // safe to print; of a long one only the end
  double expiration = 0;  // below 0: the timer is released
  int signal = 0;         // 0: nothing happens when it expires

  bool operator==(const TimerRequest&) const = default;
};

// {"version": 1, "pid": 12, "scope_id": "step", "expiration_time": 1720000000.5, "signal": 9}
Result<TimerRequest> parse_timer_request(std::string_view line);

struct ExpiredTimer {
  int pid = 0;
  std::string scope;
  int signal = 0;

  bool operator==(const ExpiredTimer&) const = default;
};

class WatchdogTimers {
 public:
  static constexpr std::size_t most = 100'000;

  // Sets a timer, in place of the present one if there is one, or releases it. An error if there are too many.
  Status on(const TimerRequest& request);
  // In order of expiration; each is returned once. Those without a signal are left out.
  std::vector<ExpiredTimer> expired(double unix_now);
  // When the first one expires.
  std::optional<double> next() const;
  // The process is gone.
  void forget(int pid);

 private:
  using Key = std::pair<int, std::string>;
  struct Timer {
    double expiration = 0;
    int signal = 0;
  };

  void remove(const Key& key);

  std::map<Key, Timer> timers_;
  std::set<std::pair<double, Key>> by_time_;
};

}  // namespace launch
