#include "launch/core/base/random.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace launch::random_test {

using namespace std::chrono_literals;

bool has_form_of_version_four(const std::string& uuid) {
  constexpr std::string_view form = "xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx";
  return std::equal(uuid.begin(), uuid.end(), form.begin(), form.end(), [](char c, char expected) {
    if (expected == 'x') return std::string_view("0123456789abcdef").find(c) != std::string_view::npos;
    if (expected == 'v') return std::string_view("89ab").find(c) != std::string_view::npos;
    return c == expected;
  });
}

TEST(Random, EqualSeedsGiveEqualNumbersAndOtherSeedsOthers) {
  Random a(1);
  Random b(1);
  Random c(2);
  for (int i = 0; i < 100; ++i) {
    const auto number = a.next();
    EXPECT_EQ(number, b.next());
    EXPECT_NE(number, c.next());
  }
}

TEST(Random, NumbersFollowTheSplitmix64ReferenceSequence) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(Random, BetweenReachesBothHalvesAndNeverTheUpperEnd) {
  Random random(3);
  int low_half = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Duration d = random.between(100ms, 200ms);
    ASSERT_GE(d, 100ms);
    ASSERT_LT(d, 200ms);
    low_half += d < 150ms ? 1 : 0;
  }
  EXPECT_GT(low_half, 4700);
  EXPECT_LT(low_half, 5300);
  EXPECT_EQ(random.between(5ns, 6ns), 5ns);
}

TEST(Random, UuidsAreVersionFourAndDiffer) {
  Random random(4);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = make_uuid(random);
    EXPECT_TRUE(has_form_of_version_four(uuid)) << uuid;
    EXPECT_TRUE(seen.insert(uuid).second) << uuid;
  }
}

}  // namespace launch::random_test
