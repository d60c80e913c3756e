// A client of an etcd as the store of a job: carries EtcdOperations out over HTTP. It connects again whenever it must:
// an etcd promises nothing to a connection, and a wait that is given up costs one. The deadline of an operation that
// waits for others bounds the wait only; that the etcd still lives is seen from one more look after it.
//
// An etcd that cannot be reached any more is an error `closed`; the message names its address.
#pragma once

#include "launch/core/store/etcd_operation.hpp"
#include "launch/io/store_access.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <string>

namespace launch {

class EtcdClient : public StoreAccess {
 public:
  // The socket is connected to the etcd at `at`.
  EtcdClient(boost::asio::ip::tcp::socket socket, Endpoint at, std::string run_id);

  boost::asio::awaitable<Result<Outcome>> perform(Operation operation, Time deadline) override;
  void set_patience(Duration patience) override { patience_ = patience; }
  void set_beats(Duration /*interval*/, Duration patience) override { patience_ = patience; }
  bool silent() const override { return false; }
  void part() override { close(); }
  void wake() override;
  void close() override;
  Endpoint peer() const override { return at_; }
  std::string own_address() const override { return own_address_; }

 private:
  boost::asio::awaitable<EtcdStep> carry_out(EtcdOperation& operation, EtcdStep step, Time deadline);
  boost::asio::awaitable<EtcdStep> ask(EtcdOperation& operation, EtcdRequest request, Time deadline);
  boost::asio::awaitable<Result<EtcdAnswer>> exchange(const EtcdRequest& request, Time deadline);
  boost::asio::awaitable<Result<EtcdAnswer>> exchange_once(const EtcdRequest& request, Time deadline);
  boost::asio::awaitable<Status> connect_again(Time deadline);
  boost::asio::awaitable<void> rest(Time until);
  void drop_connection();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;  // of a rest
  Endpoint at_;
  std::string own_address_;
  std::string run_id_;
  Duration patience_ = std::chrono::seconds(10);
  EtcdRequest sent_;
  bool waiting_ = false;  // the operation under way waits for others
  bool woken_ = false;    // and must end now
  bool closed_ = false;   // by close()
};

// Tries once to connect, and looks whether an etcd with the API v2 answers there.
boost::asio::awaitable<Result<EtcdClient>> connect_to_etcd(Endpoint endpoint, std::string run_id, Time deadline);

}  // namespace launch
