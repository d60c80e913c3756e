// A client that carries out one operation at a time, as io/store_client does.
#pragma once

#include "world.hpp"

#include "launch/core/store/store_operation.hpp"

#include <functional>
#include <optional>
#include <string>

namespace launch::sim {

class Client : private Peer {
 public:
  Client(World& world, std::function<void(const Outcome&)> on_outcome, std::function<void()> on_closed);

  void connect();  // anew, too
  bool is_open() const { return !gone_ && world_.is_open(connection_); }
  void perform(const Operation& operation, Time deadline);
  void wake();   // ends a wait
  void close();  // the process ends
  void part();   // the machine ends

  // A node that stands still reads nothing; what came is there when it goes on.
  void freeze_until(Time when);
  // The moment at which it takes the store for lost; it does unless the cut is mended by then.
  Time cut_until(Time when);
  // Whatever this node does by itself it does when it does not stand still.
  void when_awake(Time when, std::function<void()> what);

 private:
  void received(const std::string& bytes) override;
  void closed() override;
  void look();
  void finish(Outcome outcome);
  void cancel();
  Time last_beat();

  World& world_;
  std::function<void(const Outcome&)> on_outcome_;
  std::function<void()> on_closed_;
  ConnectionId connection_ = 0;
  std::string buffer_;
  std::optional<Operation> under_way_;
  std::optional<Outcome> answer_;  // which was on its way when the wait was cancelled
  bool cancelling_ = false;
  bool closed_ = false;  // by the store
  bool gone_ = true;
  std::uint64_t number_ = 0;  // of the operation
  Time frozen_until_{};
};

}  // namespace launch::sim
