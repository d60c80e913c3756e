// The session of a job of one node, which has no others to find. The store is there for the workers. Made by
// session_factory. It never waits and never fails after it was opened; it tells nobody of a failure, since there is
// nobody. After a failure it removes the keys of the workers before the next ones start.
#pragma once

#include "launch/core/session/session.hpp"

namespace launch {

class HomeSession : public Session {
 public:
  // `config` must outlive it.
  HomeSession(const Config& config, const AloneChoice& choice, const SessionFacts& facts);
  ~HomeSession() override;

 private:
  // Takes a free port if the configuration names none.
  Talk<Status> open() override;
  void join(const JoinRound& event) override;
  void stop_joining() override {}
  Talk<void> tell(Failure failure) override;
  void enter_barrier() override;
  Talk<Account> share(Account own, Failure first) override;
  Talk<void> end(bool failed) override;
  void hurry() override {}

  Endpoint store_;
  int rounds_ = 0;
};

}  // namespace launch
