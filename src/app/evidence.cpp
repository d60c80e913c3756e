#include "launch/app/evidence.hpp"

#include "launch/io/child.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/host.hpp"
#include "launch/io/process_look.hpp"
#include "launch/io/spawn.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration time_for_states = 20ms;
constexpr Duration time_for_stacks = 10s;  // py-spy needs 1 or 2 s on a busy machine
constexpr Duration look_for_output = 20ms;
constexpr Duration time_for_reading = 1s;
constexpr std::size_t dumps_at_once = 8;
constexpr std::size_t longest_dump = std::size_t{256} << 10;

// A shell script may stand between launch and Python.
std::optional<pid_t> python_process(pid_t worker) {
  if (runs_python(worker)) return worker;
  for (const pid_t pid : descendants_of(worker))
    if (runs_python(pid)) return pid;
  return std::nullopt;
}

std::vector<std::size_t> sizes_of(const std::vector<std::string>& files) {
  std::vector<std::size_t> sizes;
  sizes.reserve(files.size());
  for (const std::string& file : files) sizes.push_back(file.empty() ? 0 : file_size(file));
  return sizes;
}

}  // namespace

// A process that writes what it sees of another process into a file without a name.
struct Evidence::Dump {
  Worker worker;
  Fd output;
  std::unique_ptr<Child> child;
  bool ended = false;
};

void Evidence::take_states() {
  const Time deadline = later(now(), time_for_states);
  for (const Worker& worker : workers_) {
    std::vector<pid_t> family = descendants_of(worker.pid);
    family.insert(family.begin(), worker.pid);
    for (const pid_t pid : family) {
      if (now() >= deadline) return notes_.out_of_time(worker.rank);
      const auto look = glance_at(pid);
      if (look) notes_.add(worker.rank, *look, pid == worker.pid);
    }
  }
}

asio::awaitable<void> Evidence::take_stacks(std::string search_path, int stack_signal, Send send) {
  const Time deadline = later(now(), time_for_stacks);
  const auto look = [search_path] { return find_on_path("py-spy", search_path); };
  auto looking = disk_.run_until(deadline, look);
  auto py_spy = co_await std::move(looking);
  if (!py_spy) co_return;
  if (*py_spy) {
    co_await ask_py_spy(std::move(**py_spy), std::move(search_path), deadline);
  } else if (stack_signal != 0) {
    co_await ask_workers(stack_signal, std::move(send), deadline);
  }
}

void Evidence::hurry() {
  hurried_ = true;
  timer_.cancel();
}

asio::awaitable<void> Evidence::until(std::function<bool()> done, Time deadline) {
  while (!hurried_ && now() < deadline && !done()) {
    timer_.expires_at(to_steady(std::min(deadline, later(now(), look_for_output))));
    (void)co_await timer_.async_wait(as_values);
  }
}

struct Evidence::Dumps {
  std::string py_spy, search_path;
  std::vector<std::shared_ptr<Dump>> started;
  std::size_t running = 0;
};

asio::awaitable<void> Evidence::ask_py_spy(std::string py_spy, std::string search_path, Time deadline) {
  Dumps dumps;
  dumps.py_spy = std::move(py_spy);
  dumps.search_path = std::move(search_path);
  const std::function<bool()> has_room = [&dumps] { return dumps.running < dumps_at_once; };
  const std::function<bool()> all_ended = [&dumps] { return dumps.running == 0; };
  for (const Worker& worker : workers_) {
    co_await until(has_room, deadline);
    if (hurried_ || now() >= deadline) break;
    if (const auto pid = python_process(worker.pid)) co_await start_dump(dumps, worker, *pid, deadline);
  }
  co_await until(all_ended, deadline);
  for (const auto& dump : dumps.started) {
    const bool in_time = std::exchange(dump->ended, true);
    notes_.add_stack(dump->worker.rank,
                     in_time ? read_file(fmt::format("/proc/self/fd/{}", dump->output.get()), longest_dump)
                             : "py-spy did not finish\n");
  }
}

asio::awaitable<void> Evidence::start_dump(Dumps& dumps, Worker worker, pid_t pid, Time deadline) {
  auto dump = std::make_shared<Dump>();
  dump->worker = std::move(worker);
  dump->output = Fd(static_cast<int>(::syscall(SYS_memfd_create, "py-spy", MFD_CLOEXEC)));
  if (!dump->output.valid()) co_return;
  SpawnRequest request;
  request.executable = dumps.py_spy;
  request.argv = {"py-spy", "dump", "--pid", std::to_string(pid)};
  request.env = {"PATH=" + dumps.search_path};
  request.out = request.err = dump->output.get();
  const auto start = [request, dump] { return spawn(request); };  // `dump` keeps the file open meanwhile
  auto starting = disk_.run_until(deadline, start);
  auto spawned = co_await std::move(starting);
  if (!spawned || !*spawned) co_return;
  dump->child = std::make_unique<Child>(executor_, std::move(**spawned));
  ++dumps.running;
  // It does not matter if another part of launch collects the process first: only its output is wanted.
  dump->child->on_exit([dump, running = &dumps.running, this](ExitStatus) {
    if (std::exchange(dump->ended, true)) return;
    --*running;
    timer_.cancel();
  });
  dumps.started.push_back(std::move(dump));
}

// By how much the files of the workers that were asked have grown. `asked` holds their indices in workers_.
struct Evidence::Growth {
  std::vector<std::string> files;
  std::vector<std::size_t> before, last, asked;
};

asio::awaitable<void> Evidence::ask_workers(int signal, Send send, Time deadline) {
  Growth growth;
  for (const Worker& worker : workers_) growth.files.push_back(worker.err_file);
  const auto look = [files = growth.files] { return sizes_of(files); };
  auto looking = disk_.run_until(deadline, look);
  const auto before = co_await std::move(looking);
  if (!before) co_return;
  growth.before = growth.last = *before;
  growth.asked = signal_those_that_listen(signal, send, deadline);
  const bool answered = co_await grow_quiet(growth, deadline);
  if (!answered) co_return;
  for (const std::size_t i : growth.asked) {
    const std::size_t grown = std::min(growth.last[i] - growth.before[i], longest_dump);
    const auto read = [file = growth.files[i], grown] { return read_tail(file, grown); };
    auto reading = disk_.run_until(later(deadline, time_for_reading), read);
    const auto dump = co_await std::move(reading);
    if (!dump) co_return;
    notes_.add_stack(workers_[i].rank, *dump);
  }
}

std::vector<std::size_t> Evidence::signal_those_that_listen(int signal, const Send& send, Time deadline) const {
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < workers_.size() && !hurried_ && now() < deadline; ++i) {
    const auto pid = python_process(workers_[i].pid);
    if (pid && catches(*pid, signal) && send(*pid, signal) && !workers_[i].err_file.empty()) asked.push_back(i);
  }
  return asked;
}

// A dump is mostly written in one go, so one that has begun and no longer grows is complete. False: the disk does not
// answer.
asio::awaitable<bool> Evidence::grow_quiet(Growth& growth, Time deadline) {
  const auto look = [files = growth.files] { return sizes_of(files); };
  const auto began = [&growth](std::size_t i) { return growth.last[i] > growth.before[i]; };
  bool quiet = growth.asked.empty();
  while (!quiet && !hurried_ && now() < deadline) {
    timer_.expires_at(to_steady(std::min(deadline, later(now(), look_for_output))));
    (void)co_await timer_.async_wait(as_values);
    auto looking = disk_.run_until(deadline, look);
    auto sizes = co_await std::move(looking);
    if (!sizes) co_return false;
    const bool same = *sizes == std::exchange(growth.last, *sizes);
    quiet = same && std::all_of(growth.asked.begin(), growth.asked.end(), began);
  }
  co_return true;
}

}  // namespace launch
