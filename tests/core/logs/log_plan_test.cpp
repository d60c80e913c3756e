#include "launch/core/logs/log_plan.hpp"

#include <gtest/gtest.h>

namespace launch::log_plan_test {

using Sink = StreamPlan::Sink;

std::vector<WorkerLogs> plan(const LogChoice& choice, const std::string& folder = "/f") {
  return plan_logs(choice, folder, 2);
}

TEST(LogPlan, WithoutAChoiceAllGoesToTheConsole) {
  for (const WorkerLogs& worker : plan({})) {
    EXPECT_EQ(worker.out, StreamPlan());
    EXPECT_EQ(worker.err, StreamPlan());
  }
}

TEST(LogPlan, ARedirectedStreamGoesToItsFileOnly) {
  LogChoice choice;
  choice.redirects = {{true, false}};
  const auto workers = plan(choice);
  EXPECT_EQ(workers[0].out, (StreamPlan{Sink::file, "/f/0/stdout.log", false}));
  EXPECT_EQ(workers[0].err, StreamPlan());
  EXPECT_EQ(workers[1].out, StreamPlan());
}

TEST(LogPlan, ATeedStreamIsShownToo) {
  LogChoice choice;
  choice.redirects = {{true, true}, {true, true}};
  choice.tees = {{}, {false, true}};
  const auto workers = plan(choice);
  EXPECT_FALSE(workers[0].err.shown);
  EXPECT_EQ(workers[1].err, (StreamPlan{Sink::relay, "/f/1/stderr.log", true}));
}

TEST(LogPlan, AMutedRankIsWrittenAndPassesItsConsole) {
  LogChoice choice;
  choice.tees = {{true, false}, {true, false}};
  choice.shown = {0};
  const auto workers = plan(choice);
  EXPECT_TRUE(workers[0].out.shown);
  EXPECT_EQ(workers[0].err, StreamPlan());
  EXPECT_EQ(workers[1].out, (StreamPlan{Sink::relay, "/f/1/stdout.log", true}));
  EXPECT_EQ(workers[1].err.sink, Sink::nowhere);
}

TEST(LogPlan, WhatIsListenedToPassesLaunch) {
  LogChoice choice;
  choice.taps_out = choice.taps_err = choice.through_launch = true;
  choice.redirects = {{true, false}, {}};
  choice.shown = {0};
  const auto workers = plan(choice);
  EXPECT_EQ(workers[0].out, (StreamPlan{Sink::relay, "/f/0/stdout.log", false}));
  EXPECT_EQ(workers[0].err, (StreamPlan{Sink::tap, "", true}));
  EXPECT_EQ(workers[1].out, (StreamPlan{Sink::tap_out, "", false}));
  EXPECT_EQ(workers[1].err, (StreamPlan{Sink::tap, "", false}));
  EXPECT_EQ(plan(choice, "")[0].out, (StreamPlan{Sink::tap_out, "", true}));
}

TEST(LogPlan, WithoutAFolderNoChoiceHasAnEffect) {
  LogChoice choice;
  choice.redirects = choice.tees = {{true, true}, {true, true}};
  choice.shown = {0};
  for (const WorkerLogs& worker : plan(choice, "")) EXPECT_EQ(worker.out.sink, Sink::console);
}

TEST(LogPlan, KnowsWhetherAnyStreamIsKept) {
  LogChoice choice;
  EXPECT_FALSE(keeps_streams(choice));
  choice.redirects = choice.tees = {{}, {}};
  EXPECT_FALSE(keeps_streams(choice));
  choice.tees[1].err = true;
  EXPECT_TRUE(keeps_streams(choice) && shows_streams(choice));
  EXPECT_FALSE(hides_streams(choice));
  choice.redirects[0].out = true;
  choice.tees.clear();
  EXPECT_TRUE(keeps_streams(choice) && hides_streams(choice));
  EXPECT_FALSE(shows_streams(choice));
}

TEST(LogPlan, LaunchWritesWhatItShowsAndWhatItIsToldTo) {
  LogChoice choice;
  choice.redirects = {{true, false}, {true, false}};
  choice.through_launch = true;
  EXPECT_EQ(plan(choice)[0].out, (StreamPlan{Sink::relay, "/f/0/stdout.log", false}));
  EXPECT_EQ(plan(choice)[0].err.sink, Sink::console);
}

TEST(LogPlan, StandardErrorThatGoesToNoFilePassesLaunchIfItIsToldSo) {
  LogChoice choice;
  choice.taps_err = true;
  for (const char* folder : {"/f", ""}) {
    EXPECT_EQ(plan(choice, folder)[0].err, (StreamPlan{Sink::tap, "", true}));
    EXPECT_EQ(plan(choice, folder)[0].out.sink, Sink::console);
  }
  choice.shown = {0};
  EXPECT_EQ(plan(choice)[1].err, (StreamPlan{Sink::tap, "", false}));
  choice.tees = {{false, true}, {}};
  EXPECT_EQ(plan(choice)[0].err.sink, Sink::relay);
}

}  // namespace launch::log_plan_test
