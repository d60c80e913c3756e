// How the head of `launch --hosts` gets all hosts together: a connection to each, so many at a time, made by the head
// or by a host that is there already (core/hosts/host_tree); the greeting of the launch there, or this program sent
// there first; the question whether the node could start, and its answer. A part of core/hosts/head and of
// core/hosts/doctor, which own the table and ask `done()` after each step. Nothing is started here.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/hosts/host_frames.hpp"
#include "launch/core/hosts/host_table.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace launch {

class Gathering {
 public:
  // The table must live as long.
  Gathering(HostTable& table, std::uint64_t seed);

  void connect_more(Time now);
  void on_greeting(int node, const Greeting& greeting, Time now);
  void on_ready(int node, const NodeReady& ready);
  void on_cannot(int node, const NodeCannot& cannot);
  // Of a host that waits for its connection or its greeting.
  void on_lost(const LostConnection& lost, int node, Time now);

  // It has taken a part of this program, and gets as much time again for the rest.
  void on_taken(int node, Time now);

  // What the host must do takes too long: it is dropped with this exit code. If its connection is made by another host,
  // that is to end it, and the head tries itself.
  void expire(int node, Time now, int late_code);

  // Each host has said that it can, or takes no part.
  bool done() const;
  // A connection to this host waits for others to be through.
  bool is_held_up(const HeadHost& host) const;

 private:
  using State = HostTable::State;

  void queue(int node);
  void connect_queue(std::deque<int>& queue, Time now);
  bool may_start(int starter) const;
  bool is_lost(int starter) const;
  bool may_copy(int node) const;
  void copy(int node, Time now);
  void ask(int node, Time now);
  bool calls_back(int node, Time now);
  void take_over(int node, Time now);

  HostTable& table_;
  Random random_;
  std::map<int, std::deque<int>> queues_;  // by starter: the hosts whose connections it is to make
};

}  // namespace launch
