#include "launch/io/worker_start.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

namespace launch {
namespace {

constexpr Duration longest_silence = std::chrono::milliseconds(50);
constexpr std::size_t workers_for_each_helper = 4;  // with fewer, it takes longer to wake it than it saves

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

// The first worker is made alone: what is wrong with the program is most often wrong for each.
std::optional<WorkerNotStarted> WorkerStart::make_all() {
  {
    const std::lock_guard lock(mutex_);
    made_.resize(workers_.size());
    told_ = now();
  }
  if (make_next(0) && workers_.size() > workers_for_each_helper)
    crew_->call(workers_.size() / workers_for_each_helper,
                [start = shared_from_this()](std::size_t member) { start->help(member); });
  while (make_next(0)) {
  }
  std::unique_lock lock(mutex_);
  over_ = true;
  ended_.wait(lock, [this] { return helping_ == 0; });
  if (failed_)
    for (std::size_t number = failed_number_ + 1; number < made_.size(); ++number)
      if (auto& made = made_[number]) take_back(std::exchange(made, std::nullopt)->spawned);
  return failed_;
}

void WorkerStart::help(std::size_t member) {
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    ++helping_;
  }
  while (make_next(member)) {
  }
  const std::lock_guard lock(mutex_);
  --helping_;
  ended_.notify_one();
}

// False if nothing is left to do.
bool WorkerStart::make_next(std::size_t member) {
  std::size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || failed_ || next_ == workers_.size()) return false;
    number = next_++;
  }
  auto made = make(workers_[number], crew_->slots(member));
  workers_[number] = {};  // closes our copies of its files
  keep(number, std::move(made));
  return true;
}

boost::system::result<WorkerStart::Made, WorkerNotStarted> WorkerStart::make(
    Worker& worker, const std::shared_ptr<StreamSlots>& slots) {
  const auto in = open_stream(worker.in, open_input);
  const auto out = open_stream(worker.out, open_output);
  const auto err = open_stream(worker.err, open_output);
  for (const auto* stream : {&in, &out, &err})
    if (!*stream) return WorkerNotStarted{worker.local_rank, exit_code(stream->error().code), stream->error().message};
  SpawnRequest& request = worker.request;
  request.in = *in;
  request.out = *out;
  request.err = *err;
  request.slots = slots;
  auto spawned = spawn(request);
  if (!spawned)
    return WorkerNotStarted{worker.local_rank, exit_code(spawned.error()), explain(spawned.error(), request)};
  return Made{worker.local_rank, *std::move(spawned)};
}

void WorkerStart::keep(std::size_t number, boost::system::result<Made, WorkerNotStarted> made) {
  const std::lock_guard lock(mutex_);
  if (!made) {
    if (failed_ && failed_number_ < number) return;
    failed_ = std::move(made).error();
    failed_number_ = number;
    return;
  }
  made_[number] = *std::move(made);
  if (now() < later(told_, longest_silence)) return;
  told_ = now();
  boost::asio::post(executor_, on_made_);
}

std::vector<WorkerStart::Made> WorkerStart::take() {
  const std::lock_guard lock(mutex_);
  std::vector<Made> result;
  for (; taken_ < made_.size() && made_[taken_]; ++taken_)
    result.push_back(*std::exchange(made_[taken_], std::nullopt));
  return result;
}

void WorkerStart::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

}  // namespace launch
