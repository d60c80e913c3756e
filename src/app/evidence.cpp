#include "launch/app/evidence.hpp"

#include "launch/core/stack_text.hpp"
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
#include <sys/mman.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration time_for_states = 20ms;
constexpr Duration time_for_stacks = 10s;  // py-spy needs one or two on a machine that is busy
constexpr Duration look_for_output = 20ms;
constexpr std::size_t dumps_at_once = 8;
constexpr std::size_t longest_dump = std::size_t{256} << 10;

// A shell script may stand between launch and Python.
std::optional<pid_t> python_process(pid_t worker) {
  if (runs_python(worker)) return worker;
  for (const pid_t pid : descendants_of(worker))
    if (runs_python(pid)) return pid;
  return std::nullopt;
}

}  // namespace

// A process that writes what it sees of another into a file of no name.
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
      if (now() >= deadline) {
        text_ += "rank " + std::to_string(worker.rank) + " and those behind it: not looked at, the time was up\n";
        return;
      }
      const auto look = look_at(pid);
      if (!look || look->state == 'Z') continue;
      text_ += fmt::format("rank {}: {}\n", worker.rank, to_text(*look));
      if (!look->kernel_stack.empty()) text_ += look->kernel_stack;
      if (pid == worker.pid && stands_still(*look)) place_by_rank_[worker.rank] = activity(*look);
    }
  }
}

asio::awaitable<void> Evidence::take_stacks(std::string search_path, int stack_signal, Send send) {
  const Time deadline = later(now(), time_for_stacks);
  auto py_spy = find_on_path("py-spy", search_path);
  if (py_spy) {
    co_await ask_py_spy(std::move(*py_spy), std::move(search_path), deadline);
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

asio::awaitable<void> Evidence::ask_py_spy(std::string py_spy, std::string search_path, Time deadline) {
  std::vector<std::shared_ptr<Dump>> dumps;
  std::size_t running = 0;
  const std::function<bool()> has_room = [&running] { return running < dumps_at_once; };
  const std::function<bool()> all_ended = [&running] { return running == 0; };
  for (const Worker& worker : workers_) {
    co_await until(has_room, deadline);
    if (hurried_ || now() >= deadline) break;
    const auto pid = python_process(worker.pid);
    if (!pid) continue;
    auto dump = std::make_shared<Dump>();
    dump->worker = worker;
    dump->output = Fd(::memfd_create("py-spy", MFD_CLOEXEC));
    if (!dump->output.valid()) continue;
    SpawnRequest request;
    request.executable = py_spy;
    request.argv = {"py-spy", "dump", "--pid", std::to_string(*pid)};
    request.env = {"PATH=" + search_path};
    request.out = request.err = dump->output.get();
    auto spawned = spawn(request);
    if (!spawned) continue;
    dump->child = std::make_unique<Child>(executor_, std::move(*spawned));
    ++running;
    // Who collects the process first does not matter: its output is all that is wanted.
    dump->child->on_exit([dump, &running, this](ExitStatus) {
      if (std::exchange(dump->ended, true)) return;
      --running;
      timer_.cancel();
    });
    dumps.push_back(std::move(dump));
  }
  co_await until(all_ended, deadline);
  for (const auto& dump : dumps) {
    const bool in_time = std::exchange(dump->ended, true);
    note_stack(dump->worker, in_time ? read_file(fmt::format("/proc/self/fd/{}", dump->output.get()), longest_dump)
                                     : "py-spy did not come to an end\n");
  }
}

asio::awaitable<void> Evidence::ask_workers(int signal, Send send, Time deadline) {
  std::vector<std::pair<Worker, std::size_t>> asked;  // with the size of its output before
  for (const Worker& worker : workers_) {
    if (hurried_ || now() >= deadline) break;
    const auto pid = python_process(worker.pid);
    if (!pid || !catches(*pid, signal)) continue;
    const std::size_t before = file_size(worker.err_file);
    if (send(*pid, signal) && !worker.err_file.empty()) asked.emplace_back(worker, before);
  }
  // Written in one go, mostly: what has begun and grows no more is complete.
  std::size_t last = 0;
  const std::function<bool()> quiet = [&] {
    std::size_t all = 0;
    bool every = true;
    for (const auto& [worker, before] : asked) {
      const std::size_t size = file_size(worker.err_file);
      every = every && size > before;
      all += size;
    }
    return std::exchange(last, all) == all && every;
  };
  co_await until(quiet, deadline);
  for (const auto& [worker, before] : asked) {
    const std::size_t grown = file_size(worker.err_file) - before;
    note_stack(worker, read_tail(worker.err_file, std::min(grown, longest_dump)));
  }
}

void Evidence::note_stack(const Worker& worker, const std::string& dump) {
  text_ += fmt::format("\nrank {}, Python stacks:\n{}", worker.rank, dump);
  const std::string place = stack_summary(main_stack(dump));
  if (place.empty()) return;
  place_by_rank_[worker.rank] = "in " + place;
  has_stacks_ = true;
}

std::vector<RankGroup> Evidence::places() const {
  std::map<std::string, std::vector<int>> ranks_by_place;
  for (const auto& [rank, place] : place_by_rank_) ranks_by_place[place].push_back(rank);
  std::vector<RankGroup> groups;
  for (auto& [place, ranks] : ranks_by_place) groups.push_back({place, std::move(ranks)});
  return groups;
}

}  // namespace launch
