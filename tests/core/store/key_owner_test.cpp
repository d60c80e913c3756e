#include "launch/core/store/key_owner.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace launch::key_owner_test {

const AgentKeys agents{"/job/", "own/"};

TEST(KeyOwner, WithoutAgentsEveryKeyIsTheWorkers) {
  EXPECT_EQ(owner_of(GetRequest{"/job/x"}, {}), KeyOwner::workers);
  EXPECT_EQ(owner_of(AddRequest{"init/", 1}, {}), KeyOwner::workers);
  EXPECT_EQ(owner_of(PingRequest{1}, {}), KeyOwner::agents);
}

TEST(KeyOwner, AgentsKeysAreKnownByTheirBeginning) {
  for (const Request& request : std::vector<Request>{
           GetRequest{"/job/x"}, SetRequest{"own/x", ""}, CheckRequest{{"/job/a", "own/b"}}, PingRequest{1},
           ListKeysRequest{}, CancelWaitRequest{}, AttendRequest{"/state", ""}, LeaveWillRequest{""}})
    EXPECT_EQ(owner_of(request, agents), KeyOwner::agents) << request.index();
}

TEST(KeyOwner, OneKeyOfWorkersIsEnough) {
  for (const Request& request : std::vector<Request>{
           AddRequest{"/jo", 1}, WaitRequest{{"/job/a", "/b"}}, MultiSetRequest{{{"/job/a", ""}, {"/b", ""}}},
           BarrierRequest{"/b", 2}, QueuePushRequest{"/q", ""}, WatchKeyRequest{"/w"}, DeleteKeyRequest{"/d"},
           CheckRequest{{"init/", "/b"}}})
    EXPECT_EQ(owner_of(request, agents), KeyOwner::workers) << request.index();
}

TEST(KeyOwner, TheCountOfClientsIsEverybodys) {
  EXPECT_EQ(owner_of(AddRequest{"init/", 1}, agents), KeyOwner::anybody);
  EXPECT_EQ(owner_of(CheckRequest{{"init/", "/job/x"}}, agents), KeyOwner::anybody);
}

}  // namespace launch::key_owner_test
