// A Membership, what those who attend are told, and a clock; and a torchrun agent played by hand.
#pragma once

#include "launch/core/c10d/membership.hpp"
#include "launch/core/c10d/rendezvous_pickle.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace launch {

inline NodeDesc ours(const std::string& addr, int pid = 1) { return {addr, pid, launch_local_id}; }
inline NodeDesc theirs(const std::string& addr, int pid = 1) { return {addr, pid, 0}; }

struct MembershipDriver {
  using Wish = Attendance::Wish;

  explicit MembershipDriver(int min, int max) : nodes{min, max}, membership(said(Wish::join, "n1")) {}

  Instant instant() const {
    return {time, WallTime(std::chrono::duration_cast<WallClock::duration>(time.time_since_epoch()))};
  }
  Attendance said(Wish wish, const std::string& name, std::int64_t round = -1) const {
    using std::chrono::seconds;
    return {.wish = wish,
            .node = ours(name),
            .member = {.role = "default", .local_world_size = 1},
            .nodes = nodes,
            .last_call = seconds(30),
            .silence = silence,
            .round = round,
            .admits = admits,
            .lease = lease};
  }
  void attend(ConnectionId from, const Attendance& attendance) {
    membership.attend(from, attendance, instant());
    listen();
  }
  // Connections are called by number, nodes n1, n2, ...
  void join(ConnectionId from, std::int64_t round = -1) { attend(from, said(Wish::join, name(from), round)); }
  void stay(ConnectionId from, std::int64_t round) { attend(from, said(Wish::stay, name(from), round)); }
  void leave(ConnectionId from, const std::string& reason) {
    Attendance attendance = said(Wish::leave, name(from));
    attendance.reason = reason;
    attend(from, attendance);
  }
  void close(ConnectionId from) { attend(from, said(Wish::close, name(from))); }
  RoundWaits look(ConnectionId from) {
    attend(from, said(Wish::look, name(from)));
    const RoundWaits* waits = only<RoundWaits>(from);
    return waits == nullptr ? RoundWaits{-1, false, {}} : *waits;
  }
  void drop(ConnectionId connection, bool silent = false) {
    membership.drop(connection, silent, instant());
    listen();
  }
  void stop_waiting(ConnectionId connection) { membership.stop_waiting(connection); }
  // Rings as the server's clock does.
  void pass(Duration duration) {
    const Time end = time + duration;
    while (membership.deadline() <= end) {
      time = std::max(time, membership.deadline());
      membership.on_deadline(instant());
      listen();
      ASSERT_GT(membership.deadline(), time) << "the clock rings without end";
    }
    time = end;
  }

  // A torchrun agent changes what it has read and writes it, as one compare-and-set; what is there then.
  ElasticState write(ConnectionId writer, const std::function<void(ElasticState&)>& change) {
    ElasticState state = *read_state(membership.text(instant()));
    change(state);
    EXPECT_TRUE(membership.adopt(writer, write_state(state), instant()));
    listen();
    return read();
  }
  ElasticState read() { return *read_state(membership.text(instant())); }
  // It enters a round that is forming, as torchrun does.
  ElasticState enter(ConnectionId writer, const NodeDesc& node) {
    return write(writer, [&](ElasticState& state) {
      state.wait_list.erase(node);
      state.participants[node] = 0;
      state.last_heartbeats[node] = instant().wall;
      const int count = static_cast<int>(state.participants.size());
      if (count == nodes.min) state.deadline = instant().wall + std::chrono::seconds(30);
      if (count == nodes.max) complete(state);
    });
  }
  ElasticState keep_alive(ConnectionId writer, const NodeDesc& node) {
    return write(writer, [&](ElasticState& state) { state.last_heartbeats[node] = instant().wall; });
  }
  ElasticState exit(ConnectionId writer, const NodeDesc& node) {
    return write(writer, [&](ElasticState& state) { remove_node(state, node, nodes); });
  }
  // torchrun's ranks: sorted, whatever they were before.
  static void complete(ElasticState& state) {
    state.complete = true;
    state.deadline.reset();
    int rank = 0;
    for (auto& [node, its] : state.participants) its = rank++;
  }

  // What the connection has been told since it was asked last.
  std::vector<ElasticNews> take(ConnectionId connection) { return std::exchange(told[connection], {}); }
  // That, if it is one piece of news of this kind.
  template <class News>
  const News* only(ConnectionId connection) {
    last = take(connection);
    return last.size() == 1 ? std::get_if<News>(last.data()) : nullptr;
  }
  bool silent(ConnectionId connection) { return told[connection].empty(); }
  int rank(ConnectionId connection) {
    const auto* formed = only<RoundFormed>(connection);
    return formed == nullptr ? -1 : formed->rank.value;
  }
  std::string reason(ConnectionId connection) {
    const auto* broken = only<RoundBroken>(connection);
    return broken == nullptr ? "not broken" : broken->reason;
  }
  // All of them are in a complete round, and wait for its end.
  void form(int count, std::int64_t round = 0) {
    for (ConnectionId from = 1; from <= static_cast<ConnectionId>(count); ++from) join(from);
    if (!membership.state().complete) pass(std::chrono::seconds(30));
    for (ConnectionId from = 1; from <= static_cast<ConnectionId>(count); ++from) {
      EXPECT_EQ(rank(from), static_cast<int>(from) - 1);
      stay(from, round);
    }
  }

  static std::string name(ConnectionId from) { return "n" + std::to_string(from); }
  void listen() {
    for (const Membership::Answer& answer : membership.take_answers()) {
      const auto news = parse_news(answer.text);
      ASSERT_TRUE(news) << answer.text;
      told[answer.to].push_back(*news);
    }
  }

  NodeLimits nodes;
  bool admits = true;
  Duration lease{};
  Duration silence = std::chrono::seconds(15);
  Membership membership;
  Time time{std::chrono::hours(1)};
  std::map<ConnectionId, std::vector<ElasticNews>> told;
  std::vector<ElasticNews> last;
};

}  // namespace launch
