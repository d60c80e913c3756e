#include "launch/core/session/static_session.hpp"

#include "launch/core/job/ranks.hpp"
#include "launch/core/store/keys.hpp"

#include "../../support/meeting.hpp"
#include "../../support/talker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::static_session_test {

using namespace play;
using namespace std::chrono_literals;

struct Pair {
  explicit Pair(int max_restarts = 0) {
    for (const int rank : {0, 1}) {
      Config config = static_config(rank, 2, 2);
      config.restarts.max_restarts = max_restarts;
      nodes.push_back(&meeting.add(std::move(config)));
    }
  }

  void open_and_join() {
    for (Meeting::Node* node : nodes) {
      EXPECT_TRUE(node->session->open());
      node->session->feed(JoinRound{});
    }
  }
  void form() {
    open_and_join();
    for (Meeting::Node* node : nodes) ASSERT_TRUE(meeting.take<RendezvousDone>(*node));
  }
  Failure failure_of(int node, bool restart = false) const {
    Failure failure;
    failure.node_rank = NodeRank(node);
    failure.exit_code = 7;
    failure.restart = restart;
    failure.host = nodes[node]->config.hostname;
    return failure;
  }

  Meeting meeting;
  std::vector<Meeting::Node*> nodes;
};

TEST(StaticSession, NodesFindEachOtherInAnyOrder) {
  for (const bool host_first : {true, false}) {
    Pair job;
    if (!host_first) std::swap(job.nodes[0], job.nodes[1]);
    job.open_and_join();
    for (Meeting::Node* node : job.nodes) {
      const auto done = job.meeting.take<RendezvousDone>(*node);
      ASSERT_TRUE(done);
      EXPECT_EQ(done->round.assignment.base_global_rank, GlobalRank(2 * node->config.node_rank().value));
      EXPECT_EQ(done->round.assignment.world_size, 4);
      EXPECT_FALSE(done->round.may_leave);
      EXPECT_GT(done->round.longest_stall, 25s);
    }
  }
}

TEST(StaticSession, OtherRestartsAreSaidByTheNodeThatCameLater) {
  Meeting meeting;
  std::vector<Meeting::Node*> nodes;
  for (const int rank : {0, 1}) {
    Config config = static_config(rank, 2);
    config.restarts.max_restarts = rank;
    nodes.push_back(&meeting.add(std::move(config)));
    EXPECT_TRUE(nodes.back()->session->open());
    nodes.back()->session->feed(JoinRound{});
  }
  for (Meeting::Node* node : nodes) EXPECT_TRUE(meeting.take<RendezvousDone>(*node));
  std::vector<std::string> said = nodes[0]->session->lines();
  for (const std::string& line : nodes[1]->session->lines()) said.push_back(line);
  EXPECT_THAT(said, testing::Contains(testing::HasSubstr("the nodes differ in --max-restarts")).Times(1));
}

TEST(StaticSession, ANodeWithoutNode0GivesUpAtItsTimeOut) {
  Meeting meeting;
  Meeting::Node& node = meeting.add(static_config(1, 2));
  EXPECT_TRUE(node.session->open());
  node.session->feed(JoinRound{});
  EXPECT_FALSE(meeting.take<RendezvousFailed>(node, 899s));
  const auto failed = meeting.take<RendezvousFailed>(node, 2s);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->error.code, ErrorCode::timeout);
  EXPECT_THAT(failed->error.message, testing::HasSubstr("node 0 is missing: Connection refused"));
}

TEST(StaticSession, AFailureIsKnownOnTheOtherNodeAtOnce) {
  Pair job;
  job.form();
  job.nodes[1]->session->feed(TellOthers{job.failure_of(1)});
  const auto heard = job.meeting.take<PeerFailed>(*job.nodes[0], 10ms);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->failure, job.failure_of(1));
  EXPECT_EQ(job.nodes[1]->others_told, 1);
  EXPECT_TRUE(job.meeting.take<PeerFailed>(*job.nodes[1])) << "the node that tells learns which failure was the first";
}

TEST(StaticSession, TheFirstOfTwoFailuresIsTheOneThatBothHear) {
  Pair job;
  job.form();
  job.nodes[0]->session->feed(TellOthers{job.failure_of(0)});
  job.nodes[1]->session->feed(TellOthers{job.failure_of(1)});
  for (Meeting::Node* node : job.nodes) EXPECT_EQ(job.meeting.take<PeerFailed>(*node)->failure, job.failure_of(0));
}

TEST(StaticSession, ANodeThatGoesAwayWithoutAWordIsLost) {
  Pair job;
  job.form();
  job.nodes[1]->session->end();
  const auto heard = job.meeting.take<PeerFailed>(*job.nodes[0], 10ms);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->failure.kind, Failure::Kind::lost);
  EXPECT_EQ(heard->failure.node_rank, NodeRank(1));
}

TEST(StaticSession, AMachineThatLosesItsPowerIsLostAfterItsSilence) {
  Pair job;
  job.form();
  job.nodes[1]->session->vanish();
  job.meeting.network().power_off("n1");
  EXPECT_FALSE(job.meeting.take<PeerFailed>(*job.nodes[0], 25s));
  const auto heard = job.meeting.take<PeerFailed>(*job.nodes[0], 20s);
  ASSERT_TRUE(heard);
  EXPECT_THAT(heard->failure.what, testing::HasSubstr("no heartbeat of its launch process for 30 s"));
}

TEST(StaticSession, TheLossOfNode0IsKnownAtOnce) {
  Pair job;
  job.form();
  job.nodes[0]->session->end();
  EXPECT_TRUE(job.meeting.take<StoreLost>(*job.nodes[1], 10ms));
}

TEST(StaticSession, AllMeetInTheBarrierAndLeave) {
  Pair job;
  job.form();
  job.nodes[0]->session->feed(EnterExitBarrier{});
  EXPECT_FALSE(job.meeting.take<BarrierDone>(*job.nodes[0], 100s));
  job.nodes[1]->session->feed(EnterExitBarrier{});
  for (Meeting::Node* node : job.nodes) EXPECT_TRUE(job.meeting.take<BarrierDone>(*node));
  job.nodes[0]->session->feed(EndSession{});
  job.meeting.events().run_until(job.meeting.events().now() + 1s);
  EXPECT_FALSE(job.nodes[0]->ended) << "the store must not go before the other node has left";
  job.nodes[1]->session->feed(EndSession{});
  EXPECT_TRUE(job.meeting.events().run_until([&] { return job.nodes[0]->ended && job.nodes[1]->ended; }, 1s));
}

TEST(StaticSession, TheNextAttemptHearsNothingOfTheOneBefore) {
  Pair job(3);
  job.form();
  job.nodes[1]->session->feed(TellOthers{job.failure_of(1, true)});
  EXPECT_TRUE(job.meeting.take<PeerFailed>(*job.nodes[0]));
  EXPECT_TRUE(job.meeting.take<PeerFailed>(*job.nodes[1]));
  for (Meeting::Node* node : job.nodes) node->session->feed(JoinRound{true, 1});
  for (Meeting::Node* node : job.nodes) {
    const auto done = job.meeting.take<RendezvousDone>(*node);
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->round.can_restart);
    EXPECT_FALSE(job.meeting.take<PeerFailed>(*node));
  }
}

TEST(StaticSession, ANodeLostBetweenTwoAttemptsIsMissedInTheNext) {
  Pair job(3);
  job.form();
  job.nodes[1]->session->feed(TellOthers{job.failure_of(1, true)});
  EXPECT_TRUE(job.meeting.take<PeerFailed>(*job.nodes[0]));
  job.nodes[0]->session->feed(JoinRound{true, 1});
  job.nodes[1]->session->end();
  const auto heard = job.meeting.take<PeerFailed>(*job.nodes[0]);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->failure.kind, Failure::Kind::lost);
}

// A network that is cut off meanwhile delivers the end of the connection later: that must not pass for a good one.
TEST(StaticSession, AFailureThatCouldNotBeToldIsHeardOfAsALoss) {
  Pair job;
  job.form();
  const Time mended = job.meeting.events().now() + 10s;
  job.meeting.network().cut("*", "*", mended);
  job.nodes[1]->session->feed(TellOthers{job.failure_of(1)});
  EXPECT_TRUE(job.meeting.events().run_until([&] { return job.nodes[1]->others_told == 1; }, 5s));
  job.nodes[1]->session->feed(EndSession{true});
  job.nodes[1]->session->end();
  EXPECT_FALSE(job.meeting.take<PeerFailed>(*job.nodes[0], mended - job.meeting.events().now() - 1s));
  const auto heard = job.meeting.take<PeerFailed>(*job.nodes[0], 2s);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->failure.kind, Failure::Kind::lost);
}

TEST(StaticSession, ARestartThatCouldNotBeToldIsToldWhenTheStoreIsReachedAgain) {
  Pair job(3);
  job.form();
  job.meeting.network().cut("*", "*", job.meeting.events().now() + 10s);
  job.nodes[1]->session->feed(TellOthers{job.failure_of(1, true)});
  EXPECT_TRUE(job.meeting.events().run_until([&] { return job.nodes[1]->others_told == 1; }, 5s));
  job.nodes[1]->session->feed(JoinRound{true, 1});
  const auto heard = job.meeting.take<PeerFailed>(*job.nodes[0], 12s);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->failure, job.failure_of(1, true));
  job.nodes[0]->session->feed(JoinRound{true, 1});
  for (Meeting::Node* node : job.nodes) EXPECT_TRUE(job.meeting.take<RendezvousDone>(*node));
}

// It may have been counted in without having heard so.
TEST(StaticSession, ANodeThatGivesUpAfterTheOthersHaveBegunIsLostToThem) {
  Pair job;
  job.form();
  Failure gave_up = job.failure_of(1);
  gave_up.kind = Failure::Kind::rendezvous;
  job.nodes[1]->session->feed(TellOthers{gave_up});
  job.nodes[1]->session->feed(EndSession{true});
  job.nodes[1]->session->end();
  const auto heard = job.meeting.take<PeerFailed>(*job.nodes[0]);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->failure.kind, Failure::Kind::lost);
}

TEST(StaticSession, AccountsOfAllNodesComeTogether) {
  Pair job;
  job.form();
  job.nodes[1]->session->feed(TellOthers{job.failure_of(1)});
  for (Meeting::Node* node : job.nodes) {
    Account own;
    own.nodes = {node->config.node_rank().value};
    own.stopped = 2;
    node->session->feed(ShareAccount{own, job.failure_of(1)});
  }
  EXPECT_TRUE(job.meeting.events().run_until([&] { return job.nodes[0]->account && job.nodes[1]->account; }, 1s));
  for (Meeting::Node* node : job.nodes) EXPECT_EQ(node->account->nodes, (std::vector<int>{0, 1}));
}

TEST(StaticSession, ThePortThatIsTakenIsAnErrorBeforeAnythingElse) {
  Meeting meeting;
  const auto taken = meeting.network().listen("n0", 29500);
  Meeting::Node& node = meeting.add(static_config(0, 2));
  EXPECT_FALSE(node.session->open());
}

// Its connection, which beats, ends as soon as the next one has a will.
TEST(StaticSession, AfterARestartEachNodeIsWatchedOnce) {
  Pair job(1);
  job.form();
  job.nodes[1]->session->feed(TellOthers{job.failure_of(1, true)});
  EXPECT_TRUE(job.meeting.take<PeerFailed>(*job.nodes[0]));
  for (Meeting::Node* node : job.nodes) node->session->feed(JoinRound{true, 1});
  for (Meeting::Node* node : job.nodes) EXPECT_TRUE(job.meeting.take<RendezvousDone>(*node));
  job.meeting.events().run_until(job.meeting.events().now() + 1s);
  EXPECT_EQ(job.meeting.network().store_at({"n0", 29500})->agent_count(), 2U);
}

// torchrun's agent may be gone without a word. Only launch's nodes claim their ranks.
TEST(StaticSession, AHostWaitsInTheBarrierForTorchrunAsLongAsTorchrunWould) {
  Meeting meeting;
  Meeting::Node& host = meeting.add(static_config(0, 2));
  EXPECT_TRUE(host.session->open());
  host.session->feed(JoinRound{});
  Talker torchrun(meeting.network(), "n1");
  StoreLink link = torchrun.link_to({"n0", 29500});
  const Time soon = later(meeting.events().now(), 1s);
  EXPECT_TRUE(*torchrun.run(link.set(role_info_key("job", 1), to_json(Member{NodeRank(1), "default", 1}), soon)));
  EXPECT_TRUE(meeting.take<RendezvousDone>(host));
  host.session->feed(EnterExitBarrier{});
  EXPECT_FALSE(meeting.take<BarrierDone>(host, 299s));
  EXPECT_TRUE(meeting.take<BarrierDone>(host, 2s));
}

}  // namespace launch::static_session_test
