#include "launch/io/guard.hpp"

#include "launch/io/log.hpp"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::guard_test {

// The guard has to be a process of its own: it blocks signals and waits for every child.
int exit_code_of_guarded(void (*agent)()) {
  const pid_t guard = ::fork();
  if (guard == 0) {
    open_log();
    SignalPlan signals = take_over_signals();
    choose_signals(signals, {SIGTERM, SIGINT});
    const Guarded guarded = stand_guard(signals);
    if (guarded.exit_code) std::_Exit(*guarded.exit_code);
    agent();
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(guard, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Guard, EndsWithTheAgentsExitCode) {
  EXPECT_EQ(exit_code_of_guarded([] { std::_Exit(7); }), 7);
}

TEST(Guard, ASignalOfTheAgentIs128AndItsNumber) {
  EXPECT_EQ(exit_code_of_guarded([] { ::raise(SIGKILL); }), 128 + SIGKILL);
}

TEST(Guard, PassesSignalsOn) {
  EXPECT_EQ(exit_code_of_guarded([] {
              ::kill(::getppid(), SIGINT);
              sigset_t set;
              sigemptyset(&set);
              sigaddset(&set, SIGINT);
              std::_Exit(::sigwaitinfo(&set, nullptr));
            }),
            SIGINT);
}

TEST(Guard, TheAgentHearsOfItsEnd) {
  EXPECT_EQ(exit_code_of_guarded([] {
              const pid_t guard = ::getppid();
              ::kill(guard, SIGKILL);
              sigset_t set;
              sigemptyset(&set);
              sigaddset(&set, guard_gone_signal());
              std::_Exit(::sigwaitinfo(&set, nullptr) == guard_gone_signal() ? 0 : 1);
            }),
            -1);
}

TEST(Guard, WhatAKilledAgentLeavesIsKilled) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  EXPECT_EQ(exit_code_of_guarded([] {
              if (::fork() == 0) {
                ::setsid();
                if (::fork() == 0) {
                  ::setsid();
                  while (true) ::pause();
                }
                std::_Exit(0);
              }
              ::raise(SIGKILL);
            }),
            128 + SIGKILL);
  // What the guard had left would be ours now.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace launch::guard_test
