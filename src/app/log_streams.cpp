#include "launch/app/log_streams.hpp"

#include "launch/io/clock.hpp"
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
constexpr Duration time_in_a_hurry = 100ms;
constexpr std::size_t most_losses_told = 8;

void tell_unshown(const char* name, const StderrTap::Outcome& end) {
  if (!end.shown)
    log_warning(fmt::format("{} launch's {}: some of what the workers wrote to it is lost",
                            end.stalled ? "nobody reads" : "not all was shown of", name));
  if (end.lost > 0)
    log_warning(fmt::format("{} bytes of the workers' {} could not be written: {}", end.lost, name, end.reason));
}

}  // namespace

LogStreams::LogStreams(boost::asio::any_io_executor executor, const LogChoice& choice, PrefixFacts facts,
                       std::string folder)
    : executor_(std::move(executor)),
      choice_(choice),
      facts_(std::move(facts)),
      folder_(std::move(folder)),
      out_{STDOUT_FILENO, "standard output", {}},
      err_{STDERR_FILENO, "standard error", {}} {}

Status LogStreams::prepare(const std::vector<WorkerLogs>& plans) {
  if (Status made = make_board(static_cast<int>(plans.size())); !made) return made;
  const Console consoles[] = {
      {STDOUT_FILENO, "stdout", choice_.coloured.out, choice_.aligned.out, choice_.out_filters},
      {STDERR_FILENO, "stderr", choice_.coloured.err, choice_.aligned.err, choice_.err_filters}};
  if (Status made = prepare_streams(plans, &WorkerLogs::out, consoles[0]); !made) return made;
  return prepare_streams(plans, &WorkerLogs::err, consoles[1]);
}

Status LogStreams::begin() {
  for (Taps* taps : {&out_, &err_})
    if (taps->tap)
      if (Status begun = taps->tap->begin(); !begun) return begun;
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
    const bool tapped = plan.sink == StreamPlan::Sink::tap || plan.sink == StreamPlan::Sink::tap_out;
    if (tapped) made = tap(taps_of(plan.sink), rank, plan.shown);
    if (!made) return made;
    if (console.fd == STDOUT_FILENO && (tapped || plan.sink == StreamPlan::Sink::relay) && plan.shown)
      shows_output_ = true;
    if (plan.sink == StreamPlan::Sink::console || (tapped && plan.shown)) lend_terminal(console.fd);
  }
  return {};
}

// Where no terminal can be had, the worker has launch's own.
Status LogStreams::tap(Taps& taps, LocalRank local_rank, bool shown) {
  const bool beside_messages = taps.console == STDERR_FILENO || message_console().shares(taps.console);
  const auto on_shown = [beside_messages](bool ends_line) {
    if (beside_messages) message_console().passed(ends_line);
  };
  if (!taps.tap) taps.tap.emplace(executor_, StderrTap::Shown{taps.console, taps.name, large_pipes_}, on_shown);
  std::function<bool()> is_shown;
  if (ranks_) is_shown = [ranks = ranks_, local_rank] { return ranks->has(local_rank); };
  auto writer = taps.tap->add(shown, {tally_of(local_rank, taps.console), ear(local_rank), is_shown});
  if (!writer && shown) return {};
  if (!writer) return writer.error();
  const int number = static_cast<int>(taps.streams.size());
  taps.streams[local_rank] = {number, *std::move(writer)};
  return {};
}

Status LogStreams::make_board(int nproc) {
  if (!choice_.listens) return {};
  std::optional<ProgressPattern> pattern;
  if (!choice_.progress.empty()) {
    auto compiled = ProgressPattern::compile(choice_.progress);
    if (!compiled) return compiled.error();
    pattern = *std::move(compiled);
  }
  board_ = std::make_unique<ProgressBoard>(std::move(pattern), nproc);
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
  StreamListener listener{tally_of(local_rank, console.fd), ear(local_rank), {}};
  auto added =
      relay_->add_stream(local_rank.value, plan.file, plan.shown ? shown_by : std::nullopt, std::move(listener));
  if (!added) return added.error();
  relayed_[plan.file] = {added->stream, facts_.base_rank + local_rank, console.name, std::move(added->writer),
                         std::move(added->times)};
  return {};
}

Result<int> LogStreams::make_console(const Console& console) {
  const auto prefix = [&](bool aligned, bool coloured) {
    return LinePrefix({choice_.prefix, aligned, coloured}, facts_, console.name);
  };
  ConsoleStyle style{console.fd,           prefix(console.aligned, console.coloured),
                     choice_.fold,         console.filters,
                     prefix(false, false), ranks_};
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
    case StreamPlan::Sink::tap_out:
      Taps& taps = taps_of(plan.sink);
      if (const auto tapped = taps.streams.find(local_rank); tapped != taps.streams.end())
        return {std::move(tapped->second.writer), {}};
      return {};
  }
  return {};
}

void LogStreams::all_started() {
  for (auto& [file, stream] : relayed_) stream.writer.reset();
  for (Taps* taps : {&out_, &err_})
    for (auto& [local_rank, stream] : taps->streams) stream.writer.reset();
}

std::optional<std::string> LogStreams::tail(LocalRank local_rank, const StreamPlan& plan) const {
  if (const auto tapped = err_.streams.find(local_rank);
      plan.sink == StreamPlan::Sink::tap && err_.tap && tapped != err_.streams.end())
    return err_.tap->tail(tapped->second.number);
  const auto stream = relayed_.find(plan.file);
  if (!relay_ || stream == relayed_.end()) return std::nullopt;
  return relay_->tail(stream->second.number);
}

std::shared_ptr<const FileTimes> LogStreams::times_of(const std::string& file) const {
  const auto stream = relayed_.find(file);
  return stream == relayed_.end() ? nullptr : stream->second.times;
}

void LogStreams::hurry() {
  hurried_ = true;
  for (Taps* taps : {&out_, &err_})
    if (taps->tap) taps->tap->hurry();
  if (relay_) relay_->hurry();
}

boost::asio::awaitable<bool> LogStreams::show_rest(Duration most, Duration most_in_files) {
  const Time until = later(now(), most);
  const auto left = [&] { return hurried_ ? time_in_a_hurry : std::max<Duration>(until - now(), time_in_a_hurry); };
  hurried_ = false;
  for (Taps* taps : {&out_, &err_}) {
    if (!taps->tap) continue;
    const StderrTap::Outcome end = co_await taps->tap->drain(patience_at_end, left());
    tell_unshown(taps->name, end);
    taps->tap.reset();
  }
  take_terminal_back();
  if (!relay_) co_return true;
  const LogRelay::Outcome end =
      co_await relay_->drain(patience_at_end, std::min(left(), std::max(most_in_files, time_in_a_hurry)));
  relay_.reset();
  tell_what_stalled(end);
  tell_losses(end.losses);
  co_return end.written;
}

void LogStreams::tell_what_stalled(const LogRelay::Outcome& end) const {
  if (!end.shown)
    log_warning(fmt::format("{}: what the workers wrote is in {}",
                            end.stalled ? "nobody reads the console" : "the console has not taken all yet", folder_));
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
