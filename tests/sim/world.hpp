// A world for agents without sockets, clocks or processes: one store (the real StoreTable), messages that take their
// time, nodes that crash or stand still, clocks that disagree. All of it follows from one seed.
#pragma once

#include "launch/core/elastic_rendezvous.hpp"
#include "launch/core/random.hpp"
#include "launch/core/store_table.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

namespace launch::sim {

// What happens in the world, in order of time and, at one time, of planning.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {}

  Time now() const { return now_; }
  Random& random() { return random_; }
  bool chance(double probability);
  Duration delay();  // of one message

  void at(Time when, std::function<void()> what);
  // Until nothing is planned before `end`.
  void run_until(Time end);

  // A request's bytes reach the store; what it answers goes to the connection's `deliver`.
  ConnectionId connect(std::function<void(const std::string&)> deliver);
  void disconnect(ConnectionId connection);
  void request(ConnectionId connection, const std::string& bytes);

  StoreTable& table() { return table_; }

  // The most requests within one second.
  int busiest_second() const { return busiest_; }

  // Every fact of a run goes in here: equal runs have equal hashes.
  void note(std::string_view fact);
  std::uint64_t hash() const { return hash_; }
  const std::vector<std::string>& story() const { return story_; }

 private:
  struct Plan {
    Time when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Plan& other) const {  // the heap has the largest on top
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  void deliver(ConnectionId connection, std::string bytes);

  Random random_;
  Time now_{std::chrono::hours(1)};
  std::uint64_t plans_ = 0;
  std::priority_queue<Plan> heap_;
  StoreTable table_;
  Time second_{};
  int requests_ = 0;
  int busiest_ = 0;
  std::vector<std::function<void(const std::string&)>> connections_;
  std::vector<Time> last_delivery_;  // answers of a connection keep their order
  std::vector<Time> last_request_;
  std::uint64_t hash_ = 14695981039346656037ULL;
  std::vector<std::string> story_;  // the last facts, for a failure
};

// A client that carries out one operation at a time, as io/store_client does.
class Client {
 public:
  Client(World& world, std::function<void(const Outcome&)> on_outcome);

  void perform(const Operation& operation, Time deadline);
  void wake();  // ends a wait
  void drop();
  void freeze_until(Time when) { frozen_until_ = when; }

 private:
  void received(const std::string& bytes);
  void look();
  void cancel();

  World& world_;
  std::function<void(const Outcome&)> on_outcome_;
  ConnectionId connection_;
  std::string buffer_;
  std::optional<Operation> under_way_;
  bool cancelling_ = false;
  bool gone_ = false;
  std::uint64_t number_ = 0;  // of the operation
  Time frozen_until_{};
};

}  // namespace launch::sim
