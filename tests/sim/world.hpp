// A world for agents without sockets, clocks or processes: one store (the real one), messages that take their time, a
// network that is cut, nodes that fall silent, clocks that disagree. All of it follows from one seed.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/c10d/agent_store.hpp"
#include "launch/core/store/store_table.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <string>
#include <vector>

namespace launch::sim {

// The limit of silence, and what follows from it in core/heartbeat, io/store_client and io/store_server.
inline constexpr Duration silence_limit = std::chrono::seconds(5);
inline constexpr Duration beat_interval = silence_limit / 8;
inline constexpr Duration beat_patience = silence_limit * 9 / 10;
inline constexpr Duration silent_at_least = beat_interval + beat_patience + silence_limit * 7 / 100;
inline constexpr Duration silent_at_most = silent_at_least * 11 / 10;

// Who hears what the store says on a connection.
class Peer {
 public:
  virtual void received(const std::string& bytes) = 0;
  virtual void closed() = 0;

 protected:
  ~Peer() = default;
};

// What happens in the world, in order of time and, at one time, of planning.
class World {
 public:
  // hosted: by a launch agent; else by torchrun.
  World(std::uint64_t seed, bool hosted) : hosted_(hosted), random_(seed) {}

  bool hosted() const { return hosted_; }
  Time now() const { return now_; }
  WallTime wall(Duration clock_offset) const;
  Random& random() { return random_; }
  bool chance(double probability);
  std::size_t below(std::size_t end) { return random_.next() % end; }
  Duration delay();  // of one message

  void at(Time when, std::function<void()> what);
  // Until nothing is planned before `end`.
  void run_until(Time end);

  ConnectionId connect(Peer& peer);
  void request(ConnectionId connection, std::string bytes);
  bool is_open(ConnectionId connection) const { return connections_[connection].open; }
  // The process has ended, and its kernel says so.
  void close(ConnectionId connection);
  // The machine has ended, and nothing says so.
  void part(ConnectionId connection) { connections_[connection].peer = nullptr; }
  // What is on its way arrives when the cut is mended.
  void cut(ConnectionId connection, Time until) { connections_[connection].cut_until = until; }
  // The store has heard a word last at `heard`, and will hear the next one at `until`.
  void fall_silent(ConnectionId connection, Time heard, Time until);

  // What is under a key.
  std::string read(const std::string& key);

  // The most requests within one second.
  int busiest_second() const { return busiest_; }

  // Every fact of a run goes in here: equal runs have equal hashes.
  void note(std::string_view fact);
  std::uint64_t hash() const { return hash_; }
  const std::deque<std::string>& story() const { return story_; }

 private:
  struct Plan {
    Time when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Plan& other) const {  // the heap has the largest on top
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  struct Connection {
    Peer* peer = nullptr;
    RequestReader reader;
    bool open = true;  // as the store has it
    Time cut_until{};
    Time last_request{};   // they keep their order,
    Time last_delivery{};  // and so do the answers
  };
  Instant instant() const { return {now_, wall({})}; }
  void arrive(ConnectionId id, const std::string& bytes);
  void serve(ConnectionId id, const Request& request);
  void deliver(ConnectionId id, std::string bytes);
  void hand_over(ConnectionId id, const std::string& bytes);
  void tell_closed(ConnectionId id);
  void drop(ConnectionId id, bool silent);
  void send(std::vector<Push> pushes);
  void keep_time();

  bool hosted_;
  Random random_;
  Time now_{std::chrono::hours(1)};
  std::uint64_t plans_ = 0;
  std::priority_queue<Plan> heap_;
  AgentStore store_;
  StoreTable table_;  // torchrun's
  Time alarm_ = never;
  Time second_{};
  int requests_ = 0;
  int busiest_ = 0;
  std::deque<Connection> connections_;
  std::uint64_t hash_ = 14695981039346656037ULL;
  std::deque<std::string> story_;  // the last facts, for a failure
};

}  // namespace launch::sim
