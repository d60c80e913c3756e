// What the head of `launch --hosts` knows of one host, how long it waits for each thing that the host must do, and what
// it says of a host that takes longer. core/hosts/gathering and core/hosts/head decide what follows. Pure; times are
// those of one host's clock.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/hosts/host_messages.hpp"
#include "launch/core/hosts/host_tree.hpp"
#include "launch/core/logs/line_router.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace launch {

struct HeadHost {
  enum class State {
    waiting,     // to be connected to, from `due` on
    connecting,  // until its greeting
    asked,       // whether it can start
    ready,       // or has said which addresses it reaches
    reaching,    // asked for that
    running,
    ended,  // its node has ended, or it takes no part
    lost    // its node, without a word
  };
  static constexpr std::size_t states = 8;

  State state = State::waiting;
  bool connected = false;
  bool left = false;              // nothing more is said over this connection
  bool silent = false;            // so it was given up
  bool copies = false;            // this program, since it has none or another version
  int starter = started_by_head;  // the node whose host makes the connection
  int connecting_peers = 0;       // of the connections that it makes, those without a greeting
  int peers = 0;                  // and all that are there
  Time due = never;
  Time heard = never;
  int tries = 0;
  std::string noise;  // of its login
  NodeReady ready;
  ReachAnswer reach;
  NodeEnd end;
  bool has_ended = false;  // its node, though it runs for us as long as files of it come
  // The pieces into which a node cuts a long line, each with its mark, are not cut again.
  LineRouter out{2 * LineRouter::longest_held}, err{2 * LineRouter::longest_held};
};

// A launch there must know that the head lives.
bool is_listening(const HeadHost& host);

// For what a host in this state must do; zero: there is no limit.
Duration limit_of(const HeadHost& host);

// Why it is given up when that time is over; empty: it is not.
std::string why_late(const HeadHost& host);
// One whose node runs, after a silence.
std::string why_silent(Duration silence);

// Why its node is lost; empty: a launch that ends by itself with such a code has a report, or had not joined, or asks
// for another start (HeadPlan::requeue_exit).
std::string why_lost(const NodeEnd& end, int requeue_exit);

// Its node has ended, and not by being lost: what is lost after that is files at most.
bool is_safe(const HeadHost& host, int requeue_exit);

// It has started nothing, and has said itself what was wrong with it.
bool has_not_joined(const NodeEnd& end, int requeue_exit);
std::string why_early(const NodeEnd& end);

}  // namespace launch
