// A node's connection to the state of its c10d job: hosts the store where the endpoint leads here, connects, chooses
// the machine that suits the store, and carries it out, round after round. What it learns goes to its owner. Used by
// ElasticSession alone, which it must not outlive.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/c10d/hosted_rendezvous.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/rendezvous/heartbeat.hpp"
#include "launch/io/store_client.hpp"
#include "launch/io/store_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace launch {

class ElasticLine {
 public:
  struct Listener {
    std::function<void(ElasticNews)> news;
    std::function<void()> anew;         // another store: what a round of the last one has begun is void
    std::function<void(Error)> failed;  // no store was found
    // The connection has ended; whether the store has gone is yet to be seen. `silent`: it has said nothing for long.
    std::function<void(bool silent)> uncertain;
    std::function<void(Error)> lost;    // the store is
    std::function<void()> expelled;     // the store is there, but has taken this node for dead; it may join again
  };

  // All references must outlive the object.
  ElasticLine(boost::asio::any_io_executor executor, const Config& config, StoreServer& server, Listener listener);

  // Opens the listener, if this node is told to host the store.
  Status open();

  // The wishes of the machine. join() connects first, the first time, and hosts the store if the endpoint leads here.
  void join(bool admits, int restarts);
  void leave(std::string reason);
  void close();
  // What the store is to do when this node goes away without a word, and WillLeft comes; false: by this store, nothing.
  bool pledge(LeaveWill will);
  // This node's workers have ended well: its loss is none to the others, and its will is `then`.
  void finish(LeaveWill then);

  // After leave() or close(): until that is done, or the deadline. Nothing is told any more.
  boost::asio::awaitable<void> end(Time deadline);
  // The last word; the store hears that nothing has gone wrong.
  void part();

  bool hosts() const { return hosts_; }
  bool is_by_launch() const { return by_launch_; }  // a launch agent hosts the store, which so knows of wills
  // How long this node may stand still before others may go on without it; zero: for ever.
  Duration longest_stall(bool with_launch_agents) const;
  // The store's address, once it has answered, and this node's, for the workers of others.
  const std::optional<Endpoint>& reached() const { return reached_; }
  const std::string& address() const { return address_; }

 private:
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<Result<StoreClient>> look_for_store(Endpoint endpoint, bool may_host);
  boost::asio::awaitable<bool> connect();
  boost::asio::awaitable<bool> look_anew(Error lost);
  boost::asio::awaitable<void> find_out_who_hosts();
  void try_to_host();
  boost::asio::awaitable<Status> choose_machine();
  boost::asio::awaitable<Error> pursue();
  boost::asio::awaitable<bool> come_back(bool was_silent);
  void take(ElasticNews news);
  void wake();

  boost::asio::any_io_executor executor_;
  const Config& config_;
  StoreServer& server_;
  Listener listener_;
  Random random_;
  Heartbeat heartbeat_;
  bool hosts_ = false;
  bool could_host_ = false;  // the endpoint leads here
  std::string address_;
  std::optional<Endpoint> reached_;
  std::optional<StoreClient> client_;
  Time connected_{};
  Time give_up_{};  // looking for the store
  std::unique_ptr<ElasticMachine> machine_;
  HostedRendezvous* hosted_ = nullptr;  // the same, where it is one
  bool by_launch_ = false;
  bool running_ = false;  // run()
  bool wants_in_ = false;
  bool admits_ = true;
  int restarts_ = 0;     // for a store that does not know
  bool formed_ = false;  // a round, once
  bool leaving_ = false;
  bool ending_ = false;
  bool done_ = false;   // what leave() or close() asked for
  bool ended_ = false;  // run()
  boost::asio::steady_timer end_;
};

}  // namespace launch
