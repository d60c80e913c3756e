#include "launch/core/logs/log_backlog.hpp"

#include "log_backlog_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::log_backlog_test {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

TEST_F(LogBacklogs, NothingIsToDoAtFirst) {
  EXPECT_EQ(backlog_.next_write(), std::nullopt);
  EXPECT_EQ(next(), "");
  EXPECT_LE(backlog_.room_at(0), now_);
  EXPECT_TRUE(backlog_.all_written());
  receive("");
  EXPECT_EQ(backlog_.next_write(), std::nullopt);
  EXPECT_EQ(backlog_.end(0), 0U);
}

TEST_F(LogBacklogs, WhatWaitsIsWrittenAtOnceAndInItsOrder) {
  receive("ab");
  receive("c");
  EXPECT_FALSE(backlog_.all_written());
  const LogBacklog::Write write = take();
  EXPECT_EQ(write.offset, 0U);
  EXPECT_EQ(write.size, 3U);
  receive("de");  // meanwhile
  EXPECT_EQ(backlog_.lost(0), 5U);
  succeed(write);
  EXPECT_EQ(backlog_.lost(0), 2U);
  const LogBacklog::Write next = take();
  EXPECT_EQ(next.offset, 3U);
  EXPECT_FALSE(backlog_.all_written());  // it is in hand
  succeed(next);
  EXPECT_TRUE(backlog_.all_written());
  EXPECT_EQ(backlog_.lost(0), 0U);
}

TEST_F(LogBacklogs, AWriteIsAMebibyteOrSo) {
  LogBacklog backlog({});
  backlog.add_stream(false);
  const auto chunk = std::make_shared<const std::string>(60'000, 'x');
  for (int i = 0; i < 40; ++i) backlog.receive(0, chunk, now_);
  std::size_t bytes = 0;
  while (const auto write = backlog.next_write()) {
    EXPECT_EQ(write->offset, bytes);
    bytes += write->size;
    EXPECT_LE(write->size, (1U << 20) + 60'000);
    EXPECT_TRUE(write->size >= 1U << 20 || bytes == 40 * 60'000U);
  }
  EXPECT_EQ(bytes, 40 * 60'000U);
  EXPECT_EQ(backlog.next_write(), std::nullopt);
}

TEST_F(LogBacklogs, StreamsTakeTurns) {
  LogBacklog backlog({});
  for (int i = 0; i < 3; ++i) backlog.add_stream(false);
  const auto much = std::make_shared<const std::string>(std::size_t{1} << 20, 'x');
  const auto little = std::make_shared<const std::string>("x");
  for (int i = 0; i < 3; ++i) backlog.receive(2, much, now_);
  for (const int stream : {0, 1, 0}) backlog.receive(stream, little, now_);
  std::vector<int> turns;
  while (const auto write = backlog.next_write()) turns.push_back(write->stream);
  EXPECT_THAT(turns, testing::ElementsAre(2, 0, 1, 2, 2));
}

TEST_F(LogBacklogs, WhatTheFileSystemTookMakesRoom) {
  EXPECT_THAT(fill(), AllOf(Ge(3'000U), Le(10'000U)));
  const LogBacklog::Write write = take();
  EXPECT_GT(backlog_.room_at(0), now_);  // in hand is not written
  succeed(write);
  EXPECT_LE(backlog_.room_at(0), now_);
  EXPECT_LE(backlog_.room_at(1), now_);
}

TEST_F(LogBacklogs, AllStreamsShareTheRoomAndSmallPiecesCostMore) {
  EXPECT_GT(fill(0, 2'000), 8'000U);
  EXPECT_EQ(fill(1), 0U);
  write_all();
  EXPECT_LT(fill(1, 1), 200U);
}

TEST_F(LogBacklogs, PatienceCountsFromTheLastWrite) {
  now_ += 1h;
  receive("first");
  now_ += 1s;  // nothing was written in vain before these came
  fill();
  EXPECT_EQ(backlog_.room_at(1), now_ + 1s);
  const LogBacklog::Write write = take();
  receive("next");
  now_ += 500ms;
  succeed(write);
  EXPECT_TRUE(fill() > 0);
  EXPECT_EQ(backlog_.room_at(0), now_ + 2s);
  EXPECT_FALSE(backlog_.stalled());
}

TEST_F(LogBacklogs, AStalledFileSystemIsWaitedForOnce) {
  fill();
  const LogBacklog::Write write = take();
  now_ = backlog_.room_at(0);
  receive("lost", 1);
  EXPECT_TRUE(backlog_.stalled());
  for (int i = 0; i < 20; ++i, now_ += 10s) {
    EXPECT_LE(backlog_.room_at(0), now_);
    receive("lost", 1);
  }
  succeed(write);
  EXPECT_FALSE(backlog_.stalled());
  EXPECT_EQ(backlog_.lost(1), 21 * 4U);
  EXPECT_EQ(backlog_.next_write(), std::nullopt);
  fill();
  EXPECT_EQ(backlog_.room_at(0), now_ + 2s);
}

// The file system answered.
TEST_F(LogBacklogs, AFailedWriteIsNoStall) {
  fill(1);
  const LogBacklog::Write write = take();
  now_ = backlog_.room_at(1);
  receive("lost", 1);
  fail(write);
  EXPECT_FALSE(backlog_.stalled());
  EXPECT_EQ(backlog_.lost(1), backlog_.end(1));
  receive("here", 1);
  succeed(take());
  EXPECT_EQ(backlog_.lost(1), backlog_.end(1) - 4);
}

// Somebody else used the room between a look at it and the bytes.
TEST_F(LogBacklogs, BytesThatComeTooEarlyAreTaken) {
  const std::size_t before = fill();
  now_ = backlog_.room_at(0) - 1ns;
  receive("early");
  EXPECT_FALSE(backlog_.stalled());
  EXPECT_EQ(take().size, before + 5);
}

TEST_F(LogBacklogs, AGapBeginsTheNextWrite) {
  const std::size_t first = fill(1);
  const LogBacklog::Write held = take();
  receive("early", 1);
  now_ += 3s;
  receive("lost", 1);
  succeed(held);
  receive("after", 1);
  const LogBacklog::Write before = take();
  EXPECT_EQ(before.offset, first);
  EXPECT_EQ(before.size, 5U);
  succeed(before);
  const LogBacklog::Write after = take();
  EXPECT_EQ(after.offset, first + 9);
  EXPECT_EQ(after.size, 5U);
  succeed(after);
  EXPECT_TRUE(backlog_.all_written());
  EXPECT_EQ(backlog_.lost(1), 4U);
}

TEST_F(LogBacklogs, TheEndOfAStreamIsAWriteOfNothing) {
  receive("ab\ncd");
  succeed(take());
  LogBacklog::Write end;
  end.stream = 0;
  backlog_.wrote(end, {{}, 3, {}}, now_);
  EXPECT_TRUE(backlog_.all_written());
  EXPECT_EQ(backlog_.lost(0), 2U);
}

TEST_F(LogBacklogs, TheTailIsTheEnd) {
  EXPECT_EQ(backlog_.tail(0), "");
  std::string all;
  for (const std::size_t size : {3, 5, 1, 8, 2, 7, 7, 7, 30, 1, 1}) {
    const std::string text(size, static_cast<char>('a' + size));
    all += text;
    receive(text);
    const std::string& tail = backlog_.tail(0);
    EXPECT_GE(tail.size(), std::min<std::size_t>(all.size(), 8));
    EXPECT_LE(tail.size(), 16U);
    EXPECT_TRUE(all.ends_with(tail));
  }
  EXPECT_EQ(backlog_.tail(1), "");
}

TEST_F(LogBacklogs, TheTailHasWhatIsLostToo) {
  fill(1);
  now_ += 2s;
  receive("the last", 1);
  EXPECT_TRUE(backlog_.tail(1).ends_with("the last"));
}

TEST_F(LogBacklogs, ProgressIsWhatTheFileSystemOrTheConsoleTook) {
  receive("text");
  const Time came = now_;
  EXPECT_EQ(backlog_.last_progress(), came);
  now_ += 1s;
  EXPECT_EQ(backlog_.last_progress(), came);
  show();
  EXPECT_EQ(backlog_.last_progress(), now_);
  now_ += 1s;
  write_all();
  EXPECT_EQ(backlog_.last_progress(), now_);
}

}  // namespace launch::log_backlog_test
