// Nodes that were started with different settings.
#include "launch/core/c10d/membership.hpp"

#include "membership_driver.hpp"

#include <gmock/gmock.h>

namespace launch::membership_agreement_test {

using namespace std::chrono_literals;

TEST(MembershipAgreement, NodesThatContradictEachOtherAreRefused) {
  MembershipDriver job(1, 2);
  job.join(1);
  Attendance said = job.said(Attendance::Wish::join, "n2");
  said.nodes = {2, 2};
  job.attend(2, said);
  const auto* refused = job.only<RoundRefused>(2);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->error.code, ErrorCode::conflict);
  EXPECT_EQ(refused->error.message,
            "conflicting --nnodes: n2 (pid 1) has 2, the job has 1:2; give the same --nnodes on every "
            "node");
  EXPECT_EQ(job.look(1).arrived, 1);
  job.drop(2);
  job.drop(1);
  job.attend(2, said);
  EXPECT_TRUE(job.silent(2)) << "the first one there says what the job is";
}

TEST(MembershipAgreement, ANodeWithAnotherHeartbeatTimeoutIsRefused) {
  MembershipDriver job(1, 3);
  Attendance said = job.said(Attendance::Wish::join, "n1");
  said.common = {{"--heartbeat-timeout", "5 s"}};
  job.attend(1, said);
  said = job.said(Attendance::Wish::join, "n2");
  said.common = {{"--heartbeat-timeout", "60 s"}};
  job.attend(2, said);
  const auto* refused = job.only<RoundRefused>(2);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->error.code, ErrorCode::conflict);
  EXPECT_THAT(refused->error.message, ::testing::HasSubstr("conflicting --heartbeat-timeout: n2 (pid 1) has"));
  job.join(3);  // of a version that does not say
  EXPECT_EQ(job.look(1).arrived, 2);
}

TEST(MembershipAgreement, ANodeWithOtherRestartsIsInAndHearsWhatTheJobHas) {
  MembershipDriver job(2, 2);
  Attendance said = job.said(Attendance::Wish::join, "n1");
  said.common = {{"--max-restarts", "1"}};
  job.attend(1, said);
  const CommonSettings first = said.common;
  said = job.said(Attendance::Wish::join, "n2");
  said.common = {{"--max-restarts", "2"}};
  job.attend(2, said);
  job.pass(30s);
  const auto* formed = job.only<RoundFormed>(1);
  ASSERT_NE(formed, nullptr);
  EXPECT_TRUE(formed->common.empty());
  formed = job.only<RoundFormed>(2);
  ASSERT_NE(formed, nullptr);
  EXPECT_EQ(formed->common, first);
}

}  // namespace launch::membership_agreement_test
