#include "launch/core/session/host_witness.hpp"

#include "launch/core/session/dialogs.hpp"

#include <utility>

namespace launch {

void HostWitness::watch(Endpoint store, Operation attend) {
  if (std::exchange(watches_, true)) return;
  scope_.start(keep(std::move(store), std::move(attend)));
}

void HostWitness::forget() {
  scope_.give_up();
  link_.reset();
  watches_ = saw_end_ = false;
}

// If the host answers, it does not know this node yet.
Talk<void> HostWitness::keep(Endpoint store, Operation attend) {
  auto link = co_await connect_quietly(stage_, std::move(store), later(stage_.moment(), quick_answer));
  if (link) {
    link_.emplace(*std::move(link));
    auto outcome = co_await link_->perform(std::move(attend), never);
    saw_end_ = !outcome && link_->hung_up();
    link_.reset();
  }
  watches_ = false;
  ended_.ring();
}

Talk<bool> HostWitness::has_seen_end(Time by) {
  while (watches_ && stage_.moment() < by) {
    auto ended = ended_.rung(by);
    co_await ended;
  }
  co_return saw_end_;
}

}  // namespace launch
