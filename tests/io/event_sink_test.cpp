#include "launch/io/event_sink.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"
#include "launch/io/log.hpp"
#include "run.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch::event_sink_test {

using testing::HasSubstr;

class EventSinks : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    ::signal(SIGPIPE, SIG_IGN);
  }
  void TearDown() override {
    wait_for_disk();  // before the context ends: results go there
    ::unlink(file().c_str());
    ::rmdir(folder_.c_str());
  }
  std::string file() const { return folder_ + "/events"; }
  std::string content() const { return read_file(file(), 1 << 24); }

  Result<EventSink> open(const std::string& path, Time give_up = never) {
    return run(io_, EventSink::open(path, disk_, give_up));
  }

  // "-" where `fd` is standard output, which is back afterwards: GoogleTest talks there.
  Result<EventSink> open_instead_of_stdout(int fd) {
    const Fd kept(::dup(STDOUT_FILENO));
    ::dup2(fd, STDOUT_FILENO);
    auto sink = open("-");
    ::dup2(kept.get(), STDOUT_FILENO);
    return sink;
  }

  static boost::asio::awaitable<bool> flush(EventSink& sink, Time give_up) {
    co_await sink.flush(give_up);
    co_return true;
  }

  void wait_for_disk() {
    (void)run(io_, disk_.run([] { return true; }));
  }

  std::string folder_ = "/tmp/launch_sink_XXXXXX";
  boost::asio::io_context io_{1};
  DiskThread disk_{io_.get_executor()};
};

// What is said on standard error meanwhile.
template <class Action>
std::string said_during(Action action) {
  testing::internal::CaptureStderr();
  open_log();
  action();
  EXPECT_TRUE(flush_log(std::chrono::seconds(10)));  // it is a file
  return testing::internal::GetCapturedStderr();
}

TEST_F(EventSinks, AppendToWhatIsThere) {
  for (const char* line : {"a", "b"}) {
    auto sink = open(file());
    ASSERT_TRUE(sink);
    sink->write(line);
    sink->write(line);
  }
  wait_for_disk();
  EXPECT_EQ(content(), "a\na\nb\nb\n");
}

// By a disk that was full.
TEST_F(EventSinks, AppendNothingToALineThatWasCut) {
  ASSERT_TRUE(write_file(file(), "whole\n{\"ha"));
  auto sink = open(file());
  ASSERT_TRUE(sink);
  sink->write("next");
  wait_for_disk();
  EXPECT_EQ(content(), "whole\n{\"ha\nnext\n");
}

TEST_F(EventSinks, ATerminalThatTakesNothingIsOneWarning) {
  int keyboard = -1, screen = -1;
  ASSERT_EQ(::openpty(&keyboard, &screen, nullptr, nullptr, nullptr), 0);
  const Fd master(keyboard), terminal(screen);
  const Fd own(open_again(screen, O_WRONLY | O_NONBLOCK));
  ASSERT_TRUE(own.valid());
  auto sink = open_instead_of_stdout(screen);
  ASSERT_TRUE(sink);
  // The kernel makes room for a while, as long as the other side has some.
  for (int refused = 0; refused < 5; ::poll(nullptr, 0, 20)) {
    refused = ::write(own.get(), "x", 1) < 0 ? refused + 1 : 0;
    while (::write(own.get(), "x", 1) > 0) {
    }
  }
  const std::string said = said_during([&] {
    for (int i = 0; i < 3; ++i) sink->write("");
  });
  EXPECT_THAT(said, HasSubstr("cannot write events to standard output: Connection timed out"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_FALSE(sink->takes());
}

TEST_F(EventSinks, ShareAFile) {
  auto one = open(file());
  auto other = open(file());
  ASSERT_TRUE(one && other);
  for (int i = 0; i < 3; ++i) {
    one->write("one");
    other->write("other");
  }
  wait_for_disk();
  EXPECT_EQ(content(), "one\nother\none\nother\none\nother\n");
}

TEST_F(EventSinks, TakeNothingByThemselves) {
  EventSink sink;
  EXPECT_FALSE(sink.takes());
  EXPECT_EQ(said_during([&] { sink.write("a"); }), "");
}

TEST_F(EventSinks, NameTheOptionWhereThereIsNoFile) {
  for (const std::string& path : {folder_, folder_ + "/no/file", std::string("/dev/null/x"), std::string("a\nb/c")}) {
    const auto sink = open(path);
    ASSERT_FALSE(sink) << path;
    EXPECT_EQ(sink.error().code, ErrorCode::usage);
    EXPECT_THAT(sink.error().message, HasSubstr("--events "));
    EXPECT_THAT(sink.error().message, testing::Not(HasSubstr("\n")));
  }
}

TEST_F(EventSinks, AFullDiskIsOneWarning) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  auto sink = open("/dev/full");
  ASSERT_TRUE(sink);
  const std::string said = said_during([&] {
    for (int i = 0; i < 3; ++i) sink->write("a");
    wait_for_disk();
  });
  EXPECT_THAT(said, HasSubstr("cannot write events to /dev/full: No space left on device"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_FALSE(sink->takes());
}

TEST_F(EventSinks, AClosedPipeIsOneWarning) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  auto sink = open_instead_of_stdout(write_end.get());
  ASSERT_TRUE(sink);
  const std::string said = said_during([&] {
    sink->write("a");
    wait_for_disk();
    read_end.reset();
    sink->write("b");
    sink->write("c");
    wait_for_disk();
  });
  EXPECT_THAT(said, HasSubstr("cannot write events to standard output: Broken pipe"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(EventSinks, APipeThatNobodyReadsHoldsNothingUpAndStaysAsItWas) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd read_end(ends[0]), write_end(ends[1]);
  auto sink = open_instead_of_stdout(write_end.get());
  ASSERT_TRUE(sink);
  const std::string said = said_during([&] {
    for (int i = 0; i < 100; ++i) sink->write(std::string(5000, 'x'));
    wait_for_disk();
  });
  EXPECT_THAT(said, HasSubstr(std::string("standard output: ") + std::strerror(ETIMEDOUT)));
  EXPECT_EQ(::fcntl(write_end.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(EventSinks, AFileOfStandardOutputHasOnePosition) {
  const Fd shared(::open(file().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  auto sink = open_instead_of_stdout(shared.get());
  ASSERT_TRUE(sink);
  sink->write("event");
  wait_for_disk();
  EXPECT_TRUE(write_all(shared.get(), "worker\n"));
  sink->write("event");
  wait_for_disk();
  EXPECT_EQ(content(), "event\nworker\nevent\n");
}

TEST_F(EventSinks, FlushWaitsForAllLines) {
  auto sink = open(file());
  ASSERT_TRUE(sink);
  for (int i = 0; i < 1000; ++i) sink->write("line");
  EXPECT_EQ(said_during([&] { run(io_, flush(*sink, never)); }), "");
  EXPECT_EQ(content().size(), 5000U);
}

TEST_F(EventSinks, WhatADiskThatStallsDoesNotTakeIsCountedAndTold) {
  auto sink = open(file());
  ASSERT_TRUE(sink);
  std::promise<void> thaw;
  disk_.give([thawed = thaw.get_future().share()] { thawed.wait(); });
  const std::string said = said_during([&] {
    for (int i = 0; i < 10'002; ++i) sink->write("line");
    run(io_, flush(*sink, now()));
  });
  EXPECT_THAT(said, HasSubstr("does not answer: events are lost"));
  EXPECT_THAT(said, HasSubstr("did not answer: 10002 events are lost"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2);
  EXPECT_FALSE(sink->takes());
  thaw.set_value();
  wait_for_disk();
  EXPECT_EQ(content(), "");
}

TEST_F(EventSinks, ADiskThatStalledForAWhileGetsWhatWasKept) {
  auto sink = open(file());
  ASSERT_TRUE(sink);
  std::promise<void> thaw;
  disk_.give([thawed = thaw.get_future().share()] { thawed.wait(); });
  sink->write("a");
  sink->write("b");
  thaw.set_value();
  EXPECT_EQ(said_during([&] { run(io_, flush(*sink, never)); }), "");
  EXPECT_EQ(content(), "a\nb\n");
}

TEST_F(EventSinks, WhatIsOpenedLateGetsAllLinesOrSaysWhyNot) {
  for (const std::string& path : {file(), folder_ + "/no/file"}) {
    std::promise<void> thaw;
    disk_.give([thawed = thaw.get_future().share()] { thawed.wait(); });
    const std::string said = said_during([&] {
      auto sink = open(path, now());
      ASSERT_TRUE(sink);
      sink->write("a");
      sink->write("b");
      thaw.set_value();
      run(io_, flush(*sink, never));
      EXPECT_EQ(sink->takes(), path == file());
    });
    EXPECT_THAT(said, HasSubstr("does not answer: events wait for it"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), path == file() ? 1 : 2);
    const std::string why = path == file() ? "" : "cannot write events to " + path + ": No such file";
    EXPECT_THAT(said, HasSubstr(why));
  }
  EXPECT_EQ(content(), "a\nb\n");
}

TEST_F(EventSinks, StandardErrorIsOneAndHasTheMessagesInBetween) {
  EXPECT_EQ(said_during([] {
              EventSink sink = EventSink::standard_error();
              EXPECT_TRUE(sink.takes());
              sink.write("a");
              log_info("message");
              sink.write("b");
            }),
            "a\nlaunch: message\nb\n");
}

}  // namespace launch::event_sink_test
