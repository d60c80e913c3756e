#include "launch/io/fd.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace launch::fd_test {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, ClosesOnceAndMovesItsOwnership) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  Fd write_end(ends[1]);
  {
    Fd first(ends[0]);
    Fd second = std::move(first);
    EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(second.get(), ends[0]);
  }
  EXPECT_FALSE(is_open(ends[0]));
  EXPECT_TRUE(is_open(ends[1]));
}

TEST(Fd, WriteAllTellsWhenTheReaderIsGone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  Fd read_end(ends[0]), write_end(ends[1]);
  EXPECT_TRUE(write_all(write_end.get(), "text"));
  std::array<char, 8> got{};
  EXPECT_EQ(::read(read_end.get(), got.data(), got.size()), 4);
  read_end.reset();
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_FALSE(write_all(write_end.get(), "text"));
  EXPECT_EQ(errno, EPIPE);
}

TEST(Fd, OpenedAgainItHasFlagsOfItsOwn) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd read_end(ends[0]), write_end(ends[1]);
  const Fd again = open_again(write_end.get(), O_WRONLY | O_NONBLOCK);
  ASSERT_TRUE(again.valid());
  EXPECT_NE(::fcntl(again.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(write_end.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_TRUE(write_all(again.get(), "text"));
  EXPECT_EQ(bytes_waiting(read_end.get()), 4U);
  EXPECT_FALSE(open_again(-1, O_WRONLY).valid());
  EXPECT_EQ(bytes_waiting(-1), 0U);
}

TEST(HoldStandardStreams, OpensThoseThatAreClosed) {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const Fd kept(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    ::close(fd);
    hold_standard_streams();
    EXPECT_EQ(::fcntl(fd, F_GETFD), 0) << "workers inherit it";
    char byte = 'x';
    EXPECT_EQ(::read(fd, &byte, 1), 0);
    EXPECT_EQ(::write(fd, &byte, 1), 1);
    if (kept.valid()) ::dup2(kept.get(), fd);
  }
}

}  // namespace launch::fd_test
