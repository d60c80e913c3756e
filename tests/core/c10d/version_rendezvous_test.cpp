#include "launch/core/c10d/version_rendezvous.hpp"

#include "version_world.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::version_rendezvous_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Status = VersionState::Status;
using Cause = RoundBroken::Cause;

TEST(VersionRendezvous, NodesGetTheirRanksInTheOrderInWhichTheyCome) {
  World world;
  Agent& a = world.start("a", {3, 3});
  world.pass(1s);
  Agent& b = world.start("b", {3, 3});
  world.pass(1s);
  Agent& c = world.start("c", {3, 3});
  world.pass(1s);
  int rank = 0;
  for (const Agent* agent : {&a, &b, &c}) {
    const RoundFormed formed = agent->last<RoundFormed>();
    EXPECT_EQ(formed.round, 1);
    EXPECT_EQ(formed.rank, NodeRank(rank++));
    EXPECT_EQ(formed.nnodes, 3);
    EXPECT_EQ(formed.leader.addr, "a");
    EXPECT_THAT(formed.torchrun, IsEmpty());
  }
  EXPECT_EQ(world.etcd.nodes.at(version_counter_key(root)), "1");
  EXPECT_EQ(world.etcd.lasts.at(root), "7200");
  EXPECT_EQ(world.state().status, Status::final);
  EXPECT_EQ(world.state().waiting, 0);
  EXPECT_FALSE(world.etcd.lasts.contains(active));
  EXPECT_EQ(world.etcd.lasts.at(lease_key(root, 1, 2)), "10");
}

// Without a name of its own in the state, each of them would take the write of another one for its own.
TEST(VersionRendezvous, ThoseWhoComeAtOnceHaveRanksOfTheirOwn) {
  World world;
  std::vector<Agent*> agents;
  for (int index = 0; index < 8; ++index) agents.push_back(&world.start("n" + std::to_string(index), {8, 8}));
  world.pass(10s);
  std::vector<int> ranks;
  for (const Agent* agent : agents) ranks.push_back(agent->last<RoundFormed>().rank.value);
  std::sort(ranks.begin(), ranks.end());
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(world.state().version, 1);
}

TEST(VersionRendezvous, LastsOnlyForAsLongAsTorchrunHasIt) {
  World world;
  world.start("a", {2, 3});
  world.pass(1s);
  EXPECT_EQ(world.state().status, Status::joinable);
  EXPECT_FALSE(world.etcd.lasts.contains(active));  // until there are enough
  world.start("b", {2, 3});
  world.pass(1s);
  EXPECT_EQ(world.etcd.lasts.at(active), "10");
  EXPECT_EQ(world.state().status, Status::joinable);
}

TEST(VersionRendezvous, TheOneThatMakesThemEnoughWaitsForMore) {
  World world;
  Agent& a = world.start("a", {1, 2});
  world.pass(29s);
  EXPECT_EQ(a.round(), 0);
  EXPECT_EQ(world.state().status, Status::joinable);  // which has been renewed meanwhile
  world.pass(2s);
  EXPECT_EQ(a.last<RoundFormed>().nnodes, 1);
  World other;
  Agent& first = other.start("a", {1, 2});
  other.pass(5s);
  Agent& second = other.start("b", {1, 2});
  other.pass(1s);
  EXPECT_EQ(first.round(), 1);
  EXPECT_EQ(second.last<RoundFormed>().nnodes, 2);
}

TEST(VersionRendezvous, ALastCallEndsWithItsNode) {
  World world;
  Agent& a = world.start("a", {2, 3});
  world.pass(1s);
  Agent& b = world.start("b", {2, 3});
  world.pass(1s);
  b.lives = false;
  world.pass(15s);
  Agent& c = world.start("c", {2, 3});
  world.pass(40s);
  EXPECT_EQ(a.last<RoundFormed>().round, 2);
  EXPECT_EQ(c.last<RoundFormed>().round, 2);
}

TEST(VersionRendezvous, IfItsFounderDiesAnotherOneFounds) {
  World world;
  world.etcd.nodes[active] = R"({"status": "setup"})";
  Agent& a = world.start("a", {1, 1});
  world.pass(4s);
  EXPECT_EQ(a.round(), 0);
  world.etcd.nodes.erase(active);
  world.pass(1s);
  EXPECT_EQ(a.round(), 1);
}

TEST(VersionRendezvous, JoinsTorchrunsAgents) {
  World world;
  world.etcd.nodes[version_counter_key(root)] = "7";
  world.etcd.nodes[active] = R"({"status": "joinable", "version": "7", "participants": [0]})";
  Agent& a = world.start("a", {3, 3});
  world.pass(1s);
  EXPECT_EQ(world.state().participants, 2);
  world.torchrun_joins();
  world.change([](VersionState& state) { state.status = Status::frozen; });
  world.torchrun_confirms(2);
  world.pass(1s);
  EXPECT_THAT(world.state().keep_alives, ElementsAre("/p/run_j/rdzv/v_7/rank_2", "/p/run_j/rdzv/v_7/rank_1"));
  EXPECT_EQ(a.round(), 0);
  world.torchrun_confirms(0);
  world.pass(1s);
  const RoundFormed formed = a.last<RoundFormed>();
  EXPECT_EQ(formed.round, 7);
  EXPECT_EQ(formed.rank, NodeRank(1));
  EXPECT_THAT(formed.torchrun, ElementsAre(NodeRank(0), NodeRank(2)));
  EXPECT_FALSE(is_launch(formed.leader));
}

TEST(VersionRendezvous, LaunchAgentsStartAnewAtOnce) {
  World world;
  Agent& a = world.start("a", {2, 2});
  Agent& b = world.start("b", {2, 2});
  world.pass(1s);
  world.join(a);
  world.pass(1s);
  EXPECT_EQ(b.last<RoundBroken>().cause, Cause::restart);
  EXPECT_EQ(a.round(), 1);
  world.join(b);
  world.pass(1s);
  EXPECT_EQ(a.round(), 2);
  EXPECT_EQ(b.round(), 2);
}

struct Mixed : World {  // b of rank 1, and torchrun's of rank 0
  Mixed() : b(start("b", {2, 2})) {
    etcd.nodes[version_counter_key(root)] = "1";
    etcd.nodes[active] = R"({"status": "joinable", "version": "1", "participants": [0]})";
    pass(1s);
    torchrun_confirms(0);
    pass(1s);
    EXPECT_EQ(b.round(), 1);
  }
  Agent& b;
};

// torchrun's agents would never see that their version is gone.
TEST(VersionRendezvous, ItWaitsUntilTorchrunsAgentsWaitToo) {
  Mixed world;
  world.join(world.b);
  world.pass(1s);
  EXPECT_EQ(world.state().version, 1);
  EXPECT_EQ(world.state().waiting, 1);
  world.pass(2s);
  EXPECT_EQ(world.state().version, 1);
  world.change([](VersionState& state) { ++state.waiting; });
  world.pass(1s);
  EXPECT_EQ(world.state().version, 2);
  EXPECT_EQ(world.state().status, Status::joinable);
}

TEST(VersionRendezvous, ItsLeaseRunsOutWhenItStartsAnew) {
  Mixed world;
  world.pass(20s);
  EXPECT_TRUE(world.etcd.nodes.contains(lease_key(root, 1, 1)));  // renewed until then
  world.join(world.b);
  world.pass(4s);
  EXPECT_EQ(world.state().version, 1);
  world.pass(8s);
  EXPECT_FALSE(world.etcd.nodes.contains(lease_key(root, 1, 1)));
  EXPECT_EQ(world.state().version, 2);
}

TEST(VersionRendezvous, HearsOfTorchrunsAgentsThatWait) {
  Mixed world;
  world.b.machine.admit_nobody();  // they may be members that restart
  world.change([](VersionState& state) { ++state.waiting; });
  world.pass(1s);
  EXPECT_EQ(world.b.last<RoundBroken>(), (RoundBroken{"a node of torchrun joins or restarts"}));
}

TEST(VersionRendezvous, ALostNodeIsSeenByTheOneBeforeIt) {
  Mixed world;
  world.etcd.nodes.erase(lease_key(root, 1, 0));
  world.pass(2s);
  EXPECT_EQ(world.b.last<RoundBroken>(),
            (RoundBroken{"node 0, an agent of torchrun, stopped responding", Cause::loss, NodeRank(0)}));
  World launch;
  Agent& a = launch.start("a", {3, 3});
  launch.pass(1s);
  Agent& b = launch.start("b", {3, 3});
  launch.pass(1s);
  Agent& c = launch.start("c", {3, 3});
  launch.pass(1s);
  c.lives = false;
  launch.pass(12s);
  EXPECT_EQ(b.last<RoundBroken>(), (RoundBroken{"c (pid 1) stopped responding", Cause::loss, NodeRank(2)}));
  EXPECT_THAT(a.heard<RoundBroken>(), IsEmpty());  // until b starts anew
}

TEST(VersionRendezvous, ANodeThatComesIsLetIn) {
  World world;
  Agent& a = world.start("a", {1, 2});
  world.pass(35s);
  Agent& b = world.start("b", {1, 2});
  world.pass(2s);
  EXPECT_EQ(a.last<RoundBroken>(), (RoundBroken{"b (pid 1) joins"}));
  EXPECT_EQ(world.state().waiting, 1);
  world.join(a);
  world.pass(2s);
  EXPECT_EQ(a.round(), 2);
  EXPECT_EQ(b.round(), 2);
}

TEST(VersionRendezvous, OrNotBeforeAnotherReason) {
  World world;
  Agent& a = world.start("a", {1, 2});
  a.machine.admit_nobody();
  world.pass(35s);
  world.start("b", {1, 2});
  world.pass(5s);
  EXPECT_THAT(a.heard<RoundBroken>(), IsEmpty());
}

TEST(VersionRendezvous, ASpareStandsByWithoutAWordUntilANodeIsLost) {
  World world;
  Agent& a = world.start("a", {1, 2});
  Agent& b = world.start("b", {1, 2});
  world.pass(2s);
  Agent& c = world.start("c", {1, 2});
  world.pass(100s);
  EXPECT_EQ(world.state().waiting, 0);
  EXPECT_TRUE(c.last<RoundWaits>().spare);
  EXPECT_THAT(c.heard<RoundRefused>(), IsEmpty());
  a.lives = false;
  world.pass(15s);
  world.join(b);
  world.pass(40s);
  EXPECT_EQ(b.last<RoundFormed>().nnodes, 2);
  EXPECT_EQ(c.round(), b.round());
}

// An agent of a container may have the name and the pid of the one before it.
TEST(VersionRendezvous, IsNoMemberBecauseAnotherOneHadItsName) {
  World world;
  Agent& a = world.start("a", {1, 1});
  world.pass(1s);
  a.lives = false;
  Agent& again = world.start("a", {1, 1});
  world.pass(5s);
  EXPECT_EQ(again.round(), 0);
  world.pass(10s);
  EXPECT_EQ(again.round(), 2);
}

TEST(VersionRendezvous, AtItsTimeOutItMakesRoom) {
  World world;
  Agent& a = world.start("a", {2, 2});
  world.pass(50s);
  Agent& b = world.start("b", {3, 3});
  world.pass(20s);
  const RoundRefused refused = a.last<RoundRefused>();
  EXPECT_EQ(refused.error.code, ErrorCode::timeout);
  EXPECT_EQ(refused.error.message, "the rendezvous timed out after 60 s: 2 of at least 2 nodes joined");
  EXPECT_FALSE(refused.begun);
  EXPECT_EQ(world.state().participants, 1);
  EXPECT_EQ(world.state().launch.at(0).addr, "b");
  EXPECT_THAT(b.heard<RoundRefused>(), IsEmpty());
}

TEST(VersionRendezvous, AClosedOneIsRefused) {
  World world;
  Agent& a = world.start("a", {1, 1});
  world.pass(1s);
  a.machine.close(Time(2h));
  world.wake(a);
  world.pass(1s);
  EXPECT_EQ(a.heard<RendezvousEnded>().size(), 1U);
  EXPECT_EQ(world.state().status, Status::closed);
  EXPECT_EQ(world.state().participants, 1);
  Agent& b = world.start("b", {1, 1});
  world.pass(1s);
  EXPECT_EQ(b.last<RoundRefused>().error.code, ErrorCode::closed);
}

TEST(VersionRendezvous, OneThatNobodyHasBegunIsClosedToo) {
  World world;
  Agent& a = world.start("a", {2, 2});
  a.machine.close(Time(2h));
  world.pass(1s);
  EXPECT_EQ(world.state().status, Status::closed);
}

TEST(VersionRendezvous, AMemberThatLeavesTakesItsLeaseAlong) {
  World world;
  Agent& a = world.start("a", {2, 2});
  Agent& b = world.start("b", {2, 2});
  world.pass(1s);
  b.machine.leave(Time(2h), "");
  world.wake(b);
  world.pass(2s);
  EXPECT_EQ(b.heard<RendezvousEnded>().size(), 1U);
  EXPECT_EQ(world.state().status, Status::final);
  EXPECT_EQ(a.last<RoundBroken>().gone, b.last<RoundFormed>().rank);
}

TEST(VersionRendezvous, AJoinerThatLeavesGivesTheVersionUp) {
  World world;
  Agent& a = world.start("a", {2, 2});
  world.pass(1s);
  a.machine.leave(Time(2h), "");
  world.wake(a);
  world.pass(1s);
  EXPECT_EQ(a.heard<RendezvousEnded>().size(), 1U);
  EXPECT_FALSE(world.etcd.nodes.contains(active));
}

TEST(VersionRendezvous, TheFolderOfTheJobLastsForAsLongAsTheJob) {
  World world;
  world.start("a", {1, 1});
  world.pass(59min);
  world.etcd.lasts.erase(root);
  world.pass(2min);
  EXPECT_EQ(world.etcd.lasts.at(root), "7200");
}

TEST(VersionRendezvous, WhatIsNoStateIsOneSentence) {
  World world;
  world.etcd.nodes[active] = "garbage";
  Agent& a = world.start("a", {1, 1});
  world.pass(1s);
  EXPECT_THAT(a.error, HasSubstr("key /p/run_j/rdzv/active_version: what it holds is no state"));
}

}  // namespace launch::version_rendezvous_test
