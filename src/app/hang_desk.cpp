#include "launch/app/hang_desk.hpp"

#include "launch/core/base/number_ranges.hpp"
#include "launch/core/control/hang_report.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"
#include "launch/io/work_tally.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using Verb = ControlRequest::Verb;

constexpr Duration time_to_tally = 2s;

}  // namespace

HangDesk::HangDesk(asio::any_io_executor executor, Job job, Deeds deeds)
    : executor_(executor),
      job_(job),
      deeds_(std::move(deeds)),
      disk_(executor),
      files_(executor),
      timer_(executor),
      interval_(look_interval(job.config.hang.timeout)),
      watch_(interval_),
      judge_(job.config.hang.timeout, !job.config.logs.progress.empty()) {}

void HangDesk::begin() {
  if (job_.config.hang.timeout == Duration::zero()) return;
  watch_.begin(now());
  judge_.begin(now());
  ++round_;
  if (!std::exchange(begun_, true)) run_in_background(executor_, watch());
}

// While nodes come together or workers end, that is what happens. What workers leave behind, and the commands around
// them, have time-outs of their own.
bool HangDesk::goes_on() const {
  const std::string_view state = job_.node.state();
  return state == "running" || state == "leaving";
}

bool HangDesk::decides() const { return job_.round.assignment.group_rank == NodeRank(0); }

void HangDesk::add_quiet(NodeReport& report) const {
  if (!begun_) return;
  Quiet quiet = watch_.quiet(now());
  if (!goes_on()) quiet.time = {};
  report.quiet_s = seconds_of(quiet.time);
  report.quiet_by_steps = quiet.by_steps;
}

void HangDesk::disturb() {
  ++disturbances_;
  if (disturbers_++ == 0) disturbed_ = now();
}

void HangDesk::disturbed() {
  if (--disturbers_ == 0) watch_.disturbed(disturbed_, now());
}

asio::awaitable<void> HangDesk::watch() {
  while (true) {
    timer_.expires_at(to_steady(later(now(), interval_)));
    (void)co_await timer_.async_wait(as_values);
    if (!goes_on()) continue;
    co_await look();
    if (decides() && judge_.must_ask(watch_.quiet(now()), now())) co_await look_at_the_job();
  }
}

// What passes launch, even if nothing else can be seen.
void HangDesk::look_at_output() {
  if (const auto heard = job_.record.folder().heard_at()) watch_.heard(*heard);
  for (const RankProgress& one : job_.record.folder().progress()) watch_.stepped(one.changed);
}

// Their file system may stall, which must neither hide what the workers do nor pass for it: then they are as before.
asio::awaitable<void> HangDesk::look_at_files() {
  if (sizing_->exchange(true)) co_return;
  std::map<pid_t, std::vector<std::string>> files;
  for (const auto& [local_rank, pid] : job_.workers.running())
    files.emplace(pid, job_.record.folder().files_of(local_rank));
  const auto size_all = [files = std::move(files), under_way = sizing_] {
    std::map<pid_t, std::uint64_t> sizes;
    for (const auto& [pid, paths] : files) sizes.emplace(pid, size_together(paths));
    under_way->store(false);
    return sizes;
  };
  auto sizing = files_.run_until(later(now(), time_to_tally), size_all);
  auto sizes = co_await std::move(sizing);
  if (sizes) sizes_ = *std::move(sizes);
}

asio::awaitable<void> HangDesk::look() {
  look_at_output();
  auto looking_at_files = look_at_files();
  co_await std::move(looking_at_files);
  std::vector<pid_t> workers;
  for (const auto& [local_rank, pid] : job_.workers.running()) workers.push_back(pid);
  // They have not been started, or a look before has not ended.
  const bool starting = workers.empty() && job_.node.state() == "running";
  if (starting || under_way_->exchange(true)) co_return watch_.worked(now());
  const auto tally_all = [workers, under_way = under_way_] {
    WorkTallies tallies;
    for (const pid_t pid : workers) tallies.emplace(pid, tally_of(pid));
    under_way->store(false);
    return tallies;
  };
  const int round = round_;
  const int disturbances = disturbances_;
  auto looking = disk_.run_until(later(now(), time_to_tally), tally_all);
  auto tallies = co_await std::move(looking);
  if (round != round_ || disturbers_ > 0 || disturbances != disturbances_) co_return;
  tallies ? watch_.sample(with_sizes(*std::move(tallies)), now()) : watch_.worked(now());
  look_at_output();
}

WorkTallies HangDesk::with_sizes(WorkTallies tallies) const {
  for (auto& [pid, tally] : tallies)
    if (const auto size = sizes_.find(pid); size != sizes_.end()) tally.output = size->second;
  return tallies;
}

asio::awaitable<HangJudge::Opinion> HangDesk::ask_for_quiet() {
  auto asking = deeds_.ask(Verb::quiet);
  const Nodes nodes = co_await std::move(asking);
  HangJudge::Opinion opinion = judge_.judge(quiet_of(nodes), now());
  warn_of_unknown(opinion.unknown);
  co_return opinion;
}

// Stacks are taken twice: if a worker has moved meanwhile, the job works, unless it is its steps that count. They take
// time, so that the nodes are asked once more.
asio::awaitable<void> HangDesk::look_at_the_job() {
  const int round = round_;
  auto asking = ask_for_quiet();
  const HangJudge::Opinion opinion = co_await std::move(asking);
  if (!opinion.hangs) co_return;
  auto asking_for_stacks = deeds_.ask(Verb::stacks);
  const Nodes before = co_await std::move(asking_for_stacks);
  timer_.expires_at(to_steady(later(now(), interval_)));
  (void)co_await timer_.async_wait(as_values);
  auto asking_again = deeds_.ask(Verb::stacks);
  const Nodes after = co_await std::move(asking_again);
  if (!opinion.by_steps && have_moved(before, after)) co_return watch_.worked(now());
  co_await look();
  auto asking_at_last = ask_for_quiet();
  const HangJudge::Opinion still = co_await std::move(asking_at_last);
  if (!still.hangs || round != round_ || !goes_on()) co_return;
  judge_.told(now());
  warn(*still.hangs, after);
  act(*still.hangs);
}

void HangDesk::warn(Duration quiet, const Nodes& nodes) {
  const std::vector<std::string> lines = hang_lines(nodes);
  log_warning(fmt::format("{} on any node (--hang-timeout); the workers are here:", no_progress_text(quiet)));
  for (const std::string& line : lines) log_warning("  " + line);
  job_.record.events().hangs(quiet, lines);
}

void HangDesk::act(Duration quiet) {
  if (job_.config.hang.deed == HangChoice::Deed::report) return;
  const bool restarts = job_.config.hang.deed == HangChoice::Deed::restart;
  const Failure failure = failure_of_hang(no_progress_text(quiet) + " (--hang-timeout)");
  deeds_.feed(FromHost{Hung{failure, restarts}, false});
}

void HangDesk::warn_of_unknown(const std::vector<int>& nodes) {
  if (nodes.empty() || std::exchange(told_of_unknown_, true)) return;
  log_warning(
      fmt::format("{} did not say how long the workers there have been quiet, so launch cannot tell whether the job "
                  "hangs; every node must run launch with --hang-timeout",
                  ranges_in_words("node", nodes)));
}

}  // namespace launch
