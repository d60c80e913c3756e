#include "launch/app/node_answers.hpp"

#include "launch/app/evidence.hpp"
#include "launch/app/progress_teller.hpp"
#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"
#include "launch/io/signals.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/steady_timer.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using Verb = ControlRequest::Verb;

constexpr Duration time_for_disk = 1s;
constexpr Duration time_for_gpus = 800ms;  // with between_looks less than what an answer may be late
constexpr Duration between_looks = 200ms;  // in which the use of processors is measured
constexpr std::size_t most_told_frames = 48;
constexpr std::size_t widest_frame = 120;
constexpr std::size_t most_stack_bytes = 50'000;  // of an answer
constexpr std::size_t least_told_frames = 4;
constexpr std::size_t most_readers = 8;
constexpr std::size_t most_log_bytes = 8'000;  // of an answer; JSON may make six of each
constexpr const char* note_of_undated =
    "when each line was written is not known, because workers write their files themselves (--log-writer=launch "
    "changes that); of the files that have changed since, these are the last lines";
constexpr const char* note_of_replaced =
    "some lines are missing: they are in files that newer ones have replaced (--log-max-size)";
constexpr Duration idle_reader = 30s;
constexpr Duration between_reads_at_most = 1500ms;  // of somebody who follows
constexpr Duration time_for_readers = 1s;
constexpr Duration time_to_be_heard = 1s;

bool is_noted(Verb verb) { return is_deed(verb) || verb == Verb::stacks; }

// One worker for each that has new lines.
void add_log(NodeReport& own, const std::optional<LogReader::Read>& read) {
  if (!read) {
    own.fault = "the file system of its logs does not answer";
    return;
  }
  own.more = read->more;
  if (read->undated) own.note = note_of_undated;
  if (read->replaced) own.note += (own.note.empty() ? "" : "; ") + std::string(note_of_replaced);
  for (const LogReader::Piece& piece : read->pieces) {
    if (own.workers.empty() || own.workers.back().rank != piece.rank) {
      WorkerReport worker;
      worker.rank = piece.rank;
      worker.local_rank = piece.local_rank;
      own.workers.push_back(std::move(worker));
    }
    own.workers.back().log.push_back({piece.stream, piece.text});
  }
}

}  // namespace

NodeAnswers::NodeAnswers(asio::any_io_executor executor, Job job, Feed feed)
    : executor_(std::move(executor)),
      job_(job),
      feed_(std::move(feed)),
      opened_(now()),
      read_(executor_),
      disk_(executor_),
      gpus_(executor_, job_.workers) {}

void NodeAnswers::begin() {
  ends_.clear();
  began_ = now();
  since_ = wall_time_text();
}

void NodeAnswers::ended(LocalRank local_rank, ExitStatus status) { ends_[local_rank] = to_text(status); }

asio::awaitable<NodeReport> NodeAnswers::answer(ControlRequest request) {
  const bool meant = !request.node || (began_ && *request.node == job_.round.assignment.group_rank.value);
  const Deed deed = meant ? carry_out(request) : Deed();
  if (!deed.done.empty()) log_info(fmt::format("asked by {}: {}", asker_text(request), deed.done));
  if (is_noted(request.verb) && request.asker != 0)
    job_.record.events().user_asked(std::string(name_of(request.verb)), asker_text(request));
  if (request.verb == Verb::logs && meant) {
    auto reading = read_logs(std::move(request));
    co_return co_await std::move(reading);
  }
  auto reporting = report(request.verb == Verb::status);
  NodeReport own = co_await std::move(reporting);
  own.done = deed.done;
  own.fault = deed.fault;
  if (request.verb == Verb::stacks) {
    auto adding = add_stacks(own, request.rank);
    co_await std::move(adding);
  }
  co_return own;
}

// ---- deeds

NodeAnswers::Deed NodeAnswers::carry_out(const ControlRequest& request) {
  switch (request.verb) {
    case Verb::signal:
      return send(request);
    case Verb::stop:
      if (job_.round.assignment.group_world_size > 0) return {"is stopping", ""};
      return {"is stopping; it is in no round of the job, so no other node was asked", ""};
    case Verb::restart:
      return restart(asker_text(request));
    case Verb::drain:
      return drain(request);
    case Verb::filter:
      return filter(request.local_ranks);
    case Verb::about:
    case Verb::status:
    case Verb::stacks:
    case Verb::timeline:
    case Verb::quiet:
    case Verb::logs:
      return {};
  }
  return {};
}

// Nothing is done if no such worker runs here.
NodeAnswers::Deed NodeAnswers::send(const ControlRequest& request) {
  std::vector<int> ranks;
  for (const auto& [local_rank, pid] : job_.workers.running())
    if (is_meant(request, local_rank) && job_.workers.signal_one(pid, request.signal))
      ranks.push_back(rank_of(local_rank).value);
  if (ranks.empty()) return {};
  return {fmt::format("sent {} to {}", signal_name(request.signal), ranges_in_words("rank", ranks)), ""};
}

NodeAnswers::Deed NodeAnswers::restart(const std::string& by) {
  if (auto refusal = job_.node.refuses_restart()) return {"", *std::move(refusal)};
  feed_(FromHost{RestartAsked{by}, false});
  return {"the job restarts its workers", ""};
}

NodeAnswers::Deed NodeAnswers::drain(const ControlRequest& request) {
  if (request.round && *request.round != job_.round.number)
    return {"", "the nodes of the job have changed meanwhile; ask again"};
  if (auto refusal = job_.node.refuses_leave()) return {"", *std::move(refusal)};
  const bool missed = job_.node.is_missed();
  run_in_background(executor_, leave_soon(asker_text(request)));
  if (!missed) return {"is leaving the job", ""};
  return {"is leaving the job; those that are left are too few without a spare node, so they wait until one is there",
          ""};
}

// The round ends with it, and then nobody is answered.
asio::awaitable<void> NodeAnswers::leave_soon(std::string by) {
  asio::steady_timer pause(executor_, to_steady(later(now(), time_to_be_heard)));
  (void)co_await pause.async_wait(as_values);
  feed_(FromHost{LeaveAsked{std::move(by)}, false});
}

NodeAnswers::Deed NodeAnswers::filter(const std::vector<int>& local_ranks) {
  const bool output = job_.record.folder().show_only({local_ranks.begin(), local_ranks.end()});
  const std::string what =
      local_ranks.empty() ? "shows all workers" : fmt::format("shows {}", ranges_in_words("local rank", local_ranks));
  if (output || !began_) return {what, ""};
  return {what + ", but standard output does not pass launch without --tee", ""};
}

bool NodeAnswers::is_meant(const ControlRequest& request, LocalRank local_rank) const {
  return !request.rank || *request.rank == rank_of(local_rank).value;
}

// ---- looks

asio::awaitable<NodeReport> NodeAnswers::report(bool closely) {
  NodeReport own = about_node();
  const Workers running = job_.workers.running();
  if (began_)
    for (LocalRank rank; rank.value < job_.config.nproc_per_node; ++rank.value)
      own.workers.push_back(about_worker(rank, running));
  if (closely && !running.empty()) {
    auto adding = add_sights(own);
    co_await std::move(adding);
  }
  if (began_) add_progress(own, job_.record.folder().progress(), now());  // when the last lines were read
  co_return own;
}

NodeReport NodeAnswers::about_node() const {
  NodeReport own;
  const Assignment& place = job_.round.assignment;
  own.node_rank = began_ ? place.group_rank.value : -1;
  own.host = job_.config.hostname;
  own.run_id = job_.config.run_id;
  own.program = job_.config.program.name;
  own.pid = job_.config.pid;
  own.state = job_.node.state();
  own.since = since_;
  own.age_s = seconds_of(now() - began_.value_or(opened_));
  own.round = job_.round.number;
  own.restart = job_.round.restarts;
  own.nnodes = place.group_world_size;
  own.world_size = place.world_size;
  return own;
}

WorkerReport NodeAnswers::about_worker(LocalRank local_rank, const Workers& running) const {
  WorkerReport worker;
  worker.rank = rank_of(local_rank).value;
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
asio::awaitable<void> NodeAnswers::add_sights(NodeReport& report) {
  const Time start = now();
  auto looking = look();
  const auto before = co_await std::move(looking);
  if (!before) co_return;
  auto looking_at_gpus = look_at_gpus(*before);
  const auto gpus = co_await std::move(looking_at_gpus);
  asio::steady_timer pause(executor_, to_steady(later(now(), between_looks)));
  (void)co_await pause.async_wait(as_values);
  auto looking_again = look();
  const auto after = co_await std::move(looking_again);
  if (!after) co_return;
  const double time = seconds_of(now() - start);
  for (WorkerReport& worker : report.workers) {
    const auto first = before->find(worker.pid);
    const auto last = after->find(worker.pid);
    if (first == before->end() || last == after->end()) continue;
    worker.cpu_percent = std::max(last->second.cpu_s - first->second.cpu_s, 0.0) / time * 100;
    worker.memory_bytes = last->second.memory_bytes;
    if (gpus) worker.gpu_memory_bytes = gpu_memory_of(*gpus, last->second.family);
    worker.last_line = last->second.last_line;
    worker.last_line_age_s = last->second.last_line_age_s;
  }
}

asio::awaitable<std::optional<GpuFacts>> NodeAnswers::look_at_gpus(const Sights& sights) {
  const bool used = std::any_of(sights.begin(), sights.end(), [](const auto& one) { return one.second.has_gpu; });
  if (!used) co_return std::nullopt;
  auto asking = gpus_.facts({time_for_gpus});
  auto gpus = co_await std::move(asking);
  if (!gpus) co_return std::nullopt;
  co_return *std::move(gpus);
}

asio::awaitable<std::optional<NodeAnswers::Sights>> NodeAnswers::look() {
  std::vector<std::pair<pid_t, std::vector<std::string>>> workers;
  for (const auto& [local_rank, pid] : job_.workers.running())
    workers.emplace_back(pid, job_.record.folder().files_of(local_rank));
  const auto look_at_all = [workers] {
    Sights sights;
    for (const auto& [pid, files] : workers) sights.emplace(pid, look_at_worker(pid, files));
    return sights;
  };
  auto looking = disk_.run_until(later(now(), time_for_disk), look_at_all);
  co_return co_await std::move(looking);
}

asio::awaitable<void> NodeAnswers::add_stacks(NodeReport& report, std::optional<int> rank) {
  std::vector<Evidence::Worker> workers;
  for (const auto& [local_rank, pid] : job_.workers.running()) {
    const GlobalRank global = rank_of(local_rank);
    if (!rank || *rank == global.value) workers.push_back({global, pid, job_.record.folder().errors_of(local_rank)});
  }
  Evidence evidence(executor_, disk_, std::move(workers));
  const Evidence::Send send = [this](pid_t pid, int signal) { return job_.workers.signal_one(pid, signal); };
  auto taking =
      evidence.take_stacks(job_.config.worker_env.get("PATH").value_or(""), job_.config.evidence.stack_signal, send);
  co_await std::move(taking);
  const std::size_t workers_told = std::max<std::size_t>(report.workers.size(), 1);
  const std::size_t frames =
      std::clamp(most_stack_bytes / (workers_told * (widest_frame + 8)), least_told_frames, most_told_frames);
  for (WorkerReport& worker : report.workers) {
    const auto found = evidence.notes().stacks().find(GlobalRank(worker.rank));
    if (found == evidence.notes().stacks().end()) continue;
    for (const std::string& frame : found->second)
      if (worker.stack.size() < frames) worker.stack.emplace_back(beginning_of(frame, widest_frame));
  }
}

// ---- logs

asio::awaitable<NodeReport> NodeAnswers::read_logs(ControlRequest request) {
  NodeReport own = about_node();
  Reading* const reading = reading_of(request.reader);
  if (reading == nullptr) {
    own.fault = "too many others read its logs; try again later";
    co_return own;
  }
  if (request.step == reading->step) co_return reading->last;
  const int step = reading->missed.value_or(request.step);
  const bool ended = began_ && job_.workers.ended();
  const std::vector<LogReader::File> files = files_of(request.rank);
  LogReader::Wish wish{request.lines, most_log_bytes, request.ends || ended, request.ends};
  if (request.since_s) wish.since = now() - of_seconds(*request.since_s);
  const auto read = [kept = reading->kept, step, files, wish] {
    if (kept->step != step) kept->last = kept->reader.read(files, wish);
    kept->step = step;
    return kept->last;
  };
  auto working = disk_.run_until(later(now(), time_for_disk), read);
  const auto pieces = co_await std::move(working);
  add_log(own, pieces);
  const bool runs = !job_.workers.running().empty() || !ends_.empty();
  if (runs && own.workers.empty() && files_of(std::nullopt).empty())
    own.fault = "its workers write to no file; --tee or --redirects would keep what they write";
  note_read(request, step, pieces ? std::optional(own) : std::nullopt, ended);
  co_return own;
}

// `given`: what the reader gets now; nullopt: it comes later.
void NodeAnswers::note_read(const ControlRequest& request, int step, std::optional<NodeReport> given, bool ended) {
  Reading* const reading = reading_of(request.reader);
  if (reading == nullptr) return;
  reading->missed = given ? std::nullopt : std::optional(step);
  if (!given) return;
  reading->done = (ended || request.ends) && !given->more;
  reading->step = request.step;
  reading->last = *std::move(given);
  read_.cancel();
}

bool NodeAnswers::is_followed() const {
  return std::any_of(readings_.begin(), readings_.end(), [](const Reading& reading) {
    return !reading.done && now() - reading.used < between_reads_at_most;
  });
}

asio::awaitable<void> NodeAnswers::farewell() {
  const Time give_up = later(now(), time_for_readers);
  while (is_followed() && now() < give_up) {
    read_.expires_at(to_steady(give_up));
    (void)co_await read_.async_wait(as_values);
  }
}

std::vector<LogReader::File> NodeAnswers::files_of(std::optional<int> rank) const {
  std::vector<LogReader::File> files;
  for (LocalRank local; began_ && local.value < job_.config.nproc_per_node; ++local.value)
    for (const std::string& file : job_.record.folder().files_of(local))
      if (!rank || *rank == rank_of(local).value)
        files.push_back({rank_of(local).value, local.value, file, job_.record.folder().times_of(file)});
  return files;
}

// Each reader has open files, so there may be only a few. null: there are too many.
NodeAnswers::Reading* NodeAnswers::reading_of(std::int64_t reader) {
  std::erase_if(readings_, [reader](const Reading& reading) {
    return reading.reader != reader && now() - reading.used > idle_reader;
  });
  const auto is_reader = [reader](const Reading& reading) { return reading.reader == reader; };
  const auto served = std::find_if(readings_.begin(), readings_.end(),
                                   [&](const Reading& reading) { return reading.done && !is_reader(reading); });
  if (readings_.size() == most_readers && served != readings_.end()) readings_.erase(served);
  const auto known = std::find_if(readings_.begin(), readings_.end(), is_reader);
  Reading* reading = nullptr;
  if (known != readings_.end()) {
    reading = &*known;
  } else if (readings_.size() < most_readers) {
    reading = &readings_.emplace_back();
    reading->reader = reader;
  }
  if (reading != nullptr) reading->used = now();
  return reading;
}

}  // namespace launch
