#include "launch/core/c10d/version_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::version_state_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Status = VersionState::Status;

const NodeDesc n1{"n1", 4, launch_local_id};
const NodeDesc n2{"n2", 5, launch_local_id};

// As json.dumps writes them for torchrun 2.13.
TEST(VersionState, ReadsTheStatesOfTorchrun) {
  const auto setup = read_version_state(R"({"status": "setup"})");
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->status, Status::setup);
  const auto joinable = read_version_state(R"({"status": "joinable", "version": "12", "participants": [0, 1]})");
  ASSERT_TRUE(joinable);
  EXPECT_EQ(joinable->status, Status::joinable);
  EXPECT_EQ(joinable->version, 12);
  EXPECT_EQ(joinable->participants, 2);
  EXPECT_THAT(joinable->launch, IsEmpty());
  const auto final = read_version_state(
      R"({"status": "final", "version": "1", "participants": [0], "keep_alives": ["/p/run_j/rdzv/v_1/rank_0"],)"
      R"( "num_workers_waiting": 2})");
  ASSERT_TRUE(final);
  EXPECT_EQ(final->status, Status::final);
  EXPECT_THAT(final->keep_alives, ElementsAre("/p/run_j/rdzv/v_1/rank_0"));
  EXPECT_EQ(final->waiting, 2);
  EXPECT_FALSE(final->all_launch());
  EXPECT_EQ(read_version_state(R"({"status": "closed"})")->status, Status::closed);
  EXPECT_EQ(read_version_state("")->status, Status::absent);
}

TEST(VersionState, IsWrittenWithWhatTorchrunLooksFor) {
  VersionState state;
  state.status = Status::setup;
  state.founder = n1;
  EXPECT_EQ(write_version_state(state), R"({"launch_founder":{"addr":"n1","pid":4},"status":"setup"})");
  state = {};
  state.status = Status::joinable;
  state.version = 3;
  EXPECT_EQ(write_version_state(state), R"({"participants":[],"status":"joinable","version":"3"})");
  state.status = Status::frozen;
  state.participants = 2;
  state.launch[1] = n1;
  EXPECT_EQ(write_version_state(state), R"({"keep_alives":[],"launch":{"1":{"addr":"n1","pid":4}},)"
                                        R"("participants":[0,1],"status":"frozen","version":"3"})");
  state.status = Status::final;
  EXPECT_THAT(write_version_state(state), HasSubstr(R"("num_workers_waiting":0)"));
  EXPECT_EQ(write_version_state(VersionState()), "");
}

TEST(VersionState, IsReadAsItWasWritten) {
  VersionState state;
  for (const Status status : {Status::joinable, Status::frozen, Status::final, Status::closed}) {
    state.status = status;
    state.version = 3;
    state.participants = 3;
    state.launch = {{0, n1}, {2, n2}};
    state.keep_alives.assign(status == Status::joinable ? 0 : 2, "/a");
    state.waiting = status == Status::joinable ? 0 : 4;
    state.launch_waiting = {n1};
    const auto read = read_version_state(write_version_state(state));
    ASSERT_TRUE(read) << write_version_state(state);
    EXPECT_EQ(*read, state) << write_version_state(state);
  }
}

TEST(VersionState, WhatIsNoStateIsRefused) {
  for (const char* text :
       {"x", "[]", "{}", R"({"status": 7})", R"({"status": "ready"})", R"({"status": "joinable", "participants": []})",
        R"({"status": "final", "version": "0", "participants": []})",
        R"({"status": "joinable", "version": "v", "participants": []})",
        R"({"status": "joinable", "version": "1", "participants": 2})",
        R"({"status": "frozen", "version": "1", "participants": [0], "keep_alives": [1]})",
        R"({"status": "final", "version": "1", "participants": [0], "num_workers_waiting": -1})",
        R"({"status": "final", "version": "1", "participants": [0], "launch": {"1": {"addr": "a", "pid": 1}}})",
        R"({"status": "final", "version": "1", "participants": [0], "launch": {"0": {"addr": "a"}}})",
        R"({"status": "setup", "launch_founder": []})"}) {
    const auto state = read_version_state(text);
    ASSERT_FALSE(state) << text;
    EXPECT_THAT(state.error().message, HasSubstr("is no state of torchrun's older etcd rendezvous")) << text;
  }
}

// Whoever is lost, some launch agent that lives looks at its lease.
TEST(VersionState, EachLaunchAgentLooksAtThoseBehindItUpToTheNext) {
  VersionState state;
  state.participants = 5;
  state.launch = {{1, n1}, {4, n2}};
  EXPECT_THAT(neighbours(state, 1), ElementsAre(2, 3, 4));
  EXPECT_THAT(neighbours(state, 4), ElementsAre(0, 1));
  EXPECT_THAT(all_ranks(state), ElementsAre(0, 1, 2, 3, 4));
  state.participants = 1;
  EXPECT_THAT(neighbours(state, 0), IsEmpty());
}

TEST(VersionState, NamesItsLaunchAgents) {
  VersionState state;
  state.participants = 2;
  state.launch = {{1, n1}};
  EXPECT_EQ(name_of(state, 1), "n1 (pid 4)");
  EXPECT_EQ(name_of(state, 0), "node 0, an agent of torchrun,");
}

}  // namespace launch::version_state_test
