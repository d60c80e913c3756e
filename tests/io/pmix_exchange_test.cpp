#include "launch/io/pmix_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

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

TEST(PmixExchange, TheLibraryOfTheSystemIsTakenIfThereIsNoneBesideTheStarter) {
  EXPECT_THAT(pmix_libraries({}), ElementsAre("libpmix.so.2"));
}

}  // namespace launch::pmix_exchange_test
