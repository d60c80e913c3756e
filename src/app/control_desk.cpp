#include "launch/app/control_desk.hpp"

#include "launch/app/evidence.hpp"
#include "launch/app/progress_teller.hpp"
#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"
#include "launch/io/signals.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using Verb = ControlRequest::Verb;

constexpr Duration time_to_see = 1s;
constexpr Duration to_be_heard = 200ms;
constexpr Duration between_looks = 200ms;  // in which the use of processors is measured
constexpr Duration patience_with_others = 3s;
constexpr Duration patience_with_stacks = 12s;
constexpr std::size_t most_told_frames = 48;
constexpr std::size_t widest_frame = 120;

std::string fault_text(const std::string& host, std::string fault) {
  NodeReport report;
  report.host = host;
  report.fault = std::move(fault);
  return to_json(report) + '\n';
}

}  // namespace

ControlDesk::ControlDesk(asio::any_io_executor executor, Job job, Deeds deeds)
    : executor_(executor),
      job_(job),
      deeds_(std::move(deeds)),
      door_(executor, [this](std::string line, pid_t visitor) { return serve(std::move(line), visitor); }),
      disk_(executor),
      hangs_(
          executor, {job.config, job.node, job.workers, job.record, job.round},
          {[this](Verb verb) { return ask_all(verb); }, [this](NodeEvent event) { deeds_.feed(std::move(event)); }}) {}

void ControlDesk::open() {
  opened_ = now();
  // Containers that share the folder have equal pids.
  const std::string name = fmt::format("{}-{:08x}", job_.config.pid, random_seed() >> 32U);
  const Status opened = door_.open(door_folders(job_.config.worker_env), name);
  log_detail(opened ? fmt::format("launch-ctl finds this job by {}", door_.path())
                    : fmt::format("launch-ctl cannot ask this job: {}", opened.error().message));
}

void ControlDesk::begin() {
  ends_.clear();
  began_ = now();
  since_ = wall_time_text();
  hangs_.begin();
}

void ControlDesk::ended(LocalRank local_rank, ExitStatus status) { ends_[local_rank] = to_text(status); }

// ---- who asks

asio::awaitable<std::string> ControlDesk::serve(std::string line, pid_t visitor) {
  auto request = parse_request(line);
  if (!request) co_return fault_text(job_.config.hostname, request.error().message);
  request->asker = visitor;
  auto asking = ask(*request);
  std::string lines = co_await std::move(asking);
  if (request->verb == Verb::stop) deeds_.stop(visitor);
  co_return lines;
}

asio::awaitable<std::string> ControlDesk::ask(ControlRequest request) {
  std::string others;
  const bool of_all = std::exchange(request.whole_job, false) && job_.round.assignment.group_world_size > 1;
  if (of_all) {
    auto asking = ask_others(request);
    others = co_await std::move(asking);
  }
  auto answering = answer(request);
  const NodeReport own = co_await std::move(answering);
  co_return to_json(own) + '\n' + others;
}

asio::awaitable<std::vector<NodeReport>> ControlDesk::ask_all(Verb verb) {
  ControlRequest request;
  request.verb = verb;
  auto asking = ask(request);
  const std::string lines = co_await std::move(asking);
  co_return parse_node_reports(lines);
}

asio::awaitable<std::string> ControlDesk::ask_others(ControlRequest request) {
  const auto others = std::make_shared<Others>(executor_);
  const std::uint64_t id = ++questions_;
  waiting_.emplace(id, others);
  const Duration patience = request.verb == Verb::stacks ? patience_with_stacks : patience_with_others;
  AskJob question;
  question.id = id;
  question.text = to_json(request);
  question.patience = patience;
  deeds_.feed(std::move(question));
  others->come.expires_at(to_steady(later(now(), patience + time_to_see)));
  if (!others->answered) (void)co_await others->come.async_wait(as_values);
  waiting_.erase(id);
  std::string lines;
  if (!others->answered) co_return lines;
  for (const NodeAnswer& answer : others->answered->answers) {
    NodeReport silent;
    silent.node_rank = answer.node.value;
    silent.fault = answer.fault;
    lines += answer.fault.empty() ? answer.text : to_json(silent);
    lines += '\n';
  }
  co_return lines;
}

void ControlDesk::take(const JobAnswered& answered) {
  const auto waiting = waiting_.find(answered.id);
  if (waiting == waiting_.end()) return;
  waiting->second->answered = answered;
  waiting->second->come.cancel();
}

void ControlDesk::take(const Asked& asked) { run_in_background(executor_, answer_other(asked)); }

asio::awaitable<void> ControlDesk::answer_other(Asked asked) {
  NodeReport own;
  own.fault = "this launch does not know such a request";
  const auto request = parse_request(asked.text);
  if (request) {
    auto answering = answer(*request);
    own = co_await std::move(answering);
  }
  AnswerAsk answered;
  answered.number = asked.number;
  answered.text = to_json(own);
  deeds_.feed(std::move(answered));
  if (!request || request->verb != Verb::stop) co_return;
  asio::steady_timer pause(executor_, to_steady(later(now(), to_be_heard)));  // a job that ends answers nobody
  (void)co_await pause.async_wait(as_values);
  deeds_.stop(request->asker);
}

// ---- what they get

asio::awaitable<NodeReport> ControlDesk::answer(ControlRequest request) {
  const std::string asker = fmt::format("launch-ctl (pid {})", request.asker);
  std::string done;
  if (request.verb == Verb::signal) done = send(request);
  if (request.verb == Verb::stop) done = "is stopping";
  if (!done.empty()) log_info(fmt::format("asked by {}: {}", asker, done));
  auto reporting = report(request.verb == Verb::status);
  NodeReport own = co_await std::move(reporting);
  own.done = std::move(done);
  if (request.verb == Verb::quiet) hangs_.add_quiet(own);
  if (request.verb == Verb::stacks) {
    hangs_.disturb();
    auto adding = add_stacks(own, request.rank);
    co_await std::move(adding);
    hangs_.disturbed();
  }
  co_return own;
}

asio::awaitable<NodeReport> ControlDesk::report(bool closely) {
  NodeReport own = about_node();
  const Workers running = job_.workers.running();
  if (began_)
    for (LocalRank rank; rank.value < job_.config.nproc_per_node; ++rank.value)
      own.workers.push_back(about_worker(rank, running));
  add_progress(own, job_.record.folder().progress(), now());
  if (closely && !running.empty()) {
    auto adding = add_sights(own);
    co_await std::move(adding);
  }
  co_return own;
}

NodeReport ControlDesk::about_node() const {
  NodeReport own;
  const Assignment& place = job_.round.assignment;
  own.node_rank = began_ ? place.group_rank.value : -1;
  own.host = job_.config.hostname;
  own.run_id = job_.config.run_id;
  own.program = job_.config.program.name;
  own.pid = job_.config.pid;
  own.state = job_.node.state();
  own.since = since_;
  own.age_s = std::chrono::duration<double>(now() - began_.value_or(opened_)).count();
  own.round = job_.round.number;
  own.restart = job_.round.restarts;
  own.nnodes = place.group_world_size;
  own.world_size = place.world_size;
  return own;
}

WorkerReport ControlDesk::about_worker(LocalRank local_rank, const Workers& running) const {
  WorkerReport worker;
  worker.rank = (job_.round.assignment.base_global_rank + local_rank).value;
  worker.local_rank = local_rank.value;
  const auto found =
      std::find_if(running.begin(), running.end(), [local_rank](const auto& one) { return one.first == local_rank; });
  const auto end = ends_.find(local_rank);
  worker.state = "starting";
  if (found != running.end()) {
    worker.pid = found->second;
    worker.state = "running";
  } else if (end != ends_.end()) {
    worker.state = "ended";
    worker.end = end->second;
  }
  return worker;
}

// A disk that stalls costs the last lines, not the answer.
asio::awaitable<void> ControlDesk::add_sights(NodeReport& report) {
  const Time start = now();
  auto looking = look();
  const auto before = co_await std::move(looking);
  if (!before) co_return;
  asio::steady_timer pause(executor_, to_steady(later(now(), between_looks)));
  (void)co_await pause.async_wait(as_values);
  auto looking_again = look();
  const auto after = co_await std::move(looking_again);
  if (!after) co_return;
  const double time = std::chrono::duration<double>(now() - start).count();
  for (WorkerReport& worker : report.workers) {
    const auto first = before->find(worker.pid);
    const auto last = after->find(worker.pid);
    if (first == before->end() || last == after->end()) continue;
    worker.cpu_percent = std::max(last->second.cpu_s - first->second.cpu_s, 0.0) / time * 100;
    worker.memory_bytes = last->second.memory_bytes;
    worker.last_line = last->second.last_line;
    worker.last_line_age_s = last->second.last_line_age_s;
  }
}

asio::awaitable<std::optional<ControlDesk::Sights>> ControlDesk::look() {
  std::vector<std::pair<pid_t, std::vector<std::string>>> workers;
  for (const auto& [local_rank, pid] : job_.workers.running())
    workers.emplace_back(pid, job_.record.folder().files_of(local_rank));
  const auto look_at_all = [workers] {
    Sights sights;
    for (const auto& [pid, files] : workers) sights.emplace(pid, look_at_worker(pid, files));
    return sights;
  };
  auto looking = disk_.run_until(later(now(), time_to_see), look_at_all);
  co_return co_await std::move(looking);
}

asio::awaitable<void> ControlDesk::add_stacks(NodeReport& report, std::optional<int> rank) {
  std::vector<Evidence::Worker> workers;
  for (const auto& [local_rank, pid] : job_.workers.running()) {
    const GlobalRank global = job_.round.assignment.base_global_rank + local_rank;
    if (!rank || *rank == global.value) workers.push_back({global, pid, job_.record.folder().errors_of(local_rank)});
  }
  Evidence evidence(executor_, disk_, std::move(workers));
  const Evidence::Send send = [this](pid_t pid, int signal) { return job_.workers.signal_one(pid, signal); };
  auto taking =
      evidence.take_stacks(job_.config.worker_env.get("PATH").value_or(""), job_.config.evidence.stack_signal, send);
  co_await std::move(taking);
  for (WorkerReport& worker : report.workers) {
    const auto found = evidence.notes().stacks().find(GlobalRank(worker.rank));
    if (found == evidence.notes().stacks().end()) continue;
    for (const std::string& frame : found->second)
      if (worker.stack.size() < most_told_frames) worker.stack.emplace_back(beginning_of(frame, widest_frame));
  }
}

bool ControlDesk::is_meant(const ControlRequest& request, LocalRank local_rank) const {
  return !request.rank || *request.rank == (job_.round.assignment.base_global_rank + local_rank).value;
}

// What was done; empty: no such worker runs here.
std::string ControlDesk::send(const ControlRequest& request) {
  std::vector<int> ranks;
  for (const auto& [local_rank, pid] : job_.workers.running())
    if (is_meant(request, local_rank) && job_.workers.signal_one(pid, request.signal))
      ranks.push_back((job_.round.assignment.base_global_rank + local_rank).value);
  if (ranks.empty()) return "";
  return fmt::format("sent {} to {}", signal_name(request.signal), ranges_in_words("rank", ranks));
}

}  // namespace launch
