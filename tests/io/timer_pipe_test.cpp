#include "launch/io/timer_pipe.hpp"

#include "launch/io/fd.hpp"

#include <cstdlib>
#include <memory>
#include <string>

#include "run.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch::timer_pipe_test {

using ::testing::HasSubstr;

class TimerPipeTest : public testing::Test {
 protected:
  TimerPipeTest() {
    std::string folder = testing::TempDir() + "timer_pipe_XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    path_ = folder_ + "/timers";
  }
  ~TimerPipeTest() override {
    pipe_.reset();
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }

  void open() {
    auto pipe = TimerPipe::open(io_.get_executor(), path_);
    ASSERT_TRUE(pipe) << pipe.error().message;
    pipe_ = std::make_unique<TimerPipe>(std::move(*pipe));
  }

  // As a worker does: opens, writes, closes.
  void write(const std::string& bytes) const {
    const Fd fd(::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(fd.valid());
    ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  std::string next() { return run(io_, pipe_->next_line()).value_or("(end)"); }

  bool is_there() const { return ::access(path_.c_str(), F_OK) == 0; }

  boost::asio::io_context io_{1};
  std::string folder_, path_;
  std::unique_ptr<TimerPipe> pipe_;
};

TEST_F(TimerPipeTest, GivesTheLinesOfOneWriterAfterTheOther) {
  open();
  write("first\nsecond\n");
  write("\nthird\n");
  EXPECT_EQ(next(), "first");
  EXPECT_EQ(next(), "second");
  EXPECT_EQ(next(), "");
  EXPECT_EQ(next(), "third");
  write("fourth\n");
  EXPECT_EQ(next(), "fourth");
}

TEST_F(TimerPipeTest, PutsALineTogetherThatComesInPieces) {
  open();
  write("one\ntw");
  EXPECT_EQ(next(), "one");
  write("o\n");
  EXPECT_EQ(next(), "two");
}

TEST_F(TimerPipeTest, LeavesOutALineThatIsTooLong) {
  open();
  const std::string longest(TimerPipe::longest_line, 'x');
  write(longest + "\n" + longest + "x\n" + longest + longest + longest + "yz\nafter\n");
  EXPECT_EQ(next(), longest);
  EXPECT_EQ(next(), "after");
  write(longest + longest);
  write("and its end\nlast\n");
  EXPECT_EQ(next(), "last");
}

TEST_F(TimerPipeTest, IsAPipeOfThisUserAlone) {
  open();
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));
  EXPECT_EQ(info.st_mode & 0077U, 0U);
}

TEST_F(TimerPipeTest, TakesThePlaceOfAFileAndGoesAtTheEnd) {
  { const Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); }
  open();
  write("a\n");
  EXPECT_EQ(next(), "a");
  pipe_.reset();
  EXPECT_FALSE(is_there());
}

TEST_F(TimerPipeTest, WhatSomebodyElseHasPutInItsPlaceStays) {
  open();
  const auto other = TimerPipe::open(io_.get_executor(), path_);
  ASSERT_TRUE(other);
  pipe_.reset();
  EXPECT_TRUE(is_there());
}

TEST_F(TimerPipeTest, WhatCannotBeMadeIsAnErrorWithPathAndReason) {
  const auto missing = TimerPipe::open(io_.get_executor(), folder_ + "/nowhere/timers");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("/nowhere/timers for the workers' watchdog timers: No such file"));
  const auto folder = TimerPipe::open(io_.get_executor(), folder_);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("Is a directory"));
}

}  // namespace launch::timer_pipe_test
