#include "launch/io/memory_watch.hpp"

#include <gtest/gtest.h>

namespace launch::memory_watch_test {

TEST(MemoryWatch, WhereNothingWasKilledThereIsNoEvidence) {
  const MemoryWatch watch;
  EXPECT_EQ(watch.evidence(true), "");
  EXPECT_EQ(watch.evidence(false), "");
}

}  // namespace launch::memory_watch_test
