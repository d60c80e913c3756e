#include "launch/core/store/counter.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace launch::counter_test {

TEST(Counter, HoldsTheNumberThatItsTextBeginsWith) {
  EXPECT_EQ(leading_number("17"), 17);
  EXPECT_EQ(leading_number("-3 of them"), -3);
  for (const char* text : {"", "x1", "+1", " 1", "9223372036854775808"}) EXPECT_EQ(leading_number(text), std::nullopt);
}

TEST(Counter, SumsWrapAround) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(wrapping_sum(40, 2), 42);
  EXPECT_EQ(wrapping_sum(most, 1), std::numeric_limits<std::int64_t>::min());
}

}  // namespace launch::counter_test
