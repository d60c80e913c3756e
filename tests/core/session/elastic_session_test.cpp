#include "launch/core/session/elastic_session.hpp"

#include "launch/core/session/dialogs.hpp"
#include "launch/core/store/keys.hpp"

#include "../../support/meeting.hpp"
#include "../../support/torchrun_host.hpp"
#include "talker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::elastic_session_test {

using namespace play;
using namespace std::chrono_literals;

struct Elastic {
  explicit Elastic(NodeLimits nodes_wanted, bool host_moves = false) : limits(nodes_wanted), moves(host_moves) {}

  Meeting::Node& come(const std::string& host) {
    Meeting::Node& node = meeting.add(elastic_config(host, 100 + static_cast<int>(nodes.size()), limits, moves));
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
  bool moves;
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
  events.run_until(events.now() + first_elastic_report + 100ms);  // then it waits for the round again
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

TEST(ElasticSession, AHostMayLeaveUnlessTheOthersNeedIt) {
  for (const int fewest : {1, 2}) {
    Elastic job({fewest, 3}, true);
    for (const char* host : {"n0", "n1"}) job.come(host);
    for (Meeting::Node* node : job.nodes)
      EXPECT_EQ(job.round_of(*node).may_leave, fewest == 1 || node->config.hostname != "n0") << fewest;
  }
}

TEST(ElasticSession, AnotherNodeFollowsAHostThatHasEnded) {
  Elastic job({1, 2}, true);
  for (const char* host : {"n0", "n1"}) job.come(host);
  std::int64_t before = 0;
  for (Meeting::Node* node : job.nodes) before = job.round_of(*node).number;
  job.nodes[0]->session->end();
  const auto changed = job.meeting.take<MembersChanged>(*job.nodes[1], 1s);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->reason, "n0 (pid 100), which hosted the rendezvous, left without a report");
  const Duration whole = grace_after_host(job.nodes[1]->config.heartbeat_timeout);
  EXPECT_LE(changed->grace, whole);
  EXPECT_GT(changed->grace, whole - 2s);
  job.nodes[1]->session->feed(JoinRound{});
  const Round round = job.round_of(*job.nodes[1]);
  EXPECT_EQ(round.number, before + 1);
  EXPECT_EQ(round.assignment.group_world_size, 1);
  EXPECT_FALSE(job.meeting.take<StoreLost>(*job.nodes[1], 5s));
}

// Workers notice the end of others as fast as agents notice that of an agent, or faster.
TEST(ElasticSession, AFailureOfWorkersAtTheEndOfTheHostIsToldToNobody) {
  for (Duration after = -30ms; after <= 30ms; after += 5ms) {
    Elastic job({1, 3}, true);
    for (const char* host : {"n0", "n1", "n2"}) job.come(host);
    for (Meeting::Node* node : job.nodes) job.round_of(*node);
    Events& events = job.meeting.events();
    const auto fail = [&] { job.nodes[1]->session->feed(TellOthers{Elastic::failure_at(1, false)}); };
    if (after < 0ms) job.meeting.network().cut("n1", "n0", later(events.now(), -after));  // it is told too late
    if (after < 0ms) fail();
    events.run_until(later(events.now(), after < 0ms ? -after - 1ms : 1ms));
    job.nodes[0]->session->end();
    if (after >= 0ms) events.run_until(later(events.now(), after));
    if (after >= 0ms) fail();
    const auto changed = job.meeting.take<MembersChanged>(*job.nodes[1], 2s);
    ASSERT_TRUE(changed) << to_text(after);
    EXPECT_TRUE(changed->excuses);
    EXPECT_TRUE(events.run_until([&] { return job.nodes[1]->others_told == 1; }, 3s));
    for (const std::size_t i : {1U, 2U}) {
      EXPECT_FALSE(job.meeting.take<PeerFailed>(*job.nodes[i], 10ms)) << to_text(after);
      job.nodes[i]->session->feed(JoinRound{});
    }
    for (const std::size_t i : {1U, 2U}) EXPECT_EQ(job.round_of(*job.nodes[i]).restarts, 0);
  }
}

TEST(ElasticSession, AFailureOfWorkersIsToldIfNoOtherNodeCanFollow) {
  Elastic job({1, 2}, true);
  for (const char* host : {"n0", "n1"}) job.come(host);
  for (Meeting::Node* node : job.nodes) job.round_of(*node);
  job.meeting.network().reset("n1");
  job.meeting.network().reject("n1", "n0");
  job.nodes[1]->session->feed(TellOthers{Elastic::failure_at(1, false)});
  EXPECT_TRUE(job.meeting.events().run_until([&] { return job.nodes[1]->others_told == 1; }, 10s));
  EXPECT_FALSE(job.meeting.take<MembersChanged>(*job.nodes[1], 10ms));
  EXPECT_THAT(job.nodes[1]->session->lines(), testing::Contains(testing::HasSubstr("could not notify")));
}

// It reads the end of the host only when the others may run again.
TEST(ElasticSession, WorkersOfANodeThatHasStoodStillHaveLittleTimeAtTheEndOfTheHost) {
  for (const Duration pause : {20s, 70s}) {
    Elastic job({1, 3}, true);
    for (const char* host : {"n0", "n1", "n2"}) job.come(host);
    for (Meeting::Node* node : job.nodes) job.round_of(*node);
    job.meeting.network().freeze("n2", later(job.meeting.events().now(), pause));
    job.nodes[0]->session->end();
    const auto changed = job.meeting.take<MembersChanged>(*job.nodes[2], pause + 5s);
    ASSERT_TRUE(changed);
    const Duration timeout = job.nodes[2]->config.heartbeat_timeout;
    EXPECT_EQ(changed->grace > plan_heartbeat(timeout, 3).grace, pause < timeout) << to_text(changed->grace);
  }
}

// Nobody has closed the rendezvous yet.
TEST(ElasticSession, WhoHasHeardOfTheEndOfTheJobDoesNotFollow) {
  Elastic job({1, 2}, true);
  for (const char* host : {"n0", "n1"}) job.come(host);
  std::int64_t number = 0;
  for (Meeting::Node* node : job.nodes) number = job.round_of(*node).number;
  const Config& config = job.nodes[0]->config;
  Talker writer(job.meeting.network(), "n9");
  StoreLink link = writer.link_to(config.c10d()->store);
  const Time by = later(job.meeting.events().now(), 1s);
  ASSERT_TRUE(writer.run(tell_abort(link, round_prefix(config.run_id, number), Elastic::failure_at(0, false), by)));
  ASSERT_TRUE(job.meeting.take<PeerFailed>(*job.nodes[1], 2s));
  job.nodes[0]->session->end();
  EXPECT_FALSE(job.meeting.take<MembersChanged>(*job.nodes[1], 5s));
}

// The host was told to stop when the round formed, which it did not watch yet.
TEST(ElasticSession, WhatHasEndedTheJobBetweenTwoRoundsIsHeardInTheNextOne) {
  Elastic job({1, 2}, true);
  for (const char* host : {"n0", "n1"}) job.come(host);
  for (Meeting::Node* node : job.nodes) job.round_of(*node);
  const Config& config = job.nodes[0]->config;
  Talker writer(job.meeting.network(), "n9");
  StoreLink link = writer.link_to(config.c10d()->store);
  const Time by = later(job.meeting.events().now(), 1s);
  ASSERT_TRUE(writer.run(tell_abort(link, job_prefix(config.run_id), Elastic::failure_at(0, false), by)));
  job.nodes[0]->session->feed(EndSession{});
  EXPECT_TRUE(job.meeting.take<PeerFailed>(*job.nodes[1], 1s));
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

Failure told_to_stop() {
  Failure told;
  told.kind = Failure::Kind::signal;
  told.what = "launch was told to stop by SIGTERM";
  return told;
}

TEST(ElasticSession, AJobWhoseNodesAreAllToldToStopEndsWithTheFirst) {
  for (const std::size_t first : {0U, 1U}) {
    Elastic job({1, 2}, true);
    for (const char* host : {"n0", "n1"}) job.come(host);
    for (Meeting::Node* node : job.nodes) job.round_of(*node);
    Failure told = told_to_stop();
    told.of_all = true;
    job.nodes[first]->session->feed(TellOthers{told});
    const auto heard = job.meeting.take<PeerFailed>(*job.nodes[1 - first], 10ms);
    ASSERT_TRUE(heard) << first;
    EXPECT_EQ(heard->failure.kind, Failure::Kind::signal);
    EXPECT_FALSE(job.meeting.take<MembersChanged>(*job.nodes[1 - first], 1s));
  }
}

TEST(ElasticSession, TheHostDoesNotLeaveInTheExitBarrier) {
  Elastic job({1, 2}, true);
  for (const char* host : {"n0", "n1"}) job.come(host);
  for (Meeting::Node* node : job.nodes) job.round_of(*node);
  job.nodes[0]->session->feed(EnterExitBarrier{});
  job.meeting.events().run_until(job.meeting.events().now() + 10ms);
  job.nodes[0]->session->feed(TellOthers{told_to_stop()});
  const auto heard = job.meeting.take<PeerFailed>(*job.nodes[1], 10ms);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->failure.what, told_to_stop().what);
}

// Two agents of n0 could host the store; the one that does ends when the other one has its door.
TEST(ElasticSession, AnAgentThatTakesTheEndpointBeforeARoundHasFormedLetsAllIn) {
  Elastic job({3, 4}, true);
  for (int i = 0; i < 2; ++i) {
    Config config = elastic_config("n0", 100 + i, {3, 4}, true);
    c10d_of(config).is_host.reset();
    Meeting::Node& node = job.meeting.add(std::move(config));
    job.nodes.push_back(&node);
    EXPECT_TRUE(node.session->open());
    node.session->feed(JoinRound{});
    job.meeting.events().run_until(job.meeting.events().now() + 3s);
  }
  Meeting::Node& second = *job.nodes[1];
  job.nodes[0]->session->end();
  job.meeting.events().run_until(job.meeting.events().now() + 5s);
  for (const char* other : {"n1", "n2"}) job.come(other);
  EXPECT_EQ(job.round_of(second, 120s).assignment.group_world_size, 3);
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
