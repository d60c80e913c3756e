#include "launch/core/rendezvous/liveness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace launch::liveness_test {

using namespace std::chrono_literals;

constexpr Time start{std::chrono::hours(1)};

// A node and its host, whose connection is cut at some moment, in one direction or in both.
struct Pair {
  Pair(Duration timeout, int nodes) : plan(plan_heartbeat(timeout, nodes)) { watch.set_limit(plan.silence); }

  // `phase`: of the host's looks. `late`: what answers take before the cut.
  void play(Duration phase, Time cut, bool to_host, bool to_node, Duration late = {}) {
    beats.set(plan.interval, plan.patience, start);
    Time look = watch.plan_look(start + phase);
    Time answer = never;
    while (!node_gives_up || !host_gives_up) {
      const Time now = node_gives_up ? look : std::min({look, beats.due(), answer});
      if (now == look) {
        watch.look(now);
        if (watch.is_silent(signs) && !host_gives_up) host_gives_up = now;
        look = watch.plan_look(now);
      } else if (now == answer) {
        beats.answered();
        answer = never;
      } else if (beats.at(now) == Beats::Act::silent) {
        node_gives_up = now;
      } else {
        const bool heard = now < cut || !to_host;
        signs.heard |= heard;
        if (heard && (now < cut || !to_node)) answer = now + late;
      }
    }
  }

  Heartbeat plan;
  SilenceWatch watch;
  SilenceWatch::Signs signs{true, start};
  Beats beats;
  std::optional<Time> node_gives_up, host_gives_up;
};

TEST(Liveness, ANodeHasGivenUpAndItsWorkersAreGoneBeforeTheHostGivesItUp) {
  for (const Duration timeout :
       {Duration(100ms), Duration(1s), Duration(5s), Duration(30s), Duration(300s), Duration(1h)})
    for (const int nodes : {2, 10, 100, 1000, 3750, 10'000, 100'000})
      for (int step = 0; step < 200; ++step)
        for (const bool both : {true, false}) {
          Pair pair(timeout, nodes);
          const Duration phase = pair.plan.silence * (step % 7) / 140;
          const Time cut = start + pair.plan.interval * 3 + pair.plan.interval * step / 200;
          pair.play(phase, cut, true, both);
          ASSERT_LT(*pair.node_gives_up + pair.plan.grace, *pair.host_gives_up)
              << to_text(timeout) << ", " << nodes << " nodes, step " << step;
        }
}

// The host hears the first beat that is not answered, and none after it.
TEST(Liveness, TheSameIfOnlyTheAnswersAreLost) {
  for (const Duration timeout : {Duration(1s), Duration(30s)})
    for (int step = 0; step < 200; ++step) {
      Pair pair(timeout, 8);
      pair.play({}, start + pair.plan.interval * step / 100, false, true);
      ASSERT_LT(*pair.node_gives_up + pair.plan.grace, *pair.host_gives_up);
    }
}

// An answer that comes late, or is read late, says only that the host had heard of the node when it asked.
TEST(Liveness, TheSameIfAnswersAreLate) {
  for (const Duration timeout : {Duration(1s), Duration(30s)})
    for (int step = 0; step < 200; ++step)
      for (const int eighths : {1, 4, 7}) {
        Pair pair(timeout, 8);
        const Duration late = pair.plan.patience * eighths / 8;
        pair.play(pair.plan.silence * (step % 7) / 140, start + timeout * step / 100, true, true, late);
        ASSERT_LT(*pair.node_gives_up + pair.plan.grace, *pair.host_gives_up)
            << to_text(timeout) << ", answers " << to_text(late) << " late, step " << step;
      }
}

TEST(Liveness, AHostThatHasOversleptCountsAgain) {
  SilenceWatch watch;
  watch.set_limit(10s);
  SilenceWatch::Signs signs{false, start};
  watch.plan_look(start);
  watch.look(start + 30s);
  EXPECT_FALSE(watch.is_silent(signs));
  EXPECT_EQ(watch.plan_look(start + 30s), start + 30500ms);
  watch.look(start + 30500ms);
  EXPECT_FALSE(watch.is_silent(signs));
  watch.plan_look(start + 39500ms);
  watch.look(start + 40s);
  EXPECT_TRUE(watch.is_silent(signs));
}

TEST(Liveness, ANodeThatHasSleptReadsFirstAndOnlyOnce) {
  Beats beats;
  beats.set(1s, 9s, start);
  EXPECT_EQ(beats.due(), start + 1s);
  EXPECT_EQ(beats.at(start + 1s), Beats::Act::beat);
  EXPECT_EQ(beats.due(), start + 10s);
  EXPECT_EQ(beats.at(start + 60s), Beats::Act::wait);
  EXPECT_EQ(beats.at(start + 60s + 250ms), Beats::Act::silent);
  beats.heard();
  EXPECT_EQ(beats.at(start + 120s), Beats::Act::wait) << "after something has come";
  beats.answered();
  EXPECT_EQ(beats.at(start + 121s), Beats::Act::beat);
}

TEST(Liveness, ANodeThatSleepsAgainBeforeAnythingHasComeIsNotExcusedAgain) {
  Beats beats;
  beats.set(1s, 9s, start);
  EXPECT_EQ(beats.at(start + 1s), Beats::Act::beat);
  EXPECT_EQ(beats.at(start + 60s), Beats::Act::wait);
  EXPECT_EQ(beats.at(start + 120s), Beats::Act::silent);
}

TEST(Liveness, ANodeThatIsALittleLateHasNotSlept) {
  Beats beats;
  beats.set(1s, 9s, start);
  EXPECT_EQ(beats.at(start + 1s), Beats::Act::beat);
  EXPECT_EQ(beats.at(start + 10900ms), Beats::Act::silent);
}

TEST(Liveness, ALossIsNoticedSoonAfterTheTimeOut) {
  for (const Duration timeout : {Duration(1s), Duration(5s), Duration(30s)})
    EXPECT_LE(plan_heartbeat(timeout, 100).silence, timeout * 11 / 10);
}

// To give up a wait must not give the host more time.
TEST(Liveness, WhatIsAskedAfterABeatMustBeAnsweredAsSoonAsThat) {
  Beats beats;
  beats.set(1s, 9s, start);
  EXPECT_EQ(beats.answer_due(start + 500ms), start + 10s);
  EXPECT_EQ(beats.at(start + 1s), Beats::Act::beat);
  EXPECT_EQ(beats.answer_due(start + 8s), start + 10s);
  EXPECT_EQ(beats.answer_due(start + 60s), start + 60s + 250ms) << "it has slept";
  beats.answered();
  EXPECT_EQ(beats.answer_due(start + 8s), start + 11s);
  beats.answered(start + 7s);
  EXPECT_EQ(beats.answer_due(start + 8s), start + 17s);
}

// The host may have heard of it an interval before.
TEST(Liveness, TheWorkersOfAnAgentThatStandsStillEndBeforeTheHostLosesTheirNode) {
  for (const Duration timeout : {Duration(1s), Duration(5s), Duration(1min)})
    for (const int nodes : {2, 100, 1000, 10'000}) {
      const Heartbeat plan = plan_heartbeat(timeout, nodes);
      EXPECT_LT(longest_stall(timeout, nodes) + plan.interval, plan.silence);
      EXPECT_GT(longest_stall(timeout, nodes), plan.patience) << "what disturbs nobody else is no reason";
    }
  EXPECT_EQ(longest_stall(Duration::zero(), 2), Duration::zero());
}

TEST(Liveness, ANapOfNearlyTheTimeoutDisturbsNobody) {
  for (const Duration timeout : {Duration(1s), Duration(5s), Duration(30s)})
    for (const int nodes : {2, 1000, 10'000}) {
      const Heartbeat plan = plan_heartbeat(timeout, nodes);
      const Duration nap = timeout * 88 / 100;
      EXPECT_GT(plan.patience, nap) << "of the host";
      EXPECT_GT(plan.silence, plan.interval + nap) << "of a node, which began just before a beat";
    }
}

TEST(Liveness, ManyNodesLeaveTheHostTimeForItsWork) {
  for (const int nodes : {1000, 4000, 10'000}) {
    const Heartbeat plan = plan_heartbeat(5s, nodes);
    EXPECT_LE(nodes / std::chrono::duration<double>(plan.interval).count(), 1600) << "beats a second";
    EXPECT_GT(plan.silence, plan.interval + 3s);
  }
}

// A node sees the end of the host when that was cut off, or when it stood still itself, for as long as it has patience.
TEST(Liveness, ANewHostWaitsUntilNobodyHasWorkersOfTheLastRound) {
  for (const Duration timeout : {Duration(100ms), Duration(1s), Duration(30s), Duration(600s)})
    for (const int nodes : {1, 100, 10'000}) {
      const Heartbeat plan = plan_heartbeat(timeout, nodes);
      const Duration sees_the_end = plan.interval + plan.patience;
      EXPECT_GE(sees_the_end, longest_stall(timeout, nodes));
      EXPECT_GT(wait_after_host(timeout, nodes), sees_the_end + grace_after_host(timeout));
      EXPECT_GT(wait_after_host(timeout, nodes), sees_the_end + plan.grace);
    }
  EXPECT_EQ(wait_after_host(Duration::zero(), 4), Duration::zero());
  EXPECT_EQ(grace_after_host(Duration::zero()), Duration::zero());
  EXPECT_EQ(grace_after_host(Duration::zero(), 4, 10s), Duration::zero());
}

TEST(Liveness, WithoutATimeoutThereIsNone) {
  const Heartbeat plan = plan_heartbeat(Duration::zero(), 100);
  EXPECT_EQ(plan.interval, Duration::zero());
  EXPECT_EQ(plan.silence, Duration::zero());
}

// As users are told, counted from the cut. How often nodes beat and the host looks does not matter for the order of the
// two, but for this.
TEST(Liveness, TheHostMissesANodeWithinAFifthMoreThanTheTimeOut) {
  for (const Duration timeout : {Duration(1s), Duration(5s), Duration(30s), Duration(300s)})
    for (const int nodes : {2, 100})
      for (int step = 0; step < 200; ++step) {
        Pair pair(timeout, nodes);
        const Time cut = start + pair.plan.interval * 3 + pair.plan.interval * step / 200;
        pair.play(pair.plan.silence * (step % 7) / 140, cut, true, true);
        ASSERT_LE(*pair.host_gives_up - cut, timeout * 6 / 5)
            << to_text(timeout) << ", " << nodes << " nodes, step " << step;
      }
}

// Its end was seen late, or not for long: the others may go on at the end of their wait.
TEST(Liveness, WorkersOfANodeThatHasStoodStillHaveEndedWhenTheOthersGoOn) {
  for (const int nodes : {2, 100, 10'000}) {
    const Heartbeat plan = plan_heartbeat(30s, nodes);
    const Duration whole = grace_after_host(30s);
    EXPECT_EQ(grace_after_host(30s, nodes, plan.interval), whole);
    for (Duration since{}; since < wait_after_host(30s, nodes) - plan.grace; since += 1s) {
      EXPECT_LE(since + grace_after_host(30s, nodes, since), wait_after_host(30s, nodes));
      EXPECT_LE(grace_after_host(30s, nodes, since), whole);
    }
    EXPECT_EQ(grace_after_host(30s, nodes, 1h), plan.grace) << "as where a host is only silent";
  }
}

TEST(Liveness, ASleepOfTheNodeIsNoSignOfLifeOfTheHost) {
  Beats beats;
  beats.set(1s, 9s, start);
  EXPECT_EQ(beats.at(start + 1s), Beats::Act::beat);
  beats.answered();
  EXPECT_EQ(beats.lived_at(), start + 1s);
  EXPECT_EQ(beats.at(start + 2s), Beats::Act::beat);
  EXPECT_EQ(beats.at(start + 60s), Beats::Act::wait);
  EXPECT_EQ(beats.lived_at(), start + 1s);
  EXPECT_EQ(beats.due(), start + 60s + 250ms) << "old workers may last for half a second";
  EXPECT_EQ(beats.answer_due(start + 90s), start + 90s + 250ms);
  EXPECT_EQ(beats.at(start + 60s + 250ms), Beats::Act::silent);
}

TEST(Liveness, WorkersOfANodeThatDoubtsItsHostLateHaveOnlyWhatIsLeft) {
  for (const Duration timeout : {Duration(1s), Duration(5s), Duration(30s), Duration(600s)})
    for (const Allegiance to : {Allegiance::host, Allegiance::majority}) {
      const Heartbeat plan = plan_heartbeat(timeout, 4, to);
      EXPECT_EQ(grace_in_doubt(plan, plan.interval + plan.patience), plan.grace);
      EXPECT_EQ(grace_in_doubt(plan, Duration::zero()), plan.grace);
      for (Duration late{}; late < plan.grace - 50ms; late += plan.grace / 20) {
        const Duration since = plan.interval + plan.patience + late;
        EXPECT_LT(since + grace_in_doubt(plan, since), plan.silence);
      }
      EXPECT_EQ(grace_in_doubt(plan, 1h), std::min<Duration>(50ms, plan.grace)) << "they are told to exit first";
    }
  EXPECT_EQ(grace_in_doubt(plan_heartbeat(Duration::zero(), 4), 1h), Duration::zero());
}

}  // namespace launch::liveness_test
