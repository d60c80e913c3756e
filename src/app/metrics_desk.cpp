#include "launch/app/metrics_desk.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/metrics/scrape.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"
#include "launch/io/log.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration between_writes = 15s;
constexpr Duration time_for_last_write = 2s;

std::uint64_t resident_bytes() {
  const auto own = stat_of(::getpid());
  return own ? own->resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

// All that the workers wrote on one stream.
Readings::Output sum_of(const OutputTally& outputs, int nproc, OutputTally::Which which) {
  Readings::Output sum;
  for (LocalRank rank; rank.value < nproc; ++rank.value) {
    const StreamTally& stream = *outputs.of(rank, which);
    sum.passes = sum.passes || stream.passes();
    sum.lines += stream.lines();
    sum.bytes += stream.bytes();
    sum.lost += stream.lost();
  }
  return sum;
}

}  // namespace

MetricsDesk::MetricsDesk(asio::any_io_executor executor, const Config& config, Steps steps)
    : executor_(executor),
      config_(config),
      steps_(std::move(steps)),
      metrics_(new_metrics(config.run_id, config.hostname, config.nproc_per_node)),
      disk_(executor),
      next_(executor) {
  if (!wanted()) return;
  if (config.node_rank().known()) metrics_.node_rank = config.node_rank();
  outputs_ = std::make_shared<OutputTally>(config.nproc_per_node);
  store_ = std::make_shared<StoreTally>();
}

asio::awaitable<Status> MetricsDesk::open(Time give_up) {
  if (!config_.metrics.file.empty()) {
    const auto look = [path = config_.metrics.file] { return may_replace(path); };
    auto looking = disk_.run_until(give_up, look);
    const auto may = co_await std::move(looking);
    if (may && !*may)
      co_return usage_error(fmt::format("--metrics-file {}: {}", shown(config_.metrics.file), may->error().message));
  }
  begin();
  co_return Status();
}

void MetricsDesk::begin() {
  began_ = now();
  began_at_ = unix_time();
  if (config_.metrics.listen) serve(*config_.metrics.listen);
  if (!config_.metrics.file.empty()) run_in_background(executor_, write_regularly());
}

void MetricsDesk::serve(const Endpoint& at) {
  server_.emplace(executor_, [this](const ScrapeRequest& request) {
    return reply_to(request, readiness(metrics_), [this](MetricsForm form) { return text(form); });
  });
  const Status listens = server_->listen(at);
  if (!listens) {
    log_warning(
        fmt::format("cannot serve metrics at {}: {}; the job goes on without them. Give each launch on this host "
                    "a --metrics port of its own, or port 0 for a free one",
                    to_text(at), listens.error().message));
    return server_.reset();
  }
  const Endpoint place{at.host, server_->port()};
  const std::string served = fmt::format("metrics are served at http://{}/metrics", to_text(place));
  at.port == 0 ? log_notice(served) : log_detail(served);
}

void MetricsDesk::hear(const JobEvent& event) {
  if (wanted()) count(metrics_, event, now());
}

// ---- the file

asio::awaitable<void> MetricsDesk::write_regularly() {
  while (!closing_) {
    const auto write = [path = config_.metrics.file, now_known = text(MetricsForm::file)] {
      return replace_file(path, now_known);
    };
    auto writing = disk_.run(write);
    told_of(co_await std::move(writing));
    if (closing_) break;
    next_.expires_at(to_steady(later(now(), between_writes)));
    (void)co_await next_.async_wait(as_values);
  }
}

void MetricsDesk::told_of(const Status& written) {
  if (written || std::exchange(warned_, true)) return;
  log_warning(fmt::format("cannot write metrics to {}: {}; the job goes on, and launch tries again every {}",
                          shown(config_.metrics.file), written.error().message, to_text(between_writes)));
}

asio::awaitable<void> MetricsDesk::close() {
  if (config_.metrics.file.empty() || began_ == Time()) co_return;
  closing_ = true;
  next_.cancel();
  const auto write = [path = config_.metrics.file, last = text(MetricsForm::file)] { return replace_file(path, last); };
  auto writing = disk_.run_until(later(now(), time_for_last_write), write);
  const auto written = co_await std::move(writing);
  if (written) co_return told_of(*written);
  log_warning(fmt::format("the file system of {} does not answer: the last metrics are not written",
                          shown(config_.metrics.file)));
}

// ---- what is read when somebody asks

std::string MetricsDesk::text(MetricsForm form) const { return metrics_text(metrics_, read(), form); }

Readings MetricsDesk::read() const {
  Readings readings;
  readings.up = now() - began_;
  readings.started_at = began_at_;
  readings.resident_bytes = resident_bytes();
  readings.store = store_.get();
  readings.watches_hangs = config_.hang.timeout > Duration::zero();
  add_outputs(readings);
  add_steps(readings);
  return readings;
}

void MetricsDesk::add_steps(Readings& readings) const {
  const GlobalRank base = metrics_.round.assignment.base_global_rank;
  for (const RankProgress& worker : steps_())
    readings.steps.push_back({base + worker.local_rank, worker.local_rank, worker.step, worker.rate});
}

void MetricsDesk::add_outputs(Readings& readings) const {
  const Time at = now();
  const GlobalRank base = metrics_.round.assignment.base_global_rank;
  readings.outputs = {sum_of(*outputs_, config_.nproc_per_node, OutputTally::out),
                      sum_of(*outputs_, config_.nproc_per_node, OutputTally::err)};
  for (LocalRank rank; rank.value < config_.nproc_per_node; ++rank.value) {
    const StreamTally& out = *outputs_->of(rank, OutputTally::out);
    const StreamTally& err = *outputs_->of(rank, OutputTally::err);
    const Metrics::Worker& worker = metrics_.workers[rank.index()];
    if (worker.state != Metrics::WorkerState::running || !(out.passes() || err.passes())) continue;
    const Time last = std::max({worker.started, out.last().value_or(Time()), err.last().value_or(Time())});
    readings.silences.push_back({base + rank, rank, std::max(at - last, Duration())});
  }
}

}  // namespace launch
