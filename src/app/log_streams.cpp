#include "launch/app/log_streams.hpp"

#include "launch/io/files.hpp"
#include "launch/io/log.hpp"
#include "launch/io/message_console.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration patience_at_end = 10s;  // with a console or a file system that takes nothing
constexpr std::size_t most_losses_told = 8;

void tell_unshown(const StderrTap::Outcome& end) {
  if (!end.shown) log_warning("nobody reads launch's standard error: some of what the workers wrote to it is lost");
  if (end.lost > 0)
    log_warning(fmt::format("{} bytes of the workers' standard error could not be written: {}", end.lost, end.reason));
}

}  // namespace

LogStreams::LogStreams(boost::asio::any_io_executor executor, const LogChoice& choice, PrefixFacts facts,
                       std::string folder)
    : executor_(std::move(executor)), choice_(choice), facts_(std::move(facts)), folder_(std::move(folder)) {}

Status LogStreams::prepare(const std::vector<WorkerLogs>& plans) {
  const Console consoles[] = {
      {STDOUT_FILENO, "stdout", choice_.coloured.out, choice_.aligned.out, choice_.out_filters},
      {STDERR_FILENO, "stderr", choice_.coloured.err, choice_.aligned.err, choice_.err_filters}};
  if (Status made = prepare_streams(plans, &WorkerLogs::out, consoles[0]); !made) return made;
  return prepare_streams(plans, &WorkerLogs::err, consoles[1]);
}

Status LogStreams::begin() {
  if (tap_)
    if (Status begun = tap_->begin(); !begun) return begun;
  return relay_ ? relay_->begin() : Status();
}

Status LogStreams::prepare_streams(const std::vector<WorkerLogs>& plans, StreamPlan WorkerLogs::*which,
                                   const Console& console) {
  std::optional<int> shown_by;
  for (std::size_t local_rank = 0; local_rank < plans.size(); ++local_rank) {
    const StreamPlan& plan = plans[local_rank].*which;
    const LocalRank rank(static_cast<int>(local_rank));
    Status made;
    if (plan.sink == StreamPlan::Sink::relay) made = relay(plan, rank, console, shown_by);
    if (plan.sink == StreamPlan::Sink::tap) made = tap(rank, plan.shown);
    if (!made) return made;
    if (plan.sink == StreamPlan::Sink::console || (plan.sink == StreamPlan::Sink::tap && plan.shown))
      lend_terminal(console.fd);
  }
  return {};
}

// Where no terminal can be had, the worker has launch's own.
Status LogStreams::tap(LocalRank local_rank, bool shown) {
  if (!tap_) tap_.emplace(executor_, STDERR_FILENO, [](bool ends_line) { message_console().passed(ends_line); });
  auto writer = tap_->add(shown, tally_of(local_rank, STDERR_FILENO));
  if (!writer && shown) return {};
  if (!writer) return writer.error();
  const int number = static_cast<int>(tapped_.size());
  tapped_[local_rank] = {number, *std::move(writer)};
  return {};
}

std::shared_ptr<StreamTally> LogStreams::tally_of(LocalRank local_rank, int console) const {
  if (!tally_) return {};
  return tally_->of(local_rank, console == STDOUT_FILENO ? OutputTally::out : OutputTally::err);
}

// `shown_by`: the number of the console, which is made for the first stream that it shows.
Status LogStreams::relay(const StreamPlan& plan, LocalRank local_rank, const Console& console,
                         std::optional<int>& shown_by) {
  if (!relay_) relay_.emplace(executor_, FileRules{choice_.max_size, choice_.max_files});
  if (plan.shown && !shown_by) {
    auto made = make_console(console);
    if (!made) return made.error();
    shown_by = *made;
  }
  auto added = relay_->add_stream(local_rank.value, plan.file, plan.shown ? shown_by : std::nullopt,
                                  tally_of(local_rank, console.fd));
  if (!added) return added.error();
  relayed_[plan.file] = {added->stream, facts_.base_rank + local_rank, console.name, std::move(added->writer)};
  return {};
}

Result<int> LogStreams::make_console(const Console& console) {
  const auto prefix = [&](bool aligned, bool coloured) {
    return LinePrefix({choice_.prefix, aligned, coloured}, facts_, console.name);
  };
  ConsoleStyle style{console.fd, prefix(console.aligned, console.coloured), choice_.fold, console.filters,
                     prefix(false, false)};
  return relay_->add_console(std::move(style), fmt::format("{}/filtered_{}.log", folder_, console.name));
}

WorkerOutput LogStreams::output(LocalRank local_rank, const StreamPlan& plan) {
  switch (plan.sink) {
    case StreamPlan::Sink::console:
      return {};
    case StreamPlan::Sink::file:
      return {Fd(), plan.file};
    case StreamPlan::Sink::relay:
      return {std::move(relayed_.at(plan.file).writer), {}};
    case StreamPlan::Sink::nowhere:
      return {Fd(), "/dev/null"};
    case StreamPlan::Sink::tap:
      if (const auto tapped = tapped_.find(local_rank); tapped != tapped_.end())
        return {std::move(tapped->second.writer), {}};
      return {};
  }
  return {};
}

void LogStreams::all_started() {
  for (auto& [file, stream] : relayed_) stream.writer.reset();
  for (auto& [local_rank, stream] : tapped_) stream.writer.reset();
}

std::optional<std::string> LogStreams::tail(LocalRank local_rank, const StreamPlan& plan) const {
  if (const auto tapped = tapped_.find(local_rank);
      plan.sink == StreamPlan::Sink::tap && tap_ && tapped != tapped_.end())
    return tap_->tail(tapped->second.number);
  const auto stream = relayed_.find(plan.file);
  if (!relay_ || stream == relayed_.end()) return std::nullopt;
  return relay_->tail(stream->second.number);
}

boost::asio::awaitable<bool> LogStreams::show_rest() {
  if (tap_) {
    const StderrTap::Outcome end = co_await tap_->drain(patience_at_end);
    tell_unshown(end);
    tap_.reset();
  }
  take_terminal_back();
  if (!relay_) co_return true;
  const LogRelay::Outcome end = co_await relay_->drain(patience_at_end);
  relay_.reset();
  tell_what_stalled(end);
  tell_losses(end.losses);
  co_return end.written;
}

void LogStreams::tell_what_stalled(const LogRelay::Outcome& end) const {
  if (!end.shown) log_warning(fmt::format("nobody reads the console: what the workers wrote is in {}", folder_));
  if (!end.written) log_warning(fmt::format("the file system of {} does not answer: files are incomplete", folder_));
  for (const LogConsole::Loss& loss : end.unshown)
    log_warning(fmt::format("{} bytes for the {} were lost: {}; the files in {} have them", loss.bytes,
                            name_of_console(loss.fd), loss.reason, folder_));
}

void LogStreams::tell_losses(const std::vector<LogRelay::Loss>& losses) const {
  std::size_t told = 0;
  for (const LogRelay::Loss& loss : losses) {
    const auto whose = std::find_if(relayed_.begin(), relayed_.end(),
                                    [&](const auto& entry) { return entry.second.number == loss.stream; });
    if (whose == relayed_.end()) continue;  // a stream of copied lines
    if (told++ == most_losses_told) break;
    const Relayed& stream = whose->second;
    log_warning(fmt::format("rank {}: {} bytes of its {} were lost: {}", stream.rank.value, loss.bytes, stream.name,
                            loss.reason));
  }
  if (told > most_losses_told) log_warning("and so were some of others");
}

}  // namespace launch
