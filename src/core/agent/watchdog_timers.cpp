#include "launch/core/agent/watchdog_timers.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"

#include <limits>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t longest_scope = 200;
constexpr int last_signal = 64;

// PyTorch's own scopes are FILE#LINE, so the end tells most. Cut between characters.
std::string short_scope(const std::string& scope) {
  if (scope.size() <= longest_scope) return without_controls(scope, longest_scope);
  std::size_t begin = scope.size() - longest_scope;
  while (begin < scope.size() && (static_cast<unsigned char>(scope[begin]) & 0xc0) == 0x80) ++begin;
  return "..." + without_controls(scope.substr(begin), longest_scope);
}

}  // namespace

Result<TimerRequest> parse_timer_request(std::string_view line) {
  const auto refused = [line](const char* what) {
    return protocol_error(fmt::format("{} in the request for a watchdog timer {}", what, shown(line)));
  };
  const JsonValue object = read_json(line);
  if (!object.is_object()) return refused("no JSON object");
  if (!object["version"].whole(1, 1)) return refused("no version 1");
  const auto pid = object["pid"].whole(1, std::numeric_limits<int>::max());
  if (!pid) return refused("no pid");
  const auto scope = object["scope_id"].text();
  if (!scope) return refused("no text as scope_id");
  const auto seconds = object["expiration_time"].number();
  if (!seconds) return refused("no number as expiration_time");
  const auto signal = object["signal"].whole(0, last_signal);
  if (!signal) return refused("no signal from 0 to 64");
  return TimerRequest{*pid, short_scope(*scope), *seconds, *signal};
}

Status WatchdogTimers::on(const TimerRequest& request) {
  const Key key{request.pid, request.scope};
  remove(key);
  if (request.expiration < 0) return {};
  if (timers_.size() >= most) {
    return protocol_error(
        fmt::format("the workers have set {} watchdog timers; there is no room for '{}' of pid {}, which is not kept",
                    most, request.scope, request.pid));
  }
  timers_[key] = {request.expiration, request.signal};
  by_time_.emplace(request.expiration, key);
  return {};
}

std::vector<ExpiredTimer> WatchdogTimers::expired(double unix_now) {
  std::vector<ExpiredTimer> result;
  while (!by_time_.empty() && by_time_.begin()->first <= unix_now) {
    const Key key = by_time_.begin()->second;
    const int signal = timers_.at(key).signal;
    if (signal > 0) result.push_back({key.first, key.second, signal});
    remove(key);
  }
  return result;
}

std::optional<double> WatchdogTimers::next() const {
  if (by_time_.empty()) return std::nullopt;
  return by_time_.begin()->first;
}

void WatchdogTimers::forget(int pid) {
  for (auto it = timers_.lower_bound({pid, ""}); it != timers_.end() && it->first.first == pid;) {
    by_time_.erase({it->second.expiration, it->first});
    it = timers_.erase(it);
  }
}

void WatchdogTimers::remove(const Key& key) {
  const auto it = timers_.find(key);
  if (it == timers_.end()) return;
  by_time_.erase({it->second.expiration, key});
  timers_.erase(it);
}

}  // namespace launch
