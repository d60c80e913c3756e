// A c10d job with --quorum=majority loses its host without a word, or its network is cut in parts: the part that has a
// majority goes on, and the others come back to it as new nodes.
#include "choices.hpp"
#include "whole_job.hpp"

#include "launch/core/rendezvous/liveness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace launch::majority_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::Plan;

using Parts = std::vector<std::vector<std::size_t>>;

constexpr Duration heartbeat = 10s;
constexpr Duration soon = 100ms;  // a restart

std::unique_ptr<WholeJob> start(int nodes, std::uint64_t seed, int restarts = 0, int spares = 0, Duration work = 100s,
                                Duration join_timeout = 600s, int fewest = 1) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.by_majority = true;
  scenario.nodes = nodes;
  scenario.fewest = fewest;
  scenario.heartbeat = heartbeat;
  scenario.max_restarts = restarts;
  scenario.join_timeout = join_timeout;
  auto job = std::make_unique<WholeJob>(seed, scenario);
  job->allow_different_ends();
  for (int i = 0; i < nodes + spares; ++i) {
    job->add([work](const Round&) { return Plan{work, 0}; });
    const Duration after = i < nodes ? job->events().random().between(1us, 300ms) : Duration(2s);
    job->events().in(after, [&one = *job, i] { one.node(static_cast<std::size_t>(i)).start(); });
  }
  return job;
}

void cut(WholeJob& job, const Parts& parts, Time mended) {
  for (std::size_t one = 0; one < parts.size(); ++one)
    for (std::size_t other = 0; other < parts.size(); ++other)
      for (const std::size_t from : parts[one])
        for (const std::size_t to : parts[other])
          if (one != other) job.network().cut(job.node(from).host(), job.node(to).host(), mended);
}

std::vector<std::size_t> running(WholeJob& job) {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < job.count(); ++i)
    if (job.launch_node(i).running()) nodes.push_back(i);
  return nodes;
}

bool runs_as(WholeJob& job, const std::vector<std::size_t>& part) {
  if (running(job) != part) return false;
  const auto is_whole = [&](std::size_t i) {
    return job.launch_node(i).running()->assignment.group_world_size == static_cast<int>(part.size());
  };
  return std::all_of(part.begin(), part.end(), is_whole);
}

Duration time_without_host(int nodes) { return plan_lease(heartbeat, nodes).others + soon; }

enum class Loss {
  power,
  frozen,
  cut
};

class Silent : public testing::TestWithParam<Loss> {};

// When it is back, if it is, it joins.
TEST_P(Silent, TheOthersRunAgainAfterOneTimeOut) {
  for (int nodes = 3; nodes <= 6; ++nodes)
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(fmt::format("{} nodes, seed {}", nodes, seed));
      const auto job = start(nodes, seed);
      ASSERT_TRUE(job->run_until_together(60s)) << job->story();
      const Time lost = later(job->events().now(), job->events().random().between(1ms, 2s));
      job->events().run_until(lost);
      const Time back = later(lost, 60s);
      std::vector<std::size_t> others;
      for (std::size_t i = 1; i < job->count(); ++i) others.push_back(i);
      if (GetParam() == Loss::power) job->node(0).lose_power();
      if (GetParam() == Loss::frozen) job->freeze(0, 60s);
      if (GetParam() == Loss::cut) cut(*job, {{0}, others}, back);
      const auto again = [&] {
        return std::all_of(others.begin(), others.end(), [&](std::size_t i) {
          const auto& round = job->launch_node(i).running();
          return round && round->assignment.group_world_size == nodes - 1;
        });
      };
      ASSERT_TRUE(job->events().run_until(again, time_without_host(nodes))) << job->story();
      EXPECT_EQ(job->launch_node(1).moved().size(), 1U);
      if (GetParam() != Loss::power) {
        job->events().run_until(later(back, 5s));
        EXPECT_TRUE(job->together()) << job->story();
      }
      job->unquiet(200s);
      job->run_to_end(300s);
      for (const std::size_t i : others) EXPECT_EQ(job->node(i).exit_code(), 0) << job->story();
      ASSERT_EQ(job->faults(), std::vector<std::string>()) << job->story();
    }
}

INSTANTIATE_TEST_SUITE_P(Majority, Silent, testing::Values(Loss::power, Loss::frozen, Loss::cut));

// The other three are enough, but the job needs four. The launch of the old host is started again with the same line.
TEST(Majority, ThoseWhoAreFewerThanTheJobNeedsAreFoundAtTheOldAddress) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto job = start(4, seed, 1, 0, 100s, 600s, 4);
    ASSERT_TRUE(job->run_until_together(60s)) << job->story();
    job->node(0).kill();
    job->events().run_until(later(job->events().now(), job->events().random().between(2s, 4s)));
    EXPECT_EQ(job->launch_node(3).moved().size(), 1U) << "it says where the job is";
    job->reuse_host("n0");
    job->add([](const Round&) { return Plan{100s, 0}; }).start();
    EXPECT_TRUE(job->events().run_until([&] { return job->together(); }, 20s)) << job->story();
    job->unquiet(200s);
    job->run_to_end(300s);
    for (std::size_t i = 1; i < job->count(); ++i) EXPECT_EQ(job->node(i).exit_code(), 0) << job->story();
    ASSERT_EQ(job->faults(), std::vector<std::string>()) << job->story();
  }
}

// Any machine, that of the host, too, may stall for two thirds of the time-out.
TEST(Majority, AMachineThatStallsForLessThanItsPatienceDisturbsNobody) {
  for (const std::size_t victim : {0U, 1U, 2U})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const auto job = start(3, seed);
      ASSERT_TRUE(job->run_until_together(60s)) << job->story();
      job->events().run_until(later(job->events().now(), job->events().random().between(1ms, 5s)));
      const int started = job->started_rounds();
      const Duration still = job->events().random().between(10ms, heartbeat * 6 / 10);
      job->freeze(victim, still);
      job->events().run_until(later(job->events().now(), 60s));
      EXPECT_EQ(job->started_rounds(), started) << to_text(still) << ", seed " << seed << "\n" << job->story();
      job->unquiet(60s);
      job->run_to_end(300s);
      ASSERT_EQ(job->faults(), std::vector<std::string>()) << job->story();
    }
}

// Whoever is cut off, and for however long: soon after that all are together. A node that was alone for a while draws
// nobody to itself.
TEST(Majority, EveryCutHeals) {
  for (std::size_t victim = 0; victim < 4; ++victim)
    for (const Duration lasting : {2s, 6s, 8s, 9s, 10s, 12s, 14s, 17s, 20s, 25s, 40s})
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const auto job = start(4, seed);
        ASSERT_TRUE(job->run_until_together(60s)) << job->story();
        Parts parts(2);
        for (std::size_t i = 0; i < 4; ++i) {
          const bool is_victim = job->launch_node(i).running()->assignment.group_rank.index() == victim;
          parts[is_victim ? 0 : 1].push_back(i);
        }
        cut(*job, parts, later(job->events().now(), lasting));
        job->events().run_until(later(job->events().now(), lasting + 40s));
        EXPECT_TRUE(job->together()) << "rank " << victim << " for " << to_text(lasting) << "\n" << job->story();
        job->unquiet(60s);
        job->run_to_end(300s);
        ASSERT_EQ(job->faults(), std::vector<std::string>()) << job->story();
      }
}

// The same of a machine that stands still, the host's above all: shortly before the others leave it, while they do, and
// after.
TEST(Majority, EveryStallHeals) {
  for (const int nodes : {2, 3, 4})
    for (std::size_t victim = 0; victim < 2; ++victim)
      for (Duration lasting = 6800ms; lasting < 13s; lasting += lasting < 8s ? 23ms : 330ms) {
        const auto job = start(nodes, static_cast<std::uint64_t>(lasting / 1ms));
        ASSERT_TRUE(job->run_until_together(60s)) << job->story();
        job->events().run_until(later(job->events().now(), job->events().random().between(1ms, 5s)));
        for (std::size_t i = 0; i < job->count(); ++i)
          if (job->launch_node(i).running()->assignment.group_rank.index() == victim) job->freeze(i, lasting);
        job->events().run_until(later(job->events().now(), lasting + 30s));
        EXPECT_TRUE(job->together()) << nodes << " nodes, rank " << victim << " for " << to_text(lasting) << "\n"
                                     << job->story();
        job->unquiet(60s);
        job->run_to_end(300s);
        ASSERT_EQ(job->faults(), std::vector<std::string>()) << job->story();
      }
}

// Exactly the part that the rule names runs, and the others join it when the cut is over.
struct Cut {
  int nodes;
  Parts parts;
  std::vector<std::size_t> runs;
};

class Parted : public testing::TestWithParam<Cut> {};

TEST_P(Parted, OnePartRunsAndTheOthersComeBack) {
  const Cut& story = GetParam();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto job = start(story.nodes, seed);
    ASSERT_TRUE(job->run_until_together(60s)) << job->story();
    // The nodes are named by their ranks here: n0 has rank 0, and hosts the store.
    std::vector<std::size_t> by_rank(job->count());
    for (std::size_t i = 0; i < job->count(); ++i)
      by_rank[job->launch_node(i).running()->assignment.group_rank.index()] = i;
    ASSERT_EQ(by_rank[0], 0U);
    Parts parts;
    for (const auto& part : story.parts) {
      parts.emplace_back();
      for (const std::size_t rank : part) parts.back().push_back(by_rank[rank]);
    }
    std::vector<std::size_t> those;
    for (const std::size_t rank : story.runs) those.push_back(by_rank[rank]);
    std::sort(those.begin(), those.end());
    const Time mended = later(job->events().now(), 60s);
    cut(*job, parts, mended);
    job->events().run_until(later(mended, -1s));
    EXPECT_TRUE(runs_as(*job, those)) << job->story();
    job->events().run_until(later(mended, 5s));
    EXPECT_EQ(job->together(), !those.empty()) << job->story();
    job->unquiet(200s);
    job->run_to_end(1000s);
    ASSERT_EQ(job->faults(), std::vector<std::string>()) << job->story();
  }
}

INSTANTIATE_TEST_SUITE_P(Majority, Parted,
                         testing::Values(Cut{4, {{0, 1}, {2, 3}}, {0, 1}}, Cut{4, {{0}, {1, 2, 3}}, {1, 2, 3}},
                                         Cut{4, {{0, 1}, {2}, {3}}, {0, 1}}, Cut{4, {{0, 3}, {1, 2}}, {0, 3}},
                                         Cut{4, {{0}, {1}, {2, 3}}, {}}, Cut{5, {{0, 1}, {2, 3, 4}}, {2, 3, 4}},
                                         Cut{5, {{0, 4}, {1, 2}, {3}}, {}}, Cut{3, {{0}, {1, 2}}, {1, 2}},
                                         Cut{2, {{0}, {1}}, {0}}));

// Whatever chance does: a fault is, above all, workers of two parts at one moment.
Played play_troubles(std::uint64_t seed, Choices& choices) {
  const int nodes = 2 + static_cast<int>(choices.below(5));
  const auto job = start(nodes, seed, choices.odds(0.5) ? 3 : 0, static_cast<int>(choices.below(2)), 30s, 100s);
  const std::size_t troubles = 1 + choices.below(5);
  for (std::size_t i = 0; i < troubles; ++i) {
    const std::size_t victim = choices.odds(0.4) ? i % job->count() : choices.below(job->count());
    const std::size_t kind = choices.below(9);
    const std::size_t sides = choices.below(std::size_t{1} << job->count());
    const Duration lasting = choices.between(10ms, 40s);
    job->events().in(choices.between(1ms, 25s), [&one = *job, victim, kind, sides, lasting] {
      play::NodeHost& node = one.launch_node(victim);
      if (!node.alive()) return;
      one.unquiet(lasting + 60s);
      one.events().note(fmt::format("TROUBLE {} for {}: {}, sides {:b}", kind, to_text(lasting), node.host(), sides));
      const Time mended = later(one.events().now(), lasting);
      if (kind == 0) node.kill();
      if (kind == 1) node.signal(SIGTERM);
      if (kind == 2 || kind == 3) one.network().cut(node.host(), "*", mended);
      if (kind == 2 || kind == 4) one.network().cut("*", node.host(), mended);
      if (kind == 5) one.freeze(victim, lasting);
      if (kind == 6) node.lose_power();
      if (kind == 7) one.network().reset(node.host());
      if (kind != 8) return;
      Parts parts(2);
      for (std::size_t at = 0; at < one.count(); ++at) parts[(sides >> at) & 1U].push_back(at);
      cut(one, parts, mended);
    });
  }
  job->unquiet(60s);
  job->run_to_end(1500s);
  return {job->faults(), job->story()};
}

TEST(Majority, NeverRunsTwoPartsWhateverChanceDoes) { play_seeds(wanted_seeds(10'000), play_troubles); }

}  // namespace launch::majority_sim_test
