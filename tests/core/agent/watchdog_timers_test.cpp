#include "launch/core/agent/watchdog_timers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::watchdog_timers_test {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string request_line(const std::string& scope) {
  return R"({"version":1,"pid":1,"scope_id":")" + scope + R"(","expiration_time":1,"signal":9})";
}

TEST(WatchdogTimers, ALineOfTorchIsRead) {
  const auto set = parse_timer_request(
      R"({"version": 1, "pid": 4711, "scope_id": "a.py#3", "expiration_time": 1720000000.25, "signal": 9})");
  ASSERT_TRUE(set);
  EXPECT_EQ(*set, (TimerRequest{4711, "a.py#3", 1720000000.25, 9}));
  const auto release =
      parse_timer_request(R"({"version": 1, "pid": 4711, "scope_id": "a.py#3", "expiration_time": -1, "signal": 0})");
  ASSERT_TRUE(release);
  EXPECT_EQ(*release, (TimerRequest{4711, "a.py#3", -1, 0}));
}

TEST(WatchdogTimers, WhatIsNoRequestIsRefusedInOneLine) {
  const std::pair<const char*, const char*> lines[] = {
      {"", "no JSON object"},
      {"rubbish\n\x01", "no JSON object"},
      {"[1]", "no JSON object"},
      {R"({"version":1,"pid":1,"scope_id":"a","expiration_time":1,"signal":9)", "no JSON object"},
      {R"({"version":1,"pid":1,"scope_id":"a","expiration_time":NaN,"signal":9})", "no JSON object"},
      {R"({"version":1,"pid":1,"scope_id":"a","expiration_time":1e999,"signal":9})", "no JSON object"},
      {R"({"pid":1,"scope_id":"a","expiration_time":1,"signal":9})", "no version 1"},
      {R"({"version":2,"pid":1,"scope_id":"a","expiration_time":1,"signal":9})", "no version 1"},
      {R"({"version":1,"pid":0,"scope_id":"a","expiration_time":1,"signal":9})", "no pid"},
      {R"({"version":1,"pid":-1,"scope_id":"a","expiration_time":1,"signal":9})", "no pid"},
      {R"({"version":1,"pid":true,"scope_id":"a","expiration_time":1,"signal":9})", "no pid"},
      {R"({"version":1,"pid":"1","scope_id":"a","expiration_time":1,"signal":9})", "no pid"},
      {R"({"version":1,"pid":1.0,"scope_id":"a","expiration_time":1,"signal":9})", "no pid"},
      {R"({"version":1,"pid":4294967297,"scope_id":"a","expiration_time":1,"signal":9})", "no pid"},
      {R"({"version":1,"pid":18446744073709551615,"scope_id":"a","expiration_time":1,"signal":9})", "no pid"},
      {R"({"version":1,"pid":1,"scope_id":7,"expiration_time":1,"signal":9})", "no text as scope_id"},
      {R"({"version":1,"pid":1,"scope_id":"a","expiration_time":"1","signal":9})", "no number as expiration_time"},
      {R"({"version":1,"pid":1,"scope_id":"a","signal":9})", "no number as expiration_time"},
      {R"({"version":1,"pid":1,"scope_id":"a","expiration_time":1,"signal":65})", "no signal from 0 to 64"},
      {R"({"version":1,"pid":1,"scope_id":"a","expiration_time":1,"signal":-9})", "no signal from 0 to 64"},
      {R"({"version":1,"pid":1,"scope_id":"a","expiration_time":1})", "no signal from 0 to 64"},
  };
  for (const auto& [line, words] : lines) {
    const auto request = parse_timer_request(line);
    ASSERT_FALSE(request) << line;
    EXPECT_THAT(request.error().message, HasSubstr(words)) << line;
    EXPECT_EQ(request.error().message.find('\n'), std::string::npos) << line;
  }
}

TEST(WatchdogTimers, AScopeIsFitToBeShown) {
  EXPECT_EQ(parse_timer_request(request_line(R"(a\u001b[2J\nb)"))->scope, "a [2J b");
  const std::string scope = parse_timer_request(request_line(std::string(3000, 'x') + "#12"))->scope;
  EXPECT_EQ(scope.size(), 203U);
  EXPECT_THAT(scope, EndsWith("xx#12"));
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "\u20ac";  // three bytes each
  EXPECT_EQ(parse_timer_request(request_line(wide))->scope, "..." + wide.substr(300 - 198));
}

TEST(WatchdogTimers, ExpireInTheirOrderAndOnce) {
  WatchdogTimers timers;
  EXPECT_EQ(timers.next(), std::nullopt);
  ASSERT_TRUE(timers.on({1, "late", 30, 9}));
  ASSERT_TRUE(timers.on({2, "b", 20, 15}));
  ASSERT_TRUE(timers.on({1, "a", 10, 9}));
  EXPECT_EQ(timers.next(), 10);
  EXPECT_THAT(timers.expired(9.9), IsEmpty());
  EXPECT_THAT(timers.expired(20), ElementsAre(ExpiredTimer{1, "a", 9}, ExpiredTimer{2, "b", 15}));
  EXPECT_EQ(timers.next(), 30);
  EXPECT_THAT(timers.expired(20), IsEmpty());
}

TEST(WatchdogTimers, ASecondRequestReplacesTheFirst) {
  WatchdogTimers timers;
  ASSERT_TRUE(timers.on({1, "a", 10, 9}));
  ASSERT_TRUE(timers.on({1, "a", 50, 15}));
  EXPECT_THAT(timers.expired(49), IsEmpty());
  EXPECT_THAT(timers.expired(50), ElementsAre(ExpiredTimer{1, "a", 15}));
}

TEST(WatchdogTimers, AReleaseIsForOneScopeOfOneProcess) {
  WatchdogTimers timers;
  for (const int pid : {1, 2})
    for (const char* scope : {"a", "b"}) ASSERT_TRUE(timers.on({pid, scope, 10, 9}));
  ASSERT_TRUE(timers.on({1, "a", -1, 0}));
  ASSERT_TRUE(timers.on({3, "a", -1, 0}));
  EXPECT_THAT(timers.expired(10),
              ElementsAre(ExpiredTimer{1, "b", 9}, ExpiredTimer{2, "a", 9}, ExpiredTimer{2, "b", 9}));
}

TEST(WatchdogTimers, OneWithoutASignalIsNotTold) {
  WatchdogTimers timers;
  ASSERT_TRUE(timers.on({1, "a", 10, 0}));
  EXPECT_THAT(timers.expired(10), IsEmpty());
  EXPECT_EQ(timers.next(), std::nullopt);
}

TEST(WatchdogTimers, AProcessThatIsGoneHasNone) {
  WatchdogTimers timers;
  for (const int pid : {1, 2, 3})
    for (const char* scope : {"", "b"}) ASSERT_TRUE(timers.on({pid, scope, 10, 9}));
  timers.forget(2);
  timers.forget(7);
  EXPECT_THAT(timers.expired(10), ElementsAre(ExpiredTimer{1, "", 9}, ExpiredTimer{1, "b", 9}, ExpiredTimer{3, "", 9},
                                              ExpiredTimer{3, "b", 9}));
}

TEST(WatchdogTimers, ThereIsRoomForSoMany) {
  WatchdogTimers timers;
  for (int pid = 1; pid <= static_cast<int>(WatchdogTimers::most); ++pid) ASSERT_TRUE(timers.on({pid, "a", 10, 9}));
  const Status refused = timers.on({1, "b", 5, 9});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("100000 watchdog timers; there is no room for 'b' of pid 1"));
  EXPECT_TRUE(timers.on({1, "a", 11, 9}));
  EXPECT_TRUE(timers.on({2, "a", -1, 0}));
  EXPECT_TRUE(timers.on({1, "b", 5, 9}));
  EXPECT_EQ(timers.next(), 5);
}

}  // namespace launch::watchdog_timers_test
