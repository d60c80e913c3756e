#include "launch/app/job_folder.hpp"

#include "launch/core/temp_folders.hpp"
#include "launch/core/traceback.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"
#include "launch/io/log.hpp"

#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t longest_last_words = std::size_t{64} << 10;
constexpr std::size_t most_traceback_lines = 8;
constexpr std::size_t longest_error_file = std::size_t{1} << 20;

// Folders for error files alone are made and removed before and after every start: in memory where there is room, since
// on a disk 512 of them take longer than the start of 512 workers.
Result<ErrorFolder> make_temporary(const Config& config) {
  const bool in_memory = !keeps_streams(config.logs);
  return ErrorFolder::create_temporary(temp_folders(config.worker_env, in_memory), config.run_id);
}

}  // namespace

Status JobFolder::make(const Config& config) {
  streams_.reset();
  workers_.clear();
  if (config.log_folder == "/dev/null") return {};
  if (!folder_.made()) {
    auto folder =
        config.log_folder.empty() ? make_temporary(config) : ErrorFolder::create(config.log_folder, config.run_id);
    if (!folder) return folder.error();
    folder_ = std::move(*folder);
  }
  keeps_ = keeps_streams(config.logs);
  const Status begun = folder_.begin_attempt(config.nproc_per_node);
  if (begun || folder_.attempts() == 1) return begun;
  // At a restart the job is worth more than the place of its files.
  auto folder = make_temporary(config);
  if (!folder) return begun;
  folder->go_on_from(folder_);
  folder_ = std::move(*folder);
  const Status instead = folder_.begin_attempt(config.nproc_per_node);
  if (instead) log_warning(fmt::format("{}; this attempt's are in {}", begun.error().message, attempt()));
  return instead;
}

Status JobFolder::open_streams(boost::asio::any_io_executor executor, const Config& config, const Round& round,
                               const std::vector<WorkerSpec>& workers) {
  std::vector<WorkerLogs> plans;
  for (const WorkerSpec& worker : workers) {
    workers_.push_back({worker.error_file, worker.logs});
    plans.push_back(worker.logs);
  }
  streams_.emplace(std::move(executor), config.logs, prefix_facts(config, round), attempt());
  return streams_->prepare(plans);
}

boost::asio::awaitable<void> JobFolder::show_rest() {
  if (!streams_) co_return;
  const bool answers = co_await streams_->show_rest();
  if (answers) co_return;
  // Nothing more is asked of that file system, or we would wait as well.
  folder_.abandon();
}

std::string JobFolder::errors_of(int local_rank) const {
  const auto index = static_cast<std::size_t>(local_rank);
  return index < workers_.size() ? workers_[index].logs.err.file : std::string();
}

void JobFolder::keep_evidence(const std::string& text, bool precious) {
  if (attempt().empty() || !(keeps_ || precious)) return;
  const std::string path = attempt() + "/evidence.txt";
  const Status written = write_file(path, text);
  keeps_ = keeps_ || written;
  if (!written)
    log_warning(
        fmt::format("what the workers were doing could not be written to {}: {}", path, written.error().message));
}

std::string JobFolder::error_json(int local_rank) const {
  return read_file(workers_.at(static_cast<std::size_t>(local_rank)).error_file, longest_error_file);
}

void JobFolder::complete(Failure& failure) const {
  const WorkerFiles& worker = workers_.at(static_cast<std::size_t>(failure.local_rank));
  const std::string words = error_json(failure.local_rank);
  failure.detail = error_message(words);
  std::string said = error_traceback(words);
  if (!failure.detail.empty()) {
    failure.error_file = worker.error_file;
  } else {
    const auto last_words = streams_ ? streams_->tail(worker.logs.err) : std::nullopt;
    said = last_words ? *last_words : read_tail(worker.logs.err.file, longest_last_words);
  }
  if (const auto traceback = last_traceback(said, most_traceback_lines)) {
    failure.frames = traceback->frames;
    if (failure.detail.empty()) failure.detail = traceback->error;
  }
  // Errors tell why; where these are on the console, the other stream's file does not help.
  failure.log_file = worker.logs.err.file;
  if (worker.logs.err.sink == StreamPlan::Sink::nowhere) failure.log_file = "not kept, by --local-ranks-filter";
}

// The worker's error file can be read where it is one of this node.
void JobFolder::tell_parent(const std::string& parent_error_file, const Failure& first) {
  if (parent_error_file.empty()) return;
  const std::string own = first.error_file.empty() ? "" : read_file(first.error_file, longest_error_file);
  const Status written = write_file(parent_error_file, error_for_parent(first, own));
  if (!written)
    log_warning(fmt::format("the failure could not be written to {} (TORCHELASTIC_ERROR_FILE): {}", parent_error_file,
                            written.error().message));
}

}  // namespace launch
