#include "launch/app/gpu_wait.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/log.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/steady_timer.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using Tenths = std::chrono::duration<std::int64_t, std::deci>;

constexpr Duration time_to_look_at_gpus = 5s;
constexpr Duration least_time_to_look = 1s;  // for the last look, when the time is over
constexpr Duration between_gpu_looks = 500ms;

bool is_running(pid_t pid) {
  const auto stat = stat_of(pid);
  return stat && stat->state != 'Z';
}

}  // namespace

GpuWait::GpuWait(asio::any_io_executor executor, const Config& config, WorkerGroup& workers)
    : executor_(executor), limit_(config.hooks.wait_gpu_memory), workers_(workers), desk_(executor, workers) {}

asio::awaitable<void> GpuWait::before_workers() {
  if (limit_ == Duration::zero()) co_return;
  if (!std::exchange(begun_, true)) co_return co_await look_at_first();
  if (before_) co_await wait();
}

asio::awaitable<void> GpuWait::look_at_first() {
  auto asking = desk_.facts({time_to_look_at_gpus, Duration::zero()});
  auto gpus = co_await std::move(asking);
  if (gpus) before_ = *std::move(gpus);
  if (!gpus)
    log_detail("--wait-gpu-memory: no restart will wait, since the GPUs are not known: " + gpus.error().message);
}

asio::awaitable<std::string> GpuWait::held(Duration patience) {
  auto asking = desk_.facts({patience, Duration::zero()});
  const auto gpus = co_await std::move(asking);
  if (!gpus) co_return gpus.error().message;
  co_return held_gpu_memory(*gpus, {*before_, workers_.last_pids(), is_running});
}

asio::awaitable<void> GpuWait::wait() {
  const int round = workers_.round();
  const Time begin = now();
  const Time deadline = later(begin, limit_);
  for (bool told = false;; told = true) {
    auto looking = held(std::clamp<Duration>(deadline - now(), least_time_to_look, time_to_look_at_gpus));
    const std::string what = co_await std::move(looking);
    const auto waited = std::chrono::floor<Tenths>(now() - begin);
    if (workers_.is_over(round)) co_return;
    if (what.empty() && told) log_notice(fmt::format("the memory of the GPUs is free after {}", to_text(waited)));
    if (what.empty()) co_return;
    if (now() >= deadline)
      co_return log_warning(
          fmt::format("the memory of the GPUs is not free after {} (--wait-gpu-memory): {}; starting "
                      "the workers all the same",
                      to_text(limit_), what));
    if (!told) log_notice(fmt::format("waiting for the memory of the GPUs, {} at most: {}", to_text(limit_), what));
    asio::steady_timer pause(executor_, to_steady(std::min(deadline, later(now(), between_gpu_looks))));
    (void)co_await pause.async_wait(as_values);
  }
}

}  // namespace launch
