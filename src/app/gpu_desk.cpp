#include "launch/app/gpu_desk.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/gpu_library.hpp"

#include <mutex>
#include <utility>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration time_for_library = 5s;
constexpr Duration facts_hold = 2s;

}  // namespace

struct GpuDesk::Known {
  struct State {
    bool asking = false;
    std::optional<Time> answered;
    std::optional<GpuFacts> facts;
  };

  void ask() {
    const std::lock_guard lock(mutex);
    state.asking = true;
  }

  State get() {
    const std::lock_guard lock(mutex);
    return state;
  }

  void take(Result<GpuFacts> answer) {
    const std::lock_guard lock(mutex);
    state = {false, now(), answer ? std::optional(*std::move(answer)) : std::nullopt};
  }

  std::mutex mutex;
  State state;
};

GpuDesk::GpuDesk(asio::any_io_executor executor, WorkerGroup& workers)
    : workers_(workers), known_(std::make_shared<Known>()), thread_(std::move(executor)) {}

// The process is made on the loop, so that it is known before its end can be heard of.
asio::awaitable<std::optional<GpuFacts>> GpuDesk::facts(Duration patience) {
  const Known::State state = known_->get();
  if (!state.asking && state.answered && now() < later(*state.answered, facts_hold)) co_return state.facts;
  if (!state.asking) {
    auto process = ask_gpus();
    if (!process) co_return std::nullopt;
    workers_.disregard(process->pid());
    known_->ask();
    const auto asked = std::make_shared<SideProcess>(*std::move(process));
    thread_.give([known = known_, asked, deadline = later(now(), time_for_library)] {
      known->take(answer_of_gpus(std::move(*asked), deadline));
    });
  }
  // Jobs are done one after the other, so this one comes after the answer.
  const auto look = [known = known_] { return known->get().facts; };
  auto waiting = thread_.run_until(later(now(), patience), look);
  auto facts = co_await std::move(waiting);
  co_return facts ? *std::move(facts) : std::nullopt;
}

}  // namespace launch
