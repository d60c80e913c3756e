#include "launch/core/c10d/hosted_rendezvous.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::hosted_rendezvous_test {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Wish = Attendance::Wish;

ElasticSettings settings() {
  ElasticSettings result;
  result.run_id = "job";
  result.self = {"n1", 1, launch_local_id};
  result.member = {.role = "default", .local_world_size = 2};
  result.nodes = {2, 4};
  return result;
}

// One agent, and a host that answers what the test says.
struct Node {
  Node() {
    machine.join(time, 0);
    take(machine.start({time, {}}));
  }
  void take(ElasticStep next) {
    step = std::move(next);
    for (ElasticNews& one : step.news) news.push_back(std::move(one));
  }
  void on(const Outcome& outcome) {
    auto next = machine.on(outcome, {time, {}});
    ASSERT_TRUE(next);
    take(*std::move(next));
  }
  void hear(const ElasticNews& one) { on(Told{to_json(one)}); }
  // Its deadline comes.
  void expire() {
    time = machine.deadline();
    on(WaitExpired{});
  }
  void wake() { on(WaitExpired{}); }
  Attendance said() const {
    const auto* attend = std::get_if<Attend>(&step.next);
    EXPECT_NE(attend, nullptr);
    return attend == nullptr ? Attendance{} : *parse_attendance(attend->text);
  }
  Wish wish() const { return said().wish; }
  bool idle() const { return std::holds_alternative<AwaitKeys>(step.next); }
  template <class News>
  std::optional<News> only() {
    const auto all = std::exchange(news, {});
    if (all.size() != 1 || !std::holds_alternative<News>(all[0])) return std::nullopt;
    return std::get<News>(all[0]);
  }
  void form(std::int64_t round) {
    hear(RoundFormed{.round = round,
                     .nnodes = 2,
                     .leader = {"n1", 1, launch_local_id},
                     .assignment = Assignment{.group_world_size = 2, .world_size = 4, .role_world_size = 4}});
    ASSERT_TRUE(only<RoundFormed>());
  }

  HostedRendezvous machine{settings()};
  Time time{1h};
  ElasticStep step;
  std::vector<ElasticNews> news;
};

TEST(HostedRendezvous, SaysWhatItWants) {
  Node node;
  const Attendance said = node.said();
  EXPECT_EQ(std::get<Attend>(node.step.next).key, "/torch.rendezvous.job");
  EXPECT_EQ(said.wish, Wish::join);
  EXPECT_EQ(said.node, (NodeDesc{"n1", 1, launch_local_id}));
  EXPECT_EQ(said.member, (Member{NodeRank(0), "default", 2}));
  EXPECT_EQ(said.nodes, (NodeLimits{2, 4}));
  EXPECT_EQ(said.last_call, 30s);
  EXPECT_EQ(said.silence, 15s);
  EXPECT_EQ(said.round, -1);
  EXPECT_TRUE(said.admits);
}

// It lost the host of an earlier round, while the others went on with another one.
TEST(HostedRendezvous, TheEndOfAnEarlierHostIsNotThatOfTheNextOne) {
  for (const auto& [limit, store] : {std::pair(Duration(10s), "n2"), {10s, "n0"}, {Duration::zero(), "n2"}}) {
    Comeback comeback;
    comeback.last = {0, 3, 4, NodeRank(2), NodeRank(0), {"n0", 1, launch_local_id}, "n0", 4, 0, {}};
    comeback.term = 1;
    comeback.host_ended = true;
    comeback.limit = limit;
    Node node;
    node.machine = HostedRendezvous(settings(), {.comeback = comeback});
    node.machine.join(node.time, 0);
    node.take(node.machine.start({node.time, {}}));
    EXPECT_TRUE(node.said().comeback->host_ended);
    RoundWaits waits;
    waits.succession = {1, 4, 3, NodeRank(2), NodeRank(0), {store, 1, launch_local_id}, store, 3, 1, {}};
    waits.succession.line.push_back({NodeRank(1), {"n3", 1, launch_local_id}, {{"n3", 1000}, "n3"}});
    node.hear(waits);
    EXPECT_EQ(node.said().comeback->last.round, 4);
    EXPECT_EQ(node.said().comeback->host_ended, store == std::string("n0"));
  }
}

TEST(HostedRendezvous, StaysUntilTheRoundBreaks) {
  Node node;
  node.machine.admit_nobody();
  node.form(3);
  EXPECT_EQ(node.wish(), Wish::stay);
  EXPECT_EQ(node.said().round, 3);
  EXPECT_FALSE(node.said().admits);
  EXPECT_EQ(node.machine.deadline(), never);
  node.hear(RoundBroken{"n2 joins"});
  EXPECT_EQ(node.only<RoundBroken>()->reason, "n2 joins");
  EXPECT_TRUE(node.idle());
  node.machine.join(node.time, 2);
  node.wake();
  EXPECT_EQ(node.wish(), Wish::join);
  EXPECT_EQ(node.said().round, 3);
  EXPECT_EQ(node.said().restarts, 2) << "the host may be one that knows of none";
}

TEST(HostedRendezvous, ReportsAfterASecondAndThenNowAndAgain) {
  Node node;
  EXPECT_EQ(node.machine.deadline(), node.time + 1s);
  node.expire();
  EXPECT_EQ(node.wish(), Wish::look);
  EXPECT_EQ(node.machine.deadline(), node.time + 60s);
  node.hear(RoundWaits{1, false, {}});
  EXPECT_EQ(node.only<RoundWaits>(), (RoundWaits{1, false, 599s}));
  EXPECT_EQ(node.wish(), Wish::join);
  EXPECT_EQ(node.machine.deadline(), node.time + 30s);
  node.expire();
  EXPECT_EQ(node.wish(), Wish::look);
}

TEST(HostedRendezvous, GivesUpWithTheCount) {
  Node node;
  const Time end = node.time + 600s;
  while (node.wish() != Wish::leave) {
    ASSERT_LE(node.time, end);
    node.expire();
    ASSERT_EQ(node.wish(), Wish::look);
    node.hear(RoundWaits{1, false, {}});
  }
  EXPECT_EQ(node.time, end);
  node.news.clear();
  node.hear(RendezvousEnded{});
  const auto refused = node.only<RoundRefused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error.code, ErrorCode::timeout);
  EXPECT_EQ(refused->error.message, "the rendezvous timed out after 10 min: 1 of at least 2 nodes joined");
  EXPECT_TRUE(node.idle());
}

TEST(HostedRendezvous, ASpareStandsByWithoutEnd) {
  Node node;
  const Time end = node.time + 3h;
  while (node.time < end) {
    node.expire();
    ASSERT_EQ(node.wish(), Wish::look);
    node.hear(RoundWaits{0, true, {}});
    EXPECT_TRUE(node.only<RoundWaits>()->spare);
    ASSERT_EQ(node.wish(), Wish::join);
  }
}

TEST(HostedRendezvous, ASpareThatIsWantedHasAllItsTime) {
  Node node;
  const Time end = node.time + 599s;
  while (node.time < end) {
    node.expire();
    node.hear(RoundWaits{0, true, {}, true});
  }
  node.expire();
  node.hear(RoundWaits{0, false, {}, true});
  EXPECT_EQ(node.wish(), Wish::join);
}

TEST(HostedRendezvous, KnowsWhetherItGivesUpAJobThatRuns) {
  for (const bool begun : {false, true}) {
    for (const bool member : {false, true}) {
      Node node;
      if (member) {
        node.form(3);
        node.hear(RoundBroken{"n2 has gone"});
        node.machine.join(node.time, 0);
        node.wake();
      }
      while (node.wish() != Wish::leave) {
        node.expire();
        node.hear(RoundWaits{1, false, {}, begun});
      }
      node.news.clear();
      node.hear(RendezvousEnded{});
      EXPECT_EQ(node.only<RoundRefused>()->begun, begun && !member);
    }
  }
}

TEST(HostedRendezvous, LeavesWithAReasonAndADeadline) {
  Node node;
  node.form(0);
  node.machine.leave(node.time, "a signal");
  node.wake();
  EXPECT_EQ(node.wish(), Wish::leave);
  EXPECT_EQ(node.said().reason, "a signal");
  EXPECT_EQ(node.machine.deadline(), node.time + 30s);
  node.expire();
  EXPECT_TRUE(node.only<RendezvousEnded>());
  EXPECT_TRUE(node.idle());
}

TEST(HostedRendezvous, ClosesAndNothingElseAfterwards) {
  Node node;
  node.form(0);
  node.machine.close(node.time);
  node.machine.join(node.time, 0);
  node.machine.leave(node.time, "");
  node.wake();
  EXPECT_EQ(node.wish(), Wish::close);
  node.hear(RoundBroken{"crossed"});
  EXPECT_TRUE(node.news.empty());
  EXPECT_EQ(node.wish(), Wish::close);
  node.hear(RendezvousEnded{});
  EXPECT_TRUE(node.only<RendezvousEnded>());
  EXPECT_TRUE(node.idle());
}

TEST(HostedRendezvous, ARoundThatCrossesTheWishToLeaveIsNotJoined) {
  Node node;
  node.machine.leave(node.time, "");
  node.hear(RoundFormed{.round = 0, .nnodes = 2, .leader = {"n1", 1, launch_local_id}});
  EXPECT_TRUE(node.news.empty());
  EXPECT_EQ(node.wish(), Wish::leave);
}

TEST(HostedRendezvous, ARefusalEndsEveryWish) {
  const RoundRefused conflict{{ErrorCode::conflict, "--nnodes"}};
  Node joins;
  joins.hear(conflict);
  EXPECT_EQ(joins.only<RoundRefused>()->error.code, ErrorCode::conflict);
  EXPECT_TRUE(joins.idle());
  joins.machine.leave(joins.time, "");
  joins.wake();
  joins.hear(conflict);
  EXPECT_TRUE(joins.only<RendezvousEnded>());
  EXPECT_TRUE(joins.idle()) << "it does not ask again and again";
  Node closes;
  closes.machine.close(closes.time);
  closes.wake();
  closes.hear(conflict);
  EXPECT_TRUE(closes.only<RendezvousEnded>());
}

TEST(HostedRendezvous, PledgesWhileItIsAMember) {
  Node node;
  node.form(0);
  node.machine.pledge({Will{{{"why", "closed", "silent"}}, {}, {}}});
  node.wake();
  ASSERT_TRUE(std::holds_alternative<LeaveWill>(node.step.next));
  EXPECT_EQ(std::get<LeaveWill>(node.step.next).will.words.at(0).if_silent, "silent");
  EXPECT_EQ(node.machine.deadline(), node.time + 60s);
  node.on(Done{});
  EXPECT_TRUE(node.only<WillLeft>());
  EXPECT_EQ(node.wish(), Wish::stay);
}

TEST(HostedRendezvous, SaysThatItIsDoneInThisRoundOnly) {
  Node node;
  node.machine.finish({Will{{}, {"early"}, {}}});
  node.form(0);
  EXPECT_FALSE(node.said().done) << "it was in no round";
  node.machine.finish({Will{{}, {"ended"}, {}}});
  node.wake();
  ASSERT_TRUE(std::holds_alternative<LeaveWill>(node.step.next));
  EXPECT_EQ(std::get<LeaveWill>(node.step.next).will.gone.at(0), "ended");
  node.on(Done{});
  EXPECT_EQ(node.wish(), Wish::stay);
  EXPECT_TRUE(node.said().done);
  node.machine.join(node.time, 0);
  node.wake();
  EXPECT_EQ(node.wish(), Wish::join);
  EXPECT_FALSE(node.said().done);
}

TEST(HostedRendezvous, WhatIsNoLongerWantedChangesNothing) {
  Node node;
  node.form(3);
  node.machine.join(node.time, 0);  // its workers have failed
  node.hear(RoundBroken{"n2 joins"});
  EXPECT_TRUE(node.news.empty());
  EXPECT_EQ(node.wish(), Wish::join);
  EXPECT_EQ(node.said().round, 3);
  node.machine.join(node.time, 0);
  node.wake();
  node.form(4);
  EXPECT_EQ(node.said().round, 4);
}

TEST(HostedRendezvous, AnAnswerThatIsNoneIsAnError) {
  Node node;
  const auto step = node.machine.on(Told{"{}"}, {node.time, {}});
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, ErrorCode::protocol);
}

}  // namespace launch::hosted_rendezvous_test
