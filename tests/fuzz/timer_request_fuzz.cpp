// Any line is refused with one line, or becomes a request within its bounds, which a table of timers then follows.
#include "launch/core/agent/watchdog_timers.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const auto request = parse_timer_request({reinterpret_cast<const char*>(data), size});
  if (!request) {
    if (request.error().message.empty() || request.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (request->pid < 1 || request->signal < 0 || request->signal > 64 || !std::isfinite(request->expiration) ||
      request->scope.size() > 203 || request->scope.find_first_of("\n\r\x1b") != std::string::npos)
    std::abort();
  WatchdogTimers timers;
  if (!timers.on(*request) || timers.next().has_value() != (request->expiration >= 0)) std::abort();
  const auto expired = timers.expired(request->expiration);
  if (expired.size() != (request->expiration >= 0 && request->signal > 0 ? 1U : 0U) || timers.next()) std::abort();
  return 0;
}
