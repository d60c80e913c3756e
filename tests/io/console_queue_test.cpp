#include "launch/io/console_queue.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "listener.hpp"
#include "refusal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::console_queue_test {

using namespace std::chrono_literals;

constexpr auto long_enough = 20s;

std::string numbers(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += std::to_string(i) + '\n';
  return text;
}

boost::asio::awaitable<void> drain(ConsoleQueue& queue, Duration patience, bool& done) {
  co_await queue.drained(patience);
  done = true;
}

// A child of this process, which says by its exit code what was wrong.
void expect_success_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

class ConsoleQueues : public testing::Test {
 protected:
  ConsoleQueues() {
    ::signal(SIGPIPE, SIG_IGN);  // as launch does
    ::fcntl(console_.out.get(), F_SETPIPE_SZ, 4096);
  }

  void begin(int fd) {
    queue_.emplace(io_.get_executor(), fd, [this] { less_.push_back(queue_->held()); });
  }
  // False when it never does.
  bool until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + long_enough;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io_.restart();
      io_.run_one_for(10ms);
    }
    return true;
  }
  void settle() {
    do io_.restart();
    while (io_.poll() > 0);
  }
  // Reads so many bytes, no more at a time than the queue has written by then.
  std::string hear_slowly(const Fd& reader, std::size_t size) {
    ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    std::string text;
    until([&] {
      std::array<char, 1000> piece;
      ssize_t got = 1;
      while (got > 0 && text.size() < size) {
        got = ::read(reader.get(), piece.data(), std::min(piece.size(), size - text.size()));
        if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
      }
      return got == 0 || text.size() >= size;
    });
    return text;
  }
  bool& start_draining(Duration patience) {
    run_in_background(io_.get_executor(), drain(*queue_, patience, drained_));
    settle();
    return drained_;
  }

  boost::asio::io_context io_{1};
  Listener console_;
  std::vector<std::size_t> less_;  // what was held whenever it was less
  std::optional<ConsoleQueue> queue_;
  bool drained_ = false;
};

TEST_F(ConsoleQueues, WhatIsTakenAtOnceIsNotHeld) {
  begin(console_.out.get());
  queue_->write("one\n");
  queue_->write("two\nthree\n");
  EXPECT_EQ(queue_->held(), 0U);
  EXPECT_EQ(console_.heard(), "one\ntwo\nthree\n");
  EXPECT_TRUE(start_draining(long_enough));
  EXPECT_TRUE(less_.empty());
}

TEST_F(ConsoleQueues, ASlowReaderGetsAllOfItInOrder) {
  begin(console_.out.get());
  const std::string text = numbers(50'000);
  std::size_t most = 0;
  for (std::size_t at = 0; at < text.size(); at += 10'000) {
    queue_->write(text.substr(at, 10'000));
    EXPECT_EQ(queue_->given(), std::min(at + 10'000, text.size()));
    EXPECT_EQ(queue_->taken() + queue_->held(), queue_->given());
    most = std::max(most, queue_->held());
  }
  EXPECT_GT(most, text.size() - 10'000);
  EXPECT_TRUE(hear_slowly(console_.in, text.size()) == text);
  EXPECT_TRUE(until([&] { return queue_->held() == 0; }));
  EXPECT_EQ(queue_->taken(), text.size());
  EXPECT_TRUE(console_.silent());
  queue_->write("more\n");
  EXPECT_EQ(hear_slowly(console_.in, 5), "more\n");
}

TEST_F(ConsoleQueues, WhatIsWrittenWhileItIsReadComesAfterIt) {
  begin(console_.out.get());
  const std::string text = numbers(2000);
  std::string heard, written;
  for (int i = 0; i < 300; ++i) {
    queue_->write(text);
    written += text;
    heard += hear_slowly(console_.in, 6000);
  }
  EXPECT_GT(queue_->held(), 500'000U);
  heard += hear_slowly(console_.in, written.size() - heard.size());
  EXPECT_TRUE(heard == written) << heard.size();
}

TEST_F(ConsoleQueues, ALineThatIsLongerThanThePipeComesWhole) {
  begin(console_.out.get());
  const std::string text = std::string(100'000, 'a') + '\n' + std::string(100'000, 'b');
  queue_->write(text);
  EXPECT_TRUE(hear_slowly(console_.in, text.size()) == text);
}

TEST_F(ConsoleQueues, WhoFillsItHearsWhenItIsLess) {
  begin(console_.out.get());
  queue_->write(numbers(50'000));
  settle();
  EXPECT_TRUE(less_.empty()) << "nothing was taken yet";
  std::size_t before = queue_->held();
  for (int i = 0; i < 3; ++i) {
    less_.clear();
    (void)console_.heard();
    ASSERT_TRUE(until([&] { return !less_.empty(); }));
    EXPECT_LT(less_.front(), before);
    before = queue_->held();
    EXPECT_EQ(less_.back(), before) << "it is told all of it";
  }
  EXPECT_GT(before, 0U);
  (void)hear_slowly(console_.in, bytes_waiting(console_.in.get()) + before);
  ASSERT_TRUE(until([&] { return queue_->held() == 0; }));
  EXPECT_EQ(less_.back(), 0U);
}

TEST_F(ConsoleQueues, WhoHearsThatItIsLessMayFillItAgain) {
  int left = 20;
  std::string written;
  queue_.emplace(io_.get_executor(), console_.out.get(), [&] {
    if (queue_->held() > 10'000 || left == 0) return;
    const std::string more(20'000, static_cast<char>('a' + --left));
    written += more;
    queue_->write(more);
  });
  written = std::string(20'000, 'z');
  queue_->write(written);
  const std::string heard = hear_slowly(console_.in, 420'000);
  EXPECT_TRUE(heard == written) << heard.size();
  EXPECT_EQ(left, 0);
}

TEST_F(ConsoleQueues, AReaderThatHasGoneTakesEverything) {
  begin(console_.out.get());
  queue_->write(numbers(50'000));
  EXPECT_GT(queue_->held(), 0U);
  settle();
  console_.in.reset();
  EXPECT_TRUE(until([&] { return queue_->held() == 0; }));
  EXPECT_EQ(less_.back(), 0U);
  queue_->write(numbers(50'000));
  EXPECT_EQ(queue_->held(), 0U);
}

TEST_F(ConsoleQueues, ARegularFileHasEverythingInOrder) {
  const Fd file(::memfd_create("file", MFD_CLOEXEC));
  begin(file.get());
  std::string text;
  for (int i = 0; i < 100; ++i) {
    const std::string more = numbers(i * 100);
    queue_->write(more);
    text += more;
    if (i % 10 == 0) settle();
  }
  EXPECT_EQ(queue_->given(), text.size());
  start_draining(10min);
  EXPECT_TRUE(until([this] { return drained_; }));
  EXPECT_EQ(queue_->held(), 0U);
  EXPECT_EQ(less_.back(), 0U);
  std::string found(text.size() + 1, ' ');
  found.resize(static_cast<std::size_t>(std::max<ssize_t>(::pread(file.get(), found.data(), found.size(), 0), 0)));
  EXPECT_TRUE(found == text);
}

TEST_F(ConsoleQueues, WhatHasNoRoomForEverIsDropped) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  begin(full.get());
  queue_->write(numbers(50'000));
  EXPECT_TRUE(until([&] { return queue_->held() == 0; }));
}

TEST_F(ConsoleQueues, ASocketIsNotWaitedForEither) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Fd writer(ends[0]), reader(ends[1]);
  begin(writer.get());
  const std::string text = numbers(200'000);
  queue_->write(text);
  EXPECT_GT(queue_->held(), 0U);
  EXPECT_TRUE(hear_slowly(reader, text.size()) == text);
  EXPECT_EQ(::fcntl(writer.get(), F_GETFL) & O_NONBLOCK, 0) << "others share it";
}

TEST_F(ConsoleQueues, TheFlagsThatOthersShareStay) {
  begin(console_.out.get());
  queue_->write(numbers(50'000));
  settle();
  EXPECT_EQ(::fcntl(console_.out.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(ConsoleQueues, AreDrainedWhenAllIsWritten) {
  begin(console_.out.get());
  const std::string text = numbers(50'000);
  queue_->write(text);
  EXPECT_FALSE(start_draining(10min));
  (void)hear_slowly(console_.in, text.size() - 5000);
  settle();
  EXPECT_FALSE(drained_);
  (void)hear_slowly(console_.in, 5000);
  EXPECT_TRUE(until([this] { return drained_; }));
  EXPECT_EQ(queue_->held(), 0U);
}

TEST_F(ConsoleQueues, AreNotWaitedForLongerThanSaid) {
  begin(console_.out.get());
  queue_->write(numbers(50'000));
  EXPECT_FALSE(start_draining(50ms));
  EXPECT_TRUE(until([this] { return drained_; }));
  EXPECT_GT(queue_->held(), 0U);
}

// One that has room for one byte says that it is ready, but it takes no end of a line.
TEST_F(ConsoleQueues, ATerminalThatTakesNothingCostsNoProcessorTime) {
  int keyboard = -1, screen = -1;
  ASSERT_EQ(::openpty(&keyboard, &screen, nullptr, nullptr, nullptr), 0);
  const Fd master(keyboard), terminal(screen);
  begin(terminal.get());
  std::string written;
  for (int i = 0; i < 100'000 && queue_->held() == 0; ++i) {
    const std::string line(static_cast<std::size_t>(i % 7), 'x');
    written += line + "\r\n";
    queue_->write(line + '\n');
  }
  ASSERT_GT(queue_->held(), 0U);
  io_.restart();
  EXPECT_LT(io_.run_for(300ms), 200U);
  EXPECT_GT(queue_->held(), 0U);
  EXPECT_TRUE(hear_slowly(master, written.size()) == written);
  EXPECT_EQ(queue_->held(), 0U);
}

// As with sudo: the pipe is another user's.
TEST_F(ConsoleQueues, APipeThatMayNotBeOpenedAgainIsNotWaitedFor) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(20);  // ends one that waits
    if (!refuse(SYS_openat, EACCES)) ::_exit(2);
    boost::asio::io_context io(1);
    ConsoleQueue queue(io.get_executor(), console_.out.get(), [] {});
    const std::string text = numbers(50'000) + std::string(100'000, 'x') + '\n';
    queue.write(text);
    std::string heard;
    while (heard.size() < text.size()) {
      if (bytes_waiting(console_.in.get()) > 0)
        heard += console_.hear(std::min<std::size_t>(text.size() - heard.size(), bytes_waiting(console_.in.get())));
      io.restart();
      io.run_one_for(10ms);
    }
    ::_exit(heard == text && queue.held() == 0 ? 0 : 1);
  }
  expect_success_of(pid);
}

// It stands for a file whose file system stalls: nothing else blocks for as long as a test wants.
TEST_F(ConsoleQueues, WhatMayBlockHoldsUpNobody) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(20);  // ends one that waits
    int keyboard = -1, screen = -1;
    if (::openpty(&keyboard, &screen, nullptr, nullptr, nullptr) != 0 || !refuse(SYS_openat, EACCES)) ::_exit(2);
    termios raw{};
    ::tcgetattr(screen, &raw);
    ::cfmakeraw(&raw);
    ::tcsetattr(screen, TCSANOW, &raw);
    boost::asio::io_context io(1);
    ConsoleQueue queue(io.get_executor(), screen, [] {});
    const std::string text = numbers(50'000);
    for (std::size_t at = 0; at < text.size(); at += 1000) queue.write(text.substr(at, 1000));
    io.run_for(100ms);
    if (queue.held() == 0) ::_exit(3);
    const Fd master(keyboard);
    std::string heard;
    while (heard.size() < text.size()) {
      std::array<char, 1000> piece{};
      const ssize_t got = ::read(master.get(), piece.data(), piece.size());
      heard.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      io.restart();
      io.poll();
    }
    for (int i = 0; i < 1000 && queue.held() > 0; ++i) {
      io.restart();
      io.run_one_for(10ms);
    }
    ::_exit(heard == text && queue.held() == 0 ? 0 : 1);
  }
  expect_success_of(pid);
}

}  // namespace launch::console_queue_test
