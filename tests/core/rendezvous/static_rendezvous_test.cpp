#include "launch/core/rendezvous/static_rendezvous.hpp"
#include "launch/core/store/keys.hpp"

#include "../store/store_driver.hpp"
#include "launch/core/base/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::static_rendezvous_test {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Time start_time = Time(1h);

StaticJob job(int nnodes, int node, int nproc = 2) {
  StaticJob result;
  result.run_id = "none";
  result.nnodes = nnodes;
  result.self = Member{NodeRank(node), "default", nproc};
  result.timeout = 60s;
  result.identity = "agent of node " + std::to_string(node);
  return result;
}

// One agent and the operation it is at.
struct Node {
  explicit Node(StaticJob j) : machine(std::move(j)), step(machine.start(start_time)) {}

  // One operation further; false when it waits for others.
  bool advance(StoreDriver& store, Time now = start_time) {
    const auto* operation = std::get_if<Operation>(&step.next);
    if (operation == nullptr) return false;
    const auto outcome = store.perform(*operation);
    if (!outcome) return false;
    step = machine.on(*outcome, now);
    return true;
  }
  void run(StoreDriver& store, Time now = start_time) {
    while (advance(store, now)) {
    }
  }
  void expire(Time now) { step = machine.on(WaitExpired{}, now); }

  const Round* round() const { return std::get_if<Round>(&step.next); }
  const Assignment* assignment() const { return round() == nullptr ? nullptr : &round()->assignment; }
  bool at_fence() const { return std::holds_alternative<Fence>(step.next); }
  const Error* error() const { return std::get_if<Error>(&step.next); }

  StaticRendezvous machine;
  RendezvousStep step;
};

TEST(StaticRendezvous, TwoNodesFormWithTorchrunsKeys) {
  StoreDriver store;
  Node first(job(2, 0)), second(job(2, 1));
  second.run(store);
  EXPECT_EQ(second.assignment(), nullptr);
  first.run(store);
  second.run(store);
  ASSERT_NE(first.assignment(), nullptr);
  ASSERT_NE(second.assignment(), nullptr);
  EXPECT_EQ(*first.assignment(), (Assignment{.group_world_size = 2, .world_size = 4, .role_world_size = 4}));
  EXPECT_EQ(*second.assignment(), (Assignment{.group_rank = NodeRank(1),
                                              .group_world_size = 2,
                                              .base_global_rank = GlobalRank(2),
                                              .world_size = 4,
                                              .base_role_rank = 2,
                                              .role_world_size = 4}));
  EXPECT_EQ(store.get("init/"), "2");
  EXPECT_EQ(store.get("/none/torchelastic/role_info/1"), R"({"role": "default", "rank": 1, "local_world_size": 2})");
  EXPECT_EQ(store.get("/none/torchelastic/assigned_ranks/1"), "[2, 4, 2, 4]");
}

TEST(StaticRendezvous, ANodeWithAnotherHeartbeatTimeoutIsRefused) {
  StoreDriver store;
  StaticJob usual = job(2, 0), other = job(2, 1);
  usual.common = {{"--heartbeat-timeout", "5 s"}};
  other.common = {{"--heartbeat-timeout", "60 s"}};
  Node first(usual), second(other);
  first.run(store);
  second.run(store);
  ASSERT_NE(second.error(), nullptr);
  EXPECT_EQ(second.error()->code, ErrorCode::conflict);
  EXPECT_THAT(second.error()->message, HasSubstr("conflicting --heartbeat-timeout: node 1 has \"60 s\""));
  StaticJob same = job(2, 1);
  same.common = usual.common;
  Node third(same);
  third.run(store);
  first.run(store);
  EXPECT_NE(first.assignment(), nullptr);
}

TEST(StaticRendezvous, ATorchrunNodeNeedsNoneOfOurKeys) {
  StoreDriver store;
  Node first(job(2, 0));
  first.run(store);
  store.perform(SetKeys{{{"/none/torchelastic/role_info/1", R"({"role": "b", "rank": 1, "local_world_size": 3})"}}});
  first.run(store);
  ASSERT_NE(first.assignment(), nullptr);
  EXPECT_EQ(*first.assignment(), (Assignment{.group_world_size = 2, .world_size = 5, .role_world_size = 2}));
  EXPECT_EQ(store.get("/none/torchelastic/assigned_ranks/1"), "[2, 5, 0, 3]");
}

TEST(StaticRendezvous, AnyOrderOfArrivalGivesTheSameRanks) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    StoreDriver store;
    std::vector<Node> nodes;
    for (int i = 0; i < 5; ++i) nodes.emplace_back(job(5, i, i + 1));
    for (int moves = 0; moves < 2000; ++moves) nodes[random.next() % 5].advance(store);
    int base = 0;
    for (int i = 0; i < 5; ++i) {
      ASSERT_NE(nodes[i].assignment(), nullptr) << "seed " << seed << " node " << i;
      EXPECT_EQ(nodes[i].assignment()->base_global_rank, GlobalRank(base));
      EXPECT_EQ(nodes[i].assignment()->world_size, 15);
      base += i + 1;
    }
  }
}

// What the store does when it loses node 1 before the job has begun.
void lose_node_1(StoreDriver& store) { store.perform(DeleteKeys{{claim_key("none", 1), role_info_key("none", 1)}}); }

TEST(StaticRendezvous, ANodeThatWasLostIsWaitedFor) {
  StoreDriver store;
  Node first(job(3, 0)), second(job(3, 1)), third(job(3, 2));
  second.run(store);
  lose_node_1(store);
  third.run(store);
  first.run(store);
  EXPECT_EQ(first.assignment(), nullptr);
  first.expire(start_time + 1s);
  first.run(store, start_time + 1s);
  ASSERT_TRUE(first.step.waiting);
  EXPECT_EQ(first.step.waiting->missing, std::vector<int>{1});
  StaticJob again = job(3, 1, 5);
  again.identity = "started again";
  Node replacement(again);
  replacement.run(store);
  first.run(store);
  replacement.run(store);
  third.run(store);
  ASSERT_NE(third.assignment(), nullptr);
  ASSERT_NE(replacement.assignment(), nullptr);
  EXPECT_EQ(*replacement.assignment(), (Assignment{.group_rank = NodeRank(1),
                                                   .group_world_size = 3,
                                                   .base_global_rank = GlobalRank(2),
                                                   .world_size = 9,
                                                   .base_role_rank = 2,
                                                   .role_world_size = 9}));
  EXPECT_EQ(*third.assignment(), (Assignment{.group_rank = NodeRank(2),
                                             .group_world_size = 3,
                                             .base_global_rank = GlobalRank(7),
                                             .world_size = 9,
                                             .base_role_rank = 7,
                                             .role_world_size = 9}));
}

TEST(StaticRendezvous, WheneverANodeIsLostTheJobHasBegunOrWaitsForIt) {
  for (int moves = 0; moves < 12; ++moves) {
    StoreDriver store;
    Node first(job(2, 0)), second(job(2, 1));
    second.run(store);
    for (int move = 0; move < moves; ++move) first.advance(store);
    if (store.has(begun_key("none"))) continue;  // its loss would be told
    lose_node_1(store);
    first.run(store);
    EXPECT_EQ(first.assignment(), nullptr) << moves;
    EXPECT_FALSE(store.has(begun_key("none"))) << moves;
  }
}

TEST(StaticRendezvous, ANodeThatWasLostWhileTheJobBeganIsWaitedFor) {
  StoreDriver store;
  Node first(job(2, 0)), second(job(2, 1));
  second.run(store);
  const auto is_about_to_begin = [&] {
    const auto* operation = std::get_if<Operation>(&first.step.next);
    return operation != nullptr && std::holds_alternative<SetKeys>(*operation) &&
           std::get<SetKeys>(*operation).entries.at(0).first == begun_key("none");
  };
  while (!is_about_to_begin()) ASSERT_TRUE(first.advance(store));
  lose_node_1(store);
  first.run(store);
  EXPECT_EQ(first.assignment(), nullptr);
  EXPECT_FALSE(store.has(begun_key("none"))) << "so that the loss of another ends nothing either";
  Node again(job(2, 1));
  again.run(store);
  first.run(store);
  again.run(store);
  EXPECT_NE(again.assignment(), nullptr);
}

TEST(StaticRendezvous, ANodeRankUsedTwiceIsAConflictForTheSecond) {
  StoreDriver store;
  Node first(job(2, 0));
  first.run(store);
  StaticJob twin = job(2, 0);
  twin.identity = "another agent";
  Node second(twin);
  second.run(store);
  ASSERT_NE(second.error(), nullptr);
  EXPECT_EQ(second.error()->code, ErrorCode::conflict);
  EXPECT_EQ(second.machine.holder(), "agent of node 0");
  EXPECT_EQ(first.machine.holder(), "");
  EXPECT_THAT(second.error()->message,
              HasSubstr("--node-rank 0 is used twice: by \"agent of node 0\" and by \"another agent\""));
  EXPECT_EQ(store.get("init/"), "1");
}

TEST(StaticRendezvous, AnAgentOfThisHostCanBeLookedFor) {
  const std::string identity = agent_identity("n1", 4711, 0xbeef);
  EXPECT_NE(identity, agent_identity("n1", 4711, 0xcafe));
  EXPECT_EQ(pid_of_agent(identity, "n1"), 4711);
  EXPECT_EQ(pid_of_agent(identity, "n"), std::nullopt);
  EXPECT_EQ(pid_of_agent("host n1 (pid ", "n1"), std::nullopt);
  EXPECT_EQ(pid_of_agent("", "n1"), std::nullopt);
}

TEST(StaticRendezvous, NodesThatDisagreeAboutTheirNumberConflict) {
  StoreDriver store;
  Node first(job(2, 0)), third(job(3, 2));
  first.run(store);
  third.run(store);
  ASSERT_NE(third.error(), nullptr);
  EXPECT_EQ(third.error()->code, ErrorCode::conflict);
  EXPECT_THAT(third.error()->message, HasSubstr("conflicting --nnodes: node 2 has 3, the job has 2"));
}

TEST(StaticRendezvous, SaysAfterASecondWhoIsMissingAndWaitsOn) {
  StoreDriver store;
  Node first(job(3, 0));
  first.run(store);
  EXPECT_EQ(first.machine.deadline(), start_time + 1s);
  first.expire(start_time + 1s);
  first.run(store, start_time + 1s);
  ASSERT_TRUE(first.step.waiting);
  EXPECT_EQ(first.step.waiting->missing, (std::vector<int>{1, 2}));
  EXPECT_EQ(first.step.waiting->arrived, 1);
  EXPECT_EQ(first.step.waiting->left, 59s);
  EXPECT_TRUE(std::holds_alternative<Operation>(first.step.next));
  EXPECT_EQ(first.machine.deadline(), start_time + 31s);
}

TEST(StaticRendezvous, TimesOutNamingTheMissingOnEveryNode) {
  StoreDriver store;
  Node first(job(3, 0)), second(job(3, 1));
  for (Node* node : {&first, &second}) node->run(store);
  for (Node* node : {&first, &second}) {
    node->expire(start_time + 60s);
    EXPECT_GT(node->machine.deadline(), start_time + 60s) << "the look at who is missing needs time to be answered";
    node->run(store, start_time + 60s);
    ASSERT_NE(node->error(), nullptr);
    EXPECT_EQ(node->error()->code, ErrorCode::timeout);
    EXPECT_THAT(node->error()->message, HasSubstr("2 of 3 nodes have joined, node 2 has not"));
  }
}

TEST(StaticRendezvous, ANodeThatCallsItselfOtherwiseIsAConflict) {
  StoreDriver store;
  Node first(job(2, 0));
  first.run(store);
  store.perform(SetKeys{{{"/none/torchelastic/role_info/1", R"({"role": "b", "rank": 7, "local_world_size": 3})"}}});
  first.run(store);
  ASSERT_NE(first.error(), nullptr);
  EXPECT_EQ(first.error()->code, ErrorCode::conflict);
}

TEST(StaticRendezvous, GarbageFromAPeerIsAnErrorNotACrash) {
  StoreDriver store;
  Node second(job(2, 1));
  second.run(store);
  store.perform(SetKeys{{{"/none/torchelastic/assigned_ranks/1", "[1, 2"}}});
  second.run(store);
  ASSERT_NE(second.error(), nullptr);
  EXPECT_EQ(second.error()->code, ErrorCode::protocol);
}

TEST(StaticRendezvous, IdenticalWorkersExchangeNoRoles) {
  StoreDriver store;
  StaticJob a = job(2, 0), b = job(2, 1);
  a.identical_workers = b.identical_workers = true;
  Node first(a), second(b);
  first.run(store);
  EXPECT_EQ(first.assignment(), nullptr);
  second.run(store);
  ASSERT_NE(second.assignment(), nullptr);
  EXPECT_EQ(*second.assignment(), (Assignment{.group_rank = NodeRank(1),
                                              .group_world_size = 2,
                                              .base_global_rank = GlobalRank(2),
                                              .world_size = 4,
                                              .base_role_rank = 2,
                                              .role_world_size = 4}));
  first.expire(start_time + 100ms);
  first.run(store);
  ASSERT_NE(first.assignment(), nullptr);
  EXPECT_FALSE(store.has("/none/torchelastic/role_info/0"));
}

TEST(StaticRendezvous, IdenticalWorkersTimeOutToo) {
  StoreDriver store;
  StaticJob a = job(2, 0);
  a.identical_workers = true;
  Node first(a);
  for (Time now = start_time; first.error() == nullptr && now < start_time + 70s; now += 100ms) {
    first.run(store, now);
    if (first.error() == nullptr) first.expire(now);
  }
  ASSERT_NE(first.error(), nullptr);
  EXPECT_EQ(first.error()->code, ErrorCode::timeout);
}

TEST(StaticRendezvous, AnotherAttemptWaitsForEverybodyAndThenForTheFence) {
  StoreDriver store;
  StaticJob a = job(2, 0), b = job(2, 1);
  a.run_id = b.run_id = attempt_prefix("none", 1);
  a.fence = b.fence = true;
  a.restarts = b.restarts = 1;
  Node first(a), second(b);
  first.run(store);
  EXPECT_FALSE(first.at_fence());
  second.run(store);
  first.run(store);
  ASSERT_TRUE(first.at_fence());
  second.run(store);
  EXPECT_EQ(second.round(), nullptr);  // no worker starts before the fence
  first.step = first.machine.on(Done{}, start_time);
  first.run(store);
  second.run(store);
  ASSERT_NE(second.round(), nullptr);
  EXPECT_EQ(second.round()->restarts, 1);
  EXPECT_EQ(store.get(nnodes_key(a.run_id)), "") << "that was agreed before";
  EXPECT_EQ(store.get("/none/launch/attempt/1/torchelastic/assigned_ranks/1"), "[2, 4, 2, 4]");
}

TEST(StaticRendezvous, FindsOutWhetherAllCanRestart) {
  for (const bool torchrun : {false, true}) {
    StoreDriver store;
    StaticJob a = job(2, 0);
    a.survey = true;
    Node first(a), second(job(2, 1));
    first.run(store);
    if (torchrun) {
      store.perform(
          SetKeys{{{"/none/torchelastic/role_info/1", R"({"role": "b", "rank": 1, "local_world_size": 3})"}}});
    } else {
      second.run(store);
    }
    first.run(store);
    ASSERT_NE(first.round(), nullptr);
    EXPECT_EQ(first.round()->can_restart, !torchrun);
  }
}

TEST(StaticRendezvous, NodesThatHaveFoundEachOtherExchangeTheirRanksOnly) {
  StoreDriver store;
  StaticJob a = job(2, 0), b = job(2, 1, 3);
  a.found = b.found = true;
  a.run_id = b.run_id = "torch.rendezvous.j.0";
  Node first(a), second(b);
  second.run(store);
  first.run(store);
  second.run(store);
  ASSERT_NE(second.round(), nullptr);
  EXPECT_EQ(*second.assignment(), (Assignment{.group_rank = NodeRank(1),
                                              .group_world_size = 2,
                                              .base_global_rank = GlobalRank(2),
                                              .world_size = 5,
                                              .base_role_rank = 2,
                                              .role_world_size = 5}));
  EXPECT_FALSE(store.has("init/"));
  EXPECT_FALSE(store.has(claim_key(a.run_id, 0)));
}

TEST(StaticRendezvous, TheFenceKeepsWhatAgentsWrote) {
  StoreTable table;
  for (const char* key : {"/none/torchelastic/role_info/0", "/none/launch/abort", "launch/push",
                          "/default_pg/0//cpu//0/1", "init/", "/none/other"})
    table.preset(key, "x");
  table.set_agent_keys(agent_keys("none"));
  table.forget_workers();
  EXPECT_EQ(table.size(), 3U);
  EXPECT_FALSE(table.get("/default_pg/0//cpu//0/1"));
}

}  // namespace launch::static_rendezvous_test
