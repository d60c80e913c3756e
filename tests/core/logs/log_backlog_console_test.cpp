#include "log_backlog_driver.hpp"

#include <algorithm>
#include <memory>

#include <gmock/gmock.h>

namespace launch::log_backlog_console_test {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

TEST_F(LogBacklogs, AConsoleThatKeepsUpReadsMemoryOnly) {
  receive("one");
  EXPECT_EQ(next(), "one");
  backlog_.shown(0, 2, now_);
  EXPECT_EQ(next(), "e");
  const LogBacklog::Write write = take();
  EXPECT_EQ(show(), "e");
  EXPECT_EQ(next(), "");
  succeed(write);
  receive("two");
  succeed(take());
  EXPECT_EQ(show(), "two");
  EXPECT_EQ(next(), "");
  receive("hidden", 1);
  EXPECT_EQ(next(1), "");
}

TEST_F(LogBacklogs, WhatMemoryDoesNotKeepIsReadFromTheFile) {
  receive(std::string(4'000, 'a'));
  receive(std::string(4'000, 'b'));  // with these there is no more room
  write_all();
  receive(std::string(4'000, 'c'));
  write_all();
  EXPECT_EQ(show(), std::string(4'000, 'a'));
  EXPECT_EQ(show(), std::string(4'000, 'b'));
  receive("kept");
  write_all();
  receive("waits");
  EXPECT_EQ(next(), "0@8000+4000");
  backlog_.shown(0, 100, now_);
  EXPECT_EQ(show(), "0@8100+3900");
  EXPECT_EQ(show(), "kept");
  EXPECT_EQ(show(), "waits");
  EXPECT_EQ(next(), "");
  write_all();
  // All of the room is there again.
  receive(std::string(4'000, 'd'));
  write_all();
  EXPECT_EQ(show(), std::string(4'000, 'd'));
}

TEST_F(LogBacklogs, WhatTheFileLostIsKeptForTheConsole) {
  receive(std::string(9'000, 'm'));
  write_all();  // there is no more room for what the file has
  receive("ab");
  receive("cd");
  LogBacklog::Write write = take();
  write_part(write, 3);
  EXPECT_EQ(backlog_.lost(0), 1U);
  EXPECT_EQ(show(), std::string(9'000, 'm'));
  EXPECT_EQ(show(), "ab");
  EXPECT_EQ(show(), "cd");
  receive("ef");
  write = take();
  EXPECT_EQ(show(), "ef");
  fail(write);
  EXPECT_EQ(next(), "");
}

TEST_F(LogBacklogs, WhatNobodyTookIsNowhere) {
  // The file system stalls, then the console: what comes now is lost to both.
  const std::size_t kept = fill();
  const LogBacklog::Write held = take();
  now_ += 2s;
  const std::size_t lost = fill();
  EXPECT_THAT(lost, AllOf(Ge(2'000U), Le(5'000U)));
  EXPECT_TRUE(backlog_.stalled());
  EXPECT_EQ(backlog_.room_at(0), now_ + 2s);  // of the console, which has something to take only now
  EXPECT_LE(backlog_.room_at(1), now_);
  now_ += 2s;
  receive("here");
  receive("too");
  EXPECT_LE(backlog_.room_at(0), now_);
  succeed(held);
  receive("again");
  write_all();
  EXPECT_EQ(backlog_.lost(0), lost + 7);
  const std::size_t written = show_from_memory();
  EXPECT_EQ(show(), in_file(written, kept - written));
  EXPECT_EQ(show_from_memory(), lost);
  EXPECT_EQ(show(), "nowhere+7");
  EXPECT_EQ(show(), in_file(kept + lost + 7, 5));
}

TEST_F(LogBacklogs, AHoleEndsWhereTheFileHasTheNextBytes) {
  receive("abc");
  receive("def");
  receive(std::string(6'000, 'x'));
  const LogBacklog::Write write = take();
  backlog_.shown(0, 3, now_);
  fail(write);
  receive(std::string(9'000, 'y'));
  write_all();
  receive("z");
  write_all();
  EXPECT_EQ(show(), "def");
  EXPECT_EQ(show(), std::string(6'000, 'x'));
  backlog_.wrote(LogBacklog::Write{}, {{}, {}, {0}}, now_);
  EXPECT_EQ(show(), std::string(9'000, 'y'));
  EXPECT_EQ(show(), "nowhere+1");
}

TEST_F(LogBacklogs, ADeletedFileHasNothing) {
  receive(std::string(9'000, 'm'));
  write_all();  // memory is full
  for (int file = 1; file < 4; ++file) {
    receive("four");
    succeed(take(), file);
  }
  backlog_.wrote(LogBacklog::Write{}, {{}, {}, {1}}, now_);
  EXPECT_EQ(backlog_.lost(0), 0U);  // they had been written
  EXPECT_EQ(show(), std::string(9'000, 'm'));
  EXPECT_EQ(show(), "nowhere+4");
  EXPECT_EQ(show(), "2@9004+4");
  EXPECT_EQ(show(), "3@9008+4");
}

TEST_F(LogBacklogs, WhatIsTakenBackIsLostAndNowhere) {
  receive(std::string(9'000, 'm'));
  write_all();
  receive("a\nb");
  succeed(take());
  receive("c\n");
  backlog_.wrote(take(), {{}, 9'002, {}}, now_);
  EXPECT_EQ(backlog_.lost(0), 3U);
  EXPECT_EQ(show(), std::string(9'000, 'm'));
  EXPECT_EQ(show(), "0@9000+2");
  EXPECT_EQ(show(), "nowhere+1");
  EXPECT_EQ(show(), "c\n");
}

// ---- a console that takes nothing, beside a file system that fails

TEST_F(LogBacklogs, AConsoleThatTakesNothingIsWaitedForOnceAndTakesNoMemory) {
  std::vector<std::weak_ptr<const std::string>> chunks;
  const auto lose = [&] {
    auto bytes = std::make_shared<const std::string>(500, 'x');
    chunks.push_back(bytes);
    backlog_.receive(0, std::move(bytes), now_);
    fail(*backlog_.next_write());
  };
  const auto lose_all = [&] {
    while (backlog_.room_at(0) <= now_ && chunks.size() < 1'000) lose();
  };
  const auto kept = [&] {
    return std::count_if(chunks.begin(), chunks.end(), [](const auto& chunk) { return !chunk.expired(); });
  };
  lose_all();
  EXPECT_THAT(kept(), AllOf(Ge(5'000 / 700), Le(5'000 / 500)));
  EXPECT_EQ(backlog_.room_at(0), now_ + 2s);
  lose();  // too early, so it is kept
  EXPECT_EQ(static_cast<std::size_t>(kept()), chunks.size());
  now_ += 2s;
  const std::size_t before = chunks.size();
  for (int i = 0; i < 100; ++i, now_ += 1s) {
    EXPECT_LE(backlog_.room_at(0), now_);
    lose();
  }
  EXPECT_EQ(static_cast<std::size_t>(kept()), before);
  // It takes something again, and is waited for again.
  backlog_.shown(0, 1'000, now_);
  lose();
  EXPECT_EQ(static_cast<std::size_t>(kept()), before - 1);
  lose_all();
  EXPECT_EQ(backlog_.room_at(0), now_ + 2s);
  EXPECT_EQ(show_from_memory(), before * 500 - 1'000);
  EXPECT_EQ(show(), "nowhere+50000");
}

TEST_F(LogBacklogs, AHiddenStreamNeverWaitsForTheConsole) {
  for (int i = 0; i < 100 && backlog_.room_at(0) <= now_; ++i) {
    receive(std::string(500, 'x'));
    fail(take());
  }
  EXPECT_LE(backlog_.room_at(1), now_);
  now_ += 2s;
  receive("hidden", 1);
  succeed(take());
  EXPECT_EQ(backlog_.room_at(0), now_);  // it has not given the console up
  receive("shown");
  fail(take());
  EXPECT_LT(backlog_.room_at(0), now_);
}

}  // namespace launch::log_backlog_console_test
