// The way to the store of a job, whatever that is: a TCPStore, an etcd, or a file. Used by app/session_runner;
// reach_store makes the one for an endpoint. One operation at a time; deadlines are points of the monotonic clock.
//
// Error closed: the store went away, or close() was called. Error timeout: it did not answer in time. A store that
// reconnects by itself does so only if nothing was promised to the connection.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/store/store_operation.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace launch {

class StoreAccess {
 public:
  StoreAccess() = default;
  StoreAccess(StoreAccess&&) = default;
  StoreAccess& operator=(StoreAccess&&) = default;
  virtual ~StoreAccess();

  virtual boost::asio::awaitable<Result<Outcome>> perform(Operation operation, Time deadline) = 0;

  // How long a living store may take to answer when a wait is given up; 10 s at first.
  virtual void set_patience(Duration patience) = 0;

  // While an operation waits for others, the store hears from this client each `interval`. If the store or its machine
  // does not answer within `patience`, the operation ends with an error timeout. Only a store of launch asks for that.
  virtual void set_beats(Duration interval, Duration patience) = 0;

  // The last operation ended because nothing more was heard from the store, which may still live.
  virtual bool silent() const = 0;

  // The kernel of the other side has closed the connection in order: the process there has ended, or has closed it. Not
  // known of a store that no agent hosts.
  virtual bool hung_up() const { return false; }

  // When the last message that the store has answered was sent, if this client beats.
  virtual Time lived_at() const { return {}; }
  // When the last bytes came, if that is known.
  virtual Time heard_at() const { return {}; }

  // Takes the will back, if one was left, and closes; never waits.
  virtual void part() = 0;

  // Ends the wait under way (AwaitKeys, Attend) as its deadline would; does nothing if there is none.
  virtual void wake() = 0;

  virtual void close() = 0;
  // Closes it, if it is a connection to an agent's store, so that the other side does not believe that this process has
  // ended.
  virtual void abandon() { close(); }

  // Where the store is, so that reach_store finds it again.
  virtual Endpoint peer() const = 0;
  // The address on our side: one at which the store's host reaches us. Empty if there is no connection.
  virtual std::string own_address() const = 0;
};

// Tries once. The error says what is there if it is not a store. `run_id`: of the job, which an etcd keeps beside those
// of others.
boost::asio::awaitable<Result<std::shared_ptr<StoreAccess>>> reach_store(Endpoint endpoint, std::string run_id,
                                                                         Time deadline);

}  // namespace launch
