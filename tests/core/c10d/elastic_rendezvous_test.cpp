// Single steps of the machine; whole jobs under faults are in tests/sim.
#include "launch/core/c10d/elastic_rendezvous.hpp"

#include "../store/store_driver.hpp"
#include "launch/core/c10d/rendezvous_pickle.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/core/store/store_wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::elastic_rendezvous_test {

using namespace std::chrono_literals;
using testing::HasSubstr;

ElasticSettings settings(const std::string& name, int min, int max) {
  ElasticSettings result;
  result.run_id = "job";
  result.self = NodeDesc{name, 1, launch_local_id};
  result.nodes = {min, max};
  return result;
}

// One agent on a store, at a time of its own.
struct Node {
  Node(StoreDriver& s, const std::string& name, int min, int max)
      : store(s), machine(settings(name, min, max), Random(1)) {
    machine.join(time, 0);
    take(machine.start(instant()));
  }

  Instant instant() const {
    return {time, WallTime(std::chrono::duration_cast<WallClock::duration>(time.time_since_epoch()))};
  }
  void take(ElasticStep next) {
    step = std::move(next);
    for (ElasticNews& one : step.news) news.push_back(std::move(one));
  }
  void answer(const Outcome& outcome) {
    auto next = machine.on(outcome, instant());
    if (next) return take(*std::move(next));
    error = next.error().message;
  }
  bool waits() const { return launch::waits(step.next); }
  // Until it waits.
  void run() {
    while (!waits() && error.empty()) answer(*store.perform(step.next));
  }
  // What it waits for has come, or its time.
  void look() {
    answer(Done{});
    run();
  }
  void pass(Duration duration) {
    time += duration;
    answer(WaitExpired{});
    run();
  }
  template <class News>
  const News* heard() const {
    for (const ElasticNews& one : news)
      if (const auto* found = std::get_if<News>(&one)) return found;
    return nullptr;
  }
  ElasticState state() const { return *read_state(store.get("/torch.rendezvous.job")); }

  StoreDriver& store;
  Time time{1h};
  ElasticRendezvous machine;
  ElasticStep step;
  std::vector<ElasticNews> news;
  std::string error;
};

TEST(ElasticRendezvous, TwoNodesFormAsSoonAsBothAreThere) {
  StoreDriver store;
  Node a(store, "a", 2, 2);
  a.run();
  EXPECT_EQ(a.heard<RoundFormed>(), nullptr);
  Node b(store, "b", 2, 2);
  b.run();
  a.look();
  ASSERT_NE(a.heard<RoundFormed>(), nullptr);
  ASSERT_NE(b.heard<RoundFormed>(), nullptr);
  EXPECT_EQ(a.heard<RoundFormed>()->rank, NodeRank(0));
  EXPECT_EQ(b.heard<RoundFormed>()->rank, NodeRank(1));
  EXPECT_EQ(b.heard<RoundFormed>()->leader, a.heard<RoundFormed>()->leader);
  EXPECT_EQ(b.heard<RoundFormed>()->nnodes, 2);
  EXPECT_TRUE(b.heard<RoundFormed>()->torchrun.empty());
}

TEST(ElasticRendezvous, LooksTwiceASecond) {
  StoreDriver store;
  Node a(store, "a", 2, 2);
  a.run();
  EXPECT_EQ(std::get<AwaitKeys>(a.step.next).keys, (KeyList{std::string(never_key)}));
  EXPECT_EQ(a.machine.deadline(), a.time + 500ms);
}

TEST(ElasticRendezvous, TheLastCallIsOnlyForMoreThanTheMinimum) {
  StoreDriver store;
  Node a(store, "a", 1, 2);
  a.run();
  EXPECT_EQ(a.heard<RoundFormed>(), nullptr);
  a.pass(29s);
  EXPECT_EQ(a.heard<RoundFormed>(), nullptr);
  a.pass(1s);
  ASSERT_NE(a.heard<RoundFormed>(), nullptr);
  EXPECT_EQ(a.heard<RoundFormed>()->nnodes, 1);
}

TEST(ElasticRendezvous, ANodeTooManyStandsBy) {
  StoreDriver store;
  Node a(store, "a", 1, 1);
  a.run();
  ASSERT_NE(a.heard<RoundFormed>(), nullptr);
  Node b(store, "b", 1, 1);
  b.run();
  EXPECT_TRUE(b.state().redundancy_list.contains(NodeDesc{"b", 1, launch_local_id}));
  a.machine.close(a.time);
  a.look();
  b.look();
  ASSERT_NE(b.heard<RoundRefused>(), nullptr);
  EXPECT_TRUE(b.heard<RoundRefused>()->spare);
}

TEST(ElasticRendezvous, AStandByHasNoTimeOut) {
  StoreDriver store;
  Node a(store, "a", 1, 1);
  a.run();
  Node b(store, "b", 1, 1);
  b.run();
  for (int i = 0; i < 200; ++i) {
    a.pass(5s);
    b.pass(5s);
  }
  EXPECT_EQ(b.heard<RoundRefused>(), nullptr);
  EXPECT_TRUE(b.state().redundancy_list.contains(NodeDesc{"b", 1, launch_local_id}));
}

TEST(ElasticRendezvous, ANodeThatStartsAnewBreaksTheRoundForTheOthers) {
  StoreDriver store;
  Node a(store, "a", 2, 2), b(store, "b", 2, 2);
  a.run();
  b.run();
  a.look();
  a.machine.join(a.time, 0);
  a.look();
  EXPECT_TRUE(a.state().wait_list.contains(NodeDesc{"a", 1, launch_local_id}));
  b.look();
  ASSERT_NE(b.heard<RoundBroken>(), nullptr);
  EXPECT_THAT(b.heard<RoundBroken>()->reason, HasSubstr("restarts"));
  b.machine.join(b.time, 0);
  b.news.clear();
  b.look();
  a.news.clear();
  a.look();
  b.look();
  ASSERT_NE(a.heard<RoundFormed>(), nullptr);
  ASSERT_NE(b.heard<RoundFormed>(), nullptr);
  EXPECT_EQ(a.heard<RoundFormed>()->round, 1);
}

TEST(ElasticRendezvous, HeartbeatsComeEveryFiveSecondsAndSilenceIsDeathAfterFifteen) {
  StoreDriver store;
  Node a(store, "a", 1, 2), b(store, "b", 1, 2);
  a.run();
  b.run();
  a.look();
  const auto first = a.state().last_heartbeats.at(NodeDesc{"a", 1, launch_local_id});
  for (int i = 0; i < 2; ++i) a.pass(5s);
  EXPECT_GT(a.state().last_heartbeats.at(NodeDesc{"a", 1, launch_local_id}), first);
  EXPECT_EQ(a.heard<RoundBroken>(), nullptr);
  a.pass(5s);
  ASSERT_NE(a.heard<RoundBroken>(), nullptr);
  EXPECT_THAT(a.heard<RoundBroken>()->reason, HasSubstr("b (pid 1) stopped responding"));
}

TEST(ElasticRendezvous, GivesUpAtTheTimeOutAndLeavesNothing) {
  StoreDriver store;
  Node a(store, "a", 2, 2);
  a.run();
  a.pass(600s);
  ASSERT_NE(a.heard<RoundRefused>(), nullptr);
  EXPECT_EQ(a.heard<RoundRefused>()->error.code, ErrorCode::timeout);
  EXPECT_THAT(a.heard<RoundRefused>()->error.message, HasSubstr("timed out after 10 min"));
  EXPECT_TRUE(a.state().participants.empty());
}

TEST(ElasticRendezvous, TellsOfTheWaitAfterASecond) {
  StoreDriver store;
  Node a(store, "a", 2, 2);
  a.run();
  EXPECT_EQ(a.heard<RoundWaits>(), nullptr);
  a.pass(1s);
  ASSERT_NE(a.heard<RoundWaits>(), nullptr);
  EXPECT_EQ(a.heard<RoundWaits>()->arrived, 1);
}

TEST(ElasticRendezvous, LeavingWithdrawsTheNode) {
  StoreDriver store;
  Node a(store, "a", 2, 2);
  a.run();
  a.machine.leave(a.time, "");
  a.look();
  EXPECT_NE(a.heard<RendezvousEnded>(), nullptr);
  EXPECT_TRUE(a.state().participants.empty());
  EXPECT_FALSE(a.state().closed);
}

TEST(ElasticRendezvous, AClosedRendezvousTakesNobody) {
  StoreDriver store;
  Node a(store, "a", 1, 1);
  a.run();
  a.machine.close(a.time);
  a.look();
  EXPECT_NE(a.heard<RendezvousEnded>(), nullptr);
  Node b(store, "b", 1, 1);
  b.run();
  ASSERT_NE(b.heard<RoundRefused>(), nullptr);
  EXPECT_EQ(b.heard<RoundRefused>()->error.code, ErrorCode::closed);
  EXPECT_FALSE(b.heard<RoundRefused>()->spare);
}

TEST(ElasticRendezvous, AForeignValueIsAnErrorThatNamesTheKey) {
  StoreDriver store;
  store.perform(SetKeys{{{"/torch.rendezvous.job", "Y29zCnN5c3RlbQ=="}}});
  Node a(store, "a", 2, 2);
  a.run();
  EXPECT_THAT(a.error, HasSubstr("key /torch.rendezvous.job: the state of the rendezvous: an opcode"));
}

// Who sees a round complete from which somebody has left already must not take it for whole.
TEST(ElasticRendezvous, ARoundThatBrokeUpUnseenIsLeft) {
  StoreDriver store;
  Node a(store, "a", 2, 3), b(store, "b", 2, 3), c(store, "c", 2, 3);
  a.run();
  b.run();
  c.run();  // completes it; a and b have not looked
  c.machine.join(c.time, 0);
  c.look();
  a.look();
  EXPECT_EQ(a.heard<RoundFormed>(), nullptr);
}

// One that somebody waits to join when this node first sees it complete.
ElasticState seen_late(bool with_torchrun) {
  StoreDriver store;
  Node a(store, "a", 1, 3);
  a.run();
  ElasticState state = a.state();
  const NodeDesc other{"b", 2, with_torchrun ? 0 : launch_local_id}, newcomer{"c", 3, 0};
  state.participants = {{NodeDesc{"a", 1, launch_local_id}, 0}, {other, 1}};
  state.wait_list = {newcomer};
  state.complete = true;
  state.deadline.reset();
  for (const NodeDesc& node : {other, newcomer}) state.last_heartbeats[node] = a.instant().wall;
  (void)store.perform(SetKeys{{{"/torch.rendezvous.job", write_state(state)}}});
  a.look();
  EXPECT_EQ(a.heard<RoundFormed>() != nullptr, with_torchrun);
  EXPECT_EQ(a.heard<RoundBroken>() != nullptr, with_torchrun);
  return a.state();
}

TEST(ElasticRendezvous, ARoundThatSomebodyWaitsToJoinIsNotBegun) {
  EXPECT_FALSE(seen_late(false).participants.contains(NodeDesc{"a", 1, launch_local_id})) << "it starts anew at once";
}

TEST(ElasticRendezvous, OneWithTorchrunIsHeardOfAndThenThatItHasBrokenUp) {
  EXPECT_TRUE(seen_late(true).participants.contains(NodeDesc{"a", 1, launch_local_id})) << "it is to answer torchrun";
}

}  // namespace launch::elastic_rendezvous_test
