#include "launch/core/events/event_text.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::event_text_test {

using namespace std::chrono_literals;

TEST(EventText, TheNodesMeet) {
  EXPECT_EQ(to_text(JobStarted{"0.1.0", "t.py", {"python3", "-u", "t.py"}, 2, 1}),
            "launch 0.1.0 starts t.py: 2 nodes, 1 worker on this node");
  Round round;
  round.assignment.group_rank = NodeRank(1);
  round.assignment.group_world_size = 2;
  round.assignment.base_global_rank = GlobalRank(4);
  round.assignment.world_size = 8;
  round.restarts = 2;
  EXPECT_EQ(to_text(RendezvousFormed{round, 1500ms}),
            "2 nodes joined after 1.5 s; this is node 1, its first rank is 4 of 8; restart 2");
}

TEST(EventText, WorkersBeginAndEnd) {
  const WorkerStarted worker{GlobalRank(5), LocalRank(1), 4711};
  EXPECT_EQ(to_text(worker), "rank 5 (local rank 1), pid 4711: started");
  EXPECT_EQ(to_text(WorkerOver{worker, {ExitStatus::Kind::exited, 7}, 60s}),
            "rank 5 (local rank 1), pid 4711: exit code 7 after 60 s");
  EXPECT_EQ(to_text(WorkerOver{worker, {ExitStatus::Kind::signalled, SIGSEGV}, 20ms}),
            "rank 5 (local rank 1), pid 4711: signal 11 (SIGSEGV) after 20 ms");
}

TEST(EventText, TheEnd) {
  EXPECT_EQ(to_text(Stopping{SIGTERM, "rank 0: exit code 1"}), "the workers get SIGTERM: rank 0: exit code 1");
  EXPECT_EQ(to_text(Progressed{{5, 5, 2.0}}), "step 5, 2/s");
  EXPECT_EQ(to_text(Progressed{{5, 7, std::nullopt}}), "step 7; the last worker is at step 5");
  EXPECT_EQ(to_text(StartedUp{64, 14300ms, std::nullopt, {}}),
            "all 64 ranks of the job have joined, 14 s after the first exec");
  EXPECT_EQ(to_text(Killing{1}), "1 process left, SIGKILL is sent");
  EXPECT_EQ(to_text(Killing{3}), "3 processes left, SIGKILL is sent");
  Failure failure;
  failure.node_rank = NodeRank(1);
  failure.host = "n1";
  failure.what = "exit code 7";
  EXPECT_EQ(to_text(PeerFailure{failure}), "told of a failure: node 1 (host n1): exit code 7");
  EXPECT_EQ(to_text(JobEnded{7, failure}), "the job has ended, exit code 7");
}

TEST(EventText, WhoAsksForWhat) {
  EXPECT_EQ(to_text(UserAsked{"stacks", "launch-ctl (pid 7 on n1)"}), "launch-ctl (pid 7 on n1) asks for stacks");
}

TEST(EventText, ARestartIsSaidAnyway) { EXPECT_EQ(to_text(Restarting{"rank 0: exit code 1", 1}), ""); }

}  // namespace launch::event_text_test
