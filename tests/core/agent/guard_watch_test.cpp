#include "launch/core/agent/guard_watch.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace launch::guard_watch_test {

using namespace std::chrono_literals;
using Act = GuardWatch::Act;

constexpr Time start{1000s};
constexpr Duration patience = 4s;  // of which the guard takes the last half second to believe it

// A guard that wakes when it wants to, and an agent that is awake or not.
class Player {
 public:
  explicit Player(Duration agents_patience = patience) { sign_ = {start, agents_patience, 0}; }

  // Until the guard acts, or until then; the guard wakes `late` after it wanted to.
  Act play(Time until, Duration late = {}) {
    while (true) {
      const Act act = watch_.look(sign_, now_);
      if (act != Act::nothing) return act;
      const Time next = later(watch_.deadline(), late);
      if (next > until) return now_ = until, Act::nothing;
      now_ = std::max(now_, next);
    }
  }

  void turn() { sign_.turned = now_; }
  void sleep(Duration time) { now_ += time; }
  void hear() { sign_.heard = number_; }
  void press(int signal = 2, SignalWay way = SignalWay::terminal) { watch_.handed_on(signal, way, ++number_, now_); }

  GuardWatch watch_;
  AgentSign sign_;
  Time now_ = start;
  std::uint32_t number_ = 0;
};

TEST(GuardWatch, AnAgentThatNobodyWaitsForIsNotLookedAt) {
  Player guard(Duration::zero());
  EXPECT_EQ(guard.play(start + 1h), Act::nothing);
  EXPECT_EQ(guard.watch_.deadline(), never);
}

TEST(GuardWatch, WakesOnceInAWhileForAnAgentThatTurns) {
  Player guard;
  int looks = 0;
  while (guard.now_ < start + 1min) {
    EXPECT_EQ(guard.watch_.look(guard.sign_, guard.now_), Act::nothing);
    ++looks;
    guard.now_ = guard.watch_.deadline();
    guard.sign_.turned = guard.now_ - 200ms;
  }
  EXPECT_LT(looks, 20);
}

TEST(GuardWatch, EndsTheWorkersOfAnAgentThatStandsStillWithinItsPatience) {
  for (const Duration limit : {Duration(200ms), Duration(750ms), Duration(3750ms), Duration(1min)}) {
    Player guard(limit);
    EXPECT_EQ(guard.play(start + 1h), Act::end_workers);
    EXPECT_GE(guard.now_, start + limit * 7 / 8);
    EXPECT_LE(guard.now_, start + limit);
  }
}

TEST(GuardWatch, AnAgentThatTurnsAtTheLastMomentGoesOn) {
  Player guard;
  EXPECT_EQ(guard.play(start + patience - 50ms), Act::nothing);
  guard.turn();
  EXPECT_EQ(guard.play(guard.now_ + patience - 600ms), Act::nothing);
}

TEST(GuardWatch, EndsWorkersUntilNoneIsLeftAndOnlyOnce) {
  Player guard;
  EXPECT_EQ(guard.play(start + 1h), Act::end_workers);
  const Time first = guard.now_;
  guard.now_ = guard.watch_.deadline();
  EXPECT_EQ(guard.play(start + 1h), Act::end_workers);
  EXPECT_LE(guard.now_, first + 100ms);
  guard.watch_.workers_ended();
  EXPECT_EQ(guard.play(start + 1h), Act::nothing);
  EXPECT_EQ(guard.watch_.deadline(), never);
}

TEST(GuardWatch, WatchesAgainOnceTheLoopTurns) {
  Player guard;
  EXPECT_EQ(guard.play(start + 1h), Act::end_workers);
  guard.watch_.workers_ended();
  guard.turn();
  EXPECT_EQ(guard.play(guard.now_ + 3s), Act::nothing);
  EXPECT_EQ(guard.play(guard.now_ + 3s), Act::end_workers);
}

TEST(GuardWatch, AnAgentThatWakesWithItsGuardGoesOn) {
  Player guard;
  EXPECT_EQ(guard.play(start + 1s), Act::nothing);
  guard.sleep(1h);  // the machine
  EXPECT_EQ(guard.play(guard.now_ + 300ms), Act::nothing);
  guard.turn();
  EXPECT_EQ(guard.play(guard.now_ + 3s), Act::nothing);
}

TEST(GuardWatch, AGuardThatSleptWhileItSuspectedLooksOnForAWhile) {
  Player guard;
  EXPECT_EQ(guard.play(start + patience - 200ms), Act::nothing);
  guard.sleep(1h);
  EXPECT_EQ(guard.play(guard.now_ + 100ms), Act::nothing);
}

TEST(GuardWatch, AnAgentThatDoesNotWakeWithItsGuardHasHalfASecond) {
  Player guard;
  EXPECT_EQ(guard.play(start + 1s), Act::nothing);
  guard.sleep(1h);
  const Time woke = guard.now_;
  EXPECT_EQ(guard.play(woke + 1h), Act::end_workers);
  EXPECT_LE(guard.now_, woke + 500ms);
}

TEST(GuardWatch, AGuardThatHardlyRunsStillActs) {
  Player guard;
  EXPECT_EQ(guard.play(start + 1h, 300ms), Act::end_workers);
  EXPECT_LE(guard.now_, start + patience + 4s);
}

// ---- signals

TEST(GuardWatch, TheThirdSignalEndsAllIfTheAgentDoesNotHear) {
  Player guard(Duration::zero());
  for (int i = 0; i < 2; ++i) {
    guard.press();
    EXPECT_EQ(guard.play(guard.now_ + 10s), Act::nothing);
  }
  guard.press();
  const Time third = guard.now_;
  EXPECT_EQ(guard.play(third + 1h), Act::end_all);
  EXPECT_EQ(guard.now_, third + 1s);
}

TEST(GuardWatch, AnAgentThatHearsIsLeftToEndByItself) {
  Player guard(Duration::zero());
  for (int i = 0; i < 5; ++i) {
    guard.press();
    EXPECT_EQ(guard.play(guard.now_ + 900ms), Act::nothing);
    guard.hear();
  }
  EXPECT_EQ(guard.play(guard.now_ + 1h), Act::nothing);
  EXPECT_EQ(guard.watch_.deadline(), never);
}

TEST(GuardWatch, AnAgentThatGetsStuckAfterTheFirstSignalIsEndedAtTheThird) {
  Player guard(Duration::zero());
  guard.press();
  guard.hear();
  guard.press();
  EXPECT_EQ(guard.play(guard.now_ + 10s), Act::nothing);
  guard.press();
  EXPECT_EQ(guard.play(guard.now_ + 10s), Act::end_all);
}

TEST(GuardWatch, AnAgentThatWasBusyForThreeSignalsGoesOn) {
  Player guard(Duration::zero());
  for (int i = 0; i < 3; ++i) guard.press();
  EXPECT_EQ(guard.play(guard.now_ + 900ms), Act::nothing);
  guard.hear();
  EXPECT_EQ(guard.play(guard.now_ + 1h), Act::nothing);
}

TEST(GuardWatch, AKeyThatAWrapperHandsOnCountsOnce) {
  Player guard(Duration::zero());
  for (int i = 0; i < 2; ++i) {
    guard.press(2, SignalWay::terminal);
    guard.press(2, SignalWay::guard);
    EXPECT_EQ(guard.play(guard.now_ + 10s), Act::nothing);
  }
}

TEST(GuardWatch, AnAgentThatSleptWithItsGuardMayStillHear) {
  Player guard(Duration::zero());
  for (int i = 0; i < 3; ++i) guard.press();
  EXPECT_EQ(guard.play(guard.now_ + 100ms), Act::nothing);
  guard.sleep(1h);
  EXPECT_EQ(guard.play(guard.now_ + 400ms), Act::nothing);
  EXPECT_EQ(guard.play(guard.now_ + 400ms), Act::end_all);
}

}  // namespace launch::guard_watch_test
