#include "launch/io/outlet.hpp"

#include "launch/io/clock.hpp"
#include "listener.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace launch::outlet_test {

using namespace std::chrono_literals;

TEST(Outlet, APipeThatIsFullIsNotWaitedForAndKeepsItsFlags) {
  const Listener console;
  const Outlet outlet(console.out.get());
  EXPECT_TRUE(outlet.prompt());
  const std::string page(4096, 'x');
  while (outlet.put(page)) {
  }
  EXPECT_FALSE(outlet.is_ready(now()));
  EXPECT_EQ(outlet.put_until(page, later(now(), 5ms)), page);
  EXPECT_EQ(::fcntl(console.out.get(), F_GETFL) & O_NONBLOCK, 0);
  (void)console.heard();
  EXPECT_TRUE(outlet.is_ready(never));
  EXPECT_EQ(outlet.put_until(page, never), "");
}

TEST(Outlet, WhatCanNeverBeWrittenNeedsNoCareAndSaysWhy) {
  ::signal(SIGPIPE, SIG_IGN);  // as launch does
  Listener console;
  const Outlet outlet(console.out.get());
  console.in.reset();
  EXPECT_EQ(outlet.put("lost"), 4U);
  EXPECT_EQ(errno, EPIPE);
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(Outlet(full.get()).put("lost"), 4U);
  EXPECT_EQ(errno, ENOSPC);
}

TEST(Outlet, OnAPipeAPieceIsOfWholeLinesThatNobodyTears) {
  const Listener console;
  const std::string lines = std::string(3000, 'a') + "\n" + std::string(3000, 'b') + "\n";
  EXPECT_EQ(Outlet(console.out.get()).first_piece(lines).size(), 3001U);
  const Fd file(::memfd_create("file", MFD_CLOEXEC));
  EXPECT_EQ(Outlet(file.get()).first_piece(lines), lines);
}

TEST(Outlet, APipeThatIsNearlyEmptyGetsMuchAtOnce) {
  const Listener console;
  if (enlarge_pipe(Listener().out.get()) < std::size_t{1} << 20) GTEST_SKIP() << "pipes cannot be made larger here";
  Outlet outlet(console.out.get());
  std::string lines;
  while (lines.size() < std::size_t{250} * 1000) lines += std::string(999, 'a') + "\n";
  const int before = ::fcntl(console.out.get(), F_GETPIPE_SZ);
  EXPECT_EQ(outlet.first_large_piece("few\n"), "few\n");
  EXPECT_EQ(::fcntl(console.out.get(), F_GETPIPE_SZ), before);  // not touched unless it is of use
  EXPECT_EQ(outlet.first_large_piece(lines), lines);
  EXPECT_EQ(outlet.put(lines), lines.size());
  EXPECT_EQ(outlet.put("and more\n" + lines), lines.size() + 9);
  EXPECT_EQ(outlet.first_large_piece(lines).size(), 4000U);  // of a pipe that is filled
  (void)console.heard();
  EXPECT_EQ(outlet.first_large_piece(lines), lines);
}

TEST(Outlet, TwoThatFindAPipeNearlyEmptyTearNoLines) {
  const Listener console;
  if (enlarge_pipe(Listener().out.get()) < std::size_t{1} << 20) GTEST_SKIP() << "pipes cannot be made larger here";
  Outlet one(console.out.get());
  Outlet other(console.out.get());
  std::string lines;
  while (lines.size() < std::size_t{1} << 20) lines += std::string(999, 'a') + "\n";
  ASSERT_EQ(one.put(std::string(std::size_t{64} << 10, 'x')), std::size_t{64} << 10);
  const std::string_view of_one = one.first_large_piece(lines);
  const std::string_view of_other = other.first_large_piece(lines);
  EXPECT_EQ(one.put(of_one), of_one.size());
  EXPECT_EQ(other.put(of_other), of_other.size());
}

}  // namespace launch::outlet_test
