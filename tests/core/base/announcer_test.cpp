#include "launch/core/base/announcer.hpp"

#include <gtest/gtest.h>

namespace launch::announcer_test {

using namespace std::chrono_literals;

TEST(Announcer, AShortWaitSaysNothingAndALongOneNowAndThen) {
  const Time start = Time(1h);
  Announcer announcer(start);
  EXPECT_EQ(announcer.next(), start + 1s);
  EXPECT_FALSE(announcer.due(start + 999ms, 30s));
  EXPECT_TRUE(announcer.due(start + 1s, 30s));
  EXPECT_FALSE(announcer.due(start + 30s, 30s));
  EXPECT_TRUE(announcer.due(start + 31s, 30s));
}

}  // namespace launch::announcer_test
