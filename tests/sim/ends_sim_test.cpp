// Ends of whole jobs that cross something: a restart, a cut, a loss. Every node must hear of the end itself, and not
// only that the store is gone; what comes after the end of all changes nothing.
#include "whole_job.hpp"

#include "launch/core/store/keys.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <csignal>

namespace launch::ends_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::Plan;

const Endpoint static_store{"n0", 29500};

void cut_off(WholeJob& job, const std::string& host, Duration lasting) {
  const Time mended = later(job.events().now(), lasting);
  job.network().cut(host, "*", mended);
  job.network().cut("*", host, mended);
}

// ---- an end that crosses a restart

// Workers fail, so all restart. Before they do, another node is told to stop. In c10d only the host of the store ends
// the job so.
TEST(Ends, ANodeThatIsToldToStopWhileAllRestartEndsTheNextRoundToo) {
  for (const bool elastic : {false, true})
    for (int phase = 0; phase < 12; ++phase) {
      SCOPED_TRACE(fmt::format("{}, phase {}", elastic ? "c10d" : "static", phase));
      WholeScenario scenario;
      scenario.elastic = elastic;
      scenario.max_restarts = 1;
      WholeJob job(1, scenario);
      job.start(3, [](std::size_t node, const Round& round) {
        Plan plan = node == 1 && round.restarts == 0 ? Plan{2s, 7} : Plan();
        plan.obeys_after = 1s + node * 1500ms;
        return plan;
      });
      job.events().run_until(Time(1h) + 2100ms + phase * 100ms);
      job.node(elastic ? 0 : 2).signal(SIGTERM);
      job.unquiet(Duration::zero());
      job.run_to_end(20s);
      EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    }
}

// ---- a host that ends

// It is told to stop a second time while it waits for the others, so it gathers no more accounts. But a node that is
// cut off for a moment must still hear what failed before its store is gone.
TEST(Ends, AHostThatIsInAHurryStillSeesTheOthersInformed) {
  for (const bool elastic : {false, true}) {
    SCOPED_TRACE(elastic ? "c10d" : "static");
    WholeScenario scenario;
    scenario.elastic = elastic;
    WholeJob job(1, scenario);
    job.start(3, [](std::size_t node, const Round&) { return node == 0 ? Plan{2s, 7} : Plan(); });
    job.events().run_until(Time(1h) + 1900ms);
    cut_off(job, "n2", 2500ms);
    job.events().run_until(Time(1h) + 2600ms);
    job.node(0).signal(SIGINT);
    job.unquiet(2s);
    job.run_to_end(10s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
  }
}

// They hear of the end only when they come to the next attempt.
TEST(Ends, AHostThatIsInAHurryWhileTheOthersRestartSeesThemInformedToo) {
  WholeScenario scenario;
  scenario.max_restarts = 1;
  WholeJob job(1, scenario);
  job.start(3, [](std::size_t node, const Round& round) {
    Plan plan = node == 1 && round.restarts == 0 ? Plan{2s, 7} : Plan();
    plan.obeys_after = node == 2 ? 2500ms : 1s;
    return plan;
  });
  for (const Duration told : {2200ms, 3500ms}) {
    job.events().run_until(Time(1h) + told);
    job.node(0).signal(SIGINT);
  }
  job.unquiet(Duration::zero());
  job.run_to_end(10s);
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
}

// ---- the end of a host in the exit barrier

enum class End {
  killed,
  without_power,
  told_to_stop
};

// The workers of another node still run, and nobody can know any more how they end.
TEST(Ends, AHostThatEndsInTheExitBarrierEndsTheJob) {
  for (const bool elastic : {false, true})
    for (const int restarts : {0, 1})
      for (const End end : {End::killed, End::without_power, End::told_to_stop}) {
        SCOPED_TRACE(fmt::format("{}, {} restarts, {}", elastic ? "c10d" : "static", restarts, static_cast<int>(end)));
        WholeScenario scenario;
        scenario.elastic = elastic;
        scenario.max_restarts = restarts;
        scenario.heartbeat = 5s;
        WholeJob job(1, scenario);
        job.start(3, [](std::size_t node, const Round&) { return node == 2 ? Plan() : Plan{1s, 0}; });
        job.events().run_until(Time(1h) + 9s);
        ASSERT_TRUE(job.node(0).alive() && job.node(1).alive() && !job.node(1).running()) << job.story();
        if (end == End::killed) job.node(0).kill();
        if (end == End::without_power) job.node(0).lose_power();
        if (end == End::told_to_stop) job.node(0).signal(SIGTERM);
        job.allow_different_ends();
        job.unquiet(Duration::zero());
        job.run_to_end(20s);
        EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
        for (const std::size_t other : {1U, 2U}) EXPECT_NE(job.node(other).exit_code(), 0) << job.story();
      }
}

// ---- a node that was cut off, and comes back just as it ends

// The others have gone on without it, or will: it must not close their rendezvous.
TEST(Ends, ANodeThatHasLostTheStoreOfTorchrunDoesNotEndTheJobOfTheOthers) {
  for (const int tenths : {45, 50, 55, 60, 70}) {
    SCOPED_TRACE(tenths);
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.fewest = 1;
    scenario.max_restarts = 1;
    scenario.heartbeat = 5s;
    scenario.hosting = Hosting::torchrun;
    WholeJob job(1, scenario);
    job.start(3, [](std::size_t, const Round& round) { return round.number == 0 ? Plan{60s, 0} : Plan{5s, 0}; });
    job.events().run_until(Time(1h) + 40s);
    cut_off(job, "n2", tenths * 100ms);
    job.allow_different_ends();
    job.unquiet(tenths * 100ms);
    job.run_to_end(120s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    for (const std::size_t other : {0U, 1U}) EXPECT_EQ(job.node(other).exit_code(), 0) << job.story();
  }
}

TEST(Ends, ANodeThatLeavesDoesNotEndTheJobOfTheOthers) {
  for (const Hosting hosting : {Hosting::node, Hosting::launch, Hosting::torchrun}) {
    SCOPED_TRACE(static_cast<int>(hosting));
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.fewest = 2;
    scenario.hosting = hosting;
    WholeJob job(1, scenario);
    job.start(3, [](std::size_t, const Round& round) { return round.number == 0 ? Plan() : Plan{3s, 0}; });
    ASSERT_TRUE(job.run_until_together(10s)) << job.story();
    job.node(2).signal(SIGTERM);
    job.allow_different_ends();
    job.unquiet(Duration::zero());
    job.run_to_end(60s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    for (const std::size_t other : {0U, 1U}) EXPECT_EQ(job.node(other).exit_code(), 0) << job.story();
  }
}

// ---- connections that are lost, and nothing else

// It is back at once, and its workers stop: that its connection has ended is no news any more.
TEST(Ends, ANodeWhoseConnectionsWereResetJoinsAgainHoweverLongItsWorkersTake) {
  for (const bool by_majority : {false, true}) {
    SCOPED_TRACE(by_majority);
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.nodes = 3;
    scenario.fewest = 2;
    scenario.heartbeat = 60s;
    scenario.by_majority = by_majority;
    WholeJob job(1, scenario);
    job.start(3, [](std::size_t, const Round&) { return Plan{.ends_after = 30s, .obeys_after = 2500ms}; });
    ASSERT_TRUE(job.run_until_together(10s)) << job.story();
    job.network().reset("n2");
    job.unquiet(10s);
    job.run_to_end(100s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    for (const std::size_t node : {0U, 1U, 2U}) EXPECT_EQ(job.node(node).exit_code(), 0) << job.story();
  }
}

// It has no workers yet that could not go on without the store.
TEST(Ends, ANodeThatWaitsForTheFirstRoundWaitsForASilentStore) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.nodes = 3;
  scenario.fewest = 3;
  scenario.heartbeat = 5s;
  scenario.join_timeout = 60s;
  WholeJob job(1, scenario);
  job.start(2, [](std::size_t, const Round&) { return Plan{5s, 0}; });
  job.events().run_until(later(job.events().now(), 2s));
  cut_off(job, "n0", 10s);
  job.unquiet(12s);
  job.events().run_until(later(job.events().now(), 18s));
  job.add([](const Round&) { return Plan{5s, 0}; }).start();
  job.run_to_end(60s);
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
  for (const std::size_t node : {0U, 1U, 2U}) EXPECT_EQ(job.node(node).exit_code(), 0) << job.story();
}

// ---- a loss after the end of all

// All have come to the exit barrier, but not all know so yet.
TEST(Ends, ALossAfterTheEndOfAllChangesNothing) {
  for (const bool elastic : {false, true})
    for (const int restarts : {0, 1})
      for (const std::size_t victim : {1U, 2U})
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
          SCOPED_TRACE(
              fmt::format("{}, {} restarts, n{}, seed {}", elastic ? "c10d" : "static", restarts, victim, seed));
          WholeScenario scenario;
          scenario.elastic = elastic;
          scenario.max_restarts = restarts;
          scenario.longest_delay = 200ms;
          if (elastic) scenario.hosting = Hosting::launch;
          WholeJob job(seed, scenario);
          job.start(3, [](std::size_t, const Round&) { return Plan{1s, 0}; });
          const auto all_have_ended = [&] {
            const auto store = job.network().store_at(elastic ? Endpoint{"store", 29400} : static_store);
            return store && store->has(all_ended_key(elastic ? round_prefix("job", 0) : attempt_prefix("job", 0)));
          };
          ASSERT_TRUE(job.events().run_until(all_have_ended, 30s)) << job.story();
          job.node(victim).kill();
          job.unquiet(Duration::zero());
          job.run_to_end(30s);
          EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
          EXPECT_EQ(job.started_rounds(), 3) << job.story();
          for (std::size_t other = 0; other < 3; ++other)
            EXPECT_TRUE(other == victim || job.node(other).exit_code() == 0) << other << "\n" << job.story();
        }
}

// Another node comes just as the last one enters the exit barrier. Either all go on with it, or nobody does.
TEST(Ends, ANodeThatComesAtTheEndOfAllKeepsNobody) {
  for (int phase = 20; phase < 70; ++phase) {
    SCOPED_TRACE(phase);
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.nodes = 4;
    scenario.longest_delay = 20ms;
    scenario.hosting = Hosting::launch;
    WholeJob job(static_cast<std::uint64_t>(phase), scenario);
    job.start(3, [](std::size_t node, const Round&) { return Plan{node == 2 ? 3s : 1s, 0}; });
    ASSERT_TRUE(job.run_until_together(60s));
    job.events().run_until(later(job.events().now(), 2900ms + phase * 2ms));
    job.add([](const Round&) { return Plan{1s, 0}; });
    job.node(3).start();
    job.unquiet(Duration::zero());
    job.run_to_end(60s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    for (std::size_t node = 0; node < 3; ++node)
      EXPECT_EQ(job.node(node).exit_code(), 0) << node << "\n" << job.story();
  }
}

// ---- a restart that cannot be told

// The node has gone on to the next round before it can be reached again, and the others hear only then.
TEST(Ends, ARestartThatIsToldLateIsOneRestart) {
  for (const bool elastic : {false, true})
    for (int phase = 0; phase < 10; ++phase) {
      SCOPED_TRACE(fmt::format("{}, phase {}", elastic ? "c10d" : "static", phase));
      WholeScenario scenario;
      scenario.elastic = elastic;
      scenario.max_restarts = 3;
      WholeJob job(1, scenario);
      job.start(3, [](std::size_t node, const Round& round) {
        Plan plan =
            round.restarts == 0 ? Plan{node == 1 ? Duration(2s) : Duration(300s), node == 1 ? 7 : 0} : Plan{5s, 0};
        plan.obeys_after = node == 1 ? 50ms : 2s;
        return plan;
      });
      job.events().run_until(Time(1h) + 1900ms);
      cut_off(job, "n1", 4s + phase * 100ms);
      job.unquiet(10s);
      job.run_to_end(60s);
      EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
      EXPECT_EQ(job.started_rounds(), 6) << job.story();
      for (std::size_t node = 0; node < 3; ++node) EXPECT_EQ(job.node(node).exit_code(), 0) << job.story();
    }
}

}  // namespace launch::ends_sim_test
