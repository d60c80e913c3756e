// A node's connections to the store within one round: one to talk, one that waits for the round's first failure and
// is this node's sign of life: it has this node's will, and asks again a few times within the limit of silence. So the
// store's host hears of this node, and this node of the host.
//
// Shared with its coroutines; after close() none of them puts an event any more.
#pragma once

#include "launch/app/mailbox.hpp"
#include "launch/core/base/random.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/rendezvous/heartbeat.hpp"
#include "launch/io/store_client.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace launch {

class RoundLine : public std::enable_shared_from_this<RoundLine> {
 public:
  struct Place {
    std::string prefix;  // of the round's keys
    int node_rank = 0;
    int nnodes = 1;
    std::string host_sign;             // a key that is there if a launch agent hosts the store
    Duration silence_limit{};          // zero: nobody's silence is a failure
    bool beats = true;                 // false: another connection is this node's sign of life, and leaves its will
    Duration grace = Duration::max();  // of the workers, once the store is lost and others may go on
    std::optional<bool> by_launch{};   // whether one does; pledge() asks unless it is known
  };

  // The mailbox must outlive the line until close().
  RoundLine(boost::asio::any_io_executor executor, Mailbox& mailbox, StoreClient control, Place place);

  StoreClient& control() { return control_; }
  const Place& place() const { return place_; }

  // Leaves a will, if the store knows wills; before start_watching(). An error: the store does not answer.
  boost::asio::awaitable<Status> pledge(Will will, Time connect_by);
  // PeerFailed or StoreLost will come.
  void start_watching(Time connect_by);
  // From before pledge() until formed() the loss of a store puts no event, but ends what control() is at; not if
  // torchrun's agent hosts it.
  void wait_for_store() { waits_for_store_ = true; }
  void formed() { waits_for_store_ = false; }
  // Whether the store was lost without a word about why, as far as is known by then. After an error of control().
  boost::asio::awaitable<bool> was_lost(Time by);
  // BarrierDone will come, or StoreLost. `on_counted`: this node has come to the barrier, and nobody needs it there any
  // more.
  void start_leaving(std::optional<Duration> patience, std::function<void()> on_counted);
  void replace_will(Will will);
  // The next round begins: nothing is told any more, except the loss of the store. The will stands until close().
  void retire();

  void close();
  bool closed() const { return closed_; }
  // StoreLost has come.
  bool lost() const { return lost_; }

 private:
  bool beats() const { return place_.beats && place_.silence_limit != Duration::zero(); }
  boost::asio::awaitable<void> watch(std::shared_ptr<RoundLine> self, Time connect_by);
  boost::asio::awaitable<Result<Failure>> await_abort();
  boost::asio::awaitable<void> be_heard(bool goes_on);
  void lose(const Error& error);
  Time next_beat() const;
  Time patience() const;
  boost::asio::awaitable<void> leave(std::shared_ptr<RoundLine> self, std::optional<Duration> patience,
                                     std::function<void()> on_counted);

  boost::asio::any_io_executor executor_;
  Mailbox& mailbox_;
  Place place_;
  Heartbeat heartbeat_;
  bool host_waits_;  // until this node knows that all have ended: a launch agent hosts the store
  Endpoint store_;  // the address that answered, so that no name is looked up again
  Random random_;
  StoreClient control_;
  std::optional<StoreClient> watch_;
  boost::asio::steady_timer over_;  // the end of watching, waited for
  bool has_will_ = false;           // the store has one
  std::optional<Will> new_will_;    // and is to have this one
  bool waits_for_store_ = false;
  bool aborted_ = false;  // somebody has written the abort key
  bool watches_ = false;
  bool leaves_ = false;  // it is in the exit barrier
  bool retired_ = false;
  bool closed_ = false;
  bool lost_ = false;
  Duration stood_still_{};  // this process, before it lost the store
};

// What the others are told when this node, `host`, goes away without a word, or falls silent. `others_go_on`: they form
// again without it.
Will last_will(const RoundLine::Place& place, const std::string& host, bool others_go_on);

}  // namespace launch
