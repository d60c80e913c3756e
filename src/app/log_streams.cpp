#include "launch/app/log_streams.hpp"

#include "launch/io/files.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration patience = 10s;  // with a console or a file system that takes nothing
constexpr std::size_t most_losses_told = 8;

}  // namespace

LogStreams::LogStreams(boost::asio::any_io_executor executor, const LogChoice& choice, PrefixFacts facts,
                       std::string folder)
    : choice_(choice),
      facts_(std::move(facts)),
      folder_(std::move(folder)),
      relay_(std::move(executor), {choice.max_size, choice.max_files}) {}

Status LogStreams::prepare(const std::vector<WorkerLogs>& plans) {
  const Console consoles[] = {
      {STDOUT_FILENO, "stdout", choice_.coloured.out, choice_.aligned.out, choice_.out_filters},
      {STDERR_FILENO, "stderr", choice_.coloured.err, choice_.aligned.err, choice_.err_filters}};
  if (Status made = prepare_streams(plans, &WorkerLogs::out, consoles[0]); !made) return made;
  if (Status made = prepare_streams(plans, &WorkerLogs::err, consoles[1]); !made) return made;
  if (streams_.empty()) return {};
  begun_ = true;
  return relay_.begin();
}

Status LogStreams::prepare_streams(const std::vector<WorkerLogs>& plans, StreamPlan WorkerLogs::*which,
                                   const Console& console) {
  std::optional<int> shown_by;
  for (std::size_t local_rank = 0; local_rank < plans.size(); ++local_rank) {
    const StreamPlan& plan = plans[local_rank].*which;
    if (plan.sink != StreamPlan::Sink::relay) continue;
    if (plan.shown && !shown_by) {
      auto made = make_console(console);
      if (!made) return made.error();
      shown_by = *made;
    }
    const int rank = static_cast<int>(local_rank);
    auto added = relay_.add_stream(rank, plan.file, plan.shown ? shown_by : std::nullopt);
    if (!added) return added.error();
    writers_[plan.file] = std::move(added->writer);
    streams_[plan.file] = added->stream;
    whose_[added->stream] = fmt::format("rank {}: {{}} bytes of its {}", facts_.base_rank + rank, console.name);
  }
  return {};
}

Result<int> LogStreams::make_console(const Console& console) {
  const auto prefix = [&](bool aligned, bool coloured) {
    return LinePrefix({choice_.prefix, aligned, coloured}, facts_, console.name);
  };
  ConsoleStyle style{console.fd, prefix(console.aligned, console.coloured), choice_.fold, console.filters,
                     prefix(false, false)};
  return relay_.add_console(std::move(style), fmt::format("{}/filtered_{}.log", folder_, console.name));
}

Result<Fd> LogStreams::open(const StreamPlan& plan) {
  switch (plan.sink) {
    case StreamPlan::Sink::console:
      return Fd();
    case StreamPlan::Sink::file:
      return open_output(plan.file);
    case StreamPlan::Sink::relay:
      return std::move(writers_.at(plan.file));
    case StreamPlan::Sink::nowhere:
      return open_output("/dev/null");
  }
  return Fd();
}

std::optional<std::string> LogStreams::tail(const StreamPlan& plan) const {
  const auto stream = streams_.find(plan.file);
  if (plan.sink != StreamPlan::Sink::relay || stream == streams_.end()) return std::nullopt;
  return relay_.tail(stream->second);
}

boost::asio::awaitable<bool> LogStreams::show_rest() {
  if (!std::exchange(begun_, false)) co_return true;
  const LogRelay::Outcome end = co_await relay_.drain(patience);
  if (!end.shown) log_warning(fmt::format("the console does not take what the workers wrote; it is in {}", folder_));
  if (!end.written) log_warning(fmt::format("the file system of {} does not answer: files are incomplete", folder_));
  std::size_t told = 0;
  for (const LogRelay::Loss& loss : end.losses) {
    const auto whose = whose_.find(loss.stream);
    if (whose == whose_.end()) continue;  // copies of lines
    if (told++ == most_losses_told) break;
    log_warning(fmt::format("{} were lost: {}", fmt::format(fmt::runtime(whose->second), loss.bytes), loss.reason));
  }
  if (told > most_losses_told) log_warning("and so were some of others");
  co_return end.written;
}

}  // namespace launch
