#include "launch/io/log_console.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"
#include "listener.hpp"

#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace launch::log_console_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::MatchesRegex;

// A console on a thread, a pipe that is read here, and the writer of the files, which is this thread, too.
class LogConsoleTest : public testing::Test {
 protected:
  static constexpr int nproc = 3;

  LogConsoleTest() : folder_(testing::TempDir() + "log_console_" + std::to_string(::getpid())) {
    ::signal(SIGPIPE, SIG_IGN);  // as launch does
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~LogConsoleTest() override {
    console_pipe_.in.reset();  // whoever still writes goes on
    end();
    fs::remove_all(folder_);
  }

  static LinePrefix prefix(const std::string& pattern, bool coloured = false) {
    PrefixFacts facts;
    facts.role = "default";
    facts.nproc = nproc;
    return {{pattern, false, coloured}, facts, "stdout"};
  }
  ConsoleStyle style(const std::string& pattern = "[${role_name}${local_rank}]:") const {
    return {console_pipe_.out.get(), prefix(pattern), false, {}, prefix(pattern)};
  }

  // `ranks` streams, and one for lines that hold a filter.
  void make(ConsoleStyle console, int ranks = 1, LogBacklog::Limits limits = {}) {
    exchange_.emplace(limits);
    for (int rank = 0; rank < ranks; ++rank) {
      files_.push_back(std::make_unique<LogFile>(folder_ + "/" + std::to_string(rank), 0, 0));
      EXPECT_TRUE(files_.back()->open());
      exchange_->add_stream(0);
    }
    filtered_ = exchange_->add_stream(std::nullopt);
    exchange_->open(2);
    const auto copies = console.filters.empty() ? std::nullopt : std::optional<int>(filtered_);
    console_.emplace(std::move(console), *exchange_, 0, copies);
    for (int rank = 0; rank < ranks; ++rank)
      console_->add_stream(rank, rank, *files_[static_cast<std::size_t>(rank)], -1);
  }
  void start() {
    thread_ = std::thread([this] {
      console_->run();
      exchange_->close();
    });
  }
  void say(int stream, const std::string& text) { exchange_->receive(stream, text); }
  // No more input; waits until the console has shown all.
  void end() {
    if (!thread_.joinable()) return;
    exchange_->close_input();
    exchange_->close();
    thread_.join();
  }
  // Into its file goes what waits.
  void write_next() {
    const auto write = exchange_->next_write();
    ASSERT_TRUE(write.has_value());
    LogBacklog::Written written;
    std::uint64_t offset = write->offset;
    for (const auto& bytes : write->bytes) {
      files_[static_cast<std::size_t>(write->stream)]->append(offset, *bytes, written);
      offset += bytes->size();
    }
    exchange_->wrote(*write, written);
  }
  std::string hear(std::size_t bytes) const { return console_pipe_.hear(bytes); }
  std::string heard() const { return console_pipe_.heard(); }

  std::string folder_;
  Listener console_pipe_;
  std::optional<LogExchange> exchange_;
  std::vector<std::unique_ptr<LogFile>> files_;
  int filtered_ = -1;
  std::optional<LogConsole> console_;
  std::thread thread_;
};

TEST_F(LogConsoleTest, ShowsWholeLinesWithTheirPrefix) {
  make(style(), 2);
  start();
  say(0, "one\ntwo");
  EXPECT_EQ(hear(15), "[default0]:one\n");
  say(0, "!\n");
  EXPECT_EQ(hear(16), "[default0]:two!\n");
  say(1, "\n\r\n");
  EXPECT_EQ(hear(25), "[default1]:\n[default1]:\r\n");
  say(1, "three");
  end();
  EXPECT_EQ(heard(), "[default1]:three\n");
}

TEST_F(LogConsoleTest, AnUnfinishedLineIsHeldForAMomentAndThenALine) {
  make(style());
  start();
  const Time start_of_line = now();
  say(0, "Password:");
  EXPECT_EQ(hear(21), "[default0]:Password:\n");
  EXPECT_GE(now() - start_of_line, 200ms);
  say(0, " x\n");
  EXPECT_EQ(hear(14), "[default0]: x\n");
}

// The moment begins with the line, not with its last byte.
TEST_F(LogConsoleTest, ALineThatGrowsSlowlyIsShownInParts) {
  make(style(""));
  start();
  std::string said, heard_so_far;
  const Time give_up = now() + 20s;
  while (heard_so_far.empty() && now() < give_up) {
    say(0, "x");
    said += "x";
    pollfd fd{console_pipe_.in.get(), POLLIN, 0};
    ::poll(&fd, 1, 20);
    heard_so_far = heard();
  }
  EXPECT_EQ(heard_so_far.substr(0, 2), "xx");
  EXPECT_TRUE(heard_so_far.ends_with('\n'));
}

TEST_F(LogConsoleTest, OfALineThatIsRewrittenTheLastStateIsShown) {
  make(style());
  start();
  say(0, "10%");
  say(0, "\r20%");
  say(0, "\r30%\r");
  // Longer than an unfinished line is held: nothing is shown of one that is rewritten again and again.
  pollfd fd{console_pipe_.in.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&fd, 1, 500), 0);
  say(0, "100%\n");
  EXPECT_EQ(hear(16), "[default0]:100%\n");
}

TEST_F(LogConsoleTest, LinesThatSeveralSayAreFoldedIntoOne) {
  ConsoleStyle folding = style();
  folding.fold = true;
  make(std::move(folding), 3);
  for (int rank = 0; rank < 3; ++rank) say(rank, "hello\n");
  say(0, "alone\n");
  start();
  EXPECT_EQ(hear(19), "[default0-2]:hello\n");
  EXPECT_EQ(hear(17), "[default0]:alone\n");  // when nobody has said the same in time
  say(1, "twice\n");
  say(2, "twice");
  end();
  EXPECT_EQ(heard(), "[default1-2]:twice\n");
}

TEST_F(LogConsoleTest, TheFoldNamesLocalRanks) {
  ConsoleStyle folding = style();
  folding.fold = true;
  make(std::move(folding), 0);
  files_.push_back(std::make_unique<LogFile>(folder_ + "/x", 0, 0));
  console_->add_stream(exchange_->add_stream(0), 1, *files_.back(), -1);
  console_->add_stream(exchange_->add_stream(0), 2, *files_.back(), -1);
  say(1, "hello\n");  // 0 is the filtered stream
  say(2, "hello\n");
  say(2, "alone\n");
  start();
  end();
  EXPECT_EQ(heard(), "[default1-2]:hello\n[default2]:alone\n");
}

TEST_F(LogConsoleTest, LinesThatHoldAFilterAreCopiedWithAPlainPrefix) {
  ConsoleStyle filtering{
      console_pipe_.out.get(), prefix("[${local_rank}]:", true), false, {"loss", "x,y"}, prefix("[${local_rank}]:")};
  make(std::move(filtering), 2);
  start();
  say(0, "loss 1\nnothing\n[0]\nx,y\n");
  say(1, "loss 2");
  end();
  std::string copied;
  while (const auto write = exchange_->next_write()) {
    LogBacklog::Written written;
    written.extents.wrote(write->offset, write->size, 0, write->offset);
    if (write->stream == filtered_)
      for (const auto& bytes : write->bytes) copied += *bytes;
    exchange_->wrote(*write, written);
  }
  EXPECT_EQ(copied, "[0]:loss 1\n[0]:x,y\n[1]:loss 2\n");
  EXPECT_THAT(heard(), HasSubstr("\x1b[36m[0]:\x1b[0mnothing\n"));
}

TEST_F(LogConsoleTest, AFilterLooksAtTheLineAndNotAtItsPrefix) {
  ConsoleStyle filtering = style();
  filtering.filters = {"default"};
  make(std::move(filtering));
  start();
  say(0, "one\n");
  end();
  EXPECT_EQ(heard(), "[default0]:one\n");
  EXPECT_EQ(exchange_->end(filtered_), 0u);
}

TEST_F(LogConsoleTest, APrefixMayHaveTheTime) {
  make(style("${time} "));
  start();
  const std::string before = log_time_text();
  say(0, "one\n");
  const std::string line = hear(before.size() + 5);
  EXPECT_THAT(line, MatchesRegex("....-..-.. ..:..:..\\.... one\n"));
  EXPECT_GE(line.substr(0, before.size()), before);
  EXPECT_LE(line.substr(0, before.size()), log_time_text());
}

TEST_F(LogConsoleTest, WhatMemoryNoLongerHasIsReadBackFromTheFile) {
  LogBacklog::Limits limits;
  limits.unshown = 1000;
  make(style(""), 1, limits);
  std::string text;
  for (int i = 0; i < 100; ++i) {
    const std::string line = std::to_string(i) + std::string(500, 'x') + "\n";
    say(0, line);
    text += line;
    write_next();
  }
  EXPECT_EQ(fs::file_size(files_.front()->path()), text.size());
  say(0, "in memory\n");
  start();
  text += "in memory\n";
  EXPECT_EQ(hear(text.size()), text);
}

TEST_F(LogConsoleTest, BytesThatAreNowhereAreSaid) {
  LogBacklog::Limits limits;
  limits.unwritten = 1;
  limits.unshown = 1;
  limits.patience = 0s;
  make(style(), 1, limits);
  say(0, "one\nan open li");  // waits for the file
  say(0, "x\n");              // for the console
  say(0, "lost\n");
  write_next();
  say(0, "two\n");
  start();
  end();
  EXPECT_EQ(heard(),
            "[default0]:one\n[default0]:an open lix\n"
            "[default0]:[launch: 5 bytes are neither here nor in the file]\n[default0]:two\n");
}

TEST_F(LogConsoleTest, AFileThatIsGoneIsNoEnd) {
  LogBacklog::Limits limits;
  limits.unshown = 0;
  make(style(""), 1, limits);
  say(0, "one\n");
  write_next();
  ASSERT_EQ(::truncate(files_.front()->path().c_str(), 0), 0);
  say(0, "two\n");
  start();
  end();
  EXPECT_EQ(heard(), "[launch: 4 bytes are neither here nor in the file]\ntwo\n");
}

TEST_F(LogConsoleTest, NoStreamWaitsForOneThatNeverStops) {
  make(style("${local_rank}:"), 2);
  for (int i = 0; i < 1000; ++i) say(0, std::string(999, 'x') + "\n");
  say(1, "hello\n");
  start();
  EXPECT_THAT(hear(10'000), HasSubstr("1:hello\n"));
}

TEST_F(LogConsoleTest, AConsoleThatNobodyReadsAnyMoreTakesAll) {
  make(style());
  console_pipe_.in.reset();
  start();
  for (int i = 0; i < 100; ++i) say(0, std::string(99'999, 'x') + "\n");
  end();
  EXPECT_FALSE(exchange_->next_show(0).has_value());
}

}  // namespace launch::log_console_test
