#include "launch/core/node/node.hpp"

#include "../../support/configs.hpp"
#include "../../support/node_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace launch::node_test {

using namespace play;
using namespace std::chrono_literals;

struct Nodes {
  explicit Nodes(int count, int max_restarts = 0) {
    for (int rank = 0; rank < count; ++rank) {
      Config config = static_config(rank, count, 2);
      config.restarts.max_restarts = max_restarts;
      config.answers_asks = true;
      plans.push_back(Plan());
      const auto planner = [this, rank](const Round& round) {
        return round.restarts == 0 ? plans[static_cast<std::size_t>(rank)] : later_plan;
      };
      Eyes eyes;
      eyes.fault = [](const std::string& fault) { ADD_FAILURE() << fault; };
      nodes.push_back(std::make_unique<NodeHost>(network, std::move(config), planner, std::move(eyes)));
    }
  }
  bool all_end(Duration limit) {
    for (const auto& node : nodes) node->start();
    return events.run_until(
        [&] { return std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return !node->alive(); }); },
        limit);
  }
  std::vector<std::optional<int>> codes() const {
    std::vector<std::optional<int>> result;
    for (const auto& node : nodes) result.push_back(node->exit_code());
    return result;
  }

  Events events{1};
  Network network{events};
  std::vector<Plan> plans;
  Plan later_plan;
  std::vector<std::unique_ptr<NodeHost>> nodes;
};

using Codes = std::vector<std::optional<int>>;

TEST(Node, AJobWhoseWorkersEndWellEndsWith0Everywhere) {
  Nodes job(3);
  for (Plan& plan : job.plans) plan.ends_after = 5s;
  job.plans[1].ends_after = 50s;
  EXPECT_TRUE(job.all_end(60s));
  EXPECT_EQ(job.codes(), (Codes{0, 0, 0}));
}

TEST(Node, OneAsksTheOthersWhileWorkersRunAndAfterTheirEnd) {
  Nodes job(3);
  for (Plan& plan : job.plans) plan.ends_after = 5s;
  job.plans[0].ends_after = 20s;
  for (const Duration at : {2s, 10s}) job.events.in(at, [&job] { job.nodes[2]->ask("it"); });
  EXPECT_TRUE(job.all_end(30s));
  EXPECT_EQ(job.codes(), (Codes{0, 0, 0}));
  ASSERT_EQ(job.nodes[2]->answered().size(), 2U);
  for (const JobAnswered& answered : job.nodes[2]->answered()) {
    ASSERT_EQ(answered.answers.size(), 2U);
    EXPECT_EQ(answered.answers[0].text, "n0 heard it");
    EXPECT_EQ(answered.answers[1].text, "n1 heard it");
  }
}

TEST(Node, AFailureEndsAllNodesWithItsCodeAndOneVerdict) {
  Nodes job(3);
  job.plans[2] = {5s, 7};
  EXPECT_TRUE(job.all_end(10s));
  EXPECT_EQ(job.codes(), (Codes{7, 7, 7}));
  for (const auto& node : job.nodes) {
    ASSERT_TRUE(node->report());
    EXPECT_EQ(node->report()->end.first->node_rank, NodeRank(2));
    EXPECT_EQ(node->report()->end.first->rank, GlobalRank(4));
    EXPECT_EQ(node->report()->account.nodes, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(node->report()->account.stopped, 5);
  }
}

TEST(Node, HoweverLongTheirAgentLooksAtThemWorkersHaveTheirTime) {
  Nodes job(1);
  job.plans[0] = {5s, 3, 10s};
  job.plans[0].looked_at_for = 20s;  // longer than the time-out of a shutdown
  EXPECT_TRUE(job.all_end(60s));
  EXPECT_EQ(job.codes(), Codes{3});
  EXPECT_EQ(job.nodes[0]->report()->account.stopped, 1);
  EXPECT_EQ(job.nodes[0]->report()->account.killed, 0);
}

TEST(Node, WorkersThatDoNotObeyAreKilledAfterTheirTime) {
  Nodes job(2);
  job.plans[0] = {5s, 3};
  job.plans[1].obeys_after = Duration::max();
  EXPECT_TRUE(job.all_end(30s));
  EXPECT_EQ(job.codes(), (Codes{3, 3}));
  EXPECT_EQ(job.nodes[0]->report()->account.killed, 2);
}

TEST(Node, AllStartAgainTogetherAndCountItOnce) {
  Nodes job(2, 2);
  job.plans[1] = {1s, 9};
  job.later_plan.ends_after = 3s;
  EXPECT_TRUE(job.all_end(20s));
  EXPECT_EQ(job.codes(), (Codes{0, 0}));
}

TEST(Node, AKilledAgentIsTheCauseThatTheOthersName) {
  Nodes job(2);
  job.events.in(5s, [&] { job.nodes[1]->kill(); });
  EXPECT_TRUE(job.all_end(10s));
  ASSERT_TRUE(job.nodes[0]->report());
  EXPECT_EQ(job.nodes[0]->report()->end.first->kind, Failure::Kind::lost);
  EXPECT_EQ(job.nodes[0]->report()->account.nodes, std::vector<int>{0});
}

TEST(Node, OneThatIsToldToStopEndsTheJob) {
  Nodes job(2);
  job.events.in(5s, [&] { job.nodes[0]->signal(SIGTERM); });
  EXPECT_TRUE(job.all_end(10s));
  EXPECT_EQ(job.codes(), (Codes{143, 143}));
}

// What is heard while others are told waits until they are.
TEST(Node, TwoFailuresAtOnceHaveOneVerdict) {
  Nodes job(2);
  job.plans[0] = {5s, 3};
  job.plans[1] = {5s, 4};
  EXPECT_TRUE(job.all_end(10s));
  ASSERT_TRUE(job.codes()[0]);
  EXPECT_EQ(job.codes()[0], job.codes()[1]);
}

}  // namespace launch::node_test
