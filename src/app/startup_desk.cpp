#include "launch/app/startup_desk.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/control/startup_report.hpp"
#include "launch/core/session/job_asks.hpp"
#include "launch/core/startup/startup_page.hpp"
#include "launch/core/startup/startup_text.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/interfaces.hpp"
#include "launch/io/log.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/post.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration long_start = 10s;
constexpr Duration time_to_write = 10s;
constexpr Duration time_for_families = 1s;
constexpr Duration time_to_look = 1s;
constexpr Duration until_retry = 5s;  // of a node that has not answered in time
constexpr int most_retries = 3;
constexpr int quick_looks = 5;                // then they wait for until_retry
constexpr int most_looks = 40;                // in a round: more processes may connect than there are workers
constexpr std::size_t most_addresses = 64;    // of a host; one with many containers has many
constexpr std::size_t most_pids_told = 2000;  // of all workers of this node, so that the answer is short enough
constexpr std::size_t least_pids_told = 8;    // of a worker

double age_of(Time moment, Time asked) { return seconds_of(asked - moment); }

Duration duration_of(double seconds) { return of_seconds(std::clamp(seconds, 0.0, 1e8)); }

std::vector<std::string> addresses_of_this_host() {
  std::set<std::string> addresses;
  for (const InterfaceAddress& one : interface_addresses())
    if (one.up && !one.loopback && !is_link_local(one.address) && addresses.size() < most_addresses)
      addresses.insert(one.address.to_string());
  return {addresses.begin(), addresses.end()};
}

std::optional<double> first_output_of(const OutputTally& outputs, LocalRank rank, Time asked) {
  std::optional<double> age;
  for (const auto which : {OutputTally::out, OutputTally::err})
    if (const auto first = outputs.of(rank, which)->first())
      age = std::max(age.value_or(age_of(*first, asked)), age_of(*first, asked));
  return age;
}

// The client may be a program that the worker has started.
std::vector<int> pids_of(pid_t worker, std::size_t most) {
  std::vector<int> pids = {worker};
  for (const pid_t pid : descendants_of(worker))
    if (pids.size() < most) pids.push_back(pid);
  return pids;
}

using Families = std::vector<std::vector<int>>;

Families families_of(const std::vector<pid_t>& workers) {
  const std::size_t most = std::max(most_pids_told / std::max<std::size_t>(workers.size(), 1), least_pids_told);
  Families families;
  for (const pid_t worker : workers) families.push_back(pids_of(worker, most));
  return families;
}

// It may answer later. A node of torchrun never does.
bool has_late_node(const std::vector<NodeReport>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const NodeReport& node) { return !node.fault.empty() && node.fault != torchruns_fault; });
}

std::string files_of(const TimelineChoice& wanted) {
  const bool both = !wanted.html.empty() && !wanted.json.empty();
  return shown(both ? wanted.html + ',' + wanted.json : wanted.html + wanted.json);
}

}  // namespace

StartupDesk::StartupDesk(asio::any_io_executor executor, Job job, Ask ask)
    : executor_(executor), job_(job), ask_(std::move(ask)), disk_(executor), looked_(executor) {
  // Not at once: the worker that has connected last waits for the answer of its store.
  arrivals_->set_listener([this] { asio::post(executor_, [this] { run_in_background(executor_, watch()); }); });
}

// Workers of other nodes may have connected before. What this node knows of a round in which it was node 0 is over.
void StartupDesk::begin() {
  ++round_;
  looks_ = 0;
  told_ = false;
  known_.reset();
  began_ = now();
  if (!serves_workers()) arrivals_->forget();
  const auto ranks = static_cast<std::size_t>(std::max(job_.round.assignment.world_size, 0));
  arrivals_->set_world(ranks);
  arrivals_->expect(serves_workers() ? ranks : 0);
}

// A worker may have hundreds of threads, each with a list of children, so a thread looks for them.
asio::awaitable<void> StartupDesk::add_startup(NodeReport& report, Time asked) {
  add_times(report, asked);
  std::vector<pid_t> workers;
  for (const auto& [at, pid] : job_.record.events().started()) workers.push_back(pid);
  const auto look = [workers] { return families_of(workers); };
  auto looking = disk_.run_until(later(now(), time_for_families), look);
  const auto families = co_await std::move(looking);
  for (std::size_t i = 0; i < std::min(report.workers.size(), workers.size()); ++i)
    report.workers[i].startup.pids = families ? families->at(i) : std::vector<int>{workers[i]};
}

void StartupDesk::add_times(NodeReport& report, Time asked) const {
  report.startup.addresses = addresses_of_this_host();
  for (const ClientArrival& one : arrivals_->all())
    report.startup.clients.push_back({one.address, one.here, one.pid, age_of(one.at, asked)});
  const auto& started = job_.record.events().started();
  for (std::size_t i = 0; i < std::min(report.workers.size(), started.size()); ++i) {
    WorkerStartup& startup = report.workers[i].startup;
    startup.started_age_s = age_of(started[i].at, asked);
    startup.first_output_age_s = first_output_of(job_.record.outputs(), LocalRank(static_cast<int>(i)), asked);
  }
  for (const RankProgress& one : job_.record.folder().progress())
    if (one.local_rank.index() < report.workers.size())
      report.workers[one.local_rank.index()].startup.first_step_age_s = age_of(one.first, asked);
}

// The other nodes are asked only if somebody would hear of it.
bool StartupDesk::is_wanted() const {
  return job_.config.timeline.wanted() || job_.record.events().told() || now() - began_ > long_start;
}

asio::awaitable<void> StartupDesk::watch() {
  ++looking_;
  auto looking = look();
  co_await std::move(looking);
  if (--looking_ == 0) looked_.cancel();
}

// If it finds that ranks have not joined, it goes on as soon as as many more processes have connected.
asio::awaitable<void> StartupDesk::look() {
  if (!is_wanted()) co_return arrivals_->expect(arrivals_->all().size() + 1);
  const int round = round_;
  auto gathering = gather(round);
  const std::vector<NodeReport> nodes = co_await std::move(gathering);
  if (round != round_ || nodes.empty()) co_return;
  if (!known_->formed)
    co_return arrivals_->expect(nodes.front().startup.clients.size() + std::max<std::size_t>(known_->lacking, 1));
  auto telling = tell(*known_);
  co_await std::move(telling);
}

// What all nodes say, this one first; none: the round is over, or there were too many looks.
asio::awaitable<std::vector<NodeReport>> StartupDesk::gather(int round) {
  std::vector<NodeReport> nodes;
  for (int tries = 0; tries <= most_retries && round == round_ && ++looks_ <= most_looks; ++tries) {
    if (tries > 0 || looks_ > quick_looks) {
      asio::steady_timer pause(executor_, to_steady(later(now(), until_retry)));
      (void)co_await pause.async_wait(as_values);
      if (round != round_) break;
    }
    auto asking = ask_();
    nodes = co_await std::move(asking);
    if (round != round_) break;
    known_ = startup_of(nodes);
    if (!has_late_node(nodes)) break;
  }
  co_return round == round_ ? nodes : std::vector<NodeReport>();
}

asio::awaitable<void> StartupDesk::tell(StartupTable table) {
  if (std::exchange(told_, true)) co_return;
  const std::vector<std::string> lines = startup_lines(table);
  const auto median = median_arrival(table.ranks);
  const Duration formed = duration_of(*table.formed);
  StartedUp event{table.world_size,
                  formed,
                  median ? std::optional(duration_of(*median)) : std::nullopt,
                  {lines.begin() + 1, lines.end()}};
  job_.record.events().started_up(event);
  if (formed > long_start)
    for (const std::string& line : lines) log_notice(&line == &lines.front() ? line : "  " + line);
  const auto drawn = std::make_shared<const StartupTable>(std::move(table));
  const StartupTitle title{job_.config.run_id, job_.config.program.name, wall_time_text()};
  auto page = write(job_.config.timeline.html, [drawn, title] { return startup_html(*drawn, title); });
  co_await std::move(page);
  auto trace = write(job_.config.timeline.json, [drawn] { return startup_trace(*drawn); });
  co_await std::move(trace);
}

// Thousands of ranks take a while to draw, so the disk's thread does that, too.
asio::awaitable<void> StartupDesk::write(std::string path, Draw draw) {
  if (path.empty()) co_return;
  const auto replace = [path, draw = std::move(draw)] {
    const Status may = may_replace(path);
    return may ? replace_file(path, draw()) : may;
  };
  auto writing = disk_.run_until(later(now(), time_to_write), replace);
  const auto written = co_await std::move(writing);
  const std::string fault = !written ? "its file system does not answer" : *written ? "" : written->error().message;
  if (!fault.empty()) log_warning(fmt::format("cannot write --timeline {}: {}", shown(path), fault));
}

asio::awaitable<void> StartupDesk::end() {
  if (!job_.config.timeline.wanted() || round_ == 0 || !serves_workers()) co_return;
  if (looking_ > 0) {
    looked_.expires_at(to_steady(later(now(), time_to_look)));
    (void)co_await looked_.async_wait(as_values);
  }
  if (!told_ && known_ && known_->formed) {
    auto telling = tell(*known_);
    co_await std::move(telling);
  }
  if (!std::exchange(told_, true))
    log_warning(fmt::format("did not write --timeline {}: {}", files_of(job_.config.timeline), why_not_written()));
}

std::string StartupDesk::why_not_written() const {
  const std::size_t seen = arrivals_->all().size();
  const int ranks = job_.round.assignment.world_size;
  if (seen == 0) return "no process of a worker has connected to the job's store";
  if (known_ && !known_->formed && known_->unplaced > 0)
    return fmt::format("it is not known whose {} to the job's store were",
                       counted(static_cast<std::int64_t>(known_->unplaced), "connection"));
  if (known_ || seen < static_cast<std::size_t>(std::max(ranks, 0)))
    return fmt::format("the job ended before all {} had joined", counted(ranks, "rank"));
  return "the job ended before its nodes had said how their workers started";
}

}  // namespace launch
