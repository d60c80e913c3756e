#include "launch/io/own_reach.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::own_reach_test {

using testing::AnyOf;
using testing::Contains;
using testing::Not;

TEST(OwnReach, TellsTheAddressesThatOthersMayReachAndAPort) {
  const Reach any = own_reach("n1", 0);
  EXPECT_EQ(any.hostname, "n1");
  EXPECT_GE(any.port, 61'000);
  EXPECT_THAT(any.addresses, Not(Contains(AnyOf("127.0.0.1", "::1"))));
  EXPECT_EQ(own_reach("n1", 29'500).port, 29'500);
}

TEST(OwnReach, AHostReachesItByTheNameThatLeadsThereElseByAnAddress) {
  EXPECT_EQ(host_for({"localhost", {"127.0.0.1", "203.0.113.7"}, 1}), "localhost");
  EXPECT_EQ(host_for({"no-such-host.invalid", {"203.0.113.7"}, 1}), "203.0.113.7");
  EXPECT_EQ(host_for({"no-such-host.invalid", {}, 1}), "no-such-host.invalid");
}

}  // namespace launch::own_reach_test
