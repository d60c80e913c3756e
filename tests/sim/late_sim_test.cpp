// Stories of whole jobs that chance has found: each is played as it was.
#include "whole_job.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace launch::late_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::Plan;

// ---- what comes late

// The store's answers to a node that is about to start are held up for longer than the others wait for it.
TEST(Late, NewsOfARoundThatTheOthersHaveGivenUpStartNobody) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.fewest = 1;
    scenario.heartbeat = 5s;
    scenario.longest_delay = 200ms;
    WholeJob job(seed, scenario);
    for (std::size_t i = 0; i < 3; ++i) {
      job.add([](const Round&) { return Plan{1s, 0}; });
      job.node(i).start();
    }
    job.events().run_until(Time(1h) + seed * 50ms);
    job.network().cut("n0", "*", later(job.events().now(), 7s));
    job.allow_different_ends();
    job.unquiet(60s);
    job.run_to_end(60s);
    ASSERT_EQ(job.faults(), std::vector<std::string>()) << "seed " << seed << "\n" << job.story();
  }
}

// It has tried to tell the others, but nobody can be reached.
TEST(Late, AFailureOfANodeThatIsCutOffIsKnownAsSoonAsItIsBack) {
  for (const bool elastic : {false, true})
    for (const int restarts : {0, 1}) {
      WholeScenario scenario;
      scenario.elastic = elastic;
      scenario.max_restarts = restarts;
      WholeJob job(1, scenario);
      for (std::size_t i = 0; i < 3; ++i) {
        job.add([i](const Round& round) {
          if (round.restarts > 0) return Plan{5s, 0};
          return Plan{i == 1 ? Duration(2s) : Duration(300s), i == 1 ? 7 : 0, i == 1 ? Duration::max() : Duration(1ms)};
        });
        job.node(i).start();
      }
      job.events().run_until(Time(1h) + 1900ms);
      for (const auto& [from, to] : {std::pair("n1", "*"), {"*", "n1"}})
        job.network().cut(from, to, later(job.events().now(), 4s));
      job.events().run_until(Time(1h) + 7s);
      job.unquiet(Duration::zero());
      for (const std::size_t other : {0U, 2U}) EXPECT_FALSE(job.node(other).undisturbed()) << job.story();
      job.run_to_end(60s);
      EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    }
}

// It ends before it can be reached again, so the store must tell them, in its name. If its workers were to restart, it
// is told to stop before they do.
TEST(Late, AFailureOfANodeThatEndsWhileItIsCutOffIsKnownAsSoonAsTheStoreHearsOfTheEnd) {
  for (const bool elastic : {false, true})
    for (const int restarts : {0, 1}) {
      SCOPED_TRACE(elastic ? "c10d" : "static");
      WholeScenario scenario;
      scenario.elastic = elastic;
      scenario.max_restarts = restarts;
      WholeJob job(1, scenario);
      for (std::size_t i = 0; i < 3; ++i) {
        job.add([i](const Round&) { return Plan{i == 1 ? Duration(2s) : Duration(300s), i == 1 ? 7 : 0}; });
        job.node(i).start();
      }
      job.allow_different_ends();
      job.events().run_until(Time(1h) + 1900ms);
      const Time mended = later(job.events().now(), 20s);
      for (const auto& [from, to] : {std::pair("n1", "*"), {"*", "n1"}}) job.network().cut(from, to, mended);
      job.events().run_until(Time(1h) + 8s);
      if (restarts > 0) job.node(1).signal(SIGTERM);
      job.events().run_until(mended);
      EXPECT_FALSE(job.node(1).alive()) << job.story();
      job.events().run_until(later(mended, 100ms));
      for (const std::size_t other : {0U, 2U}) EXPECT_FALSE(job.node(other).undisturbed()) << job.story();
      job.unquiet(Duration::zero());
      job.run_to_end(60s);
      EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    }
}

// ---- what must not take long

// The others hear of a failure before it is looked into, and nobody waits for more than the workers and the accounts.
TEST(Late, AFailureIsToldAtOnceAndTheJobEndsSoon) {
  for (const bool elastic : {false, true}) {
    WholeScenario scenario;
    scenario.elastic = elastic;
    WholeJob job(1, scenario);
    for (std::size_t i = 0; i < 3; ++i) {
      job.add([i](const Round&) {
        Plan plan{i == 1 ? Duration(2s) : Duration(300s), i == 1 ? 7 : 0};
        plan.looked_at_for = i == 1 ? 3s : 1ms;
        return plan;
      });
      job.node(i).start();
    }
    job.events().run_until(Time(1h) + 2200ms);
    for (const std::size_t other : {0U, 2U}) EXPECT_FALSE(job.node(other).undisturbed()) << job.story();
    job.events().run_until(Time(1h) + 6s);
    EXPECT_TRUE(job.alive().empty()) << job.story();
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
  }
}

// ---- losses that harm nobody

// Its workers have ended well, and it waits for the others in the exit barrier.
TEST(Late, TheLossOfANodeWhoseWorkersHaveEndedWellCostsNobodyARound) {
  for (const bool elastic : {false, true})
    for (const int fewest : {1, 3})
      for (const bool powerless : {false, true}) {
        WholeScenario scenario;
        scenario.elastic = elastic;
        scenario.fewest = fewest;
        scenario.max_restarts = 1;
        scenario.heartbeat = 5s;
        WholeJob job(1, scenario);
        for (std::size_t i = 0; i < 3; ++i) {
          job.add([i](const Round&) { return Plan{i == 1 ? Duration(2s) : Duration(15s), 0}; });
          job.node(i).start();
        }
        job.events().run_until(Time(1h) + 6s);  // the last call is over
        if (powerless) {
          job.node(1).lose_power();
        } else {
          job.node(1).kill();
        }
        job.unquiet(Duration::zero());
        job.run_to_end(60s);
        EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
        EXPECT_EQ(job.started_rounds(), 3) << job.story();
        for (const std::size_t other : {0U, 2U}) EXPECT_EQ(job.node(other).exit_code(), 0) << job.story();
      }
}

// ---- changes of members

// The first ones are lost one after the other, until that is once too often.
TEST(Late, AJobGoesOnAfterAsManyChangesOfMembersAsItMay) {
  for (const int most : {0, 1, 2}) {
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.nodes = 5;
    scenario.fewest = 1;
    scenario.most_changes = most;
    WholeJob job(1, scenario);
    for (std::size_t i = 0; i < 5; ++i) {
      job.add([](const Round&) { return Plan(); });
      job.node(i).start();
    }
    for (int change = 0; change <= most; ++change) {
      ASSERT_TRUE(job.run_until_together(10s)) << change << " of " << most << "\n" << job.story();
      job.node(static_cast<std::size_t>(change) + 1).kill();
      job.events().run_until(later(job.events().now(), 10ms));
    }
    job.unquiet(Duration::zero());
    job.run_to_end(60s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << most << "\n" << job.story();
    EXPECT_NE(job.node(0).exit_code(), 0);
  }
}

}  // namespace launch::late_sim_test
