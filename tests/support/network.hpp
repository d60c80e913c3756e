// Hosts, the stores that listen on them and the links between them, without a socket. It has the real AgentStore and
// the real bytes on the wire; connections that are refused, cut, closed by a kernel, or forgotten by a machine that has
// lost power; and hosts that are paused. A store notices silence as io/store_server does, and a link beats, waits and
// gives up as io/store_client does.
#pragma once

#include "events.hpp"

#include "launch/core/c10d/agent_store.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/rendezvous/liveness.hpp"
#include "launch/core/store/store_operation.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace launch::play {

class Network;
class Link;

// A store that listens; a launch agent hosts it, or torchrun.
class Store : public std::enable_shared_from_this<Store> {
 public:
  Store(Network& network, std::string host, bool by_launch);

  AgentStore& agents() { return store_; }
  void set_silence_limit(Duration limit) { silence_.set_limit(limit); }
  void fence() { store_.table().forget_workers(); }
  // How many links attend or have left a will, and how many have said anything.
  std::size_t agent_count() const;
  std::size_t talker_count() const;
  bool has(const std::string& key) { return store_.table().get(key).has_value(); }
  bool by_launch() const { return by_launch_; }
  // The most requests that came within one second.
  int busiest_second() const { return busiest_; }
  int requests() const { return total_; }

 private:
  friend class Network;
  friend class Link;
  struct Peer {
    std::weak_ptr<Link> link;
    RequestReader reader;
    bool open = true;
    bool spoke = false;
    bool agent = false;
    bool attended = false;
    SilenceWatch::Signs signs;
  };

  ConnectionId add(const std::shared_ptr<Link>& link);
  void arrive(ConnectionId id, const std::string& bytes);
  void drop(ConnectionId id, bool silent);
  void close(ConnectionId id) {
    if (alive_ && peers_[id].open) store_.end(id);
    drop(id, false);
  }
  void send(std::vector<Push> pushes);
  void answer(ConnectionId id, std::string bytes);
  void count_request();
  void look_for_silence();
  void drop_silent();
  void keep_time();
  Instant instant() const;
  void close_all(bool by_kernel, bool resets = false);

  Network& network_;
  std::string host_;
  bool by_launch_;
  AgentStore store_;
  std::vector<Peer> peers_;
  SilenceWatch silence_;
  bool looking_ = false;
  Time alarm_ = never;
  bool alive_ = true;
  Time second_{};  // when the present second began; it had requests_
  int requests_ = 0, busiest_ = 0, total_ = 0;
};

// A client's side of a connection: one operation at a time.
class Link : public std::enable_shared_from_this<Link> {
 public:
  using OnOutcome = std::function<void(Result<Outcome>)>;

  Link(Network& network, std::string host, Endpoint peer) : network_(network), host_(std::move(host)), peer_(peer) {}

  void perform(const Operation& operation, Time deadline, OnOutcome on_outcome);
  void set_patience(Duration patience) { patience_ = patience; }
  void set_beats(Duration interval, Duration patience);
  void wake();
  void part();
  void close();
  // The other side hears of a reset.
  void abandon();

  const std::string& host() const { return host_; }
  const Endpoint& peer() const { return peer_; }
  // In order, by the kernel of the other side.
  bool hung_up() const { return hung_up_ && !was_reset_; }
  Time lived_at() const { return beats_.lived_at(); }
  Time heard_at() const { return heard_at_; }

 private:
  friend class Network;
  friend class Store;

  void end(bool resets);
  void received(const std::string& bytes);
  void closed(bool reset);
  void reset();
  void look();
  bool skip_owed();
  bool read_beat();
  void cancel();
  void arm_beats();
  void beat(std::uint64_t operation, Time due);
  void expect_answer(std::uint64_t operation, Time until);
  void finish(Result<Outcome> outcome);
  void send(std::string bytes);
  void when_awake(Time when, std::function<void()> what);
  void hear(Time when, std::function<void()> what);

  Network& network_;
  std::string host_;
  Endpoint peer_;
  std::weak_ptr<Store> store_;
  ConnectionId connection_ = 0;
  Time last_sent_{}, last_received_{};  // bytes keep their order
  Time unread_since_ = never;           // by a process that is paused
  std::string buffer_;
  std::optional<Operation> under_way_;
  std::deque<Operation> owed_;  // were given up; their answers come before any other
  OnOutcome on_outcome_;
  std::optional<Outcome> answer_;  // which was on its way when the wait was cancelled
  bool cancelling_ = false;
  bool open_ = true;      // on this side
  bool hung_up_ = false;  // the other side has
  bool was_reset_ = false;
  std::uint64_t number_ = 0;  // of the operation
  Duration patience_ = std::chrono::seconds(10);
  Beats beats_;
  Time heard_at_{};
  Time asked_{};  // when the operation, or its cancellation, was sent
};

class Network {
 public:
  using OnOpened = std::function<void(Result<std::shared_ptr<Link>>)>;

  // A message takes between no time and `longest_delay`.
  explicit Network(Events& events, Duration longest_delay = Duration::zero())
      : events_(events), longest_delay_(longest_delay) {}

  Events& events() { return events_; }

  // ---- what processes do

  // An error if the port is taken. Port 0 takes a free one. `store`: listens there, too; null: there is a new one.
  Result<std::shared_ptr<Store>> listen(const std::string& host, std::uint16_t port, bool by_launch = true,
                                        std::shared_ptr<Store> store = nullptr);
  std::uint16_t port_of(const Store& store) const;
  // The store that listens there; none: nullptr.
  std::shared_ptr<Store> store_at(const Endpoint& endpoint) const;
  void connect(const std::string& host, const Endpoint& endpoint, Time deadline, OnOpened on_opened);
  // The process has ended, and its kernel closes what it had open; or it lives, and resets that.
  void end_store(const std::shared_ptr<Store>& store, bool resets = false);

  // ---- what befalls hosts

  // The host loses power: nobody hears from it any more, nor from its processes.
  void power_off(const std::string& host);
  bool is_down(const std::string& host) const { return down_.contains(host); }
  void freeze(const std::string& host, Time until);
  Time thaws_at(const std::string& host) const;
  // Nothing gets from one to the other before `until`; what is sent meanwhile arrives then. `from` and `to` may be "*".
  void cut(const std::string& from, const std::string& to, Time until);
  Time mended_at(const std::string& from, const std::string& to) const;
  // When the last host was lost, and the last one that was paused or cut off is well again.
  Time well_at() const { return well_at_; }

  // A firewall on `from` resets its connections to `to`, and refuses new ones. Only `from` hears of that.
  void reject(const std::string& from, const std::string& to);

  // A firewall, or an interface that went down, ends the connections of a host. Only the host itself hears of that.
  void reset(const std::string& host);

  // How far its clock is ahead of the others'.
  void set_clock(const std::string& host, Duration ahead) { clocks_[host] = ahead; }
  WallClock::duration clock_of(const std::string& host) const;

  // When a message that is sent now arrives, not before `earliest`; `never`: it does not arrive.
  Time arrival(const std::string& from, const std::string& to, Time earliest);

 private:
  using Address = std::pair<std::string, std::uint16_t>;
  struct Cut {
    std::string from, to;
    Time until;
  };

  Duration delay();
  void try_connect(const std::string& host, const Endpoint& endpoint, Time deadline, OnOpened on_opened);
  std::string host_of(const std::string& from, const std::string& name) const;

  Events& events_;
  Duration longest_delay_;
  std::map<Address, std::shared_ptr<Store>> stores_;
  std::map<std::string, std::vector<std::weak_ptr<Link>>> links_;  // by the client's host
  std::map<std::string, Time> frozen_;
  std::map<std::string, bool> down_;
  std::map<std::string, Duration> clocks_;
  std::vector<Cut> cuts_;
  std::set<std::pair<std::string, std::string>> rejected_;
  Time well_at_{};
  std::uint16_t next_port_ = 40000;
};

}  // namespace launch::play
