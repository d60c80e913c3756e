#include "launch/core/session/elastic_session.hpp"

#include "../../support/meeting.hpp"
#include "../../support/torchrun_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::elastic_session_test {

using namespace play;
using namespace std::chrono_literals;

struct Elastic {
  explicit Elastic(NodeLimits nodes_wanted) : limits(nodes_wanted) {}

  Meeting::Node& come(const std::string& host) {
    Meeting::Node& node = meeting.add(elastic_config(host, 100 + static_cast<int>(nodes.size()), limits));
    nodes.push_back(&node);
    EXPECT_TRUE(node.session->open());
    node.session->feed(JoinRound{});
    return node;
  }
  Round round_of(Meeting::Node& node, Duration limit = 10s) {
    const auto done = meeting.take<RendezvousDone>(node, limit);
    EXPECT_TRUE(done);
    return done ? done->round : Round();
  }
  static Failure failure_at(int rank, bool restart) {
    Failure failure;
    failure.node_rank = NodeRank(rank);
    failure.restart = restart;
    failure.restarts = restart ? 1 : 0;
    return failure;
  }

  NodeLimits limits;
  Meeting meeting;
  std::vector<Meeting::Node*> nodes;
};

TEST(ElasticSession, NodesGetRanksAndOnePlaceForTheirWorkers) {
  Elastic job({3, 3});
  for (const char* host : {"n0", "n1", "n2"}) job.come(host);
  std::vector<int> ranks;
  std::optional<Endpoint> master;
  for (Meeting::Node* node : job.nodes) {
    const Round round = job.round_of(*node);
    ranks.push_back(round.assignment.group_rank.value);
    EXPECT_EQ(round.assignment.group_world_size, 3);
    ASSERT_TRUE(round.master);
    EXPECT_EQ(master.value_or(*round.master), *round.master);
    master = round.master;
    EXPECT_FALSE(round.may_leave) << "without --max-restarts and spares the job ends with any of its nodes";
  }
  EXPECT_THAT(ranks, testing::UnorderedElementsAre(0, 1, 2));
}

TEST(ElasticSession, OtherRestartsAreSaidOnceByTheNodeThatHasThem) {
  Meeting meeting;
  std::vector<Meeting::Node*> nodes;
  for (const char* host : {"n0", "n1"}) {
    Config config = elastic_config(host, 100 + static_cast<int>(nodes.size()), {2, 2});
    config.restarts.max_restarts = nodes.empty() ? 1 : 2;
    nodes.push_back(&meeting.add(std::move(config)));
    EXPECT_TRUE(nodes.back()->session->open());
  }
  for (int round = 0; round < 2; ++round) {
    for (Meeting::Node* node : nodes) node->session->feed(JoinRound{});
    for (Meeting::Node* node : nodes) EXPECT_TRUE(meeting.take<RendezvousDone>(*node, 10s)) << round;
  }
  const auto differ = testing::HasSubstr("the nodes differ in --max-restarts");
  EXPECT_THAT(nodes[1]->session->lines(), testing::Contains(differ).Times(1));
  EXPECT_THAT(nodes[0]->session->lines(), testing::Not(testing::Contains(differ)));
}

TEST(ElasticSession, AFailureToRestartAfterIsHeardByAllAndCountedInTheNextRound) {
  Elastic job({2, 2});
  for (const char* host : {"n0", "n1"}) job.come(host);
  for (Meeting::Node* node : job.nodes) job.round_of(*node);
  job.nodes[1]->session->feed(TellOthers{Elastic::failure_at(1, true)});
  EXPECT_TRUE(job.meeting.take<PeerFailed>(*job.nodes[0], 10ms));
  for (Meeting::Node* node : job.nodes) node->session->feed(JoinRound{true, 1});
  for (Meeting::Node* node : job.nodes) {
    EXPECT_EQ(job.round_of(*node).restarts, 1);
    EXPECT_FALSE(job.meeting.take<MembersChanged>(*node)) << "news of the round that is over";
  }
}

TEST(ElasticSession, ANodeThatHearsLateOfARoundThatHasFailedCountsWhatTheOthersCountedInIt) {
  Elastic job({2, 3});
  for (const char* host : {"n0", "n1"}) job.come(host);
  Events& events = job.meeting.events();
  events.run_until(events.now() + 100ms);
  const Duration last_call = job.nodes[0]->config.c10d()->settings.last_call_timeout;
  job.meeting.network().cut("n0", "n1", events.now() + last_call + 2s);
  EXPECT_EQ(job.round_of(*job.nodes[0], last_call + 1s).restarts, 0);
  job.nodes[0]->session->feed(TellOthers{Elastic::failure_at(0, true)});
  EXPECT_EQ(job.round_of(*job.nodes[1]).restarts, 0);
}

TEST(ElasticSession, AnEndIsToldToNodesThatComeLater) {
  Elastic job({1, 2});
  job.come("n0");
  job.round_of(*job.nodes[0]);
  job.nodes[0]->session->feed(TellOthers{Elastic::failure_at(0, false)});
  job.meeting.events().run_until(job.meeting.events().now() + 10ms);
  Meeting::Node& late = job.come("n1");
  const auto heard = job.meeting.take<PeerFailed>(late, 2s);
  ASSERT_TRUE(heard);
  EXPECT_FALSE(heard->failure.restart);
}

TEST(ElasticSession, TheOthersGoOnWithoutANodeThatIsLost) {
  Elastic job({1, 2});
  for (const char* host : {"n0", "n1"}) job.come(host);
  for (Meeting::Node* node : job.nodes) EXPECT_EQ(job.round_of(*node).may_leave, node->config.hostname != "n0");
  job.nodes[1]->session->end();
  const auto heard = job.meeting.take<PeerFailed>(*job.nodes[0], 10ms);
  ASSERT_TRUE(heard);
  EXPECT_TRUE(heard->failure.restart);
  job.nodes[0]->session->feed(JoinRound{});
  EXPECT_EQ(job.round_of(*job.nodes[0]).assignment.group_world_size, 1);
}

TEST(ElasticSession, ANodeThatIsCutOffMustEndItsWorkersBeforeTheOthersGoOn) {
  Elastic job({1, 2});
  for (const char* host : {"n0", "n1"}) job.come(host);
  for (Meeting::Node* node : job.nodes) job.round_of(*node);
  const Time cut = job.meeting.events().now();
  job.meeting.network().cut("n0", "n1", never);
  job.meeting.network().cut("n1", "n0", never);
  const auto doubt = job.meeting.take<MembersChanged>(*job.nodes[1], 60s);
  ASSERT_TRUE(doubt);
  const Time workers_gone = job.meeting.events().now() + doubt->grace;
  EXPECT_LT(workers_gone - cut, 33s);
  EXPECT_TRUE(job.meeting.take<PeerFailed>(*job.nodes[0], 60s));
  EXPECT_GT(job.meeting.events().now(), workers_gone);
}

TEST(ElasticSession, TheLossOfTheHostIsTold) {
  Elastic job({1, 2});
  for (const char* host : {"n0", "n1"}) job.come(host);
  for (Meeting::Node* node : job.nodes) job.round_of(*node);
  job.nodes[0]->session->end();
  EXPECT_TRUE(job.meeting.take<StoreLost>(*job.nodes[1], 3s));
}

TEST(ElasticSession, ANodeThatIsOneTooManyStandsBy) {
  Elastic job({1, 1});
  job.come("n0");
  job.round_of(*job.nodes[0]);
  Meeting::Node& spare = job.come("n1");
  EXPECT_FALSE(job.meeting.take<RendezvousDone>(spare, 30s));
  EXPECT_THAT(spare.session->lines(), testing::Contains("standing by: the job has as many nodes as it takes"));
  job.nodes[0]->session->feed(EndSession{});
  EXPECT_TRUE(job.meeting.take<NotNeeded>(spare, 5s));
}

TEST(ElasticSession, ANodeThatIsToldToStopLeavesTheOthersToThemselves) {
  Elastic job({1, 2});
  for (const char* host : {"n0", "n1"}) job.come(host);
  for (Meeting::Node* node : job.nodes) job.round_of(*node);
  Failure told;
  told.kind = Failure::Kind::signal;
  told.what = "launch was told to stop by SIGTERM";
  job.nodes[1]->session->feed(TellOthers{told});
  const auto heard = job.meeting.take<MembersChanged>(*job.nodes[0], 10ms);
  ASSERT_TRUE(heard);
  EXPECT_THAT(heard->reason, testing::HasSubstr("told to stop by SIGTERM"));
}

TEST(ElasticSession, AllMeetInTheBarrierAndTheHostIsTheLastToGo) {
  Elastic job({2, 2});
  for (const char* host : {"n0", "n1"}) job.come(host);
  for (Meeting::Node* node : job.nodes) job.round_of(*node);
  for (Meeting::Node* node : job.nodes) node->session->feed(EnterExitBarrier{});
  for (Meeting::Node* node : job.nodes) EXPECT_TRUE(job.meeting.take<BarrierDone>(*node));
  job.nodes[0]->session->feed(EndSession{});
  job.meeting.events().run_until(job.meeting.events().now() + 1s);
  EXPECT_FALSE(job.nodes[0]->ended);
  job.nodes[1]->session->feed(EndSession{});
  EXPECT_TRUE(job.meeting.events().run_until([&] { return job.nodes[0]->ended && job.nodes[1]->ended; }, 5s));
}

// torchrun's agent may be gone without a word.
TEST(ElasticSession, AHostWaitsInTheBarrierWithoutLimitExceptForTorchrun) {
  for (const bool torchrun : {false, true}) {
    Elastic job({2, 2});
    Meeting::Node& host = job.come("n0");
    std::optional<TorchrunHost> other;
    if (torchrun) {
      ElasticSettings settings = host.config.c10d()->settings;
      settings.self = NodeDesc{"n1", 101, 0};
      settings.member = Member{NodeRank(0), host.config.role, 1};
      other.emplace(
          job.meeting.network(), settings, host.config.store(), [](const Round&) { return Plan(); }, Eyes());
      other->start();
    } else {
      job.come("n1");
    }
    job.round_of(host, 30s);
    host.session->feed(EnterExitBarrier{});
    EXPECT_FALSE(job.meeting.take<BarrierDone>(host, 299s));
    EXPECT_EQ(job.meeting.take<BarrierDone>(host, 5s).has_value(), torchrun);
  }
}

}  // namespace launch::elastic_session_test
