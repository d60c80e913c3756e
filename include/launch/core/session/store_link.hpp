// A connection to a store, as talks use it: one operation at a time. Made by connect_to_store(), for a session and its
// parts. It never reconnects: what the store keeps for a connection ends with that connection. When a StoreLink is
// destroyed, it is closed without taking the will back. The Stage must outlive it.
#pragma once

#include "launch/core/session/stage.hpp"

#include <functional>
#include <string>
#include <vector>

namespace launch {

class StoreLink {
 public:
  StoreLink(Stage& stage, LinkId id, const Opened& opened);
  StoreLink(StoreLink&& other) noexcept;
  StoreLink& operator=(StoreLink&&) = delete;
  ~StoreLink() { close(); }

  // An error `closed` means that the store went away or close() was called; `timeout`, that the store did not answer in
  // time; `silent`, that it did not answer a beat.
  Talk<Result<Outcome>> perform(Operation operation, Time deadline);

  // The most common operations, each with a result type of its own.
  Talk<Result<std::vector<std::string>>> get(KeyList keys, Time deadline);  // empty if missing
  Talk<Result<std::vector<bool>>> check(KeyList keys, Time deadline);       // whether each is there
  Talk<Status> set(std::string key, std::string value, Time deadline);

  // How long the store may take to answer when a wait is given up; 10 s at first.
  void set_patience(Duration patience);
  // See Beat.
  void set_beats(Duration interval, Duration patience);

  // Takes the will back, if one was left, and closes.
  void part();
  // Ends the wait under way as its deadline would; without one, does nothing.
  void wake();
  void close();
  // Closes it so that the other side does not believe that this process has ended, or its workers.
  void abandon();

  // The kernel of the other side has closed it in order.
  bool hung_up() const { return hung_up_; }
  // When the last message that was answered here was sent, if the link beats.
  Time lived_at() const { return lived_at_; }
  // When the store was heard last.
  Time heard_at() const { return heard_at_; }

  Stage& stage() const { return *stage_; }
  // The address of the other side, and ours: an address at which the store's host reaches this node.
  const Endpoint& peer() const { return peer_; }
  const std::string& own_address() const { return own_address_; }

 private:
  Stage* stage_;
  LinkId id_;  // 0: closed
  bool hung_up_ = false;
  Time lived_at_{}, heard_at_{};
  Endpoint peer_;
  std::string own_address_;
};

// Tries once.
Talk<Result<StoreLink>> knock(Stage& stage, Endpoint endpoint, Time deadline);

// Tries again and again with jittered back-off, and gives up at the deadline; `on_retry` is told the reason of each
// failed try. The last reason is in the error, whose code is timeout.
Talk<Result<StoreLink>> connect_to_store(Stage& stage, Endpoint endpoint, Time deadline,
                                         std::function<void(const Error&)> on_retry);
// The same for a store that has answered before: gives up as soon as the next try would be too late.
Talk<Result<StoreLink>> try_to_connect(Stage& stage, Endpoint endpoint, Time deadline,
                                       std::function<void(const Error&)> on_retry);
// And without a report of failed tries.
Talk<Result<StoreLink>> connect_quietly(Stage& stage, Endpoint endpoint, Time deadline);

}  // namespace launch
