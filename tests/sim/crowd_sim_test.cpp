// Many nodes: what a thousand and ten thousand of them cost, and that they come together.
#include "job.hpp"

#include <cstdio>
#include <ctime>

#include <gtest/gtest.h>

namespace launch::sim::crowd_sim_test {

using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__)
constexpr int crowd = 300;
constexpr int company = 60;
#else
constexpr int crowd = 10'000;
constexpr int company = 1000;
#endif

constexpr Scenario calm{.faults = false};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void expect_no_fault(const Job& job) { ASSERT_TRUE(job.referee().faults().empty()) << job.referee().faults().front(); }

TEST(CrowdSim, TenThousandNodesJoin) {
  const double begin = cpu_seconds();
  Job job(1, calm, {crowd, crowd});
  World& world = job.world();
  const Time start = world.now();
  for (int i = 0; i < crowd; ++i) job.add_at(start + world.random().between(1us, 1s));
  world.run_until(start + 1s);
  EXPECT_TRUE(job.run_until_together(4s));
  expect_no_fault(job);
  EXPECT_EQ(job.alive().size(), static_cast<std::size_t>(crowd));
  const double cpu = cpu_seconds() - begin;
  EXPECT_LT(cpu, 60);
  std::printf("%d nodes are together after %s; %.1f s of CPU\n", crowd, to_text(world.now() - start).c_str(), cpu);
}

// Losses of all kinds, workers that fail, and newcomers; each time they come together before the next.
TEST(CrowdSim, AThousandNodesUnderFailures) {
  const double begin = cpu_seconds();
  Job job(1, calm, {company * 9 / 10, company});
  World& world = job.world();
  const Time start = world.now();
  for (int i = 0; i < company; ++i) job.add_at(start + world.random().between(1us, 1s));
  world.run_until(start + 1s);
  ASSERT_TRUE(job.run_until_together(5s));
  const int losses = company / 50;
  const int others = company / 100;
  Duration worst{};
  for (int i = 0; i < losses + 2 * others; ++i) {
    world.run_until(world.now() + world.random().between(100ms, 10s));
    const auto nodes = job.alive();
    SimAgent& victim = *nodes[world.below(nodes.size())];
    const Time then = world.now();
    Duration unnoticed{};
    if (i % 4 == 0) {
      victim.fail_worker();
    } else if (i % 4 == 2) {
      job.add();
    } else if (i % 8 == 1) {
      victim.kill();
    } else {
      victim.unplug();
      unnoticed = silent_at_most;
    }
    world.run_until(world.now() + unnoticed + 500ms);  // so that all have heard of it
    ASSERT_TRUE(job.run_until_together(1s)) << "after event " << i;
    for (const SimAgent* agent : job.alive())
      if (agent->round()) worst = std::max(worst, agent->formed_at() - then - unnoticed);
  }
  expect_no_fault(job);
  std::printf("%d nodes, %d losses: together again after %s at most; %s in all; %.1f s of CPU\n", company, losses,
              to_text(worst).c_str(), to_text(world.now() - start).c_str(), cpu_seconds() - begin);
}

}  // namespace launch::sim::crowd_sim_test
