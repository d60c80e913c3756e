#include "launch/core/config/preemption.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace launch::preemption_test {

using namespace std::chrono_literals;

constexpr WallTime now_is = WallTime(1'000h);

Preemption ends_in(Duration left, Duration notice = Duration::zero()) {
  Preemption one;
  one.job_end = now_is + std::chrono::duration_cast<WallTime::duration>(left);
  one.job_end_from = "SLURM_JOB_END_TIME";
  one.notice = notice;
  return one;
}

TEST(Preemption, WorkersAreWarnedBeforeTheEnd) {
  EXPECT_EQ(time_until_warning(ends_in(10min, 2min), now_is), 8min);
  EXPECT_EQ(time_until_warning(ends_in(10min), now_is), std::nullopt) << "nobody wants it";
  EXPECT_EQ(time_until_warning(ends_in(2min, 2min), now_is), std::nullopt) << "too late";
  EXPECT_EQ(time_until_warning({}, now_is), std::nullopt) << "nobody says when the end is";
}

TEST(Preemption, ItIsSaidIfItIsTooLateForThat) {
  EXPECT_EQ(too_late_to_warn(ends_in(90s, 2min), now_is),
            "this job has 90 s (SLURM_JOB_END_TIME) left, so its workers are not warned 2 min before its end");
  EXPECT_EQ(too_late_to_warn(ends_in(-1s, 2min), now_is),
            "the time of this job is up (SLURM_JOB_END_TIME), so its workers are not warned");
  EXPECT_EQ(too_late_to_warn(ends_in(10min, 2min), now_is), "");
  EXPECT_EQ(too_late_to_warn(ends_in(90s), now_is), "");
  EXPECT_EQ(too_late_to_warn({}, now_is), "");
}

TEST(Preemption, TheTimeThatIsLeftIsInWordsForPeople) {
  EXPECT_EQ(time_left({}, now_is), "");
  EXPECT_EQ(time_left(ends_in(90s), now_is), "90 s (SLURM_JOB_END_TIME)");
  EXPECT_EQ(time_left(ends_in(3min + 59s), now_is), "3 min (SLURM_JOB_END_TIME)");
  EXPECT_EQ(time_left(ends_in(25h + 1min), now_is), "25 h 1 min (SLURM_JOB_END_TIME)");
  EXPECT_EQ(time_left(ends_in(-1s), now_is), "none: its time is up (SLURM_JOB_END_TIME)");
}

TEST(Preemption, TheSchedulerIsAskedToStartTheJobAgain) {
  Preemption one;
  EXPECT_EQ(exit_code_for_scheduler(one, 0, true), 0) << "nobody wants it";
  one.requeue_on.codes = {7, 137};
  EXPECT_EQ(exit_code_for_scheduler(one, 7, false), 75);
  EXPECT_EQ(exit_code_for_scheduler(one, 137, false), 75);
  EXPECT_EQ(exit_code_for_scheduler(one, 1, true), 1);
  EXPECT_EQ(exit_code_for_scheduler(one, 0, true), 0);
  one.requeue_exit = 99;
  EXPECT_EQ(exit_code_for_scheduler(one, 7, false), 99);
}

TEST(Preemption, AJobThatHasEndedAfterAWarningIsToBeStartedAgain) {
  Preemption one;
  one.requeue_warned = true;
  EXPECT_EQ(exit_code_for_scheduler(one, 0, true), 75);
  EXPECT_EQ(exit_code_for_scheduler(one, 0, false), 0) << "it has ended by itself";
  EXPECT_EQ(exit_code_for_scheduler(one, 1, true), 1) << "it has failed";
  EXPECT_EQ(exit_code_for_scheduler(one, 128 + SIGTERM, true), 75) << "by the warning";
  one.signal = SIGUSR1;
  EXPECT_EQ(exit_code_for_scheduler(one, 128 + SIGUSR1, true), 75);
  EXPECT_EQ(exit_code_for_scheduler(one, 128 + SIGTERM, true), 128 + SIGTERM) << "it was stopped";
}

TEST(Preemption, WhichExitCodeAsksForAnotherStart) {
  Preemption one;
  EXPECT_FALSE(says_requeue(one, 75)) << "nobody wants it";
  one.requeue_warned = true;
  EXPECT_TRUE(says_requeue(one, 75));
  EXPECT_FALSE(says_requeue(one, 0));
  one.requeue_warned = false;
  one.requeue_on.codes = {7};
  one.requeue_exit = 99;
  EXPECT_TRUE(says_requeue(one, 99));
  EXPECT_FALSE(says_requeue(one, 7)) << "it is turned into the other";
}

}  // namespace launch::preemption_test
