// Many whole nodes: what a thousand and ten thousand of them cost, and that they come together.
#include "whole_job.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include <gtest/gtest.h>

namespace launch::crowd_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::Plan;

constexpr int crowd = 10'000;
constexpr int company = 1000;
constexpr int most_beats = 1100;  // within a second

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class Crowd {
 public:
  explicit Crowd(int nodes, int fewest) : job_(1, scenario(nodes, fewest)) {
    for (int i = 0; i < nodes; ++i) job_.events().in(job_.events().random().between(1us, 1s), [this] { come(); });
    start_ = job_.events().now();
    job_.events().run_until(later(start_, 1s));
  }

  WholeJob& job() { return job_; }
  Duration taken() { return job_.events().now() - start_; }
  double cpu() const { return cpu_seconds() - begin_; }

  void come() {
    job_.add([this](const Round&) { return Plan{.obeys_after = job_.events().random().between(1ms, 300ms)}; }).start();
  }

 private:
  static WholeScenario scenario(int nodes, int fewest) {
    WholeScenario scenario;
    scenario.moves = nodes < 10'000;  // each node then has a store and a connection more
    scenario.elastic = true;
    scenario.hosting = Hosting::launch;
    scenario.nodes = nodes;
    scenario.fewest = fewest;
    scenario.max_restarts = 1000;
    scenario.heartbeat = 5s;
    scenario.longest_delay = 1ms;
    return scenario;
  }

  double begin_ = cpu_seconds();
  WholeJob job_;
  Time start_{};
};

TEST(CrowdSim, TenThousandNodesJoin) {
  Crowd crowd_of_nodes(crowd, crowd);
  WholeJob& job = crowd_of_nodes.job();
  EXPECT_TRUE(job.run_until_together(4s));
  EXPECT_EQ(job.faults(), std::vector<std::string>());
  EXPECT_EQ(job.alive().size(), static_cast<std::size_t>(crowd));
  const Duration taken = crowd_of_nodes.taken();
  constexpr int seconds = 20;
  const int requests = job.requests();
  job.events().run_until(later(job.events().now(), 1s * seconds));
  EXPECT_LE((job.requests() - requests) / seconds, most_beats);
  EXPECT_LT(crowd_of_nodes.cpu(), 60);
  std::printf("%d nodes are together after %s; %.1f s of CPU\n", crowd, to_text(taken).c_str(), crowd_of_nodes.cpu());
}

// Losses of all kinds, workers that fail, and newcomers. Each time all come together again before the next event.
TEST(CrowdSim, AThousandNodesUnderFailures) {
  Crowd company_of_nodes(company, company * 9 / 10);
  WholeJob& job = company_of_nodes.job();
  play::Events& events = job.events();
  ASSERT_TRUE(job.run_until_together(5s));
  const int losses = company / 100;
  const int others = company / 200;
  Duration worst{};
  for (int i = 0; i < losses + 2 * others; ++i) {
    events.run_until(later(events.now(), events.random().between(100ms, 2s)));
    const auto nodes = job.alive();
    play::AgentHost& victim = job.node(nodes[events.random().next() % nodes.size()]);
    const Time then = events.now();
    Duration unnoticed{};
    if (i % 4 == 0) {
      victim.fail_workers(false);
    } else if (i % 4 == 2) {
      company_of_nodes.come();
    } else if (i % 8 == 1) {
      victim.kill();
    } else {
      victim.lose_power();
      unnoticed = job.missed_after();
    }
    // So that all have heard of it.
    events.run_until(later(events.now(), std::max<Duration>(unnoticed, 10ms)));
    ASSERT_TRUE(job.run_until_together(5s)) << "after event " << i;
    worst = std::max(worst, events.now() - then - unnoticed);
  }
  EXPECT_EQ(job.faults(), std::vector<std::string>());
  std::printf("%d nodes, %d losses: together again after %s at most; %s in all; %.1f s of CPU\n", company, losses,
              to_text(worst).c_str(), to_text(company_of_nodes.taken()).c_str(), company_of_nodes.cpu());
}

}  // namespace launch::crowd_sim_test
