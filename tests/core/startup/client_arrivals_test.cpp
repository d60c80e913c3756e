#include "launch/core/startup/client_arrivals.hpp"

#include <gtest/gtest.h>

namespace launch::client_arrivals_test {

using namespace std::chrono_literals;

Time at(Duration time) { return Time() + time; }

TEST(ClientArrivals, EachProcessCountsOnceByItsFirstConnection) {
  ClientArrivals arrivals;
  arrivals.note({"10.0.0.1", false, 7, at(1s)});
  arrivals.note({"10.0.0.1", false, 7, at(2s)});
  arrivals.note({"10.0.0.1", false, 8, at(3s)});
  arrivals.note({"10.0.0.2", false, 7, at(4s)});
  ASSERT_EQ(3U, arrivals.all().size());
  EXPECT_EQ(at(1s), arrivals.all()[0].at);
  EXPECT_EQ("10.0.0.2", arrivals.all()[2].address);
}

TEST(ClientArrivals, TheListenerIsCalledOnceWhenAsManyHaveCome) {
  int calls = 0;
  ClientArrivals arrivals;
  arrivals.set_listener([&calls] { ++calls; });
  arrivals.note({"a", false, 1, {}});
  arrivals.note({"a", false, 2, {}});
  EXPECT_EQ(0, calls) << "nobody expects anything";
  arrivals.expect(3);
  EXPECT_EQ(0, calls);
  arrivals.note({"a", false, 2, {}});
  EXPECT_EQ(0, calls) << "that one has come already";
  arrivals.note({"a", false, 3, {}});
  EXPECT_EQ(1, calls);
  arrivals.note({"a", false, 4, {}});
  EXPECT_EQ(1, calls);
  arrivals.expect(4);
  EXPECT_EQ(2, calls) << "they are there";
}

TEST(ClientArrivals, ARestartBeginsAgain) {
  int calls = 0;
  ClientArrivals arrivals;
  arrivals.set_listener([&calls] { ++calls; });
  arrivals.note({"a", false, 1, at(1s)});
  arrivals.forget();
  EXPECT_TRUE(arrivals.all().empty());
  arrivals.expect(1);
  EXPECT_EQ(0, calls);
  arrivals.note({"a", false, 1, at(9s)});
  EXPECT_EQ(1, calls);
  EXPECT_EQ(at(9s), arrivals.all()[0].at);
}

TEST(ClientArrivals, AFloodOfPidsIsBounded) {
  ClientArrivals arrivals;
  for (std::uint32_t pid = 0; pid < ClientArrivals::most + 10; ++pid) arrivals.note({"a", false, pid, {}});
  EXPECT_EQ(ClientArrivals::most, arrivals.all().size());
}

}  // namespace launch::client_arrivals_test
