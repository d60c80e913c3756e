#include "launch/core/session/round_watch.hpp"

#include "launch/core/session/dialogs.hpp"
#include "launch/core/store/keys.hpp"

#include "../../support/talker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::round_watch_test {

using namespace play;
using namespace std::chrono_literals;

struct Watched : TwoTalkers {
  explicit Watched(std::uint64_t seed = 1, Duration longest_delay = Duration::zero())
      : TwoTalkers(seed, longest_delay) {
    store->set_silence_limit(plan_heartbeat(10s, 2).silence);
    watch.emplace(first.stage(), first.link_to(endpoint),
                  RoundWatch::Place{.prefix = "job", .node_rank = NodeRank(1), .nnodes = 2, .silence_limit = 10s});
  }
  void begin() {
    EXPECT_TRUE(*first.run(watch->pledge(last_will(watch->place(), "n1", false), soon())));
    watch->start_watching(soon());
    first.act();
    events.run_until(events.now() + 1ms);
  }
  void enter_barrier() {
    watch->start_leaving(std::nullopt, [] {});
    first.act();
    events.run_until(events.now() + 1s);
  }
  std::optional<Failure> aborted() {
    StoreLink link = second.link_to(endpoint);
    return *second.run(look_for_abort(link, "job", soon()));
  }

  std::optional<RoundWatch> watch;
};

TEST(RoundWatch, HearsOfTheRoundsFirstFailure) {
  Watched round;
  round.begin();
  StoreLink link = round.second.link_to(round.endpoint);
  Failure failure;
  failure.node_rank = NodeRank(0);
  EXPECT_TRUE(*round.second.run(tell_abort(link, "job", failure, round.soon())));
  ASSERT_TRUE(round.told(round.first, 1));
  EXPECT_EQ(std::get<PeerFailed>(round.first.told[0]).failure, failure);
}

TEST(RoundWatch, TakesItsWillBackWhenItEndsInOrder) {
  Watched round;
  round.begin();
  round.watch.reset();
  round.first.act();
  round.events.run_until(round.events.now() + 1s);
  EXPECT_EQ(round.aborted(), std::nullopt);
}

TEST(RoundWatch, ItsWillIsDoneWhenItsMachineFallsSilent) {
  Watched round;
  round.begin();
  round.network.power_off("n1");
  round.events.run_until(round.events.now() + 9s);
  EXPECT_EQ(round.aborted(), std::nullopt);
  round.events.run_until(round.events.now() + 3s);
  const auto failure = round.aborted();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->node_rank, NodeRank(1));
  EXPECT_EQ(failure->what,
            "no heartbeat of its launch process for 10 s (machine down, network cut, or launch frozen; the limit is "
            "--heartbeat-timeout)");
}

TEST(RoundWatch, ItIsHeardOfForAsLongAsItLives) {
  Watched round;
  round.begin();
  round.events.run_until(round.events.now() + 1000s);
  EXPECT_EQ(round.aborted(), std::nullopt);
  EXPECT_TRUE(round.first.told.empty());
}

TEST(RoundWatch, ACutTellsOfTheStoresLossBeforeTheHostLosesTheNode) {
  Watched round;
  round.begin();
  const Time cut = round.events.now();
  round.network.cut("*", "*", never);
  ASSERT_TRUE(round.told(round.first, 1, 20s));
  EXPECT_TRUE(std::holds_alternative<StoreLost>(round.first.told[0]));
  EXPECT_TRUE(round.watch->lost());
  EXPECT_LT(round.events.now() - cut, 10.5s);
  const auto lost = [&] { return round.store->has(abort_key("job")); };
  EXPECT_FALSE(lost());
  EXPECT_TRUE(round.events.run_until(lost, 20s));
}

TEST(RoundWatch, RetiredItTellsOfNoRestart) {
  Watched round;
  round.begin();
  round.watch->retire();
  StoreLink link = round.second.link_to(round.endpoint);
  Failure failure;
  failure.node_rank = NodeRank(0);
  failure.restart = true;
  EXPECT_TRUE(*round.second.run(tell_abort(link, "job", failure, round.soon())));
  round.events.run_until(round.events.now() + 1s);
  EXPECT_TRUE(round.first.told.empty());
}

TEST(RoundWatch, AStoreThatGoesBeforeTheJobHasFormedIsNoLoss) {
  Watched round;
  round.watch->wait_for_store();
  round.begin();
  round.network.end_store(round.store);
  EXPECT_TRUE(*round.first.run(round.watch->was_lost(round.soon())));
  EXPECT_TRUE(round.first.told.empty());
}

// While its machine slept the host has closed the connection that watches, but not the other one.
TEST(RoundWatch, InTheBarrierItHearsOfAFailureByItsOtherConnection) {
  Watched round;
  round.begin();
  const RoundWatch::Place next{.prefix = "next", .node_rank = NodeRank(1), .nnodes = 2};
  round.watch->start_leaving(std::nullopt, [&] { round.watch->replace_will(last_will(next, "n1", false)); });
  round.first.act();
  round.events.run_until(round.events.now() + 1s);
  round.network.freeze("n1", round.events.now() + 12s);
  round.events.run_until(round.events.now() + 13s);
  EXPECT_TRUE(round.first.told.empty());
  StoreLink link = round.second.link_to(round.endpoint);
  Failure failure;
  failure.node_rank = NodeRank(0);
  const auto first = *round.second.run(tell_abort(link, "job", failure, round.soon()));
  ASSERT_TRUE(round.told(round.first, 1, 60s));
  EXPECT_EQ(std::get<PeerFailed>(round.first.told[0]).failure, *first);
}

Talk<void> fail(StoreLink& link, Time by) {
  Failure failure;
  failure.node_rank = NodeRank(0);
  (void)co_await tell_abort(link, "job", failure, by);
}

Talk<void> end(StoreLink& link, Time by) { (void)co_await link.set(all_ended_key("job"), "1", by); }

// The round has failed before the last node came to the barrier, and the host of the store ends at any moment
// thereafter. It may have closed the connection that watches because this machine slept.
TEST(RoundWatch, InTheBarrierAFailureOrALossIsToldWhateverEndsFirst) {
  for (const Duration sleep : {Duration::zero(), Duration(13s)}) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      Watched round(seed, 20ms);
      round.begin();
      round.events.run_until(round.events.now() + 1s);
      round.enter_barrier();
      StoreLink link = round.second.link_to(round.endpoint), other = round.second.link_to(round.endpoint);
      const Time awake = round.events.now() + sleep;
      if (sleep != Duration::zero()) round.network.freeze("n1", awake);
      round.events.run_until(awake - std::min<Duration>(sleep, 1s));
      const auto ends = [&round, seed] { round.network.end_store(round.store, seed % 2 == 0); };
      round.events.at(awake + std::chrono::milliseconds(seed / 4), ends);
      round.second.begin();
      Scope scope(round.second.stage());
      scope.start(fail(link, round.soon()));
      scope.start(end(other, round.soon()));
      round.second.act();
      EXPECT_TRUE(round.told(round.first, 1, 60s)) << seed;
    }
  }
}

TEST(RoundWatch, AllNodesPassTheBarrier) {
  Watched round;
  round.begin();
  RoundWatch other(round.second.stage(), round.second.link_to(round.endpoint),
                   {.prefix = "job", .nnodes = 2, .silence_limit = 10s});
  int counted = 0;
  round.watch->start_leaving(std::nullopt, [&] { ++counted; });
  round.first.act();
  round.events.run_until(round.events.now() + 1s);
  EXPECT_EQ(counted, 1);
  EXPECT_TRUE(round.first.told.empty());
  other.start_leaving(std::nullopt, [&] { ++counted; });
  round.second.act();
  EXPECT_TRUE(round.told(round.first, 1) && round.told(round.second, 1));
  EXPECT_TRUE(std::holds_alternative<BarrierDone>(round.first.told[0]));
}

TEST(RoundWatch, ReadsOutWhatTheHostHasSaidLastInTheExitBarrier) {
  for (const bool all_have_ended : {true, false}) {
    Watched round;
    round.begin();
    round.watch->start_leaving(std::nullopt, [] {});
    round.first.act();
    round.events.run_until(round.events.now() + 10ms);
    StoreLink link = round.second.link_to(round.endpoint);
    if (all_have_ended) EXPECT_TRUE(*round.second.run(link.set(all_ended_key("job"), "1", round.soon())));
    round.network.end_store(round.store);
    const auto read_out = [](RoundWatch& watch, Time by) -> Talk<bool> {
      co_await watch.read_out(by);
      co_return watch.passed();
    };
    EXPECT_EQ(*round.first.run(read_out(*round.watch, round.soon())), all_have_ended);
  }
}

}  // namespace launch::round_watch_test
