#include "agent_store_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::agent_store_test {

using namespace std::string_literals;
using testing::HasSubstr;

// n1 and n2 are in a round and stay.
void form(Store& store) {
  store.attend(1, Wish::join);
  EXPECT_EQ(heard<RoundFormed>(store.attend(2, Wish::join)).rank, NodeRank(1));
  EXPECT_EQ(heard<RoundFormed>(store.pushed(1)).rank, NodeRank(0));
  EXPECT_EQ(store.attend(1, Wish::stay, 0) + store.attend(2, Wish::stay, 0), "");
}

TEST(AgentStore, TheLastToComeIsAnsweredAndTheOthersArePushed) {
  Store store;
  form(store);
  EXPECT_TRUE(store.state().complete);
}

TEST(AgentStore, ACancelledWaitIsAnsweredWhenItAttendsAgain) {
  Store store;
  store.attend(1, Wish::join);
  EXPECT_EQ(store.ask(1, CancelWaitRequest{}), "\1"s);
  store.attend(2, Wish::join);
  EXPECT_EQ(store.pushed(1), "");
  EXPECT_EQ(heard<RoundFormed>(store.attend(1, Wish::join)).rank, NodeRank(0));
}

TEST(AgentStore, OtherKeysAreThoseOfAnyStore) {
  Store store;
  form(store);
  store.ask(3, SetRequest{"k", "v"});
  EXPECT_EQ(store.get("k"), "v");
  EXPECT_EQ(store.ask(4, WaitRequest{{"later"}}), "");
  store.ask(3, SetRequest{"later", "v"});
  EXPECT_EQ(store.pushed(4), "\0"s);
}

TEST(AgentStore, ACompareAndSetThatExpectsWhatIsThereIsWon) {
  Store store;
  store.attend(1, Wish::join);
  const std::string text = store.get(key);
  ElasticState next = *read_state(text);
  next.wait_list.insert({"t", 1, 0});
  next.last_heartbeats[{"t", 1, 0}] = store.instant().wall;
  EXPECT_EQ(store.compare_set(text, next), write_state(next));
  EXPECT_EQ(store.state(), next);
}

TEST(AgentStore, ACompareAndSetThatComesTooLateIsLost) {
  Store store;
  store.attend(1, Wish::join);
  const std::string text = store.get(key);
  ElasticState next = *read_state(text);
  next.closed = true;
  store.attend(2, Wish::join);
  const std::string there = store.compare_set(text, next);
  EXPECT_NE(there, write_state(next));
  EXPECT_TRUE(read_state(there)->complete);
  EXPECT_FALSE(store.state().closed);
}

TEST(AgentStore, TheWriterIsToldWhatBecameOfItsWrite) {
  Store store;
  store.attend(1, Wish::join);
  const std::string text = store.get(key);
  ElasticState next = *read_state(text);
  next.participants[{"z", 1, 0}] = 0;
  next.participants[{"n1", 1, launch_local_id}] = 1;
  next.last_heartbeats[{"z", 1, 0}] = store.instant().wall;
  next.complete = true;
  const auto there = read_state(store.compare_set(text, next));
  ASSERT_TRUE(there);
  EXPECT_EQ(there->participants.at({"n1", 1, launch_local_id}), 0);
  EXPECT_EQ(heard<RoundFormed>(store.pushed(1)).rank, NodeRank(0));
}

TEST(AgentStore, GarbageUnderTheKeyHasNoEffect) {
  Store store;
  store.attend(1, Wish::join);
  const std::string text = store.get(key);
  store.ask(torchrun, SetRequest{key, "garbage"});
  EXPECT_TRUE(store.status);
  EXPECT_EQ(store.get(key), text);
  EXPECT_EQ(store.ask(torchrun, CompareSetRequest{key, text, "garbage"}), bytes_of(text));
  store.ask(torchrun, AppendRequest{key, "x"});
  store.ask(torchrun, DeleteKeyRequest{key});
  store.ask(torchrun, AddRequest{key, 1});
  EXPECT_FALSE(store.status);
  EXPECT_EQ(store.get(key), text);
  EXPECT_EQ(store.pushed(1), "");
}

TEST(AgentStore, TwoJobsDoNotMeet) {
  Store store;
  const std::string other = state_key("other");
  store.attend(1, Wish::join);
  EXPECT_EQ(store.attend(2, Wish::join, -1, other), "");
  EXPECT_EQ(store.state().participants.size(), 1U);
  EXPECT_EQ(store.state(other).participants.size(), 1U);
  store.store.drop(2, false, store.instant(), store.pushes);
  EXPECT_EQ(store.state().participants.size(), 1U);
  EXPECT_TRUE(store.state(other).participants.empty());
}

TEST(AgentStore, AStateThatWasThereBeforeIsTakenUp) {
  Store store;
  ElasticState state;
  state.participants[{"t", 1, 0}] = 0;
  state.last_heartbeats[{"t", 1, 0}] = store.instant().wall;
  EXPECT_EQ(store.compare_set("", state), write_state(state));
  const auto formed = heard<RoundFormed>(store.attend(1, Wish::join));
  EXPECT_EQ(formed.nnodes, 2) << "t alone is no round of two";
  EXPECT_EQ(formed.rank, NodeRank(0));
  EXPECT_EQ(formed.round, 0);
  store.time += 3s;
  store.attend(1, Wish::stay, 0);
  store.store.drop(1, false, store.instant(), store.pushes);
  EXPECT_TRUE(store.state().participants.contains({"t", 1, 0})) << "it did not come by that connection";
}

TEST(AgentStore, TheHostLearnsWhomItTurnsAway) {
  Store store;
  store.attend(1, Wish::join);
  EXPECT_FALSE(store.store.take_objection());
  Attendance other = *parse_attendance(attendance(Wish::join, "n2"));
  other.nodes = {1, 9};
  store.ask(2, AttendRequest{key, to_json(other)});
  EXPECT_THAT(store.store.take_objection().value_or(""), HasSubstr("conflicting --nnodes: "));
  EXPECT_FALSE(store.store.take_objection());
  other.hosts = true;
  store.ask(2, AttendRequest{key, to_json(other)});
  EXPECT_FALSE(store.store.take_objection()) << "it is told itself";
}

TEST(AgentStore, AStateThatCannotBeReadIsARefusal) {
  Store store;
  store.ask(torchrun, SetRequest{key, "garbage"});
  const auto refused = heard<RoundRefused>(store.attend(1, Wish::join));
  EXPECT_EQ(refused.error.code, ErrorCode::protocol);
  EXPECT_THAT(refused.error.message, HasSubstr("the state of the rendezvous"));
  EXPECT_FALSE(store.store.is_watched(1));
  EXPECT_EQ(store.get(key), "garbage");
}

TEST(AgentStore, AnAttendanceThatIsNoneClosesTheConnection) {
  Store store;
  EXPECT_EQ(store.ask(1, AttendRequest{key, "{}"}), "");
  EXPECT_FALSE(store.status);
  EXPECT_FALSE(store.store.watches());
}

TEST(AgentStore, AnEndDoesTheWillAndIsALoss) {
  Store store;
  form(store);
  store.ask(1, LeaveWillRequest{to_json(Will{{{"why", "closed", "silent"}}, {}, {}})});
  EXPECT_TRUE(store.store.is_watched(1) && store.store.is_watched(2));
  store.store.drop(1, true, store.instant(), store.pushes);
  EXPECT_EQ(store.get("why"), "silent");
  EXPECT_EQ(heard<RoundBroken>(store.pushed(2)).reason, "n1 (pid 1) stopped responding");
  EXPECT_FALSE(store.store.is_watched(1));
}

TEST(AgentStore, OfALostTorchrunNodeTheOthersAreTold) {
  Store store;
  store.store.expect_guests("job", 2);
  store.ask(torchrun, SetRequest{"/job/torchelastic/role_info/1", "{}"});
  store.ask(1, SetRequest{"/job/torchelastic/assigned_ranks/0", "[]"});
  EXPECT_EQ(store.ask(1, WaitRequest{{"/job/launch/abort"}}), "");
  store.store.drop(torchrun, false, store.instant(), store.pushes);
  EXPECT_EQ(store.store.deadline(), store.time + 1s);
  store.time += 1s;
  store.store.on_deadline(store.instant(), store.pushes);
  EXPECT_EQ(store.pushed(1), "\0"s);
  EXPECT_THAT(store.get("/job/launch/abort"), HasSubstr("its torchrun ended"));
  EXPECT_EQ(store.store.deadline(), never);
}

TEST(AgentStore, TheLastCallRings) {
  Store store;
  for (const ConnectionId from : {1U, 2U}) {
    Attendance said = *parse_attendance(attendance(Wish::join, "n" + std::to_string(from)));
    said.nodes = {2, 3};
    store.ask(from, AttendRequest{key, to_json(said)});
  }
  EXPECT_EQ(store.store.deadline(), store.time + 30s);
  store.time += 30s;
  store.store.on_deadline(store.instant(), store.pushes);
  EXPECT_EQ(heard<RoundFormed>(store.pushed(1)).nnodes, 2);
  EXPECT_EQ(heard<RoundFormed>(store.pushed(2)).rank, NodeRank(1));
  EXPECT_EQ(store.store.deadline(), never);
}

TEST(AgentStore, IsClosedToStrangersUntilItsHostTakesOver) {
  Store one;
  one.store.close_to_strangers({NodeRank::none(), {"n1", 1, launch_local_id}, {{}, "of n1"}});
  one.store.table().preset("launch/host", "1");
  EXPECT_EQ(one.ask(1, CheckRequest{{"launch/host"}}).size(), 1U);
  EXPECT_TRUE(one.status);
  one.ask(1, SetRequest{"key", "1"});
  EXPECT_FALSE(one.status);
  one.attend(2, Wish::join);
  EXPECT_FALSE(one.status) << "it comes from no other store";
  Attendance said = *parse_attendance(attendance(Wish::join, "n3", 4));
  said.comeback.emplace();
  said.comeback->term = 1;
  said.comeback->last = {0, 4, 2, NodeRank(1), NodeRank(0), {"n0", 1, launch_local_id}, "s", 0, 0, {}};
  said.comeback->last.line = {{NodeRank(0), {"n2", 1, launch_local_id}, {{"n2", 7}, "of n2"}}};
  const auto come = [&](ConnectionId from) { one.ask(from, AttendRequest{key, to_json(said)}); };
  come(3);
  EXPECT_FALSE(one.status) << "its line leads elsewhere";
  said.comeback->last.line.push_back({NodeRank(1), {"n1", 1, launch_local_id}, {{"n1", 7}, "of n1"}});
  come(3);
  EXPECT_TRUE(one.status);
  one.ask(1, SetRequest{"key", "1"});
  EXPECT_FALSE(one.status);
  said.hosts = true;
  said.door.store = "of n1";
  come(4);
  EXPECT_FALSE(one.status) << "it is not n1";
  said.node = {"n1", 1, launch_local_id};
  said.door.store = "of n2";
  come(4);
  EXPECT_FALSE(one.status) << "it hosts another one";
  said.door.store = "of n1";
  come(4);
  EXPECT_TRUE(one.status);
  one.ask(1, SetRequest{"key", "1"});
  EXPECT_TRUE(one.status);
}

TEST(AgentStore, BehindAClosedDoorNobodyEndsTheJob) {
  Store one;
  one.store.close_to_strangers({NodeRank::none(), {"n1", 1, launch_local_id}, {{}, "of n1"}});
  Attendance said = *parse_attendance(attendance(Wish::join, "n3", 4));
  said.comeback.emplace();
  said.comeback->term = 1;
  said.comeback->last = {0, 4, 2, NodeRank(1), NodeRank(0), {"n0", 1, launch_local_id}, "s", 0, 0, {}};
  said.comeback->last.line = {{NodeRank(1), {"n1", 1, launch_local_id}, {{"n1", 7}, "of n1"}}};
  one.ask(3, AttendRequest{key, to_json(said)});
  said.wish = Wish::close;
  one.ask(3, AttendRequest{key, to_json(said)});
  EXPECT_TRUE(one.status);
  one.store.open_to_all();
  EXPECT_FALSE(one.state().closed);
}

TEST(AgentStore, ItsHostMayOpenItBeforeARoundHasFormed) {
  Store one;
  one.store.close_to_strangers({NodeRank::none(), {"n1", 1, launch_local_id}, {{}, "of n1"}});
  one.attend(1, Wish::join);
  EXPECT_FALSE(one.status);
  one.store.open_to_all();
  one.attend(1, Wish::join);
  EXPECT_TRUE(one.status);
}

// The answer to a node that looks for the job.
std::string where(Store& one) {
  return one.ask(5, AttendRequest{key, to_json(visit(Wish::where, {"n5", 1, launch_local_id}))});
}

TEST(AgentStore, WhoLooksForTheJobHearsWhetherItIsHere) {
  Store one;
  EXPECT_THAT(where(one), HasSubstr("ended")) << "no job has begun";
  EXPECT_EQ(one.ask(1, CheckRequest{{key}}), one.ask(1, CheckRequest{{"nothing"}})) << "and none begins by asking";
  one.attend(1, Wish::join);
  EXPECT_THAT(where(one), HasSubstr("waits"));
  EXPECT_FALSE(one.store.is_watched(5)) << "it is no agent of this store";
  Attendance said = visit(Wish::tell, {"n9", 1, launch_local_id});
  said.nodes = parse_attendance(attendance(Wish::join, "n1"))->nodes;
  said.moved = MovedJob{{"n9", 1, launch_local_id}, {{"n9", 40000}, "of n9"}, 1};
  one.ask(9, AttendRequest{key, to_json(said)});
  EXPECT_THAT(where(one), HasSubstr("of n9")) << "it gave way";
}

TEST(AgentStore, AClosedDoorSaysWhereTheJobIs) {
  Store one;
  const MovedJob job{{"n0", 1, launch_local_id}, {{"n0", 29400}, "of n0"}, 0};
  one.store.close_to_strangers({NodeRank::none(), {"n1", 1, launch_local_id}, {{}, "of n1"}});
  where(one);
  EXPECT_FALSE(one.status) << "it knows of none";
  one.store.point_to("another job", job);
  where(one);
  EXPECT_FALSE(one.status);
  one.store.point_to(key, job);
  EXPECT_EQ(heard<RoundMoved>(where(one)).job, job);
  EXPECT_TRUE(one.status);
  one.store.point_to(key, std::nullopt);
  where(one);
  EXPECT_FALSE(one.status);
}

TEST(AgentStore, WhoTellsOfAnotherStoreFoundsNoJobAndIsNoAgent) {
  Store one;
  Attendance said = *parse_attendance(attendance(Wish::look, "n9"));
  said.wish = Wish::tell;
  said.moved = MovedJob{{"n9", 1, launch_local_id}, {{"n9", 40000}, "of n9"}, 1};
  one.ask(9, AttendRequest{key, to_json(said)});
  EXPECT_TRUE(one.status);
  EXPECT_EQ(one.ask(1, CheckRequest{{key}}), one.ask(1, CheckRequest{{"nothing"}}));
  one.attend(1, Wish::join);
  one.ask(9, AttendRequest{key, to_json(said)});
  EXPECT_THAT(one.pushed(1), HasSubstr("moved"));
  EXPECT_FALSE(one.store.is_watched(9));
}

}  // namespace launch::agent_store_test
