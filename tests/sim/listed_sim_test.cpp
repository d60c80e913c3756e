// Several hosts are named in --rdzv-endpoint, and n0, the first of them, is lost and started again with the same line,
// or others come: all find the job that lives, and no second one is founded. A fault is, above all, workers of two
// rounds at one moment.
#include "choices.hpp"
#include "whole_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace launch::listed_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::Plan;

constexpr Duration heartbeat = 10s;

std::unique_ptr<WholeJob> start(std::uint64_t seed, bool by_majority, int listed = 3, Duration work = 60s) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.by_majority = by_majority;
  scenario.listed = listed;
  scenario.nodes = 5;
  scenario.fewest = 1;
  scenario.heartbeat = heartbeat;
  scenario.join_timeout = 600s;
  auto job = std::make_unique<WholeJob>(seed, scenario);
  job->allow_different_ends();
  for (int i = 0; i < 4; ++i) {
    job->add([work](const Round&) { return Plan{work, 0}; });
    const Duration after = job->events().random().between(1us, 2s);
    job->events().in(after, [&one = *job, i] { one.node(static_cast<std::size_t>(i)).start(); });
  }
  return job;
}

play::NodeHost& come(WholeJob& job, const std::string& host, Duration work = 60s) {
  job.reuse_host(host);
  play::NodeHost& node = job.add([work](const Round&) { return Plan{work, 0}; });
  node.start();
  return node;
}

bool has_said(const play::NodeHost& node, const std::string& words) {
  const auto says = [&](const std::string& line) { return line.find(words) != std::string::npos; };
  return std::any_of(node.lines().begin(), node.lines().end(), says);
}

void cut(WholeJob& job, const std::string& host, Time mended) {
  job.network().cut(host, "*", mended);
  job.network().cut("*", host, mended);
}

void end(WholeJob& job, std::uint64_t seed) {
  job.unquiet(200s);
  job.run_to_end(900s);
  ASSERT_EQ(job.faults(), std::vector<std::string>()) << "seed " << seed << "\n" << job.story();
}

TEST(Listed, AJobIsFoundedByTheFirstAndNobodyWaitsForHostsThatRefuse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto job = start(seed, seed % 2 == 0);
    ASSERT_TRUE(job->run_until_together(20s)) << job->story();
    end(*job, seed);
  }
}

// Whether the others have noticed that it was gone, or have formed their next round already.
TEST(Listed, TheFirstIsStartedAgainAtAnyMoment) {
  for (const bool by_majority : {false, true})
    for (const Duration after : {0us, 1us, 500us, 1000us, 3000us, 10'000us, 100'000us, 1'000'000us, 20'000'000us})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(fmt::format("majority {}, after {}, seed {}", by_majority, to_text(after), seed));
        const auto job = start(seed, by_majority);
        ASSERT_TRUE(job->run_until_together(60s)) << job->story();
        job->node(0).kill();
        job->events().run_until(later(job->events().now(), after));
        const play::NodeHost& again = come(*job, "n0");
        EXPECT_TRUE(job->events().run_until([&] { return again.running() && job->together(); }, 10s)) << job->story();
        EXPECT_TRUE(has_said(again, "lives at n1:29500")) << job->story();
        EXPECT_FALSE(has_said(again, "lives elsewhere")) << job->story();
        end(*job, seed);
      }
}

TEST(Listed, ANewNodeFindsTheJobAfterTheLossOfTheFirstMachine) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto job = start(seed, true);
    ASSERT_TRUE(job->run_until_together(60s)) << job->story();
    job->node(0).lose_power();
    job->events().run_until(later(job->events().now(), job->events().random().between(1ms, 30s)));
    const play::NodeHost& late = come(*job, "n9");
    EXPECT_TRUE(job->events().run_until([&] { return late.running() && job->together(); }, 30s)) << job->story();
    end(*job, seed);
  }
}

// Its machine is cut off, and it is started again there: it may not found a job, and joins when the cut is over.
TEST(Listed, TheFirstFoundsNothingWhileItIsCutOff) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto job = start(seed, true);
    ASSERT_TRUE(job->run_until_together(60s)) << job->story();
    const Time mended = later(job->events().now(), 50s);
    cut(*job, "n0", mended);
    job->events().run_until(later(job->events().now(), job->events().random().between(1ms, 15s)));
    job->node(0).kill();
    const play::NodeHost& again = come(*job, "n0");
    job->events().run_until(later(mended, -1s));
    EXPECT_FALSE(again.running()) << job->story();
    EXPECT_TRUE(has_said(again, "do not answer")) << job->story();
    EXPECT_TRUE(job->events().run_until([&] { return again.running() && job->together(); }, 10s)) << job->story();
    end(*job, seed);
  }
}

// n0 and n1 are cut from n2 to n4, which go on; n1, the first host's next one, is left in the part that does not.
TEST(Listed, WhoSeeksTheJobKeepsTheFirstFromFoundingOne) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto job = start(seed, true, 3, 200s);
    come(*job, "n4", 200s);
    ASSERT_TRUE(job->run_until_together(60s)) << job->story();
    ASSERT_EQ(job->alive().size(), 5U);
    const Time mended = later(job->events().now(), 80s);
    for (const char* const one : {"n0", "n1"})
      for (const char* const other : {"n2", "n3", "n4"}) {
        job->network().cut(one, other, mended);
        job->network().cut(other, one, mended);
      }
    job->events().run_until(later(job->events().now(), job->events().random().between(1ms, 20s)));
    job->node(0).kill();
    const play::NodeHost& again = come(*job, "n0", 200s);
    job->events().run_until(later(mended, -1s));
    EXPECT_FALSE(again.running()) << job->story();
    EXPECT_TRUE(job->events().run_until([&] { return again.running() && job->together(); }, 20s)) << job->story();
    end(*job, seed);
  }
}

// Some other node of the list knows of the job. If none does, nothing keeps the first from founding a second one
// (docs/elastic.md), which then gives way.
bool is_known(WholeJob& job, int listed, const std::string& besides) {
  const std::vector<std::size_t> living = job.alive();
  return std::any_of(living.begin(), living.end(), [&](std::size_t index) {
    const play::NodeHost& node = job.launch_node(index);
    return node.host() != besides && node.formed() && std::stoi(node.host().substr(1)) < listed;
  });
}

// Hosts and other nodes are killed and started again, or stand still, one after the other or at once.
Played play_losses(std::uint64_t seed, Choices& choices) {
  const bool by_majority = choices.odds(0.7);
  const int listed = 2 + static_cast<int>(choices.below(3));
  const auto job = start(seed, by_majority, listed, 30s);
  const Duration first = choices.between(3s, 10s);
  const std::size_t losses = 1 + choices.below(4);
  for (std::size_t i = 0; i < losses; ++i) {
    const Duration when = first + choices.between(1ms, 30s);
    const Duration away = choices.odds(0.5) ? choices.between(0us, 50ms) : choices.between(0us, 20s);
    const std::size_t kind = choices.below(3);
    job->events().in(when, [&one = *job, away, kind, listed] {
      std::vector<std::size_t> living = one.alive();
      if (living.size() < 3) return;
      play::NodeHost& node = one.launch_node(living[kind == 2 ? living.size() - 1 : 0]);
      if (!node.formed() || (kind != 1 && !is_known(one, listed, node.host()))) return;
      one.unquiet(away + 60s);
      one.events().note(fmt::format("TROUBLE {} for {}: {}", kind, to_text(away), node.host()));
      if (kind == 1) return one.network().freeze(node.host(), later(one.events().now(), away));
      node.kill();
      one.events().in(away, [&one, host = node.host()] { come(one, host); });
    });
  }
  job->unquiet(60s);
  job->run_to_end(1500s);
  std::vector<std::string> faults = job->faults();
  // If all nodes of a job have ended, its next one begins with round 0 again, and has heard of nothing.
  std::erase_if(faults, [](const std::string& fault) { return fault.find("has not heard") != std::string::npos; });
  return {faults, job->story()};
}

TEST(Listed, NoSecondJobWhateverChanceDoes) { play_seeds(wanted_seeds(400), play_losses); }

// The host gives up its store, and with it the connection over which the first of the list asks for the job.
TEST(Listed, AStoreThatIsGivenUpAtThisMomentIsNoProofThatNobodyHasTheJob) {
  constexpr std::uint64_t once_failed = 8739;
  Choices choices(once_failed);
  const Played played = play_losses(once_failed, choices);
  EXPECT_EQ(played.faults, std::vector<std::string>()) << played.story;
}

}  // namespace launch::listed_sim_test
