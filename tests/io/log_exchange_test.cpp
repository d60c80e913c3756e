#include "launch/io/log_exchange.hpp"

#include "launch/io/clock.hpp"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

namespace launch::log_exchange_test {

using namespace std::chrono_literals;

constexpr Duration long_enough = 20s;
constexpr Duration soon = 2s;  // on a busy machine; far below what the wait would take otherwise

class LogExchangeTest : public testing::Test {
 protected:
  // What a thread of its own gets, within a deadline.
  template <class Work>
  static auto later_on(Work work) {
    return std::async(std::launch::async, std::move(work));
  }
  template <class Future>
  static bool comes(Future& future, Duration within = long_enough) {
    return future.wait_for(within) == std::future_status::ready;
  }
  template <class Future>
  static bool still_waits(Future& future) {
    return future.wait_for(50ms) == std::future_status::timeout;
  }

  static std::string text(const LogBacklog::Write& write) {
    std::string text;
    for (const auto& bytes : write.bytes) text += *bytes;
    return text;
  }
  // All of it got into a file.
  static LogBacklog::Written success(const LogBacklog::Write& write) {
    LogBacklog::Written written;
    written.extents.wrote(write.offset, write.size, 0, write.offset);
    return written;
  }

  static LogBacklog::Limits limits(std::size_t unwritten, Duration patience) {
    LogBacklog::Limits limits;
    limits.unwritten = unwritten;
    limits.patience = patience;
    return limits;
  }
};

TEST_F(LogExchangeTest, AWriterGetsBytesAMomentAfterTheyCame) {
  LogExchange exchange({});
  const int stream = exchange.add_stream(std::nullopt);
  auto write = later_on([&] { return exchange.next_write(); });
  EXPECT_TRUE(still_waits(write));
  exchange.receive(stream, "one\n");
  ASSERT_TRUE(comes(write));
  const auto got = write.get();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(text(*got), "one\n");
  EXPECT_EQ(got->stream, stream);
}

TEST_F(LogExchangeTest, LittleWaitsForMore) {
  LogExchange exchange({});
  const int stream = exchange.add_stream(std::nullopt);
  const Time start = now();
  exchange.receive(stream, "one\n");
  ASSERT_TRUE(exchange.next_write().has_value());
  EXPECT_GE(now() - start, 5ms);
}

TEST_F(LogExchangeTest, MuchIsWrittenAtOnce) {
  LogExchange exchange({});
  const int stream = exchange.add_stream(std::nullopt);
  Duration shortest = long_enough;
  for (int i = 0; i < 20; ++i) {
    exchange.receive(stream, std::string(std::size_t{256} << 10, 'x'));
    const Time start = now();
    const auto write = exchange.next_write();
    shortest = std::min(shortest, now() - start);
    ASSERT_TRUE(write.has_value());
    exchange.wrote(*write, success(*write));
  }
  EXPECT_LT(shortest, 4ms);
}

TEST_F(LogExchangeTest, TheRestIsWrittenAtOnceAndThenThereIsNothing) {
  LogExchange exchange({});
  const int stream = exchange.add_stream(std::nullopt);
  exchange.receive(stream, "one\n");
  exchange.close();
  const auto write = exchange.next_write();
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(text(*write), "one\n");
  EXPECT_FALSE(exchange.all_written());
  exchange.wrote(*write, success(*write));
  EXPECT_TRUE(exchange.all_written());
  EXPECT_EQ(exchange.lost(stream), 0u);
  EXPECT_FALSE(exchange.next_write().has_value());
}

TEST_F(LogExchangeTest, AWriterWaitsForTheLastOfThoseWhoGive) {
  LogExchange exchange({});
  exchange.add_stream(std::nullopt);
  exchange.open(2);
  auto write = later_on([&] { return exchange.next_write(); });
  exchange.close();
  EXPECT_TRUE(still_waits(write));
  exchange.close();
  ASSERT_TRUE(comes(write));
  EXPECT_FALSE(write.get().has_value());
}

TEST_F(LogExchangeTest, WhoeverGivesWaitsForAFileSystemThatIsSlow) {
  LogExchange exchange(limits(1000, long_enough));
  const int stream = exchange.add_stream(std::nullopt);
  exchange.receive(stream, std::string(2000, 'x'));
  auto room = later_on([&] { exchange.await_room(stream); });
  EXPECT_TRUE(still_waits(room));
  const auto write = exchange.next_write();
  ASSERT_TRUE(write.has_value());
  EXPECT_TRUE(still_waits(room));
  exchange.wrote(*write, success(*write));
  EXPECT_TRUE(comes(room, soon));
  EXPECT_FALSE(exchange.stalled());
}

TEST_F(LogExchangeTest, WhoeverGivesWaitsNoLongerThanPatienceLasts) {
  LogExchange exchange(limits(1000, 50ms));
  const int stream = exchange.add_stream(std::nullopt);
  const Time start = now();
  exchange.receive(stream, std::string(2000, 'x'));
  exchange.await_room(stream);
  EXPECT_GE(now() - start, 50ms);
  exchange.receive(stream, "lost\n");
  EXPECT_TRUE(exchange.stalled());
  const auto write = exchange.next_write();
  ASSERT_TRUE(write.has_value());
  exchange.wrote(*write, success(*write));
  EXPECT_FALSE(exchange.stalled());
  EXPECT_EQ(exchange.lost(stream), 5u);
  EXPECT_EQ(exchange.end(stream), 2005u);
}

TEST_F(LogExchangeTest, BytesWakeTheirConsoleOnly) {
  LogExchange exchange({});
  const int first = exchange.add_stream(0);
  const int second = exchange.add_stream(1);
  std::atomic<std::uint64_t> seen = 0;
  auto news = later_on([&] {
    std::uint64_t own = 0;
    exchange.await_news(1, own, never);
    seen = own;
  });
  exchange.receive(first, "one\n");
  EXPECT_TRUE(still_waits(news));
  exchange.receive(second, "two\n");
  ASSERT_TRUE(comes(news));
  EXPECT_EQ(seen, 1u);
  const auto show = exchange.next_show(second);
  ASSERT_TRUE(show.has_value());
  EXPECT_EQ(*show->bytes, "two\n");
  exchange.shown(second, show->size);
  EXPECT_FALSE(exchange.next_show(second).has_value());
}

TEST_F(LogExchangeTest, NewsThatCameBeforeTheWaitAreNotMissed) {
  LogExchange exchange({});
  const int stream = exchange.add_stream(0);
  exchange.receive(stream, "one\n");
  std::uint64_t seen = 0;
  exchange.await_news(0, seen, never);
  EXPECT_EQ(seen, 1u);
  const Time until = now() + 20ms;
  exchange.await_news(0, seen, until);  // nothing new
  EXPECT_GE(now(), until);
}

TEST_F(LogExchangeTest, TheEndOfTheInputWakesAllConsoles) {
  LogExchange exchange({});
  exchange.add_stream(0);
  exchange.add_stream(1);
  std::uint64_t seen[2] = {0, 0};
  auto first = later_on([&] { exchange.await_news(0, seen[0], never); });
  auto second = later_on([&] { exchange.await_news(1, seen[1], never); });
  EXPECT_FALSE(exchange.input_closed());
  exchange.close_input();
  EXPECT_TRUE(comes(first));
  EXPECT_TRUE(comes(second));
  EXPECT_TRUE(exchange.input_closed());
}

TEST_F(LogExchangeTest, ATailWaitsUntilThePipeIsEmptyAndItsBytesAreHere) {
  LogExchange exchange({});
  const int stream = exchange.add_stream(std::nullopt);
  std::atomic<bool> empty = false;
  exchange.mark_reading(true);
  auto tail = later_on([&] { return exchange.tail(stream, [&] { return empty.load(); }); });
  empty = true;
  exchange.receive(stream, "last words\n");
  exchange.mark_reading(false);
  ASSERT_TRUE(comes(tail));
  EXPECT_EQ(tail.get(), "last words\n");
}

TEST_F(LogExchangeTest, ATailOfAPipeThatIsNeverEmptyComesAllTheSame) {
  LogExchange exchange({});
  const int stream = exchange.add_stream(std::nullopt);
  exchange.receive(stream, "words\n");
  const Time start = now();
  EXPECT_EQ(exchange.tail(stream, [] { return false; }), "words\n");
  const Duration whole = now() - start;
  EXPECT_GE(whole, 200ms);
  EXPECT_EQ(exchange.tail(stream, [] { return true; }), "words\n");
  exchange.close_input();
  const Time closed = now();
  EXPECT_EQ(exchange.tail(stream, [] { return false; }), "words\n");
  EXPECT_LT(now() - closed, whole);
}

TEST_F(LogExchangeTest, ProgressIsWhatTheFileSystemOrAConsoleTookLast) {
  LogExchange exchange({});
  const int stream = exchange.add_stream(0);
  exchange.receive(stream, "one\n");
  const Time start = now();
  exchange.shown(stream, 4);
  const Time shown = exchange.last_progress();
  EXPECT_GE(shown, start);
  const auto write = exchange.next_write();
  exchange.wrote(*write, success(*write));
  EXPECT_GT(exchange.last_progress(), shown);
}

}  // namespace launch::log_exchange_test
