// A node's connections to the store within one round: one to talk, one that waits for the round's first failure.
//
// Shared with its coroutines; after close() none of them puts an event any more.
#pragma once

#include "launch/app/mailbox.hpp"
#include "launch/core/endpoint.hpp"
#include "launch/core/random.hpp"
#include "launch/io/store_client.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

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
  };

  // The mailbox must outlive the line until close().
  RoundLine(boost::asio::any_io_executor executor, Mailbox& mailbox, StoreClient control, Place place);

  StoreClient& control() { return control_; }
  const Place& place() const { return place_; }

  // PeerFailed or StoreLost will come.
  void start_watching(Time connect_by);
  // BarrierDone will come.
  void start_leaving();

  // What the round's abort key holds, after an attempt to write `failure` there.
  boost::asio::awaitable<Result<Failure>> tell(Failure failure);

  void close();
  bool closed() const { return closed_; }

 private:
  boost::asio::awaitable<void> watch(std::shared_ptr<RoundLine> self, Time connect_by);
  boost::asio::awaitable<void> leave(std::shared_ptr<RoundLine> self);

  boost::asio::any_io_executor executor_;
  Mailbox& mailbox_;
  Place place_;
  Endpoint store_;  // the address that answered, so that no name is looked up again
  Random random_;
  StoreClient control_;
  std::optional<StoreClient> watch_;
  bool closed_ = false;
};

}  // namespace launch
