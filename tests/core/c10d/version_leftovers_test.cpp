#include "launch/core/c10d/version_rendezvous.hpp"

#include "version_world.hpp"

#include <gtest/gtest.h>

namespace launch::version_rendezvous_test {

using namespace std::chrono_literals;

// A version of torchrun's agents, whose leases are renewed for ever, and of `launch` ones that confirm with them.
struct WithTorchrun : World {
  void form(int torchrun) {
    etcd.nodes[version_counter_key(root)] = "1";
    etcd.nodes[active] = R"({"status": "joinable", "version": "1", "participants": []})";
    for (int rank = 0; rank < torchrun; ++rank) torchrun_joins();
    pass(1s);
    change([](VersionState& state) { state.status = VersionState::Status::frozen; });
    for (int rank = 0; rank < torchrun; ++rank) torchrun_confirms(rank);
    pass(1s);
    EXPECT_EQ(state().status, VersionState::Status::final);
  }
  void torchrun_waits() {
    change([](VersionState& state) { ++state.waiting; });
  }
};

TEST(VersionLeftovers, ASpareThatMissesANodeIsSeenByTorchrunBeforeTheVersionEnds) {
  WithTorchrun world;
  world.form(2);
  world.start("c", {2, 2});
  world.pass(5s);
  EXPECT_EQ(world.state().waiting, 0);
  world.etcd.nodes.erase(lease_key(root, 1, 1));
  world.pass(1500ms);
  EXPECT_EQ(world.state().version, 1);
  EXPECT_EQ(world.state().waiting, 1);
  world.pass(2500ms);
  EXPECT_EQ(world.state().version, 2);
  EXPECT_EQ(world.state().participants, 1);
}

TEST(VersionLeftovers, TorchrunHasTwoSecondsToSeeOneThatComes) {
  WithTorchrun world;
  world.form(2);
  world.etcd.nodes.erase(lease_key(root, 1, 1));
  world.start("c", {2, 3});
  world.pass(1s);
  EXPECT_EQ(world.state().version, 1);
  EXPECT_EQ(world.state().waiting, 1);
  world.pass(2s);
  EXPECT_EQ(world.state().version, 2);
}

TEST(VersionLeftovers, TorchrunHasTwoSecondsToSeeAMemberThatRestarts) {
  WithTorchrun world;
  Agent& b = world.start("b", {2, 2});
  world.form(1);
  ASSERT_EQ(b.round(), 1);
  world.pass(20s);
  world.torchrun_waits();
  world.join(b);
  world.pass(1s);
  EXPECT_EQ(world.state().version, 1);
  EXPECT_EQ(world.state().waiting, 2);
  world.pass(2s);
  EXPECT_EQ(world.state().version, 2);
}

TEST(VersionLeftovers, NodesThatWereNoMembersDoNotCountAsMembersThatWait) {
  WithTorchrun world;
  Agent& b = world.start("b", {2, 2});
  world.form(1);
  ASSERT_EQ(b.round(), 1);
  world.change([](VersionState& state) {
    ++state.waiting;
    state.launch_waiting.insert(NodeDesc{"x", 1, launch_local_id});
  });
  world.join(b);
  world.pass(4s);
  EXPECT_EQ(world.state().version, 1);
  EXPECT_EQ(world.state().waiting, 2);
  world.torchrun_waits();
  world.pass(600ms);
  EXPECT_EQ(world.state().version, 2);
}

TEST(VersionLeftovers, AVersionWithTooManyNodesIsRefused) {
  World world;
  world.etcd.nodes[active] = R"({"status": "joinable", "version": "1", "participants": [0, 1, 2]})";
  const Agent& a = world.start("a", {2, 2});
  world.pass(1s);
  EXPECT_EQ(a.last<RoundRefused>().error.code, ErrorCode::conflict);
  EXPECT_EQ(a.last<RoundRefused>().error.message,
            "the version that forms has 3 nodes, and --nnodes allows 2 in all; give the job another --rdzv-id");
  EXPECT_EQ(world.state().participants, 3);
}

TEST(VersionLeftovers, WhatIsNoCountOfVersionsIsOneSentence) {
  World world;
  world.etcd.nodes[version_counter_key(root)] = "many";
  const Agent& a = world.start("a", {1, 1});
  world.pass(1s);
  EXPECT_EQ(a.error, "key " + version_counter_key(root) + ": many is no count of versions");
}

// An empty text reads as no counter, and no agent makes one where there is one.
TEST(VersionLeftovers, ACounterThatIsNotThereIsTriedForNowAndThen) {
  World world;
  world.etcd.nodes[version_counter_key(root)] = "";
  const Agent& a = world.start("a", {1, 1});
  world.pass(1s);
  EXPECT_EQ(a.error, "");
  EXPECT_EQ(a.round(), 0);
  EXPECT_LT(world.etcd.index, 100);
  world.etcd.nodes[version_counter_key(root)] = "3";
  world.pass(1s);
  EXPECT_EQ(a.round(), 4);
}

}  // namespace launch::version_rendezvous_test
