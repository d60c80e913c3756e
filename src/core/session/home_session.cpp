#include "launch/core/session/home_session.hpp"

#include <utility>

namespace launch {

HomeSession::HomeSession(const Config& config, const AloneChoice& choice, const SessionFacts& facts)
    : Session(config, facts), store_(choice.store) {}

HomeSession::~HomeSession() { stage_.end(); }

Talk<Status> HomeSession::open() {
  if (!config_.serves_workers) {
    Question find = FindFreePort{};
    auto finding = stage_.ask<std::uint16_t>(std::move(find));
    store_.port = co_await finding;
    co_return Status();
  }
  Question listen = Listen{OwnStore::job, store_, is_loopback(store_.host)};
  auto listening = stage_.ask<Listening>(std::move(listen));
  Listening opened = co_await listening;
  if (opened.status) store_.port = opened.port;
  co_return std::move(opened.status);
}

void HomeSession::join(const JoinRound& event) {
  if (rounds_ > 0) stage_.act(FenceStore{OwnStore::job});
  const int nproc = config_.nproc_per_node;
  const Assignment alone{.group_world_size = 1, .world_size = nproc, .role_world_size = nproc};
  Round round{.assignment = alone, .master = store_, .restarts = event.restarts, .number = rounds_};
  ++rounds_;
  stage_.tell(RendezvousDone{std::move(round)});
}

Talk<void> HomeSession::tell(Failure /*failure*/) { co_return; }

void HomeSession::enter_barrier() { stage_.tell(BarrierDone{}); }

Talk<Account> HomeSession::share(Account own, Failure /*first*/) { co_return own; }

Talk<void> HomeSession::end(bool /*failed*/) { co_return; }

}  // namespace launch
