#include "launch/core/session/home_session.hpp"

#include <utility>

namespace launch {

HomeSession::HomeSession(const Config& config, const SessionFacts& facts)
    : Session(config, facts), master_(config.master) {}

HomeSession::~HomeSession() { stage_.end(); }

Talk<Status> HomeSession::open() {
  if (!config_.serves_workers) {
    Question find = FindFreePort{};
    auto finding = stage_.ask<std::uint16_t>(std::move(find));
    master_.port = co_await finding;
    co_return Status();
  }
  Question listen = Listen{OwnStore::job, master_, config_.loopback_only};
  auto listening = stage_.ask<Listening>(std::move(listen));
  Listening opened = co_await listening;
  if (opened.status) master_.port = opened.port;
  co_return std::move(opened.status);
}

void HomeSession::join(const JoinRound& /*event*/) {
  if (rounds_ > 0) stage_.act(FenceStore{OwnStore::job});
  const int nproc = config_.nproc_per_node;
  Round round{Assignment{0, 1, 0, nproc, 0, nproc}, master_, rounds_};
  round.number = rounds_++;
  stage_.tell(RendezvousDone{std::move(round)});
}

Talk<void> HomeSession::tell(Failure /*failure*/) { co_return; }

void HomeSession::enter_barrier() { stage_.tell(BarrierDone{}); }

Talk<Account> HomeSession::share(Account own, Failure /*first*/) { co_return own; }

Talk<void> HomeSession::end(bool /*failed*/) { co_return; }

}  // namespace launch
