// What befalls nodes that are warned, that pause before a restart, or whose workers nothing ends.
#include "launch/core/rendezvous/liveness.hpp"

#include "whole_job.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace launch::warned_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::Plan;

// ---- a host of the store that is warned; it cannot leave before the job has ended

WholeScenario with_host(int nodes) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.nodes = nodes;
  scenario.fewest = 2;
  scenario.max_restarts = 1;
  scenario.heartbeat = 5s;
  return scenario;
}

void expect_good_ends(WholeJob& job, const std::vector<std::size_t>& nodes) {
  for (const std::size_t node : nodes) EXPECT_EQ(job.node(node).exit_code(), 0) << node << "\n" << job.story();
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
}

// Its guard has ended its workers. That is nobody's failure.
TEST(Warned, AHostThatStoodStillTooLongGoesOnWithTheOthers) {
  for (int phase = 0; phase < 20; ++phase) {
    SCOPED_TRACE(phase);
    WholeScenario scenario = with_host(3);
    scenario.fewest = 3;  // so it may not leave; the others, who doubt whether it lives, could not follow anybody
    WholeJob job(1, scenario);
    job.start(3, [](std::size_t, const Round& round) { return round.number == 0 ? Plan() : Plan{3s, 0}; });
    job.events().run_until(Time(1h) + 2s + phase * 40ms);
    job.launch_node(0).warn(SIGUSR1);
    job.freeze(0, 4800ms);
    job.unquiet(10s);
    job.run_to_end(30s);
    expect_good_ends(job, {0, 1, 2});
  }
}

// A node is lost, which waits until the host's workers have saved. But one of these fails: the host leaves, and the
// others go on when the workers of the lost one must have ended.
TEST(Warned, AHostWhoseWorkersFailWhileAChangeWaitsLeaves) {
  WholeJob job(1, with_host(4));
  job.allow_different_ends();
  job.start(4, [](std::size_t, const Round& round) { return round.number == 0 ? Plan() : Plan{6s, 0}; });
  job.events().run_until(Time(1h) + 2s);
  job.launch_node(0).warn(SIGUSR1);
  job.node(3).kill();
  job.events().run_until(Time(1h) + 3s);
  job.node(0).fail_workers(false);
  job.unquiet(10s);
  job.run_to_end(30s);
  EXPECT_EQ(job.node(0).exit_code(), 1);
  expect_good_ends(job, {1, 2});
}

// Nobody is left in its round that could come to the exit barrier.
TEST(Warned, AHostWhoseWorkersHaveSavedDoesNotWaitForThoseThatWaitForIt) {
  WholeJob job(1, with_host(4));
  job.start(4, [](std::size_t, const Round& round) { return round.number == 0 ? Plan() : Plan{1s, 0}; });
  job.allow_different_ends();
  job.events().run_until(Time(1h) + 2s);
  job.launch_node(0).warn(SIGUSR1);
  job.node(3).kill();
  job.events().run_until(Time(1h) + 3s);
  job.node(0).end_workers();
  job.unquiet(wait_after_host(5s, 4));
  job.run_to_end(15s);
  EXPECT_EQ(job.node(0).exit_code(), 0);
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
}

// ---- changes of members

// Workers that have ended well are not ended by it, so it is not one of the changes that the user has limited.
TEST(Warned, AChangeThatFindsNoWorkersDoesNotCount) {
  WholeScenario scenario = with_host(3);
  scenario.fewest = 1;
  scenario.most_changes = 0;
  WholeJob job(1, scenario);
  job.start(3, [](std::size_t node, const Round&) { return node == 2 ? Plan() : Plan{2s, 0}; });
  job.events().run_until(Time(1h) + 5s);
  job.node(2).kill();
  job.unquiet(Duration::zero());
  job.run_to_end(30s);
  expect_good_ends(job, {0, 1});
}

// ---- pauses

// The news of the failure that a node pauses after reach it late, or twice.
TEST(Warned, ANodeThatPausesBeforeARestartCountsItOnce) {
  for (const bool elastic : {false, true})
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      WholeScenario scenario;
      scenario.elastic = elastic;
      scenario.max_restarts = 4;
      scenario.longest_delay = 200ms;
      WholeJob job(seed, scenario);
      job.start(3, [](std::size_t node, const Round& round) {
        Plan plan = node == 1 && round.restarts < 4 ? Plan{50ms, 7} : Plan{5s, 0};
        plan.obeys_after = 1ms;
        return plan;
      });
      job.unquiet(Duration(20s));
      job.run_to_end(60s);
      expect_good_ends(job, {0, 1, 2});
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    }
}

// ---- workers that nothing ends

enum class Loss {
  silent,       // the store's host is not heard of
  ended,        // it has ended
  while_ending  // it is not heard of while workers are being ended for another reason
};

// The others go on without that node, so its agent may not give its workers the time of a shutdown.
TEST(Grace, OfANodeThatHasLostTheStoreIsShortForItsAgentToo) {
  for (const Loss loss : {Loss::silent, Loss::ended, Loss::while_ending}) {
    SCOPED_TRACE(static_cast<int>(loss));
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.fewest = 1;
    scenario.max_restarts = 1;
    scenario.heartbeat = loss == Loss::silent ? 10s : 1s;
    WholeJob job(1, scenario);
    job.start(3, [](std::size_t node, const Round&) {
      return node == 2 ? Plan{.obeys_after = Duration::max(), .dies_after = Duration::max()} : Plan{30s, 0};
    });
    job.allow_different_ends();
    job.events().run_until(Time(1h) + 2s);
    if (loss == Loss::while_ending) job.node(1).fail_workers(false);
    job.events().run_until(later(job.events().now(), 100ms));
    const Time mended = later(job.events().now(), 30s);
    if (loss == Loss::ended) job.node(0).kill();
    if (loss != Loss::ended)
      for (const auto& [from, to] : {std::pair("n2", "*"), {"*", "n2"}}) job.network().cut(from, to, mended);
    job.unquiet(30s);
    job.run_to_end(60s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
  }
}

}  // namespace launch::warned_sim_test
