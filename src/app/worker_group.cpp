#include "launch/app/worker_group.hpp"

#include <utility>

namespace launch {

WorkerGroup::WorkerGroup(boost::asio::any_io_executor executor, Inheritance inheritance, ExitCallback on_exit)
    : executor_(std::move(executor)), inheritance_(std::move(inheritance)), on_exit_(std::move(on_exit)) {}

std::optional<WorkerNotStarted> WorkerGroup::start(std::vector<WorkerSpec> specs, const std::string& script) {
  children_.reserve(specs.size());
  for (WorkerSpec& spec : specs) {
    SpawnRequest request;
    request.executable = std::move(spec.executable);
    request.argv = std::move(spec.argv);
    request.env = std::move(spec.env);
    request.script = script;
    request.reset_signals = inheritance_.reset_signals;
    request.open_files = inheritance_.open_files;
    if (!spec.binding.cpus.empty()) request.binding = prepare(spec.binding);
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
  }
  return std::nullopt;
}

}  // namespace launch
