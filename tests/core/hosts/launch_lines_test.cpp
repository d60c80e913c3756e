#include "launch/core/hosts/launch_lines.hpp"

#include "head_driver.hpp"

#include <string>

#include <gtest/gtest.h>

namespace launch::launch_lines_test {

using heads::Driver;
using heads::plan_of;

TEST(LaunchLines, InformationHasTheNameOfItsHost) {
  LaunchLines lines;
  EXPECT_EQ(lines.as_shown(1, "n2", "launch: before-workers: mounted"), "launch: n2: before-workers: mounted");
  EXPECT_EQ(lines.as_shown(0, "n1", "launch: before-workers: mounted"), "launch: n1: before-workers: mounted");
  EXPECT_EQ(lines.as_shown(0, "n1", "launch: "), "launch: n1: ");
}

TEST(LaunchLines, WhatIsWrongStaysAsItIs) {
  LaunchLines lines;
  EXPECT_EQ(lines.as_shown(0, "n1", "launch: error: x"), "launch: error: x");
  EXPECT_EQ(lines.as_shown(1, "n2", "launch: error: x"), "launch: error: x");
  EXPECT_EQ(lines.as_shown(0, "n1", "launch: warning: x"), "launch: warning: x");
}

TEST(LaunchLines, WhatHasATimeHasTheNameOfItsHost) {
  LaunchLines lines;
  EXPECT_EQ(lines.as_shown(0, "n1", "launch: 12:00:00.123 warning: x"), "launch: n1: 12:00:00.123 warning: x");
}

TEST(LaunchLines, AWarningOfSeveralNodesIsSaidOnce) {
  Driver d(plan_of(2));
  d.run_all();
  d.say(0, NodeOutput{true, "launch: warning: x\nlaunch: warning: x\n"});
  EXPECT_EQ(d.shown(true), "launch: warning: x\nlaunch: warning: x\n") << "one node may repeat itself";
  d.say(1, NodeOutput{true, "launch: warning: x\nlaunch: warning: y\n[n2:default0]:launch: warning: x\n"});
  EXPECT_EQ(d.shown(true), "launch: warning: y\n[n2:default0]:launch: warning: x\n");
  d.say(1, NodeOutput{false, "launch: warning: x\nlaunch: y\n"});
  EXPECT_EQ(d.shown(false), "launch: warning: x\nlaunch: y\n") << "no line of the standard output is one of ours";
  d.say(1, NodeOutput{true, "launch: y\n"});
  EXPECT_EQ(d.shown(true), "launch: n2: y\n");
}

TEST(LaunchLines, OnlyTheFirstWarningsAreKept) {
  LaunchLines lines;
  for (int i = 0; i < 100; ++i) (void)lines.as_shown(0, "n1", "launch: warning: " + std::to_string(i));
  EXPECT_EQ(lines.as_shown(1, "n2", "launch: warning: 0"), "launch: warning: 0") << "there may be any number of them";
}

}  // namespace launch::launch_lines_test
