#include "launch/core/metrics/histogram.hpp"

#include <gtest/gtest.h>

namespace launch::histogram_test {

using namespace std::chrono_literals;

TEST(Histogram, ABucketHoldsWhatIsAtMostItsBound) {
  Histogram histogram{0.5, 1, 10};
  for (const Duration duration : {Duration(500ms), Duration(501ms), Duration(1s), Duration(11s), Duration()})
    histogram.observe(duration);
  EXPECT_EQ(2U, histogram.up_to(0));
  EXPECT_EQ(4U, histogram.up_to(1));
  EXPECT_EQ(4U, histogram.up_to(2));
  EXPECT_EQ(5U, histogram.count());
  EXPECT_DOUBLE_EQ(13.001, histogram.sum());
}

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram{1};
  EXPECT_EQ(0U, histogram.up_to(0));
  EXPECT_EQ(0U, histogram.count());
  EXPECT_EQ(0, histogram.sum());
}

}  // namespace launch::histogram_test
