#include "launch/app/worker_group.hpp"

#include <csignal>
#include <utility>

namespace launch {

WorkerGroup::WorkerGroup(boost::asio::any_io_executor executor, Inheritance inheritance, ExitCallback on_exit)
    : executor_(std::move(executor)), inheritance_(std::move(inheritance)), on_exit_(std::move(on_exit)) {}

namespace {

// The files of a worker's two streams, open while it is started.
struct Outputs {
  Fd out, err;
};

Result<Outputs> open_outputs(const WorkerLogs& logs, const WorkerGroup::OpenCallback& open) {
  auto out = open(logs.out);
  if (!out) return out.error();
  auto err = open(logs.err);
  if (!err) return err.error();
  return Outputs{std::move(*out), std::move(*err)};
}

}  // namespace

std::optional<WorkerNotStarted> WorkerGroup::start(std::vector<WorkerSpec> specs, const std::string& script,
                                                   const OpenCallback& open, const StartCallback& on_start) {
  reaper_.begin();
  if (!cgroup_) cgroup_.emplace();
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
    auto outputs = open_outputs(spec.logs, open);
    if (!outputs) return WorkerNotStarted{spec.local_rank, exit_code(outputs.error().code), outputs.error().message};
    request.out = outputs->out.get();
    request.err = outputs->err.get();
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
