// For hosts_walk_test: one host, which is a login or a launch at the other end of the head's connection, and the node
// that it starts. It lives as chance wills, and what must hold of a remote is checked at each of its actions.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/hosts/head_plan.hpp"
#include "launch/core/hosts/remote.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace launch::hosts_walk {

inline HeadPlan draw_plan(Random& random) {
  const auto draw = [&](int below) { return static_cast<int>(random.next() % static_cast<unsigned>(below)); };
  const auto one_in = [&](int count) { return draw(count) == 0; };
  HeadPlan plan;
  plan.may_copy = one_in(2);
  const int nodes = 1 + draw(8);
  for (int i = 0; i < nodes; ++i) plan.nodes.push_back({"n" + std::to_string(i)});
  plan.program = {"train.py"};
  plan.version = "1";
  plan.run_id = "run";
  plan.nnodes = std::to_string(nodes);
  plan.c10d = one_in(3);
  plan.keeps_output = one_in(2);
  plan.fanout = 1 + draw(4);
  if (one_in(2)) return plan;
  const int first = 1 + draw(nodes);
  for (int i = first; i < nodes; ++i) plan.nodes[static_cast<std::size_t>(i)].starter = draw(first);
  return plan;
}

// Whole lines from the first on, and perhaps the beginning of one more.
inline bool is_beginning(std::string shown, const std::string& written) {
  if (written.starts_with(shown)) return true;
  shown.pop_back();
  return written.starts_with(shown);
}

class Place {
 public:
  Place(int node, Random& random) : node_(node), random_(&random) {}

  // The connection.
  bool open = false;        // nobody has closed it
  bool left = false;        // the head has
  bool stalled = false;     // it carries nothing
  bool connecting = false;  // in the eyes of the head
  bool babbled = false;     // the rest of what comes from there makes no sense
  bool greeted = false;
  std::deque<HostMessage> to_head, to_remote;
  int starter = started_by_head;  // the host that has made it
  bool ending = false;            // that has told the head that it has ended
  std::deque<int> wanted_peers;   // it is to make connections to them
  FrameReader head_reader{true}, remote_reader{false};

  // The login, or the launch there.
  bool hangs = false;  // it is a login that says nothing
  bool gone = false;   // the launch has left
  bool said_ready = false;

  // Its node.
  int starts = 0;
  bool runs = false;
  bool told_to_end = false;
  int code = 0;
  std::string written;
  bool removed = false;  // the files of its output

  bool there() const { return remote_ && !gone; }
  bool carries_peers() const { return there() && !forgot_; }
  bool has_peer(int node) const { return peers_.count(node) > 0; }
  void end_peer(int node) {
    peers_.erase(node);
    act(remote_->on_peer_end({node, {ExitStatus::Kind::exited, 255}, ""}));
  }
  bool hears() const { return there() && !heard_end_; }
  Time deadline() const { return there() ? remote_->deadline() : never; }

  void start(Time now) {
    remote_.emplace();
    act(remote_->start(now));
  }

  void hear(HostMessage message, Time now) { act(remote_->on_message(std::move(message), now)); }

  // EOF.
  void hear_end() {
    if (!there() || std::exchange(heard_end_, true)) return;
    const bool ran = runs;
    act(remote_->on_lost());
    EXPECT_TRUE(ran ? told_to_end && !gone : gone != !peers_.empty());
  }

  void signal(int number) {
    if (!there()) return;
    signalled_ = true;
    act(remote_->on_signal(number));
  }

  void expire(Time now) {
    if (!there() || now < remote_->deadline()) return;
    act(remote_->on_deadline(now));
    EXPECT_TRUE(gone || remote_->deadline() > now) << "it spins";
  }

  // What is under way there goes on. `odds`: one of so many answers is a bad one; 0: none.
  void live(int odds) {
    if (!there()) return;
    const bool well = odds == 0 || !one_in(odds);
    if (std::exchange(checks_, false)) {
      said_ready = well;
      return act(remote_->on_checked(well ? HostMessage(ready()) : HostMessage(NodeCannot{"no", 2})));
    }
    if (std::exchange(asked_to_reach_, false)) return act(remote_->on_reach({{well ? "" : "refused"}}));
    if (!runs) return;
    if (!told_to_end && lines_ < 6 && !one_in(5)) return write();
    code = told_to_end ? 143 : one_in(6) ? 7 : 0;
    runs = false;
    act(remote_->on_end({code, "", ""}));
  }

  // Whatever of it can change without the time.
  std::string state() const {
    std::string text = std::to_string(to_head.size()) + '/' + std::to_string(to_remote.size());
    for (const bool one : {open, left, greeted, hangs, gone, runs, checks_, asked_to_reach_}) text += one ? '+' : '-';
    return text + std::to_string(lines_);
  }

 private:
  int draw(int below) { return static_cast<int>(random_->next() % static_cast<unsigned>(below)); }
  bool one_in(int count) { return draw(count) == 0; }

  NodeReady ready() const {
    NodeReady ready;
    ready.addresses = {"10.0.0.1"};
    ready.interfaces = {"eth0"};
    ready.boot_id = std::to_string(node_);
    ready.port = 4711;
    return ready;
  }

  // A line "NODE:NUMBER" in two parts.
  void write() {
    const std::string line = std::to_string(node_) + ":" + std::to_string(lines_++) + "\n";
    const auto middle = static_cast<std::size_t>(draw(3));
    written += line;
    if (middle > 0) act(remote_->on_output({false, line.substr(0, middle)}));
    act(remote_->on_output({false, line.substr(middle)}));
  }

  void act(RemoteActions actions) {
    for (RemoteAction& action : actions) {
      EXPECT_FALSE(gone) << "an action after it has left";
      std::visit([this](auto& one) { carry_out(std::move(one)); }, action);
    }
    EXPECT_TRUE(gone || told_to_end || (forgot_ && !peers_.empty()) || remote_->deadline() != never)
        << "it waits for ever";
  }

  void carry_out(TellHead action) {
    EXPECT_FALSE(heard_end_) << "there is nobody to tell it to";
    to_head.push_back(std::move(action.message));
  }

  void carry_out(const CheckNode& action) {
    EXPECT_EQ(action.job.node, node_);
    checks_ = true;
  }

  void carry_out(const TryToReach&) { asked_to_reach_ = true; }

  void carry_out(const RunNode&) {
    EXPECT_EQ(++starts, 1);
    EXPECT_TRUE(said_ready);
    runs = true;
  }

  void carry_out(const SignalNode& action) {
    EXPECT_TRUE(runs);
    EXPECT_GT(action.number, 0);
    told_to_end = true;
  }

  void carry_out(const ConnectPeer& action) {
    EXPECT_TRUE(peers_.insert(action.node).second);
    wanted_peers.push_back(action.node);
  }

  void carry_out(const FeedPeer&) { ADD_FAILURE() << "bytes of peers are not played"; }

  void carry_out(const FeedNode&) { ADD_FAILURE() << "nobody has sent input"; }

  void carry_out(const RemoveOutput&) {
    EXPECT_FALSE(runs);
    EXPECT_FALSE(std::exchange(removed, true));
  }

  void carry_out(const ForgetHead&) { EXPECT_FALSE(std::exchange(forgot_, true)); }

  void carry_out(const LeaveRemote&) {
    EXPECT_FALSE(runs) << "it leaves its node behind";
    EXPECT_TRUE(peers_.empty() || forgot_ || signalled_) << "it cuts others off";
    gone = true;
  }

  int node_;
  Random* random_;
  std::optional<Remote> remote_;
  bool heard_end_ = false;  // of the connection
  bool forgot_ = false;     // the head
  bool checks_ = false;
  bool asked_to_reach_ = false;
  bool signalled_ = false;
  std::set<int> peers_;
  int lines_ = 0;
};

}  // namespace launch::hosts_walk
