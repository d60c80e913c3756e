#include "launch/io/stdin_feeder.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::stdin_feeder_test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t pipe_size = 65536;
constexpr std::size_t held_size = 65536;

std::string text_of(std::size_t size) {
  std::string text(size, ' ');
  unsigned next = 1;
  for (char& c : text) c = static_cast<char>('a' + (next = next * 1103515245 + 12345) / 65536 % 26);
  return text;
}

std::size_t waiting_in(int fd) {
  int bytes = 0;
  return ::ioctl(fd, FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

class StdinFeederTest : public testing::Test {
 protected:
  // What a thread is reading is told to the context before that ends.
  ~StdinFeederTest() override {
    feeder_.reset();
    io_.restart();
    io_.run_for(10s);
  }
  // The ends of a pipe whose reading end is the standard input.
  void begin_pipe() {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    source_ = Fd(ends[0]);
    writer_ = Fd(ends[1]);
    ::fcntl(writer_.get(), F_SETFL, O_NONBLOCK);
    feed_from(source_.get());
  }
  void feed_from(int fd) { feeder_.emplace(io_.get_executor(), fd, ::getpid()); }

  // At its beginning.
  static Fd file_of(const std::string& text) {
    const std::string path = testing::TempDir() + "stdin_feeder_" + std::to_string(::getpid());
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    EXPECT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::unlink(path.c_str());
    ::lseek(file.get(), 0, SEEK_SET);
    return file;
  }

  Fd copy() {
    auto fd = feeder_->open_copy();
    EXPECT_TRUE(fd) << fd.error().message;
    return fd ? std::move(*fd) : Fd();
  }

  // Lets the feeder work until the condition holds; false when it never does.
  bool until(const std::function<bool()>& holds) {
    const auto deadline = Clock::now() + 10s;
    while (!holds()) {
      if (Clock::now() > deadline) return false;
      work();
    }
    return true;
  }
  void work() {
    io_.restart();
    if (io_.poll() == 0) io_.run_one_for(10ms);
  }
  // As long as there is anything to do without new input, or room in a pipe.
  void settle() {
    do io_.restart();
    while (io_.poll() > 0);
  }

  void write(const std::string& text) const {
    ASSERT_EQ(::write(writer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // What comes, up to `size` bytes or the end.
  std::string take(const Fd& reader, std::size_t size) {
    ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    std::string text;
    bool end = false;
    until([&] {
      std::array<char, 4096> piece;
      ssize_t got = 1;
      while (got > 0 && text.size() < size) {
        got = ::read(reader.get(), piece.data(), std::min(piece.size(), size - text.size()));
        if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
      }
      end = got == 0;
      return end || text.size() == size;
    });
    return text;
  }
  // The end, with nothing before it.
  bool at_end(const Fd& reader) {
    char byte = 0;
    ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    return until([&] { return ::read(reader.get(), &byte, 1) >= 0; }) && ::read(reader.get(), &byte, 1) == 0 &&
           byte == 0;
  }

  boost::asio::io_context io_{1};
  Fd source_, writer_;
  std::optional<StdinFeeder> feeder_;
};

TEST_F(StdinFeederTest, EveryWorkerHasAllOfItAndThenTheEnd) {
  begin_pipe();
  const Fd first = copy(), second = copy();
  const std::string text = text_of(1'000'000);
  std::array<std::string, 2> got;
  std::size_t written = 0;
  while (got[1].size() < text.size()) {
    const ssize_t count = ::write(writer_.get(), text.data() + written, text.size() - written);
    if (count > 0) written += static_cast<std::size_t>(count);
    ASSERT_TRUE(until([&] { return waiting_in(second.get()) > 0; })) << got[1].size();
    got[1] += take(second, waiting_in(second.get()));
    got[0] += take(first, waiting_in(first.get()));
  }
  EXPECT_EQ(got[1], text);
  got[0] += take(first, text.size() - got[0].size());
  EXPECT_EQ(got[0], text);
  writer_.reset();
  EXPECT_TRUE(at_end(first));
  EXPECT_TRUE(at_end(second));
}

TEST_F(StdinFeederTest, WhatComesInPiecesIsPassedOnAtOnce) {
  begin_pipe();
  const Fd reader = copy();
  for (const char* line : {"one\n", "two\n", "three\n"}) {
    write(line);
    EXPECT_EQ(take(reader, std::string(line).size()), line);
  }
}

TEST_F(StdinFeederTest, OneThatHasClosedItsInputDoesNotHoldTheOthers) {
  begin_pipe();
  Fd quitter = copy();
  const Fd stays = copy();
  write("a");
  EXPECT_EQ(take(quitter, 1), "a");
  EXPECT_EQ(take(stays, 1), "a");
  quitter.reset();
  const std::string text = text_of(pipe_size);
  for (int i = 0; i < 5; ++i) {
    write(text);
    EXPECT_EQ(take(stays, text.size()), text);
  }
}

TEST_F(StdinFeederTest, TheSlowestPacesWithinBounds) {
  begin_pipe();
  const Fd slow = copy(), fast = copy();
  std::string read;
  std::size_t written = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string some = text_of(pipe_size / 4);
    written += static_cast<std::size_t>(std::max<ssize_t>(::write(writer_.get(), some.data(), some.size()), 0));
    settle();
    read += take(fast, waiting_in(fast.get()));
  }
  EXPECT_GE(read.size(), pipe_size);
  EXPECT_LE(read.size(), pipe_size + held_size) << "no more is held than this";
  EXPECT_EQ(take(slow, read.size()), read);
  const std::size_t more = written - read.size();
  EXPECT_GT(more, 0U);
  EXPECT_EQ(take(fast, more).size(), more) << "it goes on when the slow one does";
}

TEST_F(StdinFeederTest, AnInputThatIsClosedWhileItHoldsTheOthersReleasesThem) {
  begin_pipe();
  Fd slow = copy();
  const Fd fast = copy();
  const std::string text = text_of(pipe_size);
  for (int i = 0; i < 2; ++i) {
    write(text);
    EXPECT_EQ(take(fast, text.size()), text);
  }
  write(text);
  settle();
  EXPECT_EQ(waiting_in(fast.get()), 0U);
  slow.reset();
  EXPECT_EQ(take(fast, text.size()), text);
}

TEST_F(StdinFeederTest, NothingIsReadWithoutAReaderAndTheNextOnesGetWhatComesThen) {
  begin_pipe();
  Fd old = copy();
  write("old");
  EXPECT_EQ(take(old, 3), "old");
  settle();  // it waits for more
  old.reset();
  write("between ");
  settle();
  EXPECT_EQ(waiting_in(source_.get()), 8U) << "nobody is there to take it";
  feeder_->begin();
  const Fd first = copy(), second = copy();
  write("new");
  EXPECT_EQ(take(first, 11), "between new");
  EXPECT_EQ(take(second, 11), "between new");
}

TEST_F(StdinFeederTest, WhatWasReadForWorkersThatAreGoneIsGone) {
  begin_pipe();
  const Fd slow = copy();
  const std::string text = text_of(pipe_size);
  write(text);
  settle();
  write("held");
  settle();
  EXPECT_EQ(waiting_in(source_.get()), 0U);
  feeder_->begin();
  const Fd reader = copy();
  write("next");
  EXPECT_EQ(take(reader, 4), "next");
  settle();
  EXPECT_EQ(waiting_in(reader.get()), 0U);
  EXPECT_EQ(take(slow, pipe_size + 8), text) << "it ends there";
}

TEST_F(StdinFeederTest, WhereOthersReadAtItsPaceWhatNoWorkerTakesIsDropped) {
  begin_pipe();
  feeder_->hold_up_nobody();
  write("early");
  settle();
  EXPECT_EQ(waiting_in(source_.get()), 5U) << "no worker has had a copy yet";
  Fd reader = copy();
  EXPECT_EQ(take(reader, 5), "early");
  reader.reset();
  for (int i = 0; i < 4; ++i) {
    write(text_of(pipe_size));
    EXPECT_TRUE(until([&] { return waiting_in(source_.get()) == 0; })) << i;
  }
  feeder_->begin();
  write("next");
  settle();
  EXPECT_EQ(take(copy(), 4), "next");
}

TEST_F(StdinFeederTest, AfterTheEndThereIsTheEnd) {
  begin_pipe();
  const Fd first = copy();
  writer_.reset();
  EXPECT_TRUE(at_end(first));
  feeder_->begin();
  const Fd second = copy();
  EXPECT_TRUE(at_end(second));
}

TEST_F(StdinFeederTest, ARegularFileIsEverybodysOwnFromItsPosition) {
  const Fd file = file_of("0123456789");
  ::lseek(file.get(), 4, SEEK_SET);
  const std::vector<Fd> copies = StdinFeeder::open_again_each(file.get(), 2);
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(take(copies[0], 100), "456789");
  EXPECT_EQ(take(copies[1], 100), "456789");
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 4) << "launch's own has not moved";
}

TEST_F(StdinFeederTest, WhatIsNoRegularFileCannotBeOpenedAgain) {
  begin_pipe();
  const Fd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC)), folder(::open("/tmp", O_RDONLY | O_CLOEXEC));
  for (const int fd : {source_.get(), zero.get(), folder.get()})
    EXPECT_TRUE(StdinFeeder::open_again_each(fd, 1).empty());
}

// As of another user: it is read here, beside what else is to be done.
TEST_F(StdinFeederTest, AFileThatCannotBeOpenedAgainIsReadAllTheSame) {
  const std::string text = text_of(200'000);
  const Fd file = file_of(text);
  feed_from(file.get());
  const Fd first = copy(), second = copy();
  std::array<std::string, 2> got;
  while (got[1].size() < text.size()) {
    const std::string piece = take(second, std::min(text.size() - got[1].size(), pipe_size / 2));
    ASSERT_FALSE(piece.empty());
    got[1] += piece;
    got[0] += take(first, waiting_in(first.get()));
  }
  got[0] += take(first, text.size() - got[0].size());
  EXPECT_EQ(got[0], text);
  EXPECT_EQ(got[1], text);
  EXPECT_TRUE(at_end(first));
  EXPECT_TRUE(at_end(second));
}

TEST_F(StdinFeederTest, ANamedPipeWhoseWriterHasGoneIsReadToItsEnd) {
  const std::string path = testing::TempDir() + "stdin_feeder_fifo_" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  source_ = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  writer_ = Fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ::unlink(path.c_str());
  write("words");
  writer_.reset();
  feed_from(source_.get());
  EXPECT_EQ(take(copy(), 100), "words");
}

TEST_F(StdinFeederTest, FlagsThatOthersShareStayAsTheyAre) {
  begin_pipe();
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const Fd end(sockets[0]), peer(sockets[1]);
  for (const int fd : {source_.get(), end.get()}) {
    feed_from(fd);
    const Fd reader = copy();
    settle();
    EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  }
}

TEST_F(StdinFeederTest, ASocketIsReadToo) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  source_ = Fd(sockets[0]);
  writer_ = Fd(sockets[1]);
  feed_from(source_.get());
  const Fd reader = copy();
  settle();
  write("by socket");
  EXPECT_EQ(take(reader, 9), "by socket");
  writer_.reset();
  EXPECT_TRUE(at_end(reader));
}

TEST_F(StdinFeederTest, WhatCannotBeWaitedForIsReadAllTheSame) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  feed_from(null.get());
  EXPECT_TRUE(at_end(copy()));
  const Fd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  feed_from(zero.get());
  EXPECT_EQ(take(copy(), 200'000), std::string(200'000, '\0'));
}

TEST_F(StdinFeederTest, WhatCannotBeReadIsTheEnd) {
  const Fd folder(::open("/tmp", O_RDONLY | O_CLOEXEC));
  feed_from(folder.get());
  EXPECT_TRUE(at_end(copy()));
}

TEST_F(StdinFeederTest, ATerminalGivesLinesAndEndsAtItsKey) {
  writer_ = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(writer_.valid() && ::grantpt(writer_.get()) == 0 && ::unlockpt(writer_.get()) == 0);
  source_ = Fd(::open(::ptsname(writer_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  feed_from(source_.get());
  const Fd reader = copy();
  settle();
  write("typed\n");
  EXPECT_EQ(take(reader, 6), "typed\n");
  EXPECT_EQ(::fcntl(source_.get(), F_GETFL) & O_NONBLOCK, 0);
  write("\x04");
  EXPECT_TRUE(at_end(reader));
}

TEST_F(StdinFeederTest, NoCopyIsAnErrorWithItsReason) {
  begin_pipe();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto fd = feeder_->open_copy();
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(fd);
  EXPECT_THAT(fd.error().message, testing::HasSubstr("--stdin=all): Too many open files; raise the limit of open files "
                                                     "(ulimit -n)"));
}

}  // namespace launch::stdin_feeder_test
