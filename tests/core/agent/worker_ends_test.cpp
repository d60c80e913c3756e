#include "launch/core/agent/worker_ends.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::worker_ends_test {

constexpr ExitStatus ok{ExitStatus::Kind::exited, 0};
constexpr ExitStatus seven{ExitStatus::Kind::exited, 7};
constexpr ExitStatus terminated{ExitStatus::Kind::signalled, SIGTERM};

WorkerEnds ends_of(const std::vector<ExitStatus>& statuses) {
  WorkerEnds ends;
  int rank = static_cast<int>(statuses.size());
  for (const ExitStatus& status : statuses) ends.add({.rank = GlobalRank(--rank), .status = status});
  return ends;
}

Failure failure_of(Failure::Kind kind, int node, int code) {
  Failure failure;
  failure.kind = kind;
  failure.node_rank = NodeRank(node);
  failure.exit_code = code;
  failure.rank = GlobalRank(0);
  return failure;
}

TEST(WorkerEnds, OneExitCodeForAll) {
  using enum Failure::Kind;
  struct Row {
    std::vector<ExitStatus> ends;
    std::optional<Failure> first;
    int code;
  };
  const Row rows[] = {
      {{ok, ok}, {}, 0},
      {{ok, ok}, failure_of(worker, 1, 9), 0},
      {{ok, seven}, {}, 7},
      {{terminated, seven}, failure_of(worker, 1, 9), 143},
      {{terminated, seven}, failure_of(worker, 0, 7), 7},
      {{}, failure_of(start, 0, 126), 126},
      {{}, failure_of(start, 1, 126), 143},
      {{ok}, failure_of(signal, 0, 130), 143},
      {{ok, ok}, failure_of(signal, 0, 130), 0},
  };
  for (const Row& row : rows) EXPECT_EQ(ends_of(row.ends).exit_code(2, NodeRank(0), row.first), row.code);
}

TEST(WorkerEnds, TheOthersAreAllButTheWorkerThatFailedFirstByRank) {
  const WorkerEnds ends = ends_of({ok, seven, terminated});
  const auto here = ends.others(NodeRank(0), failure_of(Failure::Kind::worker, 0, 143));
  ASSERT_EQ(here.size(), 2U);
  EXPECT_EQ(here[0].rank, GlobalRank(1));
  EXPECT_EQ(here[1].status, ok);
  EXPECT_EQ(ends.others(NodeRank(0), failure_of(Failure::Kind::worker, 1, 7)).size(), 3U) << "it was on another node";
  EXPECT_EQ(ends.others(NodeRank(0), std::nullopt).size(), 3U);
}

TEST(WorkerEnds, ForgetsTheLastRound) {
  WorkerEnds ends = ends_of({seven});
  ends.clear();
  ends.add({.status = ok});
  EXPECT_EQ(ends.exit_code(1, NodeRank(0), std::nullopt), 0);
}

}  // namespace launch::worker_ends_test
