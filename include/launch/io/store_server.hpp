// A TCPStore server around core's AgentStore: accepts, reads, applies, answers. One per job, on node 0's agent.
//
// Never blocks, never looks a peer's name up, never holds more of one connection than its limits: a peer that sends
// half a request, reads nothing or says nothing costs only itself. What it promised ends with the object.
#pragma once

#include "launch/core/agent_store.hpp"
#include "launch/core/error.hpp"
#include "launch/core/time.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace launch {

class StoreConnection;

class StoreServer {
 public:
  // `on_refusal` is told why a connection was closed by us.
  StoreServer(boost::asio::any_io_executor executor, std::function<void(const std::string&)> on_refusal);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  // On every interface, IPv6 and IPv4 in one; with `loopback_only` on the loopback address that `host` names.
  // Port 0 takes a free one. A busy port is an error that names its holder where the system tells.
  Status listen(const std::string& host, std::uint16_t port, bool loopback_only);
  std::uint16_t port() const { return port_; }

  // What the store has from the start; before listen().
  void preset(const std::string& key, const std::string& value) { store_.table().preset(key, value); }
  // Removes every key that begins with none of `kept`.
  void clear_except(const std::vector<std::string>& kept) { store_.table().clear_except(kept); }

  // Connections that attend or have left a will, and say nothing for this long, are taken for dead. Zero: never. A host
  // that was itself asleep starts counting anew.
  // `network`: their machines, where these no longer answer; zero: the same as others.
  void set_silence_limit(Duration limit, Duration network = {}) {
    silence_limit_ = limit;
    network_limit_ = network;
  }

  // What all connections together may make the store hold; the one that holds most is closed when it is more.
  void set_buffer_limit(std::size_t bytes) { most_buffered_ = bytes; }

  // Connections that have sent at least a byte.
  std::size_t talkers() const { return talkers_; }
  // Where the first `most` of them are: "10.0.0.7 port 4242".
  std::vector<std::string> talker_addresses(std::size_t most) const;
  // Of these, those that attend or have left a will: launch agents that are not taken for dead.
  std::size_t agents() const { return agents_; }
  // Until there is none of them, or the deadline.
  boost::asio::awaitable<void> until_quiet(Time deadline);
  boost::asio::awaitable<void> until_no_agent(Time deadline);
  // Ends that wait, now or as soon as it begins.
  void stop_waiting();

 private:
  friend class StoreConnection;
  // One address that is listened on.
  struct Door {
    explicit Door(const boost::asio::any_io_executor& executor) : acceptor(executor), pause(executor) {}
    boost::asio::ip::tcp::acceptor acceptor;
    boost::asio::steady_timer pause;  // while there are no descriptors
  };

  boost::system::error_code open(const boost::asio::ip::tcp::endpoint& address);
  void accept(Door& door);
  void accept_later(Door& door);
  void add(boost::asio::ip::tcp::socket socket);
  void remove(StoreConnection& connection, bool silent = false);
  void deliver(std::vector<Push> pushes);
  void shed();
  void watch_for_silence();
  void drop_silent();
  void keep_time();
  boost::asio::awaitable<void> until_none(const std::size_t& count, Time deadline);

  boost::asio::any_io_executor executor_;
  std::function<void(const std::string&)> on_refusal_;
  std::vector<std::unique_ptr<Door>> doors_;
  std::uint16_t port_ = 0;
  AgentStore store_;
  std::vector<Push> pushes_;                                   // of the request being applied
  std::vector<std::shared_ptr<StoreConnection>> connections_;  // by ConnectionId; null: free
  std::vector<ConnectionId> free_ids_;
  std::size_t buffered_ = 0;  // bytes that all connections hold: unfinished requests, unread answers, waits, wills
  std::size_t most_buffered_ = std::size_t{1} << 30;
  std::size_t talkers_ = 0;
  std::size_t agents_ = 0;
  bool hurried_ = false;
  Duration silence_limit_{};
  Duration network_limit_{};
  bool listening_for_silence_ = false;
  Time next_look_{};
  boost::asio::steady_timer look_;   // at who is silent
  Time alarm_ = never;               // of the store
  boost::asio::steady_timer clock_;  // for it
  boost::asio::steady_timer quiet_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that come after our end
};

}  // namespace launch
