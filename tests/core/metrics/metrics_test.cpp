#include "launch/core/metrics/metrics.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::metrics_test {

using namespace std::chrono_literals;
using testing::HasSubstr;
using State = Metrics::WorkerState;

// A node of two workers to which things happen.
class MetricsTest : public testing::Test {
 protected:
  void at(Duration time, const JobEvent& event) { count(metrics_, event, Time(time)); }

  void form(Duration time, int nodes, std::int64_t number = 0) {
    Round round;
    round.assignment.group_rank = NodeRank(1);
    round.assignment.group_world_size = nodes;
    round.assignment.world_size = 2 * nodes;
    round.number = number;
    at(time, RendezvousFormed{round, {}});
  }
  void start(Duration time, int local_rank) {
    at(time, WorkerStarted{GlobalRank(2 + local_rank), LocalRank(local_rank), 7});
  }
  void start_all(Duration time) {
    start(time, 0);
    start(time, 1);
  }
  void end(Duration time, int local_rank, ExitStatus status) {
    at(time, WorkerOver{{GlobalRank(2 + local_rank), LocalRank(local_rank), 7}, status, {}});
  }
  int workers(State state) const { return metrics_.count(state); }
  std::string why() const { return readiness(metrics_).text; }

  Metrics metrics_ = new_metrics("job", "n1", 2);
};

constexpr ExitStatus well{ExitStatus::Kind::exited, 0};
constexpr ExitStatus fails{ExitStatus::Kind::exited, 7};
constexpr ExitStatus killed{ExitStatus::Kind::signalled, SIGKILL};

TEST_F(MetricsTest, CountsWorkersByState) {
  form(1s, 2);
  EXPECT_EQ(2, workers(State::not_started));
  start_all(2s);
  EXPECT_EQ(2, workers(State::running));
  end(3s, 0, well);
  end(4s, 1, killed);
  EXPECT_EQ(1, workers(State::ended));
  EXPECT_EQ(1, workers(State::failed));
  EXPECT_EQ(1U, metrics_.exits.at({ExitStatus::Kind::exited, 0}));
  EXPECT_EQ(1U, metrics_.exits.at({ExitStatus::Kind::signalled, SIGKILL}));
  EXPECT_EQ(NodeRank(1), metrics_.node_rank);
}

TEST_F(MetricsTest, RecoveryIsFromTheLastEndToTheLastStart) {
  form(0s, 2);
  start_all(1s);
  end(10s, 1, fails);
  end(12s, 0, killed);
  at(13s, Restarting{"rank 3 failed", 1});
  form(14s, 2, 1);
  EXPECT_EQ(0U, metrics_.recovery.count());
  start(15s, 0);
  start(16s, 1);
  EXPECT_EQ(1U, metrics_.recovery.count());
  EXPECT_DOUBLE_EQ(4, metrics_.recovery.sum());
  EXPECT_EQ(1U, metrics_.restarts_after_failure);
  EXPECT_EQ(0U, metrics_.restarts_by_membership);
  EXPECT_EQ(1, metrics_.round.number);
}

TEST_F(MetricsTest, TheFirstStartIsNoRecovery) {
  form(0s, 2);
  start_all(9s);
  EXPECT_EQ(0U, metrics_.recovery.count());
}

TEST_F(MetricsTest, NodesThatJoinAndLeaveAreCounted) {
  form(0s, 4);
  EXPECT_EQ(0U, metrics_.nodes_joined);  // it is the first round
  at(1s, Restarting{"a node left", 0});
  form(2s, 2);
  at(3s, Restarting{"a node joined", 0});
  form(4s, 3);
  EXPECT_EQ(2U, metrics_.nodes_left);
  EXPECT_EQ(1U, metrics_.nodes_joined);
  EXPECT_EQ(2U, metrics_.restarts_by_membership);
  EXPECT_EQ(0U, metrics_.restarts_after_failure);
}

TEST_F(MetricsTest, ARestartThatAUserAsksForIsOfItsOwnKind) {
  form(0s, 2);
  at(1s, Restarting{"a restart was asked for", 0, true});
  EXPECT_EQ(1U, metrics_.restarts_asked);
  EXPECT_EQ(0U, metrics_.restarts_by_membership);
  EXPECT_EQ(0U, metrics_.restarts_after_failure);
}

TEST_F(MetricsTest, ReadyMeansThatAllWorkersRun) {
  EXPECT_THAT(why(), HasSubstr("looking for the other nodes"));
  form(0s, 2);
  EXPECT_EQ("0 of 2 workers have been started", why());
  start(1s, 0);
  EXPECT_EQ("1 of 2 workers have been started", why());
  start(1s, 1);
  EXPECT_TRUE(readiness(metrics_).ready);
  EXPECT_EQ("2 workers of this node run", why());
  end(2s, 0, well);
  EXPECT_FALSE(readiness(metrics_).ready);
  EXPECT_EQ("1 of 2 workers ended well", why());
  end(2s, 1, fails);
  EXPECT_EQ("1 worker of this node failed, first of all local rank 1 with exit code 7", why());
  at(3s, Restarting{"", 1});
  EXPECT_EQ("all workers are being restarted", why());
  form(4s, 2);
  start_all(5s);
  EXPECT_TRUE(readiness(metrics_).ready);
  at(6s, JobEnded{7, {}});
  EXPECT_EQ("the job has ended with exit code 7", why());
  EXPECT_FALSE(readiness(metrics_).ready);
}

}  // namespace launch::metrics_test
