// The node that hosts the store of a c10d job is lost, and the others go on.
#include "choices.hpp"
#include "whole_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace launch::succession_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::Plan;

constexpr Duration time_to_end = 200s;

struct Job {
  int nodes = 3;
  int fewest = 1;
  int restarts = 0;
  int spares = 0;
  Duration shutdown = 15s;
  std::function<Plan(std::size_t node)> plan = [](std::size_t) { return Plan{5s, 0}; };
};

std::unique_ptr<WholeJob> start(const Job& story, std::uint64_t seed) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.nodes = story.nodes;
  scenario.fewest = story.fewest;
  scenario.max_restarts = story.restarts;
  scenario.shutdown = story.shutdown;
  auto job = std::make_unique<WholeJob>(seed, scenario);
  job->allow_different_ends();
  for (int i = 0; i < story.nodes + story.spares; ++i) {
    job->add([plan = story.plan, i](const Round&) { return plan(static_cast<std::size_t>(i)); });
    const Duration after = i < story.nodes ? job->events().random().between(1us, 300ms) : Duration(2s);
    job->events().in(after, [&one = *job, i] { one.node(static_cast<std::size_t>(i)).start(); });
  }
  return job;
}

// Everybody who lives ends well.
void expect_well(WholeJob& job, std::size_t from) {
  for (std::size_t i = from; i < job.count(); ++i)
    if (job.node(i).exit_code() != 0) job.fault(job.node(i).host() + " does not end well");
}

void run_until_dead(WholeJob& job, std::size_t node, bool& together) {
  while (job.node(node).alive() && job.events().now() < Time(1h) + time_to_end) {
    together = job.together();
    job.events().run_until(job.events().now() + 1ms);
  }
}

// The host is killed after its k-th action, for every k.
void kill_the_host(const Job& story) {
  SCOPED_TRACE(fmt::format("{} nodes, {} restarts", story.nodes, story.restarts));
  bool crashed = true;
  int moves = 0;
  for (std::uint64_t step = 1; crashed; ++step) {
    const auto job = start(story, step);
    job->launch_node(0).kill_after(step);
    bool together = false;
    run_until_dead(*job, 0, together);
    job->unquiet(10s);
    job->run_to_end(time_to_end);
    crashed = !job->node(0).exit_code().has_value();
    if (crashed && together) expect_well(*job, 1);
    if (crashed && together && !job->node(1).moved().empty()) ++moves;
    ASSERT_EQ(job->faults(), std::vector<std::string>()) << "killed after action " << step << "\n" << job->story();
    ASSERT_LT(step, 2000U);
  }
  EXPECT_GT(moves, 0);
}

TEST(Succession, GoesOnAtWhateverMomentTheHostIsKilled) {
  for (int nodes = 2; nodes <= 5; ++nodes)
    for (const int restarts : {0, 2}) kill_the_host({nodes, 1, restarts});
}

TEST(Succession, GoesOnWithASpareInThePlaceOfTheHost) { kill_the_host({3, 3, 1, 1}); }

// Then the next host is killed after its k-th action since. Of three nodes the last one has no majority if it was not
// at the next host before that ended.
TEST(Succession, GoesOnAtWhateverMomentTheNextHostIsKilled) {
  for (int nodes = 3; nodes <= 5; ++nodes) {
    SCOPED_TRACE(fmt::format("{} nodes", nodes));
    bool crashed = true;
    for (std::uint64_t step = 1; crashed; ++step) {
      const auto job = start({nodes}, step);
      ASSERT_TRUE(job->run_until_together(60s)) << job->story();
      job->events().run_until(job->events().now() + 100ms);
      job->launch_node(1).kill_after(job->launch_node(1).steps() + step);
      job->node(0).kill();
      bool together = false;
      run_until_dead(*job, 1, together);
      job->unquiet(10s);
      job->run_to_end(time_to_end);
      crashed = !job->node(1).exit_code().has_value();
      if (crashed && step < 60 && nodes > 3) expect_well(*job, 2);
      ASSERT_EQ(job->faults(), std::vector<std::string>()) << "killed after action " << step << "\n" << job->story();
      ASSERT_LT(step, 2000U);
    }
  }
}

// Nobody knows that the next host has ended, too: the others go on if they are more than half of the rest, once its
// workers must have ended.
TEST(Succession, TwoHostsAreKilledAtTheSameMoment) {
  for (int nodes = 3; nodes <= 5; ++nodes) {
    const auto job = start({nodes}, 1);
    ASSERT_TRUE(job->run_until_together(60s));
    job->node(0).kill();
    job->node(1).kill();
    job->unquiet(100s);
    job->run_to_end(30s);
    EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
    if (nodes > 3) {
      expect_well(*job, 2);
    } else {
      EXPECT_EQ(job->node(2).exit_code(), 1);
    }
    const std::vector<HostMoved>& moved = job->node(2).moved();
    ASSERT_EQ(moved.size(), nodes > 3 ? 1U : 0U) << "told when the next round has formed";
    if (moved.empty()) continue;
    EXPECT_EQ(moved[0].from, "n0");
    EXPECT_EQ(moved[0].to, "n2");
    EXPECT_EQ(moved[0].term, 2);
  }
}

// n3 sees the end of the host, but a firewall keeps it from the doors of the others. Its workers save for long.
TEST(Succession, WorkersOfANodeThatCannotReachTheNextHostHaveEndedBeforeTheOthersGoOn) {
  const auto job = start({4, 1, 0, 0, 300s, [](std::size_t) { return Plan{100s, 0, 200s}; }}, 1);
  ASSERT_TRUE(job->run_until_together(60s));
  const Time mended = later(job->events().now(), 400s);
  for (const char* const other : {"n1", "n2"}) {
    job->network().cut("n3", other, mended);
    job->network().cut(other, "n3", mended);
  }
  job->node(0).kill();
  job->unquiet(400s);
  job->run_to_end(100s);
  EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
  for (const std::size_t i : {1U, 2U}) EXPECT_EQ(job->node(i).exit_code(), 0) << job->story();
  EXPECT_NE(job->node(3).exit_code(), 0);
}

// The host's own workers end at once.
TEST(Succession, AHostThatLeavesWaitsForThoseWhoWereToldToStopToo) {
  const auto job = start({3, 1, 0, 0, 30s, [](std::size_t i) { return Plan{60s, 0, i == 0 ? 100ms : 10000ms}; }}, 1);
  ASSERT_TRUE(job->run_until_together(60s));
  const Time told = job->events().now();
  for (const std::size_t i : {0U, 1U, 2U}) job->node(i).signal(SIGTERM);
  job->unquiet(20s);
  job->events().run_until(later(told, 9s));
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_TRUE(job->node(i).alive()) << i;
  for (const std::size_t i : {1U, 2U}) EXPECT_TRUE(job->launch_node(i).running()) << i;
  job->run_to_end(30s);
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_EQ(job->node(i).exit_code(), 128 + SIGTERM);
  EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
}

// The others are told a little later, as by a scheduler, or not at all: nobody has said "leave" when the host could go.
TEST(Succession, AHostThatLeavesCutsNobodysTime) {
  for (const bool told_later : {true, false}) {
    const auto job = start({3, 1, 0, 0, 300s,
                            [](std::size_t i) {
                              return Plan{600s, 0, i == 0 ? 100ms : 100000ms};
                            }},
                           1);
    ASSERT_TRUE(job->run_until_together(60s));
    const Time told = job->events().now();
    job->node(0).signal(SIGTERM);
    job->events().run_until(later(told, 1s));
    for (const std::size_t i : {1U, 2U})
      if (told_later) job->node(i).signal(SIGTERM);
    job->unquiet(200s);
    job->events().run_until(later(told, 99s));
    for (const std::size_t i : {1U, 2U}) EXPECT_TRUE(job->launch_node(i).running()) << i;
    job->run_to_end(900s);
    EXPECT_EQ(job->node(0).exit_code(), 128 + SIGTERM);
    for (const std::size_t i : {1U, 2U}) EXPECT_EQ(job->node(i).exit_code(), told_later ? 128 + SIGTERM : 0);
    EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
  }
}

// The host is killed while the workers of the others, which were told to stop, still save.
TEST(Succession, TheEndOfTheHostCutsTheTimeOfWorkersThatSaveNoMoreThanItMust) {
  const auto job = start({3, 1, 0, 0, 30s, [](std::size_t) { return Plan{60s, 0, 10s}; }}, 1);
  ASSERT_TRUE(job->run_until_together(60s));
  const Time told = job->events().now();
  for (const std::size_t i : {0U, 1U, 2U}) job->node(i).signal(SIGTERM);
  job->events().run_until(later(told, 1s));
  job->node(0).kill();
  job->unquiet(20s);
  job->events().run_until(later(told, 9s));
  for (const std::size_t i : {1U, 2U}) EXPECT_TRUE(job->launch_node(i).running()) << i;
  job->run_to_end(30s);
  for (const std::size_t i : {1U, 2U}) EXPECT_EQ(job->node(i).exit_code(), 128 + SIGTERM);
}

// A firewall on the others resets their connections to the host, which lives, and refuses new ones.
TEST(Succession, AResetIsNoEndOfTheHost) {
  const auto job = start({3, 1, 0, 0, 15s, [](std::size_t) { return Plan{100s, 0}; }}, 1);
  ASSERT_TRUE(job->run_until_together(60s));
  for (const char* const other : {"n1", "n2"}) job->network().reject(other, "n0");
  job->unquiet(100s);
  job->run_to_end(200s);
  EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
  EXPECT_EQ(job->node(0).exit_code(), 0);
  for (const std::size_t i : {1U, 2U}) EXPECT_TRUE(job->node(i).moved().empty()) << job->story();
}

// It hears of the failure and of the end of the host when it wakes.
TEST(Succession, ANodeThatStoodStillWhileTheJobFailedDoesNotRunItAgain) {
  for (const std::size_t nodes : {2U, 3U}) {
    const auto plan = [](std::size_t i) { return i == 0 ? Plan{5s, 3} : Plan{100s, 0}; };
    const auto job = start({static_cast<int>(nodes), 1, 0, 0, 2s, plan}, 1);
    ASSERT_TRUE(job->run_until_together(60s));
    const int started = job->started_rounds();
    job->freeze(nodes - 1, 25s);
    job->unquiet(60s);
    job->run_to_end(200s);
    EXPECT_EQ(job->started_rounds(), started) << job->story();
    EXPECT_EQ(job->node(0).exit_code(), 3);
    EXPECT_NE(job->node(nodes - 1).exit_code(), 0);
    EXPECT_TRUE(job->node(nodes - 1).moved().empty()) << job->story();
  }
}

TEST(Succession, TheHostLeavesWhenItIsToldTo) {
  const auto job = start({3}, 1);
  ASSERT_TRUE(job->run_until_together(60s));
  job->node(0).signal(SIGTERM);
  job->unquiet(10s);
  job->run_to_end(30s);
  EXPECT_EQ(job->node(0).exit_code(), 128 + SIGTERM);
  expect_well(*job, 1);
  EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
}

TEST(Succession, EndsWithTheHostWhereTheOthersAreTooFew) {
  const auto job = start({3, 3, 1}, 1);
  ASSERT_TRUE(job->run_until_together(60s));
  job->node(0).kill();
  job->unquiet(10s);
  job->run_to_end(30s);
  for (const std::size_t i : {1U, 2U}) EXPECT_EQ(job->node(i).exit_code(), 1);
  EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
}

// ---- the launch of the old host is started again with the same line

play::NodeHost& start_again(WholeJob& job, const std::string& host = "n0") {
  job.reuse_host(host);
  play::NodeHost& node = job.add([](const Round&) { return Plan{20s, 0}; });
  node.start();
  return node;
}

void lose(WholeJob& job, std::size_t node) {
  const std::size_t left = job.alive().size() - 1;
  job.node(node).kill();
  ASSERT_TRUE(job.events().run_until([&] { return job.alive().size() == left && job.together(); }, 60s)) << job.story();
}

bool has_said(const play::NodeHost& node, const std::string& words) {
  const auto says = [&](const std::string& line) { return line.find(words) != std::string::npos; };
  return std::any_of(node.lines().begin(), node.lines().end(), says);
}

TEST(Succession, AHostThatIsStartedAgainJoinsTheJobThatLives) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto job = start({4, 1, 0, 0, 15s, [](std::size_t) { return Plan{20s, 0}; }}, seed);
    ASSERT_TRUE(job->run_until_together(60s));
    lose(*job, 0);
    job->events().run_until(later(job->events().now(), job->events().random().between(1ms, 2s)));
    const play::NodeHost& again = start_again(*job);
    job->unquiet(20s);
    job->run_to_end(100s);
    EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
    for (const std::size_t i : {1U, 2U, 3U, 4U}) EXPECT_EQ(job->node(i).exit_code(), 0) << job->story();
    EXPECT_TRUE(has_said(again, "lives elsewhere")) << job->story();
  }
}

// Nobody could tell it before it had formed a round of its own, with another node that was started again, too.
TEST(Succession, AJobThatWasFoundedTwiceBecomesOne) {
  const auto job = start({5, 1, 0, 0, 15s, [](std::size_t) { return Plan{60s, 0}; }}, 1);
  ASSERT_TRUE(job->run_until_together(60s));
  for (const std::size_t i : {4U, 0U}) lose(*job, i);
  const Time mended = later(job->events().now(), 10s);
  job->network().cut("n0", "n1", mended);
  job->network().cut("n1", "n0", mended);
  const play::NodeHost& host = start_again(*job);
  const play::NodeHost& member = start_again(*job, "n4");
  job->events().run_until(later(mended, -1s));
  EXPECT_TRUE(host.running() && member.running()) << job->story();
  EXPECT_TRUE(job->events().run_until([&] { return job->together(); }, 10s)) << job->story();
  EXPECT_TRUE(host.running() && member.running());
  job->unquiet(60s);
  job->run_to_end(100s);
  for (const std::size_t i : {1U, 2U, 3U, 5U, 6U}) EXPECT_EQ(job->node(i).exit_code(), 0) << job->story();
  EXPECT_TRUE(has_said(host, "lives elsewhere") && has_said(member, "lives elsewhere")) << job->story();
}

// n2 and n3 cannot reach n1 when n0 is killed. n1 has half of the nodes that are left, with the lowest rank, or not.
TEST(Succession, OnlyOnePartOfACutNetworkGoesOn) {
  for (const bool with_n4 : {true, false}) {
    const auto job = start({5}, 1);
    ASSERT_TRUE(job->run_until_together(60s));
    const Time mended = later(job->events().now(), 300s);
    for (const char* const one : {"n1", "n4"}) {
      if (one == std::string("n4") && !with_n4) continue;
      for (const char* const other : {"n2", "n3"}) {
        job->network().cut(one, other, mended);
        job->network().cut(other, one, mended);
      }
    }
    job->node(0).kill();
    job->unquiet(300s);
    job->run_to_end(300s);
    EXPECT_EQ(job->faults(), std::vector<std::string>()) << job->story();
    EXPECT_EQ(job->node(1).exit_code(), 0) << job->story();
    EXPECT_EQ(job->node(4).exit_code(), 0) << job->story();
    for (const std::size_t i : {2U, 3U}) EXPECT_NE(job->node(i).exit_code(), 0) << job->story();
  }
}

// Hosts and others are killed, told to leave, cut off and paused, one after the other.
Played play_troubles(std::uint64_t seed, Choices& choices) {
  const int nodes = 2 + static_cast<int>(choices.below(5));
  const int restarts = choices.odds(0.5) ? 3 : 0;
  const auto job = start({nodes, 1, restarts, static_cast<int>(choices.below(2))}, seed);
  const std::size_t troubles = 1 + choices.below(4);
  for (std::size_t i = 0; i < troubles; ++i) {
    const std::size_t victim = choices.odds(0.5) ? i % job->count() : choices.below(job->count());
    const std::size_t kind = choices.below(5);
    const Duration lasting = choices.between(10ms, 40s);
    job->events().in(choices.between(1ms, 8s), [&one = *job, victim, kind, lasting] {
      play::NodeHost& node = one.launch_node(victim);
      if (!node.alive()) return;
      one.unquiet(lasting + 60s);
      one.events().note(fmt::format("TROUBLE {} for {}: {}", kind, to_text(lasting), node.host()));
      const Time mended = later(one.events().now(), lasting);
      if (kind <= 1) node.kill();
      if (kind == 2) node.signal(SIGTERM);
      if (kind == 3) one.network().cut(node.host(), "*", mended);
      if (kind == 3) one.network().cut("*", node.host(), mended);
      if (kind == 4) one.freeze(victim, lasting);
    });
  }
  job->unquiet(60s);
  job->run_to_end(900s);
  return {job->faults(), job->story()};
}

TEST(Succession, NeverRunsTwoPartsWhateverChanceDoes) { play_seeds(wanted_seeds(1000), play_troubles); }

}  // namespace launch::succession_sim_test
