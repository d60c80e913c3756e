// Nodes that are told to stop in a moment in which they know little: before they have found the store, just after
// others were lost, and just after they stood still. And what becomes of one that leaves, though the others fail then.
#include "whole_job.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <functional>
#include <memory>

namespace launch::stops_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::Plan;

// ---- a node that is not in yet

// It may reach the store between this and its end. `tell`: how it is told.
void expect_quiet_leave(const std::function<void(play::NodeHost& newcomer)>& tell) {
  for (const Hosting hosting : {Hosting::node, Hosting::launch, Hosting::torchrun})
    for (int phase = 0; phase < 60; ++phase) {
      SCOPED_TRACE(fmt::format("{}, phase {}", static_cast<int>(hosting), phase));
      WholeScenario scenario;
      scenario.elastic = true;
      scenario.nodes = 4;
      scenario.fewest = 2;
      scenario.hosting = hosting;
      WholeJob job(1, scenario);
      job.start(3, [](std::size_t, const Round&) { return Plan{10s, 0}; });
      ASSERT_TRUE(job.run_until_together(10s)) << job.story();
      job.allow_different_ends();
      play::NodeHost& newcomer = job.add([](const Round&) { return Plan{10s, 0}; });
      newcomer.start();
      job.events().run_until(later(job.events().now(), phase * 100us));
      const std::int64_t round = job.node(0).last().number;
      const int changes = phase < 30 ? 0 : 1;  // it has joined at 3 ms at the earliest
      tell(newcomer);
      job.unquiet(Duration::zero());
      EXPECT_TRUE(job.events().run_until([&] { return newcomer.exit_code().has_value(); }, 200ms)) << job.story();
      job.run_to_end(60s);
      EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
      for (const std::size_t other : {0U, 1U, 2U}) {
        EXPECT_EQ(job.node(other).exit_code(), 0) << job.story();
        EXPECT_LE(job.node(other).last().number, round + changes) << job.story();
      }
    }
}

TEST(Stops, ANewNodeThatIsToldToStopBeforeItIsInDoesNotEndTheJobOfTheOthers) {
  expect_quiet_leave([](play::NodeHost& newcomer) { newcomer.signal(SIGTERM); });
}

TEST(Stops, ANewNodeWhoseGuardIsKilledBeforeItIsInDoesNotEndTheJobOfTheOthers) {
  expect_quiet_leave([](play::NodeHost& newcomer) { newcomer.lose_guard(); });
}

// ---- a host, after a loss

std::unique_ptr<WholeJob> of_three(int fewest, bool by_majority, std::array<Duration, 3> obey) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.nodes = 3;
  scenario.fewest = fewest;
  scenario.max_restarts = 1;
  scenario.by_majority = by_majority;
  auto job = std::make_unique<WholeJob>(1, scenario);
  job->start(3, [obey](std::size_t node, const Round&) { return Plan{.ends_after = 60s, .obeys_after = obey[node]}; });
  EXPECT_TRUE(job->run_until_together(10s)) << job->story();
  return job;
}

// Two of them are enough; each knows another end of the job.
std::unique_ptr<WholeJob> of_four(Duration obey) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.nodes = 4;
  scenario.fewest = 2;
  auto job = std::make_unique<WholeJob>(1, scenario);
  job->allow_different_ends();
  job->start(4, [obey](std::size_t, const Round&) { return Plan{.ends_after = 60s, .obeys_after = obey}; });
  EXPECT_TRUE(job->run_until_together(10s)) << job->story();
  return job;
}

// Nodes that are lost do not count: those that are left are too few.
TEST(Stops, AHostThatStopsAfterALossLeavesOnlyIfEnoughAreLeft) {
  for (const bool by_majority : {false, true})
    for (const std::size_t lost : {0U, 2U}) {
      SCOPED_TRACE(fmt::format("majority {}, n{} is lost", by_majority, lost));
      const auto job = of_three(2, by_majority, {3s, 3s, 3s});
      const std::size_t host = lost == 0 ? 1 : 0;
      const std::size_t other = 3 - host - lost;
      job->node(lost).kill();
      job->events().run_until(later(job->events().now(), 500ms));
      job->node(host).signal(SIGTERM);
      job->unquiet(Duration::zero());
      job->run_to_end(20s);
      EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
      EXPECT_EQ(job->node(other).exit_code(), 143) << job->story();
    }
}

// Those that leave, too, and are busy with their workers' end, do not count either.
TEST(Stops, AHostThatStopsAfterOthersLeavesOnlyIfEnoughStay) {
  const auto job = of_four(3s);
  job->node(2).signal(SIGTERM);
  job->node(3).signal(SIGTERM);
  job->events().run_until(later(job->events().now(), 500ms));
  job->node(0).signal(SIGTERM);
  job->unquiet(Duration::zero());
  job->run_to_end(20s);
  EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
  EXPECT_EQ(job->node(1).exit_code(), 143) << job->story();
}

// The others have ended meanwhile, and what they would have to say is not waited for.
TEST(Stops, AHostThatIsToldToStopWhenItWakesDoesNotWaitForTheDead) {
  for (int phase = 0; phase < 40; ++phase) {
    SCOPED_TRACE(phase);
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.nodes = 4;
    scenario.fewest = 2;
    scenario.heartbeat = 5s;
    WholeJob job(1, scenario);
    job.allow_different_ends();
    job.start(4, [](std::size_t, const Round&) { return Plan(); });
    ASSERT_TRUE(job.run_until_together(10s)) << job.story();
    job.node(0).freeze(15s);
    job.unquiet(60s);
    job.events().run_until(later(job.events().now(), 15s + phase * 200us));
    for (const std::size_t other : {1U, 2U, 3U}) ASSERT_TRUE(job.node(other).exit_code()) << job.story();
    job.node(0).signal(SIGTERM);
    EXPECT_TRUE(job.events().run_until([&] { return job.node(0).exit_code().has_value(); }, 8s)) << job.story();
  }
}

// The other one hears of it when it joins.
TEST(Stops, ANewHostThatEndsTheJobWaitsForThoseWhoseWorkersTakeLonger) {
  const auto job = of_three(3, false, {100ms, 2s, 10s});
  job->node(0).kill();
  job->events().run_until(later(job->events().now(), 500ms));
  job->node(1).signal(SIGTERM);
  job->unquiet(Duration::zero());
  job->run_to_end(30s);
  EXPECT_EQ(job->node(2).exit_code(), 143) << job->story();
}

// ---- a node that leaves, while the others may not go on without it

// It has heard of their failure long before its own workers have ended.
TEST(Stops, ANodeThatLeavesHasItsOwnExitCodeEvenIfTheOthersFail) {
  for (const std::size_t leaver : {1U, 2U}) {
    SCOPED_TRACE(leaver);
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.fewest = 2;
    scenario.most_changes = 0;
    WholeJob job(1, scenario);
    job.allow_different_ends();
    job.start(3, [leaver](std::size_t node, const Round&) {
      return Plan{.ends_after = 60s, .obeys_after = node == leaver ? 1s : 1ms};
    });
    ASSERT_TRUE(job.run_until_together(10s)) << job.story();
    job.unquiet(Duration::zero());
    job.node(leaver).signal(SIGTERM);
    job.run_to_end(30s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    for (std::size_t node = 0; node < 3; ++node)
      EXPECT_EQ(job.node(node).exit_code(), node == leaver ? 143 : 1) << job.story();
  }
}

// They end well, so they have nothing to report, and nobody waits for that.
TEST(Stops, AJobThatFailsDoesNotWaitForThoseThatHaveLeft) {
  const auto job = of_four(10ms);
  job->launch_node(2).drain();
  job->launch_node(3).drain();
  job->node(1).fail_workers(false);
  job->unquiet(Duration::zero());
  job->run_to_end(5s);
  EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
  for (std::size_t node = 0; node < 4; ++node) EXPECT_EQ(job->node(node).exit_code(), node < 2 ? 1 : 0) << job->story();
}

// The lost one was in the round of the others, not in that of the spare, which has none.
TEST(Stops, ASpareHearsOfTheLossThatEndsTheJob) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.nodes = scenario.fewest = 2;
  scenario.moves = false;
  WholeJob job(1, scenario);
  job.start(3, [](std::size_t, const Round&) { return Plan{.ends_after = 60s, .obeys_after = 10ms}; });
  ASSERT_TRUE(job.run_until_together(10s)) << job.story();
  job.node(1).kill();
  job.unquiet(Duration::zero());
  job.run_to_end(20s);
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
  EXPECT_EQ(job.node(0).exit_code(), 1) << job.story();
  EXPECT_EQ(job.node(2).exit_code(), 1) << job.story();
  const auto& report = job.launch_node(2).report();
  ASSERT_TRUE(report && report->end.first) << job.story();
  EXPECT_EQ(report->end.first->kind, Failure::Kind::lost) << report->end.first->what;
}

}  // namespace launch::stops_sim_test
