#include "launch/app/startup_desk.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/control/startup_report.hpp"
#include "launch/core/startup/startup_page.hpp"
#include "launch/core/startup/startup_text.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"
#include "launch/io/interfaces.hpp"
#include "launch/io/log.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <boost/asio/post.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration long_start = 10s;
constexpr Duration time_to_write = 10s;
constexpr Duration time_for_families = 1s;
constexpr int most_looks = 5;                 // in a round: more processes may connect than there are workers
constexpr std::size_t most_addresses = 64;    // of a host; one with many containers has many
constexpr std::size_t most_pids_told = 2000;  // of all workers of this node, so that the answer is short enough
constexpr std::size_t least_pids_told = 8;    // of a worker

double age_of(Time moment, Time asked) { return std::chrono::duration<double>(asked - moment).count(); }

Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8)));
}

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

}  // namespace

StartupDesk::StartupDesk(asio::any_io_executor executor, Job job, Ask ask)
    : executor_(executor), job_(job), ask_(std::move(ask)), disk_(executor) {
  // Not at once: the worker that has come last waits for the answer of its store.
  arrivals_->set_listener([this] { asio::post(executor_, [this] { run_in_background(executor_, look()); }); });
}

// Workers of other nodes may have come before.
void StartupDesk::begin() {
  ++round_;
  looks_ = 0;
  began_ = now();
  arrivals_->expect(static_cast<std::size_t>(std::max(job_.round.assignment.world_size, 0)));
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

asio::awaitable<void> StartupDesk::look() {
  if (!is_wanted() || ++looks_ > most_looks) co_return;
  const int round = round_;
  auto asking = ask_();
  const std::vector<NodeReport> nodes = co_await std::move(asking);
  if (round != round_) co_return;
  StartupTable table = startup_of(nodes);
  if (!table.formed) co_return arrivals_->expect(arrivals_->all().size() + 1);
  auto telling = tell(std::move(table));
  co_await std::move(telling);
}

asio::awaitable<void> StartupDesk::tell(StartupTable table) {
  const std::vector<std::string> lines = startup_lines(table);
  const auto median = median_arrival(table.ranks);
  const Duration formed = duration_of(*table.formed);
  StartedUp event{table.world_size,
                  formed,
                  median ? std::optional(duration_of(*median)) : std::nullopt,
                  {lines.begin() + 1, lines.end()}};
  job_.record.events().started_up(event);
  if (formed > long_start)
    for (const std::string& line : lines) log_info(&line == &lines.front() ? line : "  " + line);
  const TimelineChoice& wanted = job_.config.timeline;
  const StartupTitle title{job_.config.run_id, job_.config.program.name, wall_time_text()};
  Files files;
  if (!wanted.html.empty()) files.emplace_back(wanted.html, startup_html(table, title));
  if (!wanted.json.empty()) files.emplace_back(wanted.json, startup_trace(table));
  auto writing = write(std::move(files));
  co_await std::move(writing);
}

asio::awaitable<void> StartupDesk::write(Files files) {
  for (auto& [path, text] : files) {
    const auto replace = [path = path, text = std::move(text)] {
      const Status may = may_replace(path);
      return may ? replace_file(path, text) : may;
    };
    auto writing = disk_.run_until(later(now(), time_to_write), replace);
    const auto written = co_await std::move(writing);
    const std::string fault = !written ? "its file system does not answer" : *written ? "" : written->error().message;
    if (!fault.empty()) log_warning(fmt::format("cannot write --timeline {}: {}", shown(path), fault));
  }
}

}  // namespace launch
