#include "launch/app/worker_group.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/guard.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <unistd.h>
#include <boost/asio/post.hpp>

namespace launch {

namespace asio = boost::asio;

namespace {

// Lives until it has ended, which may be after the last who waits for it.
struct RunningHook {
  RunningHook(const asio::any_io_executor& executor, Spawned spawned)
      : child(executor, std::move(spawned)), patience(executor) {}

  Child child;
  asio::steady_timer patience;
  std::optional<ExitStatus> status{};
};

// Zero: there is no limit.
Time when_over(Duration limit) { return limit == Duration::zero() ? never : later(now(), limit); }

// The group was killed by us, or by our guard.
bool is_spent(const WorkerCgroup& group) {
  const LifeSign* const life = life_sign();
  return group.killed() || (life != nullptr && life->has_stalled());
}

}  // namespace

WorkerGroup::WorkerGroup(asio::any_io_executor executor, DiskThread& disk, Inheritance inheritance,
                         ExitCallback on_exit)
    : executor_(std::move(executor)),
      disk_(disk),
      inheritance_(std::move(inheritance)),
      on_exit_(std::move(on_exit)),
      crew_(std::make_shared<SpawnCrew>(executor_)) {}

int WorkerGroup::begin() {
  reaper_.begin();
  last_pids_.clear();
  for (const auto& child : children_) last_pids_.push_back(child->pid());
  children_.clear();
  stopped_ = after_ = false;
  starting_ = true;
  passed_.clear();
  warnings_.clear();
  leave_spent_cgroup();
  asio::post(executor_, [this] { need_cgroup(); });  // while the thread for files makes the round's folder
  return ++round_;
}

void WorkerGroup::begin_after() {
  reaper_.begin();
  stopped_ = starting_ = false;
  after_ = true;
  passed_.clear();
  warnings_.clear();
  leave_spent_cgroup();
}

void WorkerGroup::leave_spent_cgroup() {
  if (cgroup_ && is_spent(*cgroup_)) last_cgroup_ = std::move(cgroup_);
}

void WorkerGroup::need_cgroup() {
  if (cgroup_) return;
  const bool had_one = last_cgroup_ && !last_cgroup_->folder().empty();
  cgroup_ = had_one ? std::make_unique<WorkerCgroup>(last_cgroup_.get()) : std::make_unique<WorkerCgroup>();
}

// Opens the standard input again for each copy, if it is a file. That may have to wait for a disk.
asio::awaitable<std::vector<Fd>> WorkerGroup::open_inputs(std::size_t count) {
  if (count == 0) co_return std::vector<Fd>();
  const auto open = [count] { return StdinFeeder::open_again_each(STDIN_FILENO, count); };
  auto opening = disk_.run(open);
  co_return co_await std::move(opening);
}

Result<WorkerOutput> WorkerGroup::source(WorkerInput input, std::vector<Fd>& copies) {
  if (input == WorkerInput::nothing) return WorkerOutput{Fd(), "/dev/null"};
  if (input == WorkerInput::inherited) return WorkerOutput{};
  if (!copies.empty()) {
    WorkerOutput copy{std::move(copies.back()), {}};
    copies.pop_back();
    return copy;
  }
  if (!feeder_) feeder_.emplace(executor_, STDIN_FILENO, inheritance_.owner);
  if (inheritance_.shares_input) feeder_->hold_up_nobody();
  auto copy = feeder_->open_copy();
  if (!copy) return copy.error();
  return WorkerOutput{*std::move(copy), {}};
}

WorkerStart::Worker WorkerGroup::plan(WorkerSpec spec, const std::string& script, const OutputCallback& output) {
  WorkerStart::Worker worker{
      spec.local_rank, {}, {}, output(spec.local_rank, spec.logs.out), output(spec.local_rank, spec.logs.err)};
  SpawnRequest& request = worker.request;
  request.executable = std::move(spec.executable);
  request.argv = std::move(spec.argv);
  request.env = std::move(spec.env);
  request.script = script;
  request.reset_signals = inheritance_.reset_signals;
  request.open_files = inheritance_.open_files;
  request.cgroup = cgroup_->descriptor();
  if (!spec.binding.cpus.empty()) request.binding = prepare(spec.binding);
  return worker;
}

asio::awaitable<std::optional<WorkerNotStarted>> WorkerGroup::start(std::vector<WorkerSpec> specs, std::string script,
                                                                    OutputCallback output, StartCallback on_start) {
  need_cgroup();
  if (feeder_) feeder_->begin();
  children_.reserve(specs.size());
  on_start_ = std::move(on_start);
  start_ = std::make_shared<WorkerStart>(executor_, crew_, [this] { take_made(); });
  auto making = make_all(std::move(specs), std::move(script), std::move(output));
  auto failed = co_await std::move(making);
  take_made();
  start_.reset();
  starting_ = false;
  last_cgroup_.reset();
  if (stopped_) co_return failed;
  for (const int signal : std::exchange(passed_, {})) reaper_.pass_on(signal);
  for (const int signal : std::exchange(warnings_, {})) reaper_.warn(signal);
  for (std::size_t i = 0; i < children_.size(); ++i) await_end(i);
  co_return failed;
}

asio::awaitable<std::optional<WorkerNotStarted>> WorkerGroup::make_all(std::vector<WorkerSpec> specs,
                                                                       std::string script, OutputCallback output) {
  const auto start = start_;
  const auto wanted =
      std::count_if(specs.begin(), specs.end(), [](const WorkerSpec& spec) { return spec.input == WorkerInput::copy; });
  auto opening = open_inputs(static_cast<std::size_t>(wanted));
  std::vector<Fd> copies = co_await std::move(opening);
  for (WorkerSpec& spec : specs) {
    auto in = source(spec.input, copies);
    if (!in) co_return WorkerNotStarted{spec.local_rank, exit_code(in.error().code), in.error().message};
    WorkerStart::Worker worker = plan(std::move(spec), script, output);
    worker.in = *std::move(in);
    start->add(std::move(worker));
  }
  const auto make = [start] { return start->make_all(); };
  auto making = disk_.run(make);
  co_return co_await std::move(making);
}

void WorkerGroup::take_made() {
  if (!start_) return;
  for (auto& [local_rank, spawned] : start_->take()) {
    const pid_t pid = spawned.pid;
    reaper_.add_worker(pid);
    children_.push_back(std::make_unique<Child>(executor_, std::move(spawned)));
    on_start_(local_rank, pid);
    if (stopped_) await_end(children_.size() - 1);
  }
}

void WorkerGroup::await_end(std::size_t local_rank) {
  const pid_t pid = children_[local_rank]->pid();
  children_[local_rank]->on_exit([this, pid, local_rank](ExitStatus status) {
    reaper_.forget_worker(pid);
    on_exit_(LocalRank(static_cast<int>(local_rank)), pid, status);
  });
}

asio::awaitable<HookEnd> WorkerGroup::run_hook(SpawnRequest request, Fd output, HookTimes times) {
  need_cgroup();
  request.reset_signals = inheritance_.reset_signals;
  request.open_files = inheritance_.open_files;
  request.cgroup = cgroup_->descriptor();
  Fd errors(::fcntl(output.get(), F_DUPFD_CLOEXEC, 0));
  if (!errors.valid()) co_return HookEnd{.not_started = why_not_opened(errno)};
  const auto start = std::make_shared<WorkerStart>(executor_, crew_, [] {});
  start->add({LocalRank(0), std::move(request), {Fd(), "/dev/null"}, {std::move(output), {}}, {std::move(errors), {}}});
  hook_start_ = start;
  if (stopped_) start->stop();
  const auto make = [start] { return start->make_all(); };
  auto making = disk_.run(make);
  const auto failed = co_await std::move(making);
  std::vector<WorkerStart::Made> made = start->take();
  hook_start_.reset();
  if (failed) co_return HookEnd{.not_started = failed->message};
  if (made.empty()) co_return HookEnd{.status = {ExitStatus::Kind::signalled, SIGTERM}};
  auto waiting = await_hook(std::move(made.front().spawned), times);
  co_return co_await std::move(waiting);
}

// One that outlives SIGKILL stays with the reaper, as a worker that has not ended: it counts as left behind.
asio::awaitable<HookEnd> WorkerGroup::await_hook(Spawned spawned, HookTimes times) {
  const pid_t pid = spawned.pid;
  reaper_.add_worker(pid);
  const auto hook = std::make_shared<RunningHook>(executor_, std::move(spawned));
  hook->child.on_exit([this, hook, pid](ExitStatus status) {
    hook->status = status;
    reaper_.forget_worker(pid);
    hook->patience.cancel();
  });
  hook->patience.expires_at(to_steady(when_over(times.limit)));
  (void)co_await hook->patience.async_wait(as_values);
  if (hook->status) co_return HookEnd{.status = *hook->status};
  reaper_.signal_group(pid, SIGKILL);
  hook->patience.expires_at(to_steady(later(now(), times.kill_grace)));
  (void)co_await hook->patience.async_wait(as_values);
  if (!hook->status) co_return HookEnd{.timed_out = true, .outlives = true};
  co_return HookEnd{.status = *hook->status, .timed_out = true};
}

std::optional<LocalRank> WorkerGroup::local_rank_of(pid_t pid) const {
  for (std::size_t local_rank = 0; local_rank < children_.size(); ++local_rank)
    if (children_[local_rank]->pid() == pid && !children_[local_rank]->ended())
      return LocalRank(static_cast<int>(local_rank));
  return std::nullopt;
}

std::vector<std::pair<LocalRank, pid_t>> WorkerGroup::running() const {
  std::vector<std::pair<LocalRank, pid_t>> result;
  for (std::size_t local_rank = 0; local_rank < children_.size(); ++local_rank)
    if (!children_[local_rank]->ended())
      result.emplace_back(LocalRank(static_cast<int>(local_rank)), children_[local_rank]->pid());
  return result;
}

// SIGTSTP and SIGCONT also apply to workers that are not there yet: the reaper sees to that (io/reaper). The others
// mean something to workers only.
void WorkerGroup::pass_on(int signal) {
  const bool of_terminal = signal == SIGTSTP || signal == SIGCONT;
  if (after_ && !of_terminal) return;
  if (starting_ && !of_terminal) return passed_.push_back(signal);
  reaper_.pass_on(signal);
}

void WorkerGroup::warn(int signal) {
  if (starting_) return warnings_.push_back(signal);
  reaper_.warn(signal);
}

void WorkerGroup::signal_all(int signal) {
  if (start_ && !stopped_) {
    start_->stop();
    take_made();
    for (std::size_t i = 0; i < children_.size(); ++i) await_end(i);
  }
  if (hook_start_) hook_start_->stop();
  stopped_ = true;
  // The control group comes first: its kill is one step for all processes in it, even for those that are just being
  // made.
  if (signal == SIGKILL && cgroup_) cgroup_->end_all();
  reaper_.signal_all(signal);
}

}  // namespace launch
