#include "launch/app/worker_group.hpp"

#include "launch/io/files.hpp"

#include <csignal>
#include <utility>

#include <unistd.h>

namespace launch {

WorkerGroup::WorkerGroup(boost::asio::any_io_executor executor, Inheritance inheritance, ExitCallback on_exit)
    : executor_(std::move(executor)), inheritance_(std::move(inheritance)), on_exit_(std::move(on_exit)) {}

namespace {

// The files of a worker's three streams, open while it is started.
struct Streams {
  Fd in, out, err;
};

Result<Streams> open_streams(Result<Fd> in, const WorkerLogs& logs, const WorkerGroup::OpenCallback& open) {
  if (!in) return in.error();
  auto out = open(logs.out);
  if (!out) return out.error();
  auto err = open(logs.err);
  if (!err) return err.error();
  return Streams{std::move(*in), std::move(*out), std::move(*err)};
}

}  // namespace

Result<Fd> WorkerGroup::open_source(WorkerInput input) {
  switch (input) {
    case WorkerInput::inherited:
      return Fd();
    case WorkerInput::copy:
      if (!feeder_) feeder_.emplace(executor_, STDIN_FILENO, inheritance_.owner);
      return feeder_->open_copy();
    case WorkerInput::nothing:
      return open_input("/dev/null");
  }
  return Fd();
}

std::optional<WorkerNotStarted> WorkerGroup::start(std::vector<WorkerSpec> specs, const std::string& script,
                                                   const OpenCallback& open, const StartCallback& on_start) {
  reaper_.begin();
  if (!cgroup_) cgroup_.emplace();
  if (feeder_) feeder_->begin();
  children_.clear();
  children_.reserve(specs.size());
  for (WorkerSpec& spec : specs) {
    SpawnRequest request;
    request.executable = std::move(spec.executable);
    request.argv = std::move(spec.argv);
    request.env = std::move(spec.env);
    request.script = script;
    request.reset_signals = inheritance_.reset_signals;
    request.open_files = inheritance_.open_files;
    request.cgroup = cgroup_->descriptor();
    if (!spec.binding.cpus.empty()) request.binding = prepare(spec.binding);
    auto streams = open_streams(open_source(spec.input), spec.logs, open);
    if (!streams) return WorkerNotStarted{spec.local_rank, exit_code(streams.error().code), streams.error().message};
    request.in = streams->in.get();
    request.out = streams->out.get();
    request.err = streams->err.get();
    auto spawned = spawn(request);
    if (!spawned)
      return WorkerNotStarted{spec.local_rank, exit_code(spawned.error()), explain(spawned.error(), request)};
    const pid_t pid = spawned->pid;
    reaper_.add_worker(pid);
    children_.push_back(std::make_unique<Child>(executor_, std::move(*spawned)));
    children_.back()->on_exit([this, pid, local_rank = spec.local_rank](ExitStatus status) {
      reaper_.forget_worker(pid);
      on_exit_(local_rank, pid, status);
    });
    on_start(spec.local_rank, pid);
  }
  return std::nullopt;
}

std::optional<int> WorkerGroup::local_rank_of(pid_t pid) const {
  for (std::size_t local_rank = 0; local_rank < children_.size(); ++local_rank)
    if (children_[local_rank]->pid() == pid && !children_[local_rank]->ended()) return static_cast<int>(local_rank);
  return std::nullopt;
}

std::vector<std::pair<int, pid_t>> WorkerGroup::running() const {
  std::vector<std::pair<int, pid_t>> result;
  for (std::size_t local_rank = 0; local_rank < children_.size(); ++local_rank)
    if (!children_[local_rank]->ended())
      result.emplace_back(static_cast<int>(local_rank), children_[local_rank]->pid());
  return result;
}

void WorkerGroup::signal_all(int signal) {
  reaper_.signal_all(signal);
  if (signal == SIGKILL && cgroup_) cgroup_->end_all();
}

}  // namespace launch
