// What happens at the end of the node that hosts the store of a c10d job: the workers of others fail with it, others
// end with it or wake after it, or its kernel resets what it has not read.
#include "whole_job.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace launch::host_end_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::Plan;

using Planner = std::function<Plan(std::size_t node)>;

constexpr Plan steady{20s, 0};

std::unique_ptr<WholeJob> start(int nodes, int restarts, std::uint64_t seed, const Planner& plan) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.nodes = nodes;
  scenario.fewest = 1;
  scenario.max_restarts = restarts;
  auto job = std::make_unique<WholeJob>(seed, scenario);
  job->allow_different_ends();
  for (int i = 0; i < nodes; ++i) {
    job->add([plan, i](const Round&) { return plan(static_cast<std::size_t>(i)); });
    job->events().in(job->events().random().between(1us, 300ms),
                     [&one = *job, i] { one.node(static_cast<std::size_t>(i)).start(); });
  }
  EXPECT_TRUE(job->run_until_together(60s));
  return job;
}

// Node after node, so that each has the rank of its number, and those that are one too many stand by.
void start_in_turn(WholeJob& job, int nodes, Duration apart, const Plan& plan) {
  job.allow_different_ends();
  for (int i = 0; i < nodes; ++i) {
    job.add([plan](const Round&) { return plan; });
    job.events().in(i * apart, [&job, i] { job.node(static_cast<std::size_t>(i)).start(); });
  }
  EXPECT_TRUE(job.run_until_together(60s));
  job.events().run_until(later(job.events().now(), 5s));
}

std::unique_ptr<WholeJob> start(int nodes, int restarts, std::uint64_t seed) {
  return start(nodes, restarts, seed, [](std::size_t) { return steady; });
}

void expect_well(WholeJob& job, std::size_t from) {
  for (std::size_t i = from; i < job.count(); ++i) EXPECT_EQ(job.node(i).exit_code(), 0) << job.story();
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
}

// The node that has an end of its own to tell ends, and the others with it; or nobody has told of a failure, and no
// restart is counted.
void expect_one_way(WholeJob& job, const std::string& when) {
  SCOPED_TRACE(when);
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
  const bool well = job.node(1).exit_code() == 0;
  for (std::size_t i = 1; i < job.count(); ++i) EXPECT_EQ(job.node(i).exit_code() == 0, well) << job.story();
}

// All workers of n1, or of all nodes, fail a little before or after the host is killed, as those of gloo and NCCL do
// whose peers have ended.
TEST(HostEnd, WorkersThatFailWithItEndNothingAndCountNoRestart) {
  for (const bool all : {false, true})
    for (Duration after = 0ms; after <= 100ms; after += 4ms)
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto job = start(3, 0, seed);
        job->node(0).kill();
        job->events().run_until(later(job->events().now(), after));
        for (std::size_t i = 1; i <= (all ? 2U : 1U); ++i) job->node(i).fail_workers(true);
        job->unquiet(30s);
        job->run_to_end(60s);
        SCOPED_TRACE(fmt::format("{} after the end, seed {}", to_text(after), seed));
        expect_well(*job, 1);
        for (const std::size_t i : {1U, 2U}) EXPECT_EQ(job->node(i).last().restarts, 0);
      }
}

TEST(HostEnd, WorkersThatFailJustBeforeItEndTheJobOnAllNodesOrOnNone) {
  for (Duration before = 0ms; before <= 100ms; before += (before < 10ms ? Duration(250us) : Duration(10ms)))
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const auto job = start(3, 0, seed);
      job->node(1).fail_workers(true);
      job->events().run_until(later(job->events().now(), before));
      const int started = job->started_rounds();
      job->node(0).kill();
      job->unquiet(70s);
      job->run_to_end(100s);
      expect_one_way(*job, fmt::format("{} before the end, seed {}", to_text(before), seed));
      EXPECT_TRUE(job->node(1).exit_code() == 0 || job->started_rounds() == started) << job->story();
    }
}

// It reads the end of the host when the others run already.
TEST(HostEnd, WorkersOfANodeThatWakesLaterHaveNoTimeBesideTheOthers) {
  for (const Duration pause : {20s, 27s, 29s, 40s, 63s, 70s}) {
    const auto job = start(4, 3, 1, [](std::size_t) { return Plan{300s, 0, 100s}; });
    job->events().run_until(later(job->events().now(), 1s));
    job->freeze(3, pause);
    job->node(0).kill();
    job->unquiet(pause + 60s);
    job->run_to_end(900s);
    EXPECT_EQ(job->faults(), std::vector<std::string>()) << to_text(pause) << "\n" << job->story();
  }
}

// Rolling preemption. The third node must know that the second one has ended, too.
TEST(HostEnd, AnotherNodeThatIsToldToStopWithItIsNotWaitedFor) {
  for (const int nodes : {3, 4})
    for (const Duration apart : {Duration(0ms), Duration(3ms), Duration(50ms)})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto job = start(nodes, 3, seed);
        const Time told = job->events().now();
        job->node(0).signal(SIGTERM);
        job->events().run_until(later(told, apart));
        job->node(1).signal(SIGTERM);
        job->unquiet(10s);
        EXPECT_TRUE(job->events().run_until(
            [&] { return static_cast<int>(job->alive().size()) == nodes - 2 && job->together(); }, 3s))
            << job->story();
        job->run_to_end(60s);
        expect_well(*job, 2);
      }
}

// The next host is told to stop before its first round has begun, or just after.
TEST(HostEnd, ANextHostThatIsToldToStopAtOnceLeavesTheJobToTheOneAfterIt) {
  for (Duration after = 100ms; after <= 160ms; after += 2ms)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(fmt::format("{} after the loss, seed {}", to_text(after), seed));
      const auto job = start(4, 3, seed);
      const Time lost = job->events().now();
      job->node(0).kill();
      job->events().run_until(later(lost, after));
      job->node(1).signal(SIGTERM);
      job->unquiet(10s);
      EXPECT_TRUE(job->events().run_until([&] { return job->alive().size() == 2 && job->together(); }, 3s))
          << job->story();
      job->run_to_end(60s);
      expect_well(*job, 2);
    }
}

// The host had gone on with a spare while a member slept: its end leaves this member nothing to go on with.
TEST(HostEnd, AMemberThatWakesAtTheEndOfAHostThatWentOnWithoutItDoesNotGoOnAlone) {
  for (const bool by_majority : {false, true})
    for (Duration after = -100ms; after <= 300ms; after += 10ms) {
      SCOPED_TRACE(fmt::format("{} after it wakes", to_text(after)));
      WholeScenario scenario;
      scenario.elastic = true;
      scenario.by_majority = by_majority;
      scenario.nodes = 2;
      scenario.fewest = 1;
      scenario.join_timeout = 20s;
      WholeJob job(1, scenario);
      start_in_turn(job, 3, 1s, Plan{100s, 0});
      job.freeze(1, 60s);
      job.unquiet(200s);
      job.events().run_until(later(job.events().now(), 60s + after));
      ASSERT_TRUE(job.node(2).running()) << job.story();
      job.node(0).signal(SIGTERM);
      job.run_to_end(400s);
      EXPECT_EQ(job.node(2).exit_code(), 0) << job.story();
      EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    }
}

// The next host has seen that it has ended.
TEST(HostEnd, AMemberThatEndsAtTheNextHostIsNotWaitedFor) {
  const auto job = start(4, 3, 1, [](std::size_t i) { return Plan{20s, 0, i == 2 ? 2000ms : 100ms}; });
  job->node(0).kill();
  job->events().run_until(later(job->events().now(), 1s));
  job->node(3).kill();
  job->unquiet(10s);
  EXPECT_TRUE(job->events().run_until([&] { return job->alive().size() == 2 && job->together(); }, 5s)) << job->story();
  job->run_to_end(60s);
  for (const std::size_t i : {1U, 2U}) EXPECT_EQ(job->node(i).exit_code(), 0) << job->story();
  EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
}

// Its kernel resets the connections on which beats have come that it has not read.
TEST(HostEnd, IsProvenThoughTheHostStoodStillBefore) {
  for (const Duration pause : {5s, 15s, 25s}) {
    const auto job = start(3, 0, 1);
    job->freeze(0, pause);
    job->events().run_until(later(job->events().now(), pause - 1ms));
    job->node(0).kill();
    job->unquiet(30s);
    EXPECT_TRUE(job->events().run_until([&] { return job->alive().size() == 2 && job->together(); }, 5s))
        << job->story();
    job->run_to_end(60s);
    expect_well(*job, 1);
  }
}

// The others could not go on, and must not wait for each other.
TEST(HostEnd, AHostThatIsToldToStopWhileTooFewAreLeftEndsTheJob) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.nodes = scenario.fewest = 3;
  scenario.max_restarts = 3;
  WholeJob job(1, scenario);
  start_in_turn(job, 3, 100ms, steady);
  job.node(2).kill();
  job.unquiet(30s);
  job.events().run_until(later(job.events().now(), 5s));
  job.node(0).signal(SIGTERM);
  EXPECT_TRUE(job.events().run_until([&] { return job.alive().empty(); }, 3s)) << job.story();
  EXPECT_EQ(job.node(1).exit_code(), 128 + SIGTERM) << job.story();
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
}

// MIN = MAX, and a spare stands by.
TEST(HostEnd, AHostThatIsToldToStopLeavesIfASpareFillsItsPlace) {
  for (const bool spare : {true, false}) {
    WholeScenario scenario;
    scenario.elastic = true;
    scenario.nodes = scenario.fewest = 2;
    scenario.max_restarts = 3;
    WholeJob job(1, scenario);
    start_in_turn(job, spare ? 3 : 2, 100ms, steady);
    job.node(0).signal(SIGTERM);
    job.unquiet(10s);
    job.run_to_end(60s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    for (std::size_t i = 1; i < job.count(); ++i)
      EXPECT_EQ(job.node(i).exit_code(), spare ? 0 : 128 + SIGTERM) << job.story();
  }
}

// It may wake when its own link has lost patience, but before it knows that it has slept.
TEST(HostEnd, AHostThatStoodStillForAboutOneTimeOutComesBackToItsOwnStore) {
  for (const bool moves : {false, true})
    for (int nodes = 1; nodes <= 2; ++nodes)
      for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        WholeScenario scenario;
        scenario.elastic = true;
        scenario.nodes = nodes;
        scenario.fewest = 1;
        scenario.max_restarts = 3;
        scenario.moves = moves;
        scenario.heartbeat = 10s;
        WholeJob job(seed, scenario);
        job.allow_different_ends();
        for (int i = 0; i < nodes; ++i) job.add([](const Round&) { return Plan{60s, 0}; }).start();
        ASSERT_TRUE(job.run_until_together(60s));
        job.events().run_until(later(job.events().now(), job.events().random().between(1ms, 3s)));
        job.freeze(0, job.events().random().between(8500ms, 13s));
        job.unquiet(60s);
        job.run_to_end(300s);
        ASSERT_EQ(job.node(0).exit_code(), 0) << "seed " << seed << "\n" << job.story();
        ASSERT_EQ(job.faults(), std::vector<std::string>()) << job.story();
      }
}

// Rounds without them have formed since, so they count no more when the next host ends, too.
TEST(HostEnd, NodesThatWereLostWithoutAWordBetweenTwoHostsCountNoMore) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.nodes = 6;
  scenario.fewest = 1;
  scenario.max_restarts = 3;
  scenario.heartbeat = 10s;
  WholeJob job(1, scenario);
  job.allow_different_ends();
  for (int i = 0; i < 6; ++i) job.add([](const Round&) { return Plan{300s, 0}; }).start();
  ASSERT_TRUE(job.run_until_together(60s));
  const auto wait = [&](Duration time) {
    job.unquiet(time + 60s);
    job.events().run_until(later(job.events().now(), time));
  };
  job.node(0).kill();
  wait(20s);
  std::vector<std::size_t> by_rank(5);
  for (std::size_t i = 1; i < 6; ++i) {
    ASSERT_TRUE(job.launch_node(i).running());
    by_rank.at(job.launch_node(i).running()->assignment.group_rank.index()) = i;
  }
  for (const std::size_t rank : {4U, 3U, 2U}) {
    job.node(by_rank[rank]).lose_power();
    wait(40s);
  }
  job.node(by_rank[0]).kill();
  wait(40s);
  EXPECT_TRUE(job.launch_node(by_rank[1]).running()) << job.story();
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
}

}  // namespace launch::host_end_sim_test
