#include "launch/io/side_process.hpp"

#include "launch/io/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace launch::side_process_test {

using namespace std::chrono_literals;

Time soon() { return later(now(), 30s); }

TEST(SideProcess, TellsLineByLineUntilItEnds) {
  auto process = SideProcess::start([](int output) { write_all(output, "one\ntwo\nrest"); });
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(*process->line(soon()), "one");
  EXPECT_EQ(*process->line(soon()), "two");
  EXPECT_EQ(process->line(soon()).error().code, ErrorCode::closed) << "half a line is none";
}

TEST(SideProcess, MayPrintOrCrashOrHang) {
  auto prints = SideProcess::start([](int) { write_all(STDOUT_FILENO, "this is seen by nobody\n"); });
  EXPECT_EQ(prints->line(soon()).error().code, ErrorCode::closed);
  auto crashes = SideProcess::start([](int) { ::raise(SIGKILL); });
  EXPECT_EQ(crashes->line(soon()).error().code, ErrorCode::closed);
  auto hangs = SideProcess::start([](int) {
    for (;;) ::pause();
  });
  EXPECT_EQ(hangs->line(later(now(), 50ms)).error().code, ErrorCode::timeout);
  auto floods = SideProcess::start([](int output) { write_all(output, std::string(1'000'000, 'x')); });
  EXPECT_EQ(floods->line(soon()).error().code, ErrorCode::protocol);
}

SideProgram shell(const std::string& script) { return {"/bin/sh", {"sh", "-c", script}, {"COLOUR=blue"}}; }

TEST(SideProcess, MayBeAProgram) {
  auto speaks = SideProcess::start(shell("echo one; echo $COLOUR; cat; echo lost >&2"));
  ASSERT_TRUE(speaks);
  EXPECT_EQ(*speaks->rest(soon()), "one\nblue\n");
  auto missing = SideProcess::start(SideProgram{"/nowhere/program", {"program"}, {}});
  EXPECT_EQ(*missing->rest(soon()), "");
  auto hangs = SideProcess::start(shell("echo one; exec sleep 1000"));
  EXPECT_EQ(*hangs->line(soon()), "one");
  EXPECT_EQ(hangs->rest(later(now(), 50ms)).error().code, ErrorCode::timeout);
  auto floods = SideProcess::start(shell("exec yes"));
  EXPECT_EQ(floods->rest(soon()).error().code, ErrorCode::protocol);
}

TEST(SideProcess, IsGoneWhenItIsAbandoned) {
  auto process = SideProcess::start(shell("exec sleep 1000"));
  process->abandon();
  EXPECT_EQ(*process->rest(soon()), "") << "it has ended";
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0) << "this is left to whoever wants to wait";
}

TEST(SideProcess, IsGoneWithItsOwner) {
  std::string pid;
  {
    auto process = SideProcess::start([](int output) {
      write_all(output, std::to_string(::getpid()) + "\n");
      for (;;) ::pause();
    });
    pid = *process->line(soon());
    EXPECT_EQ(::access(("/proc/" + pid).c_str(), F_OK), 0);
  }
  EXPECT_NE(::access(("/proc/" + pid).c_str(), F_OK), 0);
}

}  // namespace launch::side_process_test
