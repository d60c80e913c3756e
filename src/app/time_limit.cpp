#include "launch/app/time_limit.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/log.hpp"

#include <boost/asio/steady_timer.hpp>

namespace launch {
namespace asio = boost::asio;

asio::awaitable<bool> time_is_short(asio::any_io_executor executor, const Preemption& preemption) {
  const auto until = time_until_warning(preemption, instant().wall);
  if (const std::string late = too_late_to_warn(preemption, instant().wall); !late.empty()) log_warning(late);
  if (!until) co_return false;
  asio::steady_timer timer(executor, to_steady(later(now(), *until)));
  (void)co_await timer.async_wait(as_values);
  log_info("the time that this job has left: " + time_left(preemption, instant().wall));
  co_return true;
}

}  // namespace launch
