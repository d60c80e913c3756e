// A head and its remotes, whatever comes and in whatever order: logins that fail, hosts that stop, connections that
// end at any step, nonsense, signals and late answers as chance wills, and what must hold after each step.
#include "launch/core/base/random.hpp"
#include "launch/core/hosts/head.hpp"
#include "walk_place.hpp"

#include <csignal>
#include <map>

#include <gtest/gtest.h>

namespace launch::hosts_walk_test {

using namespace std::chrono_literals;
using hosts_walk::Place;

constexpr int walks = 1'500;
constexpr int framed_walks = 40;  // in which messages are bytes, read in pieces
constexpr int most_steps = 300;
constexpr int steps_to_end = 4'000;
// After the last fault: a login that hangs, a retry, a check, a question and a silence, and what they are noticed late.
constexpr Duration time_to_end = 30s + 7s + 60s + 15s + 15s + 20s;

class Walk {
 public:
  Walk(std::uint64_t seed, bool framed)
      : random_(seed),
        framed_(framed),
        faults_(one_in(3) ? 0 : 1 + draw(60)),
        plan_(hosts_walk::draw_plan(random_)),
        head_(plan_, seed) {
    for (int i = 0; i < size(); ++i) places_.emplace_back(i, random_);
    shown_.resize(places_.size());
    ended_.resize(places_.size());
    act(head_.start(now_));
    const int steps = draw(most_steps);
    for (int i = 0; i < steps && !failed(); ++i) {
      if (!over_ && faults_ > 0 && one_in(faults_))
        err(draw(size()));
      else
        step(draw(size()));
    }
    wind_down();
    if (!failed()) check_end();
  }

  bool ran() const { return runs_; }
  int code() const { return code_; }
  int removed() const { return removed_; }

 private:
  int draw(int below) { return static_cast<int>(random_.next() % static_cast<unsigned>(below)); }
  bool one_in(int count) { return draw(count) == 0; }
  static bool failed() { return testing::Test::HasFailure(); }
  int size() const { return static_cast<int>(plan_.nodes.size()); }
  Place& at(int node) { return places_[static_cast<std::size_t>(node)]; }
  // One of so many answers of a host is a bad one.
  int odds() const { return faults_ == 0 || quiet_ ? 0 : 20 + faults_; }

  // ---- the head's actions

  void act(const HeadActions& actions) {
    for (const HeadAction& action : actions) {
      EXPECT_FALSE(over_) << "an action after the last one";
      std::visit([this](const auto& one) { carry_out(one); }, action);
    }
    std::map<int, int> connecting;
    for (const Place& place : places_)
      if (place.connecting) ++connecting[place.starter];
    for (const auto& [starter, count] : connecting) EXPECT_LE(count, plan_.fanout) << starter;
    EXPECT_EQ(head_.deadline() == never, over_);
    if (one_in(8)) check_progress();
  }

  void check_progress() const { EXPECT_EQ(head_.progress().empty(), over_ || runs_) << head_.progress(); }

  void carry_out(const ConnectHost& action) {
    Place& place = at(action.node);
    EXPECT_FALSE(place.open || place.connecting || place.there());
    EXPECT_EQ(place.starts, 0);
    place = Place(action.node, random_);
    place.open = place.connecting = true;
    place.starter = action.starter;
    if (action.starter == started_by_head) return start(place);
    EXPECT_FALSE(action.copies) << "only the head has the file";
    EXPECT_TRUE(at(action.starter).greeted && at(action.starter).open && !at(action.starter).left);
    at(action.starter).to_remote.push_back(StartPeer{action.node, {"ssh"}});
  }

  void begin_peer(int starter, int node) {
    at(node).open&& at(node).starter == starter ? start(at(node)) : at(starter).end_peer(node);
  }

  void start(Place& place) {
    place.hangs = odds() > 0 && one_in(odds());
    if (!place.hangs) place.start(now_);
  }

  void carry_out(const TellHost& action) {
    Place& place = at(action.node);
    EXPECT_TRUE(place.open) << "told without a connection";
    EXPECT_FALSE(place.left) << "told after it was left";
    EXPECT_TRUE(place.greeted) << "told before it was there";
    if (std::holds_alternative<NodeGo>(action.message)) {
      runs_ = true;
      for (const Place& one : places_) EXPECT_TRUE(one.said_ready) << "a node starts, and not all hosts are ready";
    }
    place.to_remote.push_back(action.message);
  }

  void carry_out(const LeaveHost& action) {
    Place& place = at(action.node);
    EXPECT_TRUE(place.open);
    EXPECT_FALSE(std::exchange(place.left, true));
    place.connecting = false;
  }

  // The console takes all at once.
  void carry_out(const ConfirmHost& action) {
    EXPECT_TRUE(plan_.keeps_output);
    carry_out(TellHost{action.node, NodeShown{}});
    if (action.leaves) carry_out(LeaveHost{action.node});
  }

  void carry_out(const EndFiles&) { ADD_FAILURE() << "no logs are gathered"; }

  void carry_out(const StoreFile& action) { ADD_FAILURE() << "nobody has sent " << action.file.name; }

  void carry_out(const WarnLine& action) { ADD_FAILURE() << action.text; }

  // Whole lines of one node.
  void carry_out(const ShowLines& action) {
    EXPECT_TRUE(action.lines.ends_with('\n'));
    const int node = action.lines[0] - '0';
    ASSERT_TRUE(node >= 0 && node < size()) << action.lines;
    shown_[static_cast<std::size_t>(node)] += action.lines;
  }

  void carry_out(const SayLine& action) { EXPECT_EQ(action.text.find('\n'), std::string::npos); }

  void carry_out(const FinishHead& action) {
    over_ = true;
    code_ = action.exit_code;
    for (Place& place : places_) {
      place.left = place.left || (place.open && place.starter == started_by_head);
      place.connecting = false;
    }
  }

  // ---- what happens

  void step(int node) {
    switch (draw(8)) {
      case 0:
      case 1:
      case 2:
        return deliver_to_head(node);
      case 3:
      case 4:
        return deliver_to_remote(node);
      case 5:
        return close(node);
      case 6:
        return one_in(4) ? pass_time() : at(node).live(odds());
      default:
        return at(node).live(odds());
    }
  }

  // Something goes wrong.
  void err(int node) {
    Place& place = at(node);
    const bool listens = place.open && !place.left;
    switch (draw(8)) {
      case 0:
        return cut(node, "kex_exchange_identification: Connection closed by remote host\n");
      case 1:
        return cut(node, "");
      case 2:
        place.stalled = true;
        return;
      case 3:
        if (listens && !place.babbled) babble(place, node);
        return;
      case 4:
        return act(head_.on_signal(one_in(2) ? SIGINT : SIGTERM, now_));
      case 5:
        return place.signal(SIGTERM);
      case 6:
        now_ += Duration(draw(20'000) * 1ms);
        return;
      default:
        if (listens) place.to_remote.push_back(NodeReady{});  // which no head says
    }
  }

  void babble(Place& place, int node) {
    if (place.greeted && one_in(2)) {
      place.to_head.push_back(NodeJob{});
    } else {
      place.babbled = true;
      act(head_.on_nonsense(node, "no frame", now_));
    }
  }

  // The connection ends from the side of the host.
  void cut(int node, const char* errors) {
    Place& place = at(node);
    if (!place.open || place.ending) return;
    const bool carried = place.starter != started_by_head && at(place.starter).carries_peers();
    if (carried && !at(place.starter).has_peer(node)) return;  // not yet
    place.hear_end();
    place.hangs = false;
    if (!carried && place.starter != started_by_head && at(place.starter).has_peer(node))
      at(place.starter).end_peer(node);
    if (!carried) return lose(node, errors);
    place.ending = true;
    at(place.starter).end_peer(node);
  }

  // The head hears that it has ended, after the connections that went through it.
  void lose(int node, const char* errors) {
    Place& place = at(node);
    place.hear_end();
    for (int peer = 0; peer < size(); ++peer) {
      if (!at(peer).open || at(peer).starter != node) continue;
      if (place.there() && place.has_peer(peer)) place.end_peer(peer);
      lose(peer, "");
    }
    place.open = place.connecting = place.hangs = place.ending = false;
    LostConnection lost;
    lost.program = "ssh";
    lost.status = {ExitStatus::Kind::exited, 255};
    lost.errors = errors;
    act(head_.on_lost(lost, node, now_));
  }

  // What was left is closed, and what has gone takes its connection with it.
  void close(int node) {
    Place& place = at(node);
    const bool carried =
        place.starter == started_by_head || (at(place.starter).carries_peers() && at(place.starter).open);
    const bool closed = place.left && !place.stalled && (place.to_remote.empty() || !place.hears());
    if (closed || !carried) place.hear_end();
    const bool heard = place.to_head.empty() || place.stalled || place.babbled || over_;
    if (!carried || (place.hangs ? place.left : place.gone && heard)) cut(node, "");
  }

  void deliver_to_head(int node) {
    Place& place = at(node);
    if (!place.open || place.hangs || place.stalled || place.babbled || over_) return;
    if (place.starter != started_by_head && at(place.starter).stalled) return;
    if (!place.greeted) return greet(node);
    if (place.to_head.empty()) return;
    HostMessage message = std::move(place.to_head.front());
    place.to_head.pop_front();
    if (framed_) message = through(place.head_reader, message);
    if (const auto* end = std::get_if<PeerEnd>(&message)) return lose(end->node, "");
    if (!place.left && std::holds_alternative<NodeEnd>(message)) ended_[static_cast<std::size_t>(node)] = true;
    act(head_.on_message(node, std::move(message), now_));
  }

  void greet(int node) {
    Place& place = at(node);
    Greeting greeting{host_protocol, odds() > 0 && one_in(2 * odds()) ? "2" : "1", 4711, "h"};
    if (framed_) {
      place.head_reader.feed("Welcome!\n" + to_line(greeting));
      greeting = **place.head_reader.greeting();
    }
    place.greeted = true;
    place.connecting = false;
    act(head_.on_greeting(node, greeting, now_));
  }

  void deliver_to_remote(int node) {
    Place& place = at(node);
    if (!place.hears() || place.stalled || place.to_remote.empty()) return;
    HostMessage message = std::move(place.to_remote.front());
    place.to_remote.pop_front();
    if (framed_) message = through(place.remote_reader, message);
    place.hear(std::move(message), now_);
    for (; !place.wanted_peers.empty(); place.wanted_peers.pop_front()) begin_peer(node, place.wanted_peers.front());
  }

  // As bytes that come in two pieces.
  HostMessage through(FrameReader& reader, const HostMessage& message) {
    const std::string bytes = to_frame(message);
    const auto middle = static_cast<std::size_t>(draw(static_cast<int>(bytes.size())));
    reader.feed(std::string_view(bytes).substr(0, middle));
    EXPECT_FALSE(*reader.next());
    reader.feed(std::string_view(bytes).substr(middle));
    const auto read = reader.next();
    EXPECT_EQ(**read, message);
    return **read;
  }

  // To the next deadline, which may be met late.
  void pass_time() {
    Time next = head_.deadline();
    for (const Place& place : places_) next = std::min(next, place.deadline());
    if (next == never) return;
    now_ = std::max(now_, next) + (one_in(4) ? Duration(draw(500) * 1ms) : Duration(0));
    if (now_ >= head_.deadline()) {
      act(head_.on_deadline(now_));
      EXPECT_GT(head_.deadline(), now_) << "it spins";
    }
    for (Place& place : places_) place.expire(now_);
  }

  // ---- the end

  // Without further faults: everything goes on that can, and time passes only when nothing can.
  void wind_down() {
    quiet_ = true;
    const Time begin = now_;
    Time end = over_ ? now_ : never;
    for (int i = 0; i < steps_to_end && !failed() && !all_over(); ++i) {
      const std::string before = state();
      for (int node = 0; node < size(); ++node) {
        deliver_to_head(node);
        deliver_to_remote(node);
        at(node).live(0);
        close(node);
      }
      if (before == state()) pass_time();
      if (over_ && end == never) end = now_;
    }
    EXPECT_TRUE(all_over()) << "it waits for ever: " << state();
    EXPECT_LE(end - begin, time_to_end);
  }

  bool all_over() const {
    for (const Place& place : places_)
      if (place.open || place.there()) return false;
    return over_;
  }

  std::string state() const {
    std::string text = over_ ? "over" : "";
    for (const Place& place : places_) text += ' ' + place.state();
    return text;
  }

  void check_end() {
    bool all_well = runs_;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      EXPECT_FALSE(place.runs);
      EXPECT_TRUE(!place.removed || (ended_[i] && shown_[i] == place.written)) << "files are gone that were not shown";
      removed_ += place.removed ? 1 : 0;
      all_well = all_well && ended_[i] && place.code == 0;
      EXPECT_TRUE(ended_[i] ? shown_[i] == place.written : hosts_walk::is_beginning(shown_[i], place.written))
          << shown_[i] << "of\n"
          << place.written;
    }
    EXPECT_TRUE(!all_well || code_ == 0) << code_;
    EXPECT_TRUE(code_ != 0 || (plan_.c10d ? runs_ : all_well));
  }

  Random random_;
  bool framed_;
  int faults_;  // one of so many steps is one; 0: none
  HeadPlan plan_;
  Head head_;
  std::vector<Place> places_;
  std::vector<std::string> shown_;
  std::vector<bool> ended_;  // so the head was told
  Time now_{1h};
  bool quiet_ = false;  // no more faults
  bool runs_ = false;
  bool over_ = false;
  int code_ = -1;
  int removed_ = 0;  // the files of so many nodes
};

TEST(HostsWalk, WhateverComesAllEndsAndNothingIsLeftBehind) {
  int ran = 0;
  int well = 0;
  int removed = 0;
  for (std::uint64_t seed = 1; seed <= walks && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Walk walk(seed, false);
    ran += walk.ran() ? 1 : 0;
    well += walk.code() == 0 ? 1 : 0;
    removed += walk.removed();
  }
  EXPECT_GT(ran, walks / 4) << "nothing is learnt of nodes";
  EXPECT_LT(ran, walks * 3 / 4);
  EXPECT_GT(well, walks / 20);
  EXPECT_GT(removed, walks / 20);
}

TEST(HostsWalk, AlsoInBytes) {
  for (std::uint64_t seed = 1; seed <= framed_walks && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Walk walk(seed, true);
  }
}

}  // namespace launch::hosts_walk_test
