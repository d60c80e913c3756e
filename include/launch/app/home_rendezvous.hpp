// The rendezvous of a job of one node: it has found itself. The store is there for the workers. Made by
// rendezvous_factory. It never waits and never fails after open(); it tells nobody, since there is nobody. After a
// failure it removes the keys of the workers before the next ones start.
#pragma once

#include "launch/app/rendezvous.hpp"
#include "launch/core/config/config.hpp"
#include "launch/io/store_server.hpp"

namespace launch {

class HomeRendezvous : public Rendezvous {
 public:
  // All must outlive the object. Takes a free port where the configuration leaves it open.
  HomeRendezvous(Config& config, StoreServer& server, Mailbox& mailbox)
      : config_(config), server_(server), mailbox_(mailbox) {}

  Status open() override;
  void join(bool admits, int restarts) override;
  void stop_joining() override {}
  boost::asio::awaitable<void> tell(Failure failure) override;
  void enter_barrier() override;
  boost::asio::awaitable<Account> share(Account own, Failure first) override;
  boost::asio::awaitable<void> end(bool failed) override;
  void hurry() override {}

 private:
  Config& config_;
  StoreServer& server_;
  Mailbox& mailbox_;
  int rounds_ = 0;
};

}  // namespace launch
