#include "launch/io/worker_start.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

namespace launch {
namespace {

constexpr Duration longest_silence = std::chrono::milliseconds(50);

// Opens the file of the worker's stream, if it has one, and keeps it. Returns the descriptor for the worker.
Result<int> open_stream(WorkerOutput& stream, Result<Fd> (*open)(const std::string&)) {
  if (!stream.path.empty()) {
    auto file = open(stream.path);
    if (!file) return file.error();
    stream.open = *std::move(file);
  }
  return stream.open.get();
}

}  // namespace

std::optional<WorkerNotStarted> WorkerStart::make_all() {
  Time told = now();
  for (Worker& worker : workers_) {
    if (stopped_) break;
    if (auto failed = make(worker)) return failed;
    worker = {};  // closes our copies of its files
    if (now() < later(told, longest_silence)) continue;
    boost::asio::post(executor_, on_made_);
    told = now();
  }
  return std::nullopt;
}

std::optional<WorkerNotStarted> WorkerStart::make(Worker& worker) {
  const auto in = open_stream(worker.in, open_input);
  const auto out = open_stream(worker.out, open_output);
  const auto err = open_stream(worker.err, open_output);
  for (const auto* stream : {&in, &out, &err})
    if (!*stream) return WorkerNotStarted{worker.local_rank, exit_code(stream->error().code), stream->error().message};
  SpawnRequest& request = worker.request;
  request.in = *in;
  request.out = *out;
  request.err = *err;
  auto spawned = spawn(request);
  if (!spawned)
    return WorkerNotStarted{worker.local_rank, exit_code(spawned.error()), explain(spawned.error(), request)};
  const std::lock_guard lock(mutex_);
  made_.push_back({worker.local_rank, *std::move(spawned)});
  return std::nullopt;
}

std::vector<WorkerStart::Made> WorkerStart::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(made_, {});
}

}  // namespace launch
