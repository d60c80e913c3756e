#include "launch/app/job_folder.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/host/temp_folders.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"
#include "launch/io/log.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t longest_last_words = std::size_t{64} << 10;
constexpr Duration time_for_words = std::chrono::seconds(1);  // no worker is told to end before that
constexpr Duration time_for_evidence = std::chrono::seconds(2);
constexpr Duration time_for_removal = std::chrono::seconds(2);

// Folders that are only for error files are made before every start and removed after it. They are in memory if there
// is room, because on a disk 512 of them take longer than the start of 512 workers.
std::vector<std::string> places(const Config& config) {
  const bool in_memory = !keeps_streams(config.logs);
  return temp_folders(config.worker_env, in_memory);
}

Result<ErrorFolder> make_temporary(const Config& config) {
  return ErrorFolder::create_temporary(places(config), config.run_id);
}

}  // namespace

// Runs on the thread that may wait for a disk, and nobody else uses the folder meanwhile. Runs on the loop if the last
// folder was in memory.
struct JobFolder::Making {
  Status make_folder() {
    const Config& config = *job;
    if (config.log_folder == "/dev/null") return {};
    if (!folder->made()) {
      auto made =
          config.log_folder.empty() ? make_temporary(config) : ErrorFolder::create(config.log_folder, config.run_id);
      if (!made) return made.error();
      *folder = *std::move(made);
    }
    Status begun = folder->begin_attempt(config.nproc_per_node);
    if (begun || folder->attempts() == 1) return begun;
    // At a restart it matters more that the job goes on than where its files are.
    auto other = make_temporary(config);
    if (!other) return begun;
    other->go_on_from(*folder);
    *folder = *std::move(other);
    Status instead = folder->begin_attempt(config.nproc_per_node);
    if (instead)
      log_warning(fmt::format("{}; the files of this attempt are in {}", begun.error().message, folder->attempt()));
    return instead;
  }

  Files make() { return list(make_folder()); }

  Files list(Status made) {
    const Config& config = *job;
    Files files;
    files.made = std::move(made);
    files.attempt = folder->attempt();
    files.keeps = !files.attempt.empty() && keeps_streams(config.logs);
    files.in_memory = !files.keeps && is_in_memory(files.attempt);
    files.workers = make_worker_specs(config, round, files.attempt);
    std::vector<WorkerLogs> plans;
    for (const WorkerSpec& worker : files.workers) plans.push_back(worker.logs);
    files.streams = std::make_shared<LogStreams>(executor, config.logs, prefix_facts(config, round), files.attempt);
    files.streams->count_into(tally);
    files.streams->show_only(shown_ranks);
    if (files.made) files.made = files.streams->prepare(plans);
    return files;
  }

  boost::asio::any_io_executor executor;
  std::shared_ptr<const Config> job;
  Round round;
  std::shared_ptr<ErrorFolder> folder;
  std::shared_ptr<OutputTally> tally;
  std::shared_ptr<const ShownRanks> shown_ranks;
};

boost::asio::awaitable<JobFolder::Files> JobFolder::make(boost::asio::any_io_executor executor, const Round& round) {
  streams_.reset();
  const bool was_in_memory = std::exchange(in_memory_, false);  // as long as the thread works on it
  workers_.clear();
  attempt_.clear();
  place_ = config_->log_folder.empty() ? "the temporary folder" : config_->log_folder;
  used_ = config_->log_folder != "/dev/null";
  const auto making = std::make_shared<Making>(Making{std::move(executor), config_, round, folder_, tally_, shown_});
  if (was_in_memory) {
    Status begun = folder_->begin_attempt(config_->nproc_per_node);
    if (begun) co_return making->list(std::move(begun));
  }
  const auto make = [making] { return making->make(); };
  auto made = disk_.run(make);
  co_return co_await std::move(made);
}

Status JobFolder::begin(Files& files) {
  attempt_ = files.attempt;
  keeps_ = files.keeps;
  in_memory_ = files.in_memory;
  for (const WorkerSpec& worker : files.workers) workers_.push_back({worker.error_file, worker.logs});
  streams_ = std::move(files.streams);
  if (keeps_ && hides_streams(config_->logs) && !std::exchange(told_where_, true))
    log_info(fmt::format("output of the workers is in {} (host {})", shown(attempt_.substr(0, attempt_.rfind('/'))),
                         config_->hostname));
  return files.made ? streams_->begin() : files.made;
}

boost::asio::awaitable<void> JobFolder::show_rest(Duration most, Duration most_in_files) {
  if (!streams_) co_return;
  const bool answers = co_await streams_->show_rest(most, most_in_files);
  if (answers) co_return;
  // Nothing more is asked of that file system, otherwise we would wait as well.
  attempt_.clear();
  used_ = false;
  const auto abandon = [folder = folder_] { return folder->abandon(), true; };
  auto later_on = disk_.run_until(now(), abandon);
  (void)co_await std::move(later_on);
}

boost::asio::awaitable<void> JobFolder::remove_empty() {
  if (!used_) co_return;
  if (in_memory_) co_return folder_->remove_empty();
  const auto remove = [folder = folder_] { return folder->remove_empty(), true; };
  auto removing = disk_.run_until(later(now(), time_for_removal), remove);
  const auto removed = co_await std::move(removing);
  if (!removed)
    log_warning(fmt::format("the file system of {} does not answer: empty folders may remain there",
                            attempt_.empty() ? place_ : attempt_));
}

std::string JobFolder::errors_of(LocalRank local_rank) const {
  const auto index = local_rank.index();
  return index < workers_.size() ? workers_[index].logs.err.file : std::string();
}

std::vector<std::string> JobFolder::files_of(LocalRank local_rank) const {
  std::vector<std::string> files;
  if (local_rank.index() >= workers_.size()) return files;
  const WorkerLogs& logs = workers_[local_rank.index()].logs;
  for (const StreamPlan* stream : {&logs.out, &logs.err})
    if (!stream->file.empty()) files.push_back(stream->file);
  return files;
}

boost::asio::awaitable<void> JobFolder::keep_evidence(DiskThread& disk, std::string text, bool precious) {
  if (attempt_.empty() || !(keeps_ || precious)) co_return;
  const std::string path = attempt_ + "/evidence.txt";
  const auto write = [path, text = std::move(text)] { return write_file(path, text); };
  auto writing = disk.run_until(later(now(), time_for_evidence), write);
  const auto ended = co_await std::move(writing);
  const Status written = ended ? *ended : Error{ErrorCode::timeout, "the file system does not answer"};
  keeps_ = keeps_ || written;
  if (!written)
    log_warning(fmt::format("cannot write the evidence of what the workers were doing to {}: {}", path,
                            written.error().message));
}

bool JobFolder::show_only(const std::set<int>& local_ranks) {
  shown_->show(local_ranks);
  return streams_ && streams_->shows_output();
}

std::vector<RankProgress> JobFolder::progress() const {
  ProgressBoard* const board = streams_ ? streams_->board() : nullptr;
  return board != nullptr ? board->steps() : std::vector<RankProgress>();
}

std::optional<Time> JobFolder::heard_at() const {
  const ProgressBoard* const board = streams_ ? streams_->board() : nullptr;
  return board != nullptr ? board->heard_at() : std::nullopt;
}

// The error that the worker has reported, otherwise the end of what passed through launch, otherwise of the file that
// it wrote itself.
LastWords JobFolder::read_words(LastWords known, const std::string& log, const std::string& output) {
  known.error_json = read_file(known.error_file, error_file_bounds.size);
  const bool said = !error_message(known.error_json).empty();
  if (!said && known.errors.empty() && !log.empty()) known.errors = read_tail(log, longest_last_words);
  if (!log.empty() && is_on_full_disk(log)) known.note = note_of_full_disk(log);
  if (!output.empty() && file_size(output) > 0) known.output_file = output;
  return known;
}

// Standard error tells why. The file of the other stream is named if there is nothing.
boost::asio::awaitable<LastWords> JobFolder::words_of(DiskThread& disk, LocalRank local_rank) {
  const WorkerFiles& worker = workers_.at(local_rank.index());
  LastWords known{{}, {}, worker.error_file, worker.logs.err.file};
  if (worker.logs.err.sink == StreamPlan::Sink::nowhere) known.log_file = "not kept, by --local-ranks-filter";
  const auto passed = streams_ ? streams_->tail(local_rank, worker.logs.err) : std::nullopt;
  known.errors = passed.value_or("");
  const std::string log = passed ? "" : worker.logs.err.file;
  const auto read = [known, log, output = worker.logs.out.file] { return read_words(known, log, output); };
  // A link that a worker has put in its place may lead anywhere.
  if (in_memory_ && !is_link(worker.error_file)) co_return read();
  auto reading = disk.run_until(later(now(), time_for_words), read);
  auto words = co_await std::move(reading);
  if (words) co_return *std::move(words);
  if (!std::exchange(told_of_silence_, true))
    log_warning(
        fmt::format("the file system of {} does not answer: the workers' last output cannot be read", attempt_));
  co_return known;
}

// The worker's error file can be read if it is a worker of this node.
void JobFolder::tell_parent(const std::string& parent_error_file, const Failure& first) {
  if (parent_error_file.empty()) return;
  const std::string own = first.error_file.empty() ? "" : read_file(first.error_file, error_file_bounds.size);
  const Status written = write_file(parent_error_file, error_for_parent(first, own));
  if (!written)
    log_warning(fmt::format("cannot write the failure to {} (TORCHELASTIC_ERROR_FILE): {}", parent_error_file,
                            written.error().message));
}

}  // namespace launch
