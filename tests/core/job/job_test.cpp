#include "launch/core/job/job.hpp"

#include <csignal>
#include <cstring>

#include <gtest/gtest.h>

namespace launch::job_test {

constexpr ExitStatus exited(int code) { return {ExitStatus::Kind::exited, code}; }
constexpr ExitStatus signalled(int signal) { return {ExitStatus::Kind::signalled, signal}; }

TEST(ExitStatus, OnlyExitCodeZeroIsGood) {
  EXPECT_TRUE(exited(0).ok());
  EXPECT_FALSE(exited(1).ok());
  EXPECT_FALSE(signalled(SIGTERM).ok());
}

TEST(ExitStatus, ExitCodeIsAsAShellHasIt) {
  for (int code = 0; code < 256; ++code) EXPECT_EQ(exit_code(exited(code)), code);
  EXPECT_EQ(exit_code(signalled(SIGSEGV)), 139);
  EXPECT_EQ(exit_code(signalled(SIGTERM)), 143);
}

TEST(ExitStatus, TextNamesCodesAndSignals) {
  EXPECT_EQ(to_text(exited(7)), "exit code 7");
  EXPECT_EQ(to_text(signalled(SIGSEGV)), "signal 11 (SIGSEGV)");
}

TEST(ExitStatus, SomeSignalsTellTheCause) {
  EXPECT_EQ(cause_in_words(signalled(SIGSEGV)), "segmentation fault");
  EXPECT_EQ(cause_in_words(signalled(SIGKILL)), "not sent by launch (but by a scheduler, another process or a user)");
  EXPECT_EQ(cause_in_words(signalled(SIGUSR1)), "");
  EXPECT_EQ(cause_in_words(exited(SIGSEGV)), "");
}

TEST(SignalName, UnnamedSignalsAreShownByNumber) {
  EXPECT_EQ(signal_name(SIGHUP), "SIGHUP");
  EXPECT_EQ(signal_name(40), "signal 40");
}

#if defined(__GLIBC__)  // no other has it
TEST(SignalName, IsTheOneThatTheCLibraryKnows) {
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* name = sigabbrev_np(signal);
    EXPECT_EQ(signal_name(signal), name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal));
  }
}
#endif

TEST(SignalNumber, IsFoundByNameWithOrWithoutItsPrefix) {
  EXPECT_EQ(signal_number("SIGTERM"), SIGTERM);
  EXPECT_EQ(signal_number("USR1"), SIGUSR1);
  for (const char* bad : {"", "SIG", "SIGFOO", "sigterm", "15", "SIG_DFL"}) EXPECT_EQ(signal_number(bad), std::nullopt);
}

}  // namespace launch::job_test
