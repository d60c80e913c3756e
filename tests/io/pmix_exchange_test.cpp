#include "launch/io/pmix_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace launch::pmix_exchange_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

RankQuestion question() {
  RankQuestion one;
  one.ranks = 2;
  one.hostname = "n1";
  one.limit = 10s;
  return one;
}

// With a real server: tests/clusters/test_mpi.
TEST(PmixExchange, WithoutALibraryNobodyIsAsked) {
  const auto none = exchange_by_pmix(question(), {"/nowhere/libpmix.so.2"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::closed);
  EXPECT_THAT(none.error().message, HasSubstr("/nowhere/libpmix.so.2"));
}

TEST(PmixExchange, AnotherLibraryIsNone) {
  const auto other = exchange_by_pmix(question(), {"libc.so.6"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::closed);
  EXPECT_THAT(other.error().message, HasSubstr("PMIx_Init"));
}

// What the stand-in library answers, if this goes wrong.
Result<RankAnswer> answer_if(const char* fault, bool first = false, Duration limit = 10s) {
  ::setenv("PMIX_STAND_IN", fault, 1);
  RankQuestion asked = question();
  asked.first = first;
  asked.hostname = "203.0.113.9";
  asked.port = 29'500;
  asked.limit = limit;
  return exchange_by_pmix(asked, {LAUNCH_PMIX_STAND_IN});
}

TEST(PmixExchange, AllLearnWhereRank0IsAndWhichRankIsOnWhichNode) {
  const auto other = answer_if("");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->host, "203.0.113.7");
  EXPECT_EQ(other->port, 61'003);
  EXPECT_EQ(other->map, "(vector,(0,2,1))");
  const auto first = answer_if("", true);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->port, 29'500);
  EXPECT_EQ(answer_if("no hosts")->map, "");
}

TEST(PmixExchange, ALibraryThatCannotSpeakToItsServerIsNone) {
  EXPECT_THAT(answer_if("does not fit").error().message, HasSubstr("PMIx_Init failed with -2"));
  EXPECT_EQ(answer_if("does not fit").error().code, ErrorCode::closed);
}

// The others may wait for this rank: it must not go its own way.
TEST(PmixExchange, WhatGoesWrongLaterIsAnError) {
  EXPECT_EQ(answer_if("hangs at once", false, 300ms).error().code, ErrorCode::timeout);
  EXPECT_EQ(answer_if("aborts").error().code, ErrorCode::protocol);
  EXPECT_THAT(answer_if("a rank is lost").error().message, HasSubstr("PMIx_Fence failed with -25"));
  EXPECT_THAT(answer_if("dies").error().message, HasSubstr("ended the process that spoke to the server"));
  EXPECT_THAT(answer_if("lies").error().message, HasSubstr("rank 0 did not tell where it can be reached"));
  const auto late = answer_if("nobody comes", false, 300ms);
  EXPECT_EQ(late.error().code, ErrorCode::timeout);
  EXPECT_THAT(late.error().message, HasSubstr("not all ranks have come to the PMIx server in time"));
}

TEST(PmixExchange, TheLibraryOfTheSystemIsTakenIfThereIsNoneBesideTheStarter) {
  EXPECT_THAT(pmix_libraries({}), ElementsAre("libpmix.so.2"));
}

}  // namespace launch::pmix_exchange_test
