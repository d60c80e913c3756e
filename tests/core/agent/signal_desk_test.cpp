#include "launch/core/agent/signal_desk.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace launch::signal_desk_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);

SignalDesk desk(int preempt = 0) { return SignalDesk({SIGCHLD, 40, {SIGUSR1, SIGUSR2}, {SIGTERM, SIGINT}, preempt}); }

SignalMeaning meaning(SignalDesk& desk, int signal, WorkersAre workers = WorkersAre::running, Time now = start_time) {
  return desk.meaning_of(signal, SignalWay::guard, workers, now);
}

TEST(SignalDesk, EachHasItsMeaning) {
  SignalDesk one = desk();
  EXPECT_EQ(meaning(one, SIGCHLD), SignalMeaning::child_ended);
  EXPECT_EQ(meaning(one, SIGCHLD), SignalMeaning::child_ended);
  EXPECT_EQ(meaning(one, 40), SignalMeaning::guard_gone);
  EXPECT_EQ(meaning(one, SIGUSR1), SignalMeaning::pass_on);
  EXPECT_EQ(meaning(one, SIGTERM), SignalMeaning::stop);
}

TEST(SignalDesk, RemembersWhatTheWorkersHaveGot) {
  SignalDesk one = desk();
  (void)meaning(one, SIGUSR1, WorkersAre::not_there);
  EXPECT_FALSE(one.has_passed_on(SIGUSR1)) << "there was nobody to get it";
  (void)meaning(one, SIGUSR1, WorkersAre::running, start_time + 2s);
  EXPECT_TRUE(one.has_passed_on(SIGUSR1));
  EXPECT_FALSE(one.has_passed_on(SIGUSR2));
  (void)meaning(one, SIGTERM);
  EXPECT_FALSE(one.has_passed_on(SIGTERM));
}

TEST(SignalDesk, AnEndByASignalThatEndsTheJobMayBeFollowedByThatSignal) {
  const SignalDesk one = desk();
  EXPECT_GT(one.wait_for_same({ExitStatus::Kind::signalled, SIGTERM}), Duration::zero());
  EXPECT_GT(one.wait_for_same({ExitStatus::Kind::exited, 128 + SIGTERM}), Duration::zero()) << "a shell's child";
  for (const ExitStatus& other :
       {ExitStatus{ExitStatus::Kind::signalled, SIGKILL}, ExitStatus{ExitStatus::Kind::signalled, SIGSEGV},
        ExitStatus{ExitStatus::Kind::exited, 1}, ExitStatus{ExitStatus::Kind::exited, SIGTERM}})
    EXPECT_EQ(one.wait_for_same(other), Duration::zero());
}

TEST(SignalDesk, OneThatComesTwoWaysIsOne) {
  SignalDesk one = desk();
  EXPECT_EQ(one.meaning_of(SIGTERM, SignalWay::direct, WorkersAre::running, start_time), SignalMeaning::stop);
  EXPECT_EQ(one.meaning_of(SIGTERM, SignalWay::guard, WorkersAre::running, start_time + 10ms), SignalMeaning::known);
}

TEST(SignalDesk, AWarningThatEndsTheJobWarnsOnce) {
  SignalDesk one = desk(SIGTERM);
  EXPECT_EQ(meaning(one, SIGTERM), SignalMeaning::warning);
  EXPECT_TRUE(one.warned());
  EXPECT_EQ(meaning(one, SIGTERM, WorkersAre::running, start_time + 2s), SignalMeaning::stop);
}

TEST(SignalDesk, IfThereIsNobodyToWarnTheJobEnds) {
  SignalDesk by_signal = desk(SIGTERM);
  EXPECT_EQ(meaning(by_signal, SIGTERM, WorkersAre::not_there), SignalMeaning::stop);
  EXPECT_TRUE(by_signal.warned()) << "the scheduler wants the node back";
  SignalDesk by_time = desk();
  EXPECT_EQ(by_time.meaning_of_time(WorkersAre::not_there), SignalMeaning::stop);
  EXPECT_TRUE(by_time.warned());
}

TEST(SignalDesk, WorkersThatHaveEndedHaveNothingToSave) {
  SignalDesk one = desk(SIGTERM);
  EXPECT_EQ(meaning(one, SIGTERM, WorkersAre::ended), SignalMeaning::warning) << "the others may still need this node";
  EXPECT_FALSE(one.warned());
  EXPECT_EQ(one.meaning_of_time(WorkersAre::ended), SignalMeaning::warning);
  EXPECT_FALSE(one.warned());
}

TEST(SignalDesk, ASecondOneEndsANodeWhoseWorkersHaveEnded) {
  SignalDesk one = desk(SIGTERM);
  EXPECT_EQ(meaning(one, SIGTERM, WorkersAre::ended), SignalMeaning::warning);
  EXPECT_EQ(meaning(one, SIGTERM, WorkersAre::ended, start_time + 2s), SignalMeaning::stop);
  EXPECT_FALSE(one.warned());
}

TEST(SignalDesk, TheTimeMayBeTheWarning) {
  SignalDesk one = desk();
  EXPECT_EQ(one.meaning_of_time(WorkersAre::running), SignalMeaning::warning);
  EXPECT_TRUE(one.warned());
  EXPECT_EQ(meaning(one, SIGTERM), SignalMeaning::stop);
  SignalDesk other = desk(SIGTERM);
  (void)other.meaning_of_time(WorkersAre::running);
  EXPECT_EQ(meaning(other, SIGTERM), SignalMeaning::stop) << "they have been warned";
}

TEST(SignalDesk, AnotherWarningMayComeAgain) {
  SignalDesk one = desk(SIGALRM);
  for (const Duration after : {0s, 2s, 4s})
    EXPECT_EQ(meaning(one, SIGALRM, WorkersAre::running, start_time + after), SignalMeaning::warning);
}

}  // namespace launch::signal_desk_test
