#include "launch/core/metrics/store_tally.hpp"

#include <gtest/gtest.h>

namespace launch::store_tally_test {

using namespace std::chrono_literals;

TEST(StoreTally, CountsRequestsByKindAndTheirTime) {
  StoreTally tally;
  tally.count(Request(SetRequest{"a", "b"}).index(), 3us);
  tally.count(Request(SetRequest{"a", "b"}).index(), 2s);
  tally.count(Request(LeaveWillRequest{}).index(), 0s);
  EXPECT_EQ(2U, tally.requests[1]);
  EXPECT_EQ(3U, tally.took.count());
  EXPECT_EQ(2U, tally.took.up_to(1));
}

TEST(StoreTally, EveryKindHasAName) {
  EXPECT_EQ("validate", request_name(Request(ValidateRequest{}).index()));
  EXPECT_EQ("set", request_name(Request(SetRequest{}).index()));
  EXPECT_EQ("wait", request_name(Request(WaitRequest{}).index()));
  EXPECT_EQ("append", request_name(Request(AppendRequest{}).index()));
  EXPECT_EQ("queue_length", request_name(Request(QueueLengthRequest{}).index()));
  EXPECT_EQ("leave_will", request_name(Request(LeaveWillRequest{}).index()));
  for (std::size_t kind = 0; kind < StoreTally::kinds; ++kind) EXPECT_FALSE(request_name(kind).empty());
}

}  // namespace launch::store_tally_test
