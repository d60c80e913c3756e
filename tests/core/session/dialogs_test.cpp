#include "launch/core/session/dialogs.hpp"
#include "launch/core/store/keys.hpp"

#include "../../support/talker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::dialogs_test {

using namespace play;
using namespace std::chrono_literals;

Failure failure_of(int node, Failure::Kind kind = Failure::Kind::worker) {
  Failure failure;
  failure.kind = kind;
  failure.node_rank = NodeRank(node);
  failure.exit_code = 3;
  return failure;
}

TEST(Dialogs, TheFirstFailureStaysAndBothLearnIt) {
  TwoTalkers pair;
  StoreLink one = pair.first.link_to(pair.endpoint), two = pair.second.link_to(pair.endpoint);
  EXPECT_EQ(**pair.first.run(tell_abort(one, "job", failure_of(1), pair.soon())), failure_of(1));
  EXPECT_EQ(**pair.second.run(tell_abort(two, "job", failure_of(2), pair.soon())), failure_of(1));
  EXPECT_EQ(**pair.second.run(learn_abort(two, "job", NodeRank(2), pair.soon())), failure_of(1));
  EXPECT_EQ(*pair.second.run(look_for_abort(two, "other", pair.soon())), std::nullopt);
}

TEST(Dialogs, WhatEachNodeFindsOutByItselfIsOneFailureForAll) {
  TwoTalkers pair;
  StoreLink link = pair.first.link_to(pair.endpoint);
  const Failure lost = failure_of_lost_node({}, "n2 left without a report");
  EXPECT_EQ(*pair.first.run(agree_on_first(pair.first.stage(), pair.endpoint, "job", lost)), lost);
  EXPECT_EQ(*pair.second.run(agree_on_first(pair.second.stage(), pair.endpoint, "job", failure_of(1))), lost);
  EXPECT_EQ(**pair.first.run(learn_abort(link, "job", NodeRank(0), pair.soon())), lost);
  pair.network.end_store(pair.store);
  EXPECT_EQ(*pair.second.run(agree_on_first(pair.second.stage(), pair.endpoint, "job", failure_of(1))), failure_of(1))
      << "without a store this node goes by what it knows";
}

TEST(Dialogs, AStrangerDoesNotEndAJobThatHasFormed) {
  TwoTalkers pair;
  StoreLink link = pair.first.link_to(pair.endpoint);
  EXPECT_TRUE(*pair.first.run(link.set(ranks_key("job", 0), "…", pair.soon())));
  const Failure stranger = failure_of(1, Failure::Kind::rendezvous);
  EXPECT_EQ(**pair.first.run(tell_abort(link, "job", stranger, pair.soon())), stranger);
  EXPECT_EQ(*pair.first.run(look_for_abort(link, "job", pair.soon())), std::nullopt);
}

TEST(Dialogs, TheOthersAreWaitedForUntilTheyKnow) {
  TwoTalkers pair;
  StoreLink one = pair.first.link_to(pair.endpoint), two = pair.second.link_to(pair.endpoint);
  EXPECT_TRUE(*pair.first.run(tell_abort(one, "job", failure_of(1), pair.soon())));
  const Time start = pair.events.now();
  Scope waiting(pair.first.stage());
  bool informed = false;
  const auto wait = [](StoreLink& link, Time deadline, bool* done) -> Talk<void> {
    std::vector<NodeRank> nodes = {NodeRank(1), NodeRank(2)};
    co_await await_informed(link, "job", std::move(nodes), deadline);
    *done = true;
  };
  waiting.start(wait(one, start + 2s, &informed));
  pair.first.act();
  pair.events.run_until(start + 1s);
  EXPECT_FALSE(informed);
  EXPECT_TRUE(*pair.second.run(learn_abort(two, "job", NodeRank(2), pair.soon())));
  EXPECT_TRUE(pair.events.run_until([&] { return informed; }, 100ms));
}

TEST(Dialogs, ANodeSaysThatItWaitsUntilAllKnowTheRound) {
  TwoTalkers pair;
  StoreLink link = pair.first.link_to(pair.endpoint);
  const auto settled = [&](Duration limit) {
    return *pair.first.run(await_settled(link, "job", 3, later(pair.events.now(), limit)), 100s);
  };
  EXPECT_EQ(settled(500ms).error().code, ErrorCode::timeout);
  EXPECT_TRUE(pair.first.said.empty());
  EXPECT_EQ(settled(40s).error().code, ErrorCode::timeout);
  EXPECT_THAT(pair.first.said, testing::ElementsAre(testing::EndsWith("takes part in the round; giving up in 39 s"),
                                                    testing::EndsWith("takes part in the round; giving up in 9 s")));
  EXPECT_TRUE(*pair.first.run(link.set(settled_key(state_key("job"), 3), "1", pair.soon())));
  EXPECT_TRUE(settled(1s));
}

TEST(Dialogs, OtherJobsOfAStoreAreNamed) {
  TwoTalkers pair;
  StoreLink link = pair.first.link_to(pair.endpoint);
  EXPECT_TRUE(*pair.first.run(link.set("/torch.rendezvous.theirs", "…", pair.soon())));
  EXPECT_EQ(*pair.first.run(other_jobs(pair.first.stage(), pair.endpoint, "ours", 1)),
            "is --rdzv-id ours right? this store also serves theirs; ");
  EXPECT_EQ(*pair.first.run(other_jobs(pair.first.stage(), pair.endpoint, "ours", 9)), "");
}

TEST(Dialogs, AStoreIsEmptiedHoweverManyKeysItHas) {
  TwoTalkers pair;
  StoreLink link = pair.first.link_to(pair.endpoint);
  SetKeys many;
  for (int i = 0; i < 2500; ++i) many.entries.emplace_back("/key" + std::to_string(i), "1");
  EXPECT_TRUE(*pair.first.run(link.perform(many, pair.soon())));
  EXPECT_TRUE(*pair.first.run(remove_all_keys(link, pair.soon())));
  EXPECT_FALSE(pair.store->has("/key0"));
  EXPECT_FALSE(pair.store->has("/key2499"));
}

TEST(Dialogs, AStoreThatHasGoneIsAnError) {
  TwoTalkers pair;
  StoreLink link = pair.first.link_to(pair.endpoint);
  pair.network.end_store(pair.store);
  const auto told = pair.first.run(tell_abort(link, "job", failure_of(1), pair.soon()));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->error().code, ErrorCode::closed);
}

TEST(Dialogs, ALostNodeIsNotWaitedForUntilItKnows) {
  TwoTalkers pair;
  StoreLink link = pair.first.link_to(pair.endpoint);
  const Failure lost = failure_of_lost_node({NodeRank(2), "n2"}, "gone");  // as its will has told
  EXPECT_TRUE(*pair.first.run(link.set(abort_key("job"), to_json(lost), pair.soon())));
  EXPECT_TRUE(*pair.first.run(learn_abort(link, "job", NodeRank(1), pair.soon())));
  const Time start = pair.events.now();
  const auto wait = [](StoreLink& store, Time deadline) -> Talk<bool> {
    std::vector<NodeRank> nodes = {NodeRank(1), NodeRank(2)};
    co_await await_informed(store, "job", std::move(nodes), deadline);
    co_return true;
  };
  EXPECT_TRUE(pair.first.run(wait(link, start + 2s)));
  EXPECT_LT(pair.events.now(), start + 1s);
}

// All have come, and the store has heard of no failure until then: only its last answer is missing.
TEST(Dialogs, AStoreThatIsLostAfterAllHaveComeToTheBarrierKeepsNobody) {
  for (const bool all : {true, false}) {
    TwoTalkers pair;
    StoreLink link = pair.first.link_to(pair.endpoint);
    std::optional<Result<BarrierPassed>> passed;
    const auto leave = [](StoreLink& store, int nodes, std::optional<Result<BarrierPassed>>* result) -> Talk<void> {
      const std::function<void()> counted = [] {};
      result->emplace(co_await pass(store, ExitBarrier("job", nodes, std::nullopt, 30s), counted));
    };
    Scope leaving(pair.first.stage());
    leaving.start(leave(link, all ? 1 : 2, &passed));
    pair.first.act();
    pair.events.run_until([&] { return pair.store->has(all ? all_ended_key("job") : ended_count_key("job")); }, 1s);
    pair.network.cut("n1", "n0", never);
    pair.events.run_until(pair.events.now() + 1s);
    ASSERT_FALSE(passed);
    pair.network.end_store(pair.store);
    ASSERT_TRUE(pair.events.run_until([&] { return passed.has_value(); }, 1s));
    EXPECT_EQ(passed->has_value(), all);
  }
}

}  // namespace launch::dialogs_test
