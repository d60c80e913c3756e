// A client of a TCPStore server, ours or PyTorch's: one connection, one operation at a time.
//
// The caller waits for an operation before it asks for the next; close() from elsewhere ends the one under way.
// It never reconnects: what the store promised a connection is gone with it.
#pragma once

#include "launch/core/rendezvous/liveness.hpp"
#include "launch/io/store_access.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <deque>
#include <string>

namespace launch {

class StoreClient : public StoreAccess {
 public:
  explicit StoreClient(boost::asio::ip::tcp::socket socket);

  // Sends VALIDATE and PING; an error if what answers is not a store.
  boost::asio::awaitable<Status> greet(Time deadline);

  boost::asio::awaitable<Result<Outcome>> perform(Operation operation, Time deadline) override;
  void set_patience(Duration patience) override { patience_ = patience; }
  void set_beats(Duration interval, Duration patience) override;
  bool silent() const override { return silent_; }
  bool hung_up() const override { return hung_up_; }
  Time lived_at() const override { return beats_.lived_at(); }
  Time heard_at() const override { return heard_at_; }
  void part() override;
  void wake() override;
  void close() override;
  void abandon() override;
  Endpoint peer() const override;
  std::string own_address() const override;

 private:
  boost::asio::awaitable<Status> send(std::string bytes);
  boost::asio::awaitable<bool> readable(Time when);
  boost::asio::awaitable<Status> receive_more(Time deadline);
  boost::asio::awaitable<Result<Outcome>> receive(const Operation& operation, Time deadline, PartialReply& part);
  boost::asio::awaitable<Status> receive_while_beating(Time deadline);
  boost::asio::awaitable<Result<Outcome>> cancel_wait(const Operation& operation, PartialReply& part);
  Result<bool> skip_owed();
  bool read_beat(const Operation& under_way);
  boost::asio::awaitable<Status> say_what_was_read();
  bool has_hung_up();
  Error lost(const boost::system::error_code& error);

  boost::asio::ip::tcp::socket socket_;
  std::string received_;
  Duration patience_ = std::chrono::seconds(10);
  bool waiting_ = false;    // the operation under way waits for others
  bool woken_ = false;      // and must end now
  bool listening_ = false;  // waits for the next byte
  Beats beats_;
  Time heard_at_{};
  bool must_say_read_ = false;  // it was told to wait for the answer to its beat
  bool silent_ = false;
  // Operations that were given up. Their answers still come, before any other.
  struct Owed {
    Operation operation;
    PartialReply part;
  };
  std::deque<Owed> owed_;
  bool hung_up_ = false;
};

// Tries once to connect to a store and to greet it. The error says what listens there if it is not a store.
boost::asio::awaitable<Result<StoreClient>> connect_once(Endpoint endpoint, Time deadline);

}  // namespace launch
