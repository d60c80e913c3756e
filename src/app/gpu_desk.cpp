#include "launch/app/gpu_desk.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/gpu_library.hpp"

#include <mutex>
#include <optional>
#include <utility>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration time_for_library = 5s;

}  // namespace

struct GpuDesk::Known {
  struct State {
    bool asking = false;
    Time answered{};
    Result<GpuFacts> answer = Error{ErrorCode::timeout, "NVIDIA's library does not answer"};
  };

  State get() {
    const std::lock_guard lock(mutex);
    return state;
  }

  void ask() {
    const std::lock_guard lock(mutex);
    state.asking = true;
  }

  void take(Result<GpuFacts> answer) {
    const std::lock_guard lock(mutex);
    state = {false, now(), std::move(answer)};
  }

  std::mutex mutex;
  State state;
};

GpuDesk::GpuDesk(asio::any_io_executor executor, WorkerGroup& workers)
    : workers_(workers), known_(std::make_shared<Known>()), thread_(std::move(executor)) {}

// The process is made on the loop, so that it is known before its end can be heard of.
asio::awaitable<Result<GpuFacts>> GpuDesk::facts(Haste haste) {
  const Known::State state = known_->get();
  const bool fresh = state.answered != Time() && now() < later(state.answered, haste.age);
  if (!state.asking && fresh) co_return state.answer;
  if (!state.asking) {
    auto process = ask_gpus();
    if (!process) co_return process.error();
    workers_.forget_stranger(asked_);
    workers_.disregard(asked_ = process->pid());
    known_->ask();
    const auto asked = std::make_shared<SideProcess>(*std::move(process));
    thread_.give([known = known_, asked, deadline = later(now(), time_for_library)] {
      auto answer = answer_of_gpus(std::move(*asked), deadline);  // has waited for its end
      known->take(std::move(answer));
    });
  }
  // Jobs are done one after the other, so this one comes after the answer.
  const auto look = [known = known_] { return known->get().answer; };
  auto waiting = thread_.run_until(later(now(), haste.patience), look);
  auto answer = co_await std::move(waiting);
  if (answer) co_return *std::move(answer);
  co_return Error{ErrorCode::timeout, "NVIDIA's library does not answer"};
}

}  // namespace launch
