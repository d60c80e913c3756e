#include "launch/app/control_desk.hpp"

#include "launch/core/control/startup_report.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using Verb = ControlRequest::Verb;

constexpr Duration time_for_door = 500ms;  // more than a disk needs that does not stall
constexpr Duration time_to_see = 1s;
constexpr Duration to_be_heard = 200ms;
constexpr Duration patience_with_others = 3s;
constexpr Duration patience_with_stacks = 12s;

NodeReport fault_of(const std::string& host, std::string fault) {
  NodeReport report;
  report.host = host;
  report.fault = std::move(fault);
  return report;
}

bool is_look(Verb verb) { return verb == Verb::about || verb == Verb::status || verb == Verb::logs; }

// A line for each node.
std::string lines_of(const std::vector<NodeAnswer>& others) {
  std::string lines;
  for (const NodeAnswer& answer : others) {
    NodeReport silent;
    silent.node_rank = answer.node.value;
    silent.fault = answer.fault;
    lines += answer.fault.empty() ? answer.text : to_json(silent);
    lines += '\n';
  }
  return lines;
}

}  // namespace

ControlDesk::ControlDesk(asio::any_io_executor executor, Job job, Deeds deeds)
    : executor_(executor),
      job_(job),
      deeds_(std::move(deeds)),
      answers_(executor, job, deeds_.feed),
      door_(executor, [this](std::string line, pid_t visitor) { return serve(std::move(line), visitor); }),
      hangs_(executor, {job.config, job.node, job.workers, job.record, job.round},
             {[this](Verb verb) { return ask_all(verb); }, deeds_.feed}),
      startup_(executor, {job.config, job.record, job.round}, [this] { return ask_all(Verb::timeline); }) {}

void ControlDesk::open() {
  // Containers that share the folder have equal pids.
  std::string name = fmt::format("{}-{:08x}", job_.config.pid, random_seed() >> 32U);
  std::vector<std::string> folders = door_folders(job_.config.worker_env);
  auto opening = door_.open(folders, std::move(name), later(now(), time_for_door));
  run_in_background(executor_, tell_opened(std::move(opening), std::move(folders)));
}

asio::awaitable<void> ControlDesk::opened() { (void)co_await door_.opened(); }

asio::awaitable<void> ControlDesk::tell_opened(asio::awaitable<std::optional<Status>> opening,
                                               std::vector<std::string> folders) {
  const std::optional<Status> opened = co_await std::move(opening);
  if (!opened)
    co_return log_info(
        fmt::format("launch-ctl cannot ask this job before the file system of {} answers", fmt::join(folders, " or ")));
  log_detail(*opened ? fmt::format("launch-ctl finds this job by {}", door_.path())
                     : fmt::format("launch-ctl cannot ask this job: {}", opened->error().message));
}

asio::awaitable<void> ControlDesk::farewell() {
  co_await opened();
  auto ending = startup_.end();
  co_await std::move(ending);
  auto reading = answers_.farewell();
  co_await std::move(reading);
  door_.begin_to_close();
}

asio::awaitable<void> ControlDesk::closed() {
  co_await opened();
  door_.begin_to_close();
  co_await door_.closed(later(now(), time_for_door));
}

// ---- who asks

asio::awaitable<std::string> ControlDesk::serve(std::string line, pid_t visitor) {
  const Time asked = now();
  auto request = parse_request(line);
  if (!request) co_return to_json(fault_of(job_.config.hostname, request.error().message)) + '\n';
  request->asker = visitor;
  request->asker_host = job_.config.hostname;
  std::vector<NodeAnswer> others;
  const bool of_all = std::exchange(request->whole_job, false) && request->verb != Verb::restart;
  std::shared_ptr<Own> meanwhile;
  if (of_all && is_look(request->verb)) {  // all nodes look at the same time
    meanwhile = std::make_shared<Own>(executor_);
    run_in_background(executor_, answer_meanwhile(*request, asked, meanwhile));
  }
  if (of_all) {
    auto asking = ask_others(*request);
    others = co_await std::move(asking);
  }
  auto answering = meanwhile ? answer_of(meanwhile) : answer(*request, asked);
  const NodeReport own = co_await std::move(answering);
  if (request->verb == Verb::stop) deeds_.stop(visitor);
  co_return to_json(own) + '\n' + lines_of(others);
}

asio::awaitable<void> ControlDesk::answer_meanwhile(ControlRequest request, Time asked, std::shared_ptr<Own> own) {
  auto answering = own_answer(std::move(request), asked);
  own->answer = co_await std::move(answering);
  own->come.cancel();
}

asio::awaitable<NodeReport> ControlDesk::answer_of(std::shared_ptr<Own> own) {
  while (!own->answer) {
    own->come.expires_at(to_steady(never));
    (void)co_await own->come.async_wait(as_values);
  }
  co_return *std::move(own->answer);
}

asio::awaitable<std::vector<NodeAnswer>> ControlDesk::ask_others(ControlRequest request) {
  if (job_.round.assignment.group_world_size < 2) co_return std::vector<NodeAnswer>();
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
  if (!others->answer) (void)co_await others->come.async_wait(as_values);
  waiting_.erase(id);
  std::vector<NodeAnswer> answers;
  if (others->answer) answers = std::move(others->answer->answers);
  if (answers.empty()) answers = no_answers();
  co_return answers;
}

// The store is lost, or the round is over.
std::vector<NodeAnswer> ControlDesk::no_answers() const {
  const Assignment& place = job_.round.assignment;
  std::vector<NodeAnswer> answers;
  for (NodeRank node; node.value < place.group_world_size; ++node.value)
    if (node != place.group_rank)
      answers.push_back({node, "", "it could not be asked: the job's store is lost or the job restarts"});
  return answers;
}

// A restart would leave torchrun's agents of a static job behind; those of a c10d job follow it.
asio::awaitable<bool> ControlDesk::has_torchruns_nodes() {
  if (!std::holds_alternative<StaticChoice>(job_.config.meeting)) co_return false;
  ControlRequest who;
  who.verb = Verb::about;
  auto asking = ask_others(std::move(who));
  const std::vector<NodeAnswer> others = co_await std::move(asking);
  co_return std::any_of(others.begin(), others.end(),
                        [](const NodeAnswer& answer) { return answer.fault == torchruns_fault; });
}

asio::awaitable<NodeReport> ControlDesk::answer(ControlRequest request, Time asked) {
  if (request.verb == Verb::restart) {
    auto looking = has_torchruns_nodes();
    const bool mixed = co_await std::move(looking);
    if (mixed) co_return fault_of(job_.config.hostname, "a torchrun node cannot restart with the others");
  }
  auto answering = own_answer(std::move(request), asked);
  co_return co_await std::move(answering);
}

asio::awaitable<NodeReport> ControlDesk::own_answer(ControlRequest request, Time asked) {
  const Verb verb = request.verb;
  if (verb == Verb::stacks) hangs_.disturb();
  auto answering = answers_.answer(std::move(request));
  NodeReport own = co_await std::move(answering);
  if (verb == Verb::stacks) hangs_.disturbed();
  if (verb == Verb::quiet) hangs_.add_quiet(own);
  if (verb == Verb::timeline) {
    auto adding = startup_.add_startup(own, asked);
    co_await std::move(adding);
  }
  co_return own;
}

asio::awaitable<std::vector<NodeReport>> ControlDesk::ask_all(Verb verb) {
  ControlRequest request;
  request.verb = verb;
  request.whole_job = false;
  const Time asked = now();
  auto asking = ask_others(request);
  const std::vector<NodeAnswer> others = co_await std::move(asking);
  auto answering = own_answer(request, asked);
  std::vector<NodeReport> nodes = parse_node_reports(lines_of(others));
  NodeReport own = co_await std::move(answering);
  nodes.insert(nodes.begin(), std::move(own));
  co_return nodes;
}

void ControlDesk::take(const JobAnswered& answered) {
  const auto waiting = waiting_.find(answered.id);
  if (waiting == waiting_.end()) return;
  waiting->second->answer = answered;
  waiting->second->come.cancel();
}

void ControlDesk::take(const Asked& asked) { run_in_background(executor_, answer_other(asked)); }

asio::awaitable<void> ControlDesk::answer_other(Asked asked) {
  NodeReport own;
  own.fault = "this launch does not know such a request";
  const auto request = parse_request(asked.text);
  if (request) {
    auto answering = own_answer(*request, now());
    own = co_await std::move(answering);
    limit_clients(own);
  }
  AnswerAsk answered;
  answered.number = asked.number;
  answered.text = to_json(own);
  deeds_.feed(std::move(answered));
  if (!request || request->verb != Verb::stop) co_return;
  asio::steady_timer pause(executor_, to_steady(later(now(), to_be_heard)));  // a job that ends answers nobody
  (void)co_await pause.async_wait(as_values);
  deeds_.stop(request->asker_host == job_.config.hostname ? request->asker : 0);
}

}  // namespace launch
