#include "launch/core/base/time.hpp"

#include <gtest/gtest.h>

namespace launch::time_test {

using namespace std::chrono_literals;

TEST(Time, LaterAddsAndStaysAtNeverInsteadOfOverflowing) {
  const Time start{1s};
  EXPECT_EQ(later(start, 2s), Time{3s});
  EXPECT_EQ(later(start, Duration::max()), never);
  EXPECT_EQ(later(never, 1s), never);
  EXPECT_EQ(later(never - 1s, 1s), never);
  EXPECT_EQ(later(never - 2s, 1s), never - 1s);
}

TEST(Time, SecondsSince1970AreReadIfTheyAreATime) {
  EXPECT_EQ(parse_wall_time("1700000000"), WallTime(1'700'000'000s));
  EXPECT_EQ(parse_wall_time("4000000000"), WallTime(4'000'000'000s)) << "more than 31 bits";
  for (const char* text : {"", "x", "0", "-1", " 1", "1x", "4294967295", "99999999999999999999", "2026-11-26T12:00:00"})
    EXPECT_FALSE(parse_wall_time(text)) << text;
}

TEST(Time, DurationsReadAsPeopleSayThem) {
  EXPECT_EQ(to_text(Duration{0}), "0 ms");
  EXPECT_EQ(to_text(300ms), "300 ms");
  EXPECT_EQ(to_text(1s), "1 s");
  EXPECT_EQ(to_text(2500ms), "2.5 s");
  EXPECT_EQ(to_text(15s), "15 s");
  EXPECT_EQ(to_text(15'600ms), "16 s");
  EXPECT_EQ(to_text(90s), "90 s");
  EXPECT_EQ(to_text(15min), "15 min");
  EXPECT_EQ(to_text(901s), "901 s");
}

}  // namespace launch::time_test
