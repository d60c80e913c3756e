#include "launch/io/signals.hpp"

#include "launch/io/guard.hpp"

#include <algorithm>
#include <csignal>

#include "run.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace launch::signals_test {

// Dispositions and the mask of the test process, put back afterwards.
class Signals : public testing::Test {
 protected:
  Signals() {
    ::sigprocmask(SIG_SETMASK, nullptr, &mask_);
    ::sigaction(SIGHUP, nullptr, &hup_);
    ::sigaction(SIGUSR1, nullptr, &usr1_);
  }
  ~Signals() override {
    ::sigaction(SIGHUP, &hup_, nullptr);
    ::sigaction(SIGUSR1, &usr1_, nullptr);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_{};
  struct sigaction hup_ {
  }, usr1_{};
};

bool has(const std::vector<int>& list, int signal) { return std::find(list.begin(), list.end(), signal) != list.end(); }

TEST_F(Signals, ArriveInTheStreamInsteadOfEndingTheProcess) {
  SignalPlan plan = take_over_signals();
  choose_signals(plan, {SIGTERM, SIGINT, SIGHUP, SIGQUIT});
  boost::asio::io_context io(1);
  SignalStream stream(io.get_executor(), plan);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    ::kill(::getpid(), signal);
    EXPECT_EQ(run(io, stream.next())->signal, signal);
  }
}

TEST_F(Signals, TellWhoHadSentWhatIsHandedOn) {
  SignalPlan plan = take_over_signals();
  choose_signals(plan, {SIGTERM, SIGINT, SIGHUP, SIGQUIT});
  boost::asio::io_context io(1);
  SignalStream stream(io.get_executor(), plan);
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(run(io, stream.next())->origin, ::getpid());
  for (const pid_t origin : {pid_t{1}, terminal_sender}) {
    hand_on(::getpid(), SIGTERM, origin);
    const auto received = run(io, stream.next());
    EXPECT_EQ(received->sender, ::getpid());
    EXPECT_EQ(received->origin, origin);
  }
}

TEST_F(Signals, ASenderIsNamedAsFarAsItIsKnown) {
  EXPECT_EQ(sender_text(terminal_sender), "from the terminal");
  EXPECT_EQ(sender_text(0), "");
  EXPECT_EQ(sender_text(::getpid()).find("from pid " + std::to_string(::getpid()) + " (io_tests"), 0U);
  EXPECT_EQ(sender_text(999'999'999), "from pid 999999999");
}

TEST_F(Signals, AHangUpThatNohupIgnoresStaysIgnored) {
  ::signal(SIGHUP, SIG_IGN);
  const SignalPlan plan = take_over_signals();
  EXPECT_FALSE(has(plan.handled, SIGHUP));
  EXPECT_FALSE(has(plan.reset, SIGHUP));
}

TEST_F(Signals, WhatWasIgnoredIsResetInWorkers) {
  ::signal(SIGUSR1, SIG_IGN);
  const SignalPlan plan = take_over_signals();
  EXPECT_TRUE(has(plan.reset, SIGUSR1));
  EXPECT_TRUE(has(plan.reset, SIGPIPE));
  EXPECT_TRUE(has(plan.reset, SIGXFSZ));
  EXPECT_FALSE(has(plan.reset, SIGTERM));
}

// What is done before a job begins may wait for a file system that does not answer.
TEST_F(Signals, AreNotBlockedBeforeTheyAreChosen) {
  take_over_signals();
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) EXPECT_FALSE(::sigismember(&mask, signal)) << signal;
}

TEST_F(Signals, AreThoseThatWereChosen) {
  SignalPlan plan = take_over_signals();
  choose_signals(plan, {SIGTERM, SIGUSR1});
  EXPECT_TRUE(has(plan.handled, SIGUSR1));
  EXPECT_TRUE(has(plan.handled, SIGCHLD));
  EXPECT_FALSE(has(plan.handled, SIGINT));
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_TRUE(::sigismember(&mask, SIGUSR1));
  EXPECT_FALSE(::sigismember(&mask, SIGINT));
  boost::asio::io_context io(1);
  SignalStream stream(io.get_executor(), plan);
  ::kill(::getpid(), SIGUSR1);
  EXPECT_EQ(run(io, stream.next())->signal, SIGUSR1);
}

TEST_F(Signals, OnesThatArePassedOnOrAboutAChildEndNothing) {
  SignalPlan plan;
  plan.handled = {SIGCHLD, SIGTERM, SIGALRM};
  plan.passed = {SIGUSR1, SIGWINCH};
  for (const int signal : {SIGTERM, SIGALRM}) EXPECT_TRUE(is_ending(plan, signal));
  for (const int signal : {SIGCHLD, SIGUSR1, SIGWINCH, SIGINT}) EXPECT_FALSE(is_ending(plan, signal));
}

TEST_F(Signals, AHangUpThatNohupIgnoresIsNotChosen) {
  ::signal(SIGHUP, SIG_IGN);
  SignalPlan plan = take_over_signals();
  choose_signals(plan, {SIGTERM, SIGHUP});
  EXPECT_FALSE(has(plan.handled, SIGHUP));
}

}  // namespace launch::signals_test
