#include "launch/app/progress_teller.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"

#include <chrono>
#include <utility>

namespace launch {
namespace {

constexpr Duration between_progress_events = std::chrono::seconds(60);

}  // namespace

ProgressTeller::ProgressTeller(boost::asio::any_io_executor executor, const JobFolder& folder, EventLog& events)
    : executor_(executor), folder_(folder), events_(events), timer_(executor) {}

void ProgressTeller::begin() {
  told_.reset();
  if (!events_.told() || std::exchange(begun_, true)) return;
  run_in_background(executor_, tell_each_minute());
}

void ProgressTeller::tell() {
  const auto sum = sum_of(folder_.progress());
  if (!sum || (told_ && told_->least == sum->least && told_->most == sum->most)) return;
  told_ = sum;
  events_.progressed({*sum});
}

boost::asio::awaitable<void> ProgressTeller::tell_each_minute() {
  while (true) {
    timer_.expires_at(to_steady(later(now(), between_progress_events)));
    (void)co_await timer_.async_wait(as_values);
    tell();
  }
}

void add_progress(NodeReport& report, const std::vector<RankProgress>& progress, Time now) {
  for (const RankProgress& one : progress) {
    if (one.local_rank.index() >= report.workers.size()) continue;
    WorkerReport& worker = report.workers[one.local_rank.index()];
    worker.step = one.step;
    worker.rate = one.rate;
    if (one.jump > 0) worker.step_jump = one.jump;
    worker.step_age_s = seconds_of(now - one.changed);
  }
}

}  // namespace launch
