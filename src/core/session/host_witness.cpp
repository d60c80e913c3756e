#include "launch/core/session/host_witness.hpp"

#include "launch/core/base/backoff.hpp"
#include "launch/core/session/dialogs.hpp"

#include <utility>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration first_retry = 500ms;
constexpr Duration longest_retry = 10s;

}  // namespace

void HostWitness::watch(Endpoint store, Operation attend) {
  is_due_ = true;
  if (std::exchange(watches_, true)) return again_.ring();
  scope_.start(keep(std::move(store), std::move(attend)));
}

void HostWitness::forget() {
  scope_.give_up();
  link_.reset();
  watches_ = saw_end_ = false;
}

// If the host answers, it does not know this node yet. What was seen before proves nothing about a host that is there.
Talk<void> HostWitness::keep(Endpoint store, Operation attend) {
  Backoff backoff(first_retry, longest_retry, stage_.random());
  while (true) {
    is_due_ = false;
    const Time start = stage_.moment();
    auto link = co_await connect_quietly(stage_, store, later(start, quick_answer));
    if (link) {
      saw_end_ = false;
      link_.emplace(*std::move(link));
      Operation silently = attend;
      auto outcome = co_await link_->perform(std::move(silently), never);
      saw_end_ = !outcome && link_->hung_up();
      link_.reset();
      ended_.ring();
    }
    if (is_due_) continue;
    if (stage_.moment() > later(start, longest_retry)) backoff = Backoff(first_retry, longest_retry, stage_.random());
    auto pause = again_.rung(later(stage_.moment(), backoff.next()));
    co_await pause;
  }
}

Talk<bool> HostWitness::has_seen_end(Time by) {
  while (link_ && stage_.moment() < by) {
    auto ended = ended_.rung(by);
    co_await ended;
  }
  co_return saw_end_;
}

}  // namespace launch
