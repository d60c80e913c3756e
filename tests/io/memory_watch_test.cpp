#include "launch/io/memory_watch.hpp"

#include <gtest/gtest.h>

namespace launch {
namespace {

TEST(MemoryWatch, WhereNothingWasKilledThereIsNoEvidence) {
  const MemoryWatch watch;
  EXPECT_EQ(watch.evidence(), "");
}

}  // namespace
}  // namespace launch
