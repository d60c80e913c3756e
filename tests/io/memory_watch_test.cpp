#include "launch/io/memory_watch.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace launch::memory_watch_test {

TEST(MemoryWatch, WhereNothingWasKilledThereIsNoEvidence) {
  boost::asio::io_context context;
  MemoryWatch watch(context.get_executor());
  watch.begin();
  for (const bool killed : {true, false}) {
    EXPECT_FALSE(watch.evidence(killed).of_worker);
    EXPECT_EQ(watch.evidence(killed).text, "");
  }
}

}  // namespace launch::memory_watch_test
