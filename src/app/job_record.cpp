#include "launch/app/job_record.hpp"

#include "launch/app/end_report.hpp"
#include "launch/core/config/program.hpp"
#include "launch/core/verdict/missing_module.hpp"
#include "launch/core/verdict/missing_ranks.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/flight_files.hpp"
#include "launch/io/log.hpp"
#include "launch/io/python_finder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;

namespace {

constexpr Duration time_for_all_words = std::chrono::seconds(2);
// While a slow console shows what is left of an attempt, all nodes wait: the files have the rest.
constexpr Duration most_shown_before_restart = std::chrono::seconds(10);
constexpr Duration time_for_driver_log = std::chrono::milliseconds(500);  // no worker is told to end before that

}  // namespace

JobRecord::JobRecord(asio::any_io_executor executor, std::shared_ptr<const Config> config, DiskThread& starter)
    : executor_(executor),
      config_(*config),
      starter_(starter),
      folder_(starter, std::move(config)),
      files_(executor),
      records_(executor),
      parent_(executor),
      reports_(executor),
      events_(config_, executor),
      metrics_(executor, config_, [this] { return folder_.progress(); }),
      progress_(executor, folder_, events_),
      outputs_(metrics_.wanted() ? metrics_.outputs()
                                 : std::make_shared<OutputTally>(config_.nproc_per_node, TallyKeeps::first)) {
  folder_.count_into(outputs_);
  if (!metrics_.wanted()) return;
  events_.set_listener([this](const JobEvent& event) { metrics_.hear(event); });
}

asio::awaitable<Status> JobRecord::open(Time give_up) {
  auto opening = events_.open(give_up);
  Status opened = co_await std::move(opening);
  if (!opened) co_return opened;
  auto counting = metrics_.open(give_up);
  co_return co_await std::move(counting);
}

void JobRecord::begin(const Round& round) {
  began_ = instant().wall;
  driver_log_ = std::make_shared<DriverLog>();
  driver_log_->begin();
  events_.rendezvous_formed(round);
  if (!config_.logs.progress.empty()) progress_.begin();
  evidence_.reset();
}

asio::awaitable<Failure> JobRecord::complete(Failure failure, ExitStatus status) {
  const XidReader reader{failure.rank.value, static_cast<pid_t>(failure.pid), kernel_log_time()};
  const LastWords words = co_await folder_.words_of(files_, failure.local_rank);
  add_words(failure, words);
  if (!missing_module(failure).empty()) {
    auto looking = look_for_module(missing_module(failure));
    failure.note = co_await std::move(looking);
  }
  auto asking = driver_report(reader);
  add_note(failure, co_await std::move(asking));
  events_.worker_exited(failure.local_rank, static_cast<pid_t>(failure.pid), status, words.error_json);
  co_return std::move(failure);
}

asio::awaitable<std::string> JobRecord::driver_report(XidReader reader) {
  if (!driver_log_ || !driver_log_->open()) co_return std::string();
  const auto read = [log = driver_log_] { return log->read(); };
  auto reading = records_.run_until(later(now(), time_for_driver_log), read);
  const auto xids = co_await std::move(reading);
  co_return xids ? xid_note(*xids, reader) : std::string();
}

asio::awaitable<void> JobRecord::gather(std::vector<Evidence::Worker> workers, bool stacks, Evidence::Send send) {
  if (workers.empty()) co_return;
  evidence_.emplace(executor_, starter_, std::move(workers));
  evidence_->take_states();
  if (!stacks) co_return;
  const std::string search_path = config_.worker_env.get("PATH").value_or("");
  co_await evidence_->take_stacks(search_path, config_.evidence.stack_signal, std::move(send));
}

asio::awaitable<std::string> JobRecord::look_for_module(std::string module) {
  const auto look = [module, env = config_.worker_env] { return pythons_with(module, env); };
  auto looking = records_.run_until(later(now(), time_for_all_words), look);
  const auto found = co_await std::move(looking);
  if (!found) co_return std::string();
  co_return note_of_interpreters(module, interpreter_of(config_.program), *found);
}

void JobRecord::hurry(bool for_good) {
  if (evidence_) evidence_->hurry();
  folder_.hurry();
  if (for_good) time_to_show_ = Duration::zero();
}

// Called only after the workers were told to end: the folder may be on a disk that does not answer, and so may what the
// workers use.
asio::awaitable<void> JobRecord::keep_evidence(bool precious) {
  if (!evidence_) co_return;
  const EvidenceNotes& notes = evidence_->notes();
  co_await folder_.keep_evidence(files_, notes.text(), precious || notes.has_stacks());
}

asio::awaitable<std::vector<RankGroup>> JobRecord::states_and_records(GlobalRank first) {
  const std::vector<RankGroup> states = evidence_->notes().states();
  const FlightFiles files{config_.worker_env, began_};
  const auto read = [files, states, first] { return with_records(files, states, first); };
  auto reading = records_.run_until(later(now(), time_for_all_words), read);
  const auto found = co_await std::move(reading);
  co_return found.value_or(states);
}

asio::awaitable<Account> JobRecord::with_waiters(Account own, Finish end) {
  if (!end.first || !is_due_to_others(*end.first)) co_return own;
  const Time deadline = later(now(), time_for_all_words);
  Account known = own;
  for (const WorkerEnd& worker : end.others) {
    if (now() >= deadline) co_return own;  // some would look as if they had said nothing
    const LastWords words = co_await folder_.words_of(files_, worker.local_rank);
    const SaysOfOthers says = says_of_others(words);
    if (says != SaysOfOthers::nothing) known.waited.push_back(worker.rank.value);
    if (says == SaysOfOthers::timed_out) known.timed_out.push_back(worker.rank.value);
  }
  co_return known;
}

asio::awaitable<void> JobRecord::announce(AnnounceRound action) {
  co_await folder_.show_rest(time_to_show_, most_shown_before_restart);
  progress_.tell();
  co_await keep_evidence(false);
  evidence_.reset();
  const std::string what = fmt::format("{}; restarting all workers", action.reason);
  if (action.restart > 0) {
    log_warning(fmt::format("{}, {}, at {}", what, action.count, wall_time_text()));
  } else {
    log_info(fmt::format("{}, at {}", what, wall_time_text()));
  }
}

asio::awaitable<Account> JobRecord::conclude(Finish end, NodeRank node, std::string left) {
  Account own = co_await with_waiters(sum_up(node, end.others, end.failed_at), end);
  const bool waited = end.first && (timed_out(*end.first) || !own.timed_out.empty());
  own.hosts = hosts_to_tell(end.first, host_of(node, config_.hostname, end.others));
  co_await folder_.show_rest(time_to_show_, time_to_show_);  // after that, what they said is no longer kept
  progress_.tell();
  co_await keep_evidence(waited);
  if (end.left_behind && !end.first) log_error("these processes outlived SIGKILL: " + left);
  if (end.first) tell_parent(config_, *end.first, parent_);
  if (evidence_) own.places = evidence_->notes().places();
  if (evidence_ && end.first && is_due_to_others(*end.first)) own.states = co_await states_and_records(end.first->rank);
  const bool logs_pass = config_.verdict.logs_pass && end.first && end.first->kind == Failure::Kind::signal;
  if (const std::string folder = folder_.kept(); !folder.empty() && !logs_pass)
    own.logs.push_back(on_node(node, config_.hostname, folder));
  if (end.left_behind) own.left.push_back(on_node(node, config_.hostname, left));
  co_return own;
}

asio::awaitable<void> JobRecord::report(Report report) {
  const Finish end = report.end;
  if (end.first) co_await report_end(config_, std::move(report), parent_, reports_);
  events_.job_ended(end.exit_code, end.first);
}

asio::awaitable<void> JobRecord::leave() {
  co_await events_.flush();
  co_await metrics_.close();
  co_await folder_.remove_empty();
}

}  // namespace launch
