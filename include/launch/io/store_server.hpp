// A TCPStore server around core's AgentStore: accepts, reads, applies, answers. One per job, on node 0's agent.
//
// It never blocks, never looks up a peer's name, and never holds more for one connection than its limits: a peer that
// sends half a request, reads nothing or says nothing harms only itself. What it has promised ends with this object.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/c10d/agent_store.hpp"
#include "launch/core/metrics/store_tally.hpp"
#include "launch/core/rendezvous/liveness.hpp"
#include "launch/core/startup/client_arrivals.hpp"
#include "launch/io/port_listener.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class StoreConnection;

class StoreServer {
 public:
  // `on_refusal` is called with the reason when we close a connection.
  StoreServer(boost::asio::any_io_executor executor, std::function<void(const std::string&)> on_refusal);
  ~StoreServer() { abandon_all(false); }
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  // Called with the reason when an agent is not let into its job.
  void on_objection(std::function<void(const std::string&)> told) { on_objection_ = std::move(told); }

  // As in PortListener.
  Status listen(const std::string& host, std::uint16_t port, bool loopback_only) {
    return listener_.listen(host, port, loopback_only);
  }
  boost::system::error_code try_to_listen(const std::string& host, std::uint16_t port, bool loopback_only) {
    return listener_.try_to_listen(host, port, loopback_only);
  }
  std::uint16_t port() const { return listener_.port(); }

  // Ends what was there: lets nobody in, resets all connections, and forgets all. Then it is as new.
  void begin_anew() {
    listener_.close();
    abandon_all(true);
    free_ids_.clear();
    buffered_ = talkers_ = agents_ = 0;
    store_ = AgentStore();
  }

  // A key that the store has from the start. Must be called before listen().
  void preset(const std::string& key, const std::string& value) { store_.table().preset(key, value); }
  // The beginnings of agents' keys, if agents and workers share the store; every other key belongs to the workers.
  void set_agent_keys(AgentKeys beginnings) { store_.table().set_agent_keys(std::move(beginnings)); }
  // As in AgentStore. close_to_strangers() and expect_guests() must be called before listen().
  void close_to_strangers(Heir own) { store_.close_to_strangers(std::move(own)); }
  void open_to_all() { store_.open_to_all(); }
  void point_to(std::string key, std::optional<MovedJob> job) { store_.point_to(std::move(key), std::move(job)); }
  void expect_guests(std::string run_id, int nnodes) { store_.expect_guests(std::move(run_id), nnodes); }
  // Called between two rounds: removes the workers' keys and closes their connections. What a dead worker's kernel
  // still sends has no effect: a connection that is older than the fence may use only agents' keys.
  void fence();
  // From now on the connections of agents that live, but are closed, are reset: another node may host this store later,
  // and an end in order says that this process has ended.
  void reset_agents() { resets_agents_ = true; }

  // Connections that attend or have left a will are taken for dead if they say nothing for this long, or at most a
  // tenth longer. Zero: never. A host that was itself asleep starts counting again.
  void set_silence_limit(Duration limit) { silence_.set_limit(limit); }

  // How much all connections together may make the store hold. If it is more, the one that holds most is closed.
  void set_buffer_limit(std::size_t bytes) { most_buffered_ = bytes; }

  // Requests are counted there. Must be called before listen(); null: they are not counted.
  void count_into(std::shared_ptr<StoreTally> tally) { tally_ = std::move(tally); }

  // Processes of workers that connect are noted there. Must be called before listen(); null: they are not noted.
  void note_into(std::shared_ptr<ClientArrivals> arrivals) { arrivals_ = std::move(arrivals); }

  // Connections that have sent at least a byte.
  std::size_t talkers() const { return talkers_; }
  // The addresses of the first `most` of them: "10.0.0.7 port 4242".
  std::vector<std::string> talker_addresses(std::size_t most) const;
  // Of these, those that attend or have left a will: launch agents that are not taken for dead.
  std::size_t agents() const { return agents_; }
  Membership::Others others() const { return store_.others(); }
  enum class Talkers {
    all,
    agents,
    busy
  };  // busy: agents whose workers may still run
  // Waits until there are none, or until the deadline.
  boost::asio::awaitable<void> until_none(Talkers who, Time deadline);
  // Ends such a wait, now or as soon as it begins.
  void stop_waiting() {
    hurried_ = true;
    quiet_.cancel();
  }

  // Before this process ends: lets nobody in, tells all connections that nothing more will be said, and waits until the
  // agents have closed theirs, or until the deadline. Everything else has no effect any more. (If a process ends with
  // bytes that it has not read, its kernel resets the connection, and what it has said last may be lost.)
  boost::asio::awaitable<void> part(Time deadline);

 private:
  friend class StoreConnection;
  void add(boost::asio::ip::tcp::socket socket);
  void remove(StoreConnection& connection, bool silent = false);
  void abandon_all(bool reset);
  void deliver(std::vector<Push> pushes);
  void shed();
  void watch_for_silence();
  void drop_silent();
  void keep_time();
  bool is_there(Talkers who) const {
    if (who == Talkers::busy) return store_.workers_may_run();
    return (who == Talkers::agents ? agents_ : talkers_) > 0;
  }

  boost::asio::any_io_executor executor_;
  std::function<void(const std::string&)> on_refusal_, on_objection_ = [](const std::string&) {};
  PortListener listener_;
  AgentStore store_;
  std::shared_ptr<StoreTally> tally_;
  std::shared_ptr<ClientArrivals> arrivals_;
  std::vector<Push> pushes_;                                   // of the request being applied
  std::vector<std::shared_ptr<StoreConnection>> connections_;  // by ConnectionId; null: free
  std::vector<ConnectionId> free_ids_;
  std::size_t buffered_ = 0;  // bytes that all connections hold: unfinished requests, unread answers, waits, wills
  std::size_t most_buffered_ = std::size_t{1} << 30;
  std::size_t talkers_ = 0;
  std::size_t agents_ = 0;
  bool hurried_ = false;
  bool awaits_busy_ = false;  // what agents say may end a wait
  bool parts_ = false;
  bool resets_agents_ = false;
  SilenceWatch silence_;
  bool listening_for_silence_ = false;
  boost::asio::steady_timer look_;   // for the next look at silent connections
  Time alarm_ = never;               // the next deadline of the store
  boost::asio::steady_timer clock_;  // waits for alarm_
  boost::asio::steady_timer quiet_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that run after the end of this object
};

}  // namespace launch
