#include "launch/io/log.hpp"

#include "launch/io/fd.hpp"

#include <array>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

namespace launch::log_test {

using namespace std::chrono_literals;

// Standard error, and with it the log, is another descriptor while this lives.
class StandardErrorIs {
 public:
  explicit StandardErrorIs(int fd) : kept_(::dup(STDERR_FILENO)) {
    ::dup2(fd, STDERR_FILENO);
    open_log();
  }
  StandardErrorIs(const StandardErrorIs&) = delete;
  StandardErrorIs& operator=(const StandardErrorIs&) = delete;
  ~StandardErrorIs() {
    ::dup2(kept_.get(), STDERR_FILENO);
    open_log();
  }

 private:
  Fd kept_;
};

std::string hear(int fd, std::size_t bytes) {
  std::string heard;
  std::array<char, 4096> chunk;
  pollfd ready{fd, POLLIN, 0};
  while (heard.size() < bytes && ::poll(&ready, 1, 20'000) == 1) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got <= 0) break;
    heard.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return heard;
}

TEST(Log, WritesOneLineAFactToStandardError) {
  testing::internal::CaptureStderr();
  open_log();
  log_info("fact {not a format}");
  log_warning("odd");
  log_error("bad");
  write_report("first\n  second");
  write_bare("{}");
  EXPECT_TRUE(flush_log(std::chrono::seconds(10)));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "launch: fact {not a format}\nlaunch: warning: odd\nlaunch: error: bad\nlaunch: first\n  second\n{}\n");
}

TEST(Log, HowMuchIsSaid) {
  const auto said = [](Verbosity verbosity) {
    testing::internal::CaptureStderr();
    open_log();
    set_verbosity(verbosity);
    log_detail("detail");
    log_info("info");
    log_progress("progress");
    log_notice("notice");
    log_warning("odd");
    EXPECT_TRUE(flush_log(std::chrono::seconds(10)));
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(Verbosity::quiet), "launch: warning: odd\n");
  EXPECT_EQ(said(Verbosity::hosted), "launch: notice\nlaunch: warning: odd\n");
  EXPECT_EQ(said(Verbosity::usual), "launch: info\nlaunch: progress\nlaunch: notice\nlaunch: warning: odd\n");
  EXPECT_THAT(said(Verbosity::verbose), testing::ContainsRegex("launch: [0-9:.]+ detail\n"));
  open_log();
}

TEST(Log, ProgressIsALineWhereNoTerminalIs) {
  testing::internal::CaptureStderr();
  open_log();
  log_progress("1 of 2");
  end_progress();
  EXPECT_TRUE(flush_log(std::chrono::seconds(10)));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "launch: 1 of 2\n");
  EXPECT_EQ(progress_interval(), std::chrono::seconds(30));
}

TEST(Log, ProgressOnATerminalMakesWayForAMessage) {
  int ours = -1, theirs = -1;
  ASSERT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, nullptr), 0);
  const Fd screen(ours), terminal(theirs);
  const StandardErrorIs here(theirs);
  log_progress("1 of 3");
  log_progress("2 of 3");
  log_info("fact");
  log_progress("held");
  ASSERT_EQ(::tcflow(theirs, TCOOFF), 0);  // Ctrl-S
  log_progress("not shown");
  log_info("later");
  end_progress();
  EXPECT_FALSE(flush_log(0s));
  ASSERT_EQ(::tcflow(theirs, TCOON), 0);
  EXPECT_TRUE(flush_log(20s));
  const std::string expected =
      "\rlaunch: 1 of 3\x1b[K\rlaunch: 2 of 3\x1b[K\r\x1b[Klaunch: fact\r\n"
      "\rlaunch: held\x1b[K\r\x1b[Klaunch: later\r\n";
  EXPECT_EQ(hear(ours, expected.size()), expected);
  EXPECT_EQ(progress_interval(), std::chrono::seconds(1));
}

TEST(Log, AnyThreadMaySaySomethingWhoeverReads) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd read_end(ends[0]), write_end(ends[1]);
  const StandardErrorIs here(write_end.get());
  constexpr int count = 2000;
  const std::string words(60, 'x');
  std::vector<std::thread> speakers;
  for (const int who : {0, 1})
    speakers.emplace_back([&, who] {
      for (int i = 0; i < count; ++i) log_info(fmt::format("{} {} {:04}", who, words, i));
    });
  for (std::thread& speaker : speakers) speaker.join();
  EXPECT_FALSE(flush_log(0s));
  std::istringstream lines(hear(read_end.get(), 2 * count * (words.size() + 16)));
  EXPECT_TRUE(flush_log(20s));
  std::array<int, 2> next{};
  for (std::string line; std::getline(lines, line);) {
    const auto who = static_cast<std::size_t>(line.at(8) - '0');
    ASSERT_LT(who, 2U) << line;
    ASSERT_EQ(line, fmt::format("launch: {} {} {:04}", who, words, next[who]++));
  }
  EXPECT_EQ(next, (std::array<int, 2>{count, count}));
}

}  // namespace launch::log_test
