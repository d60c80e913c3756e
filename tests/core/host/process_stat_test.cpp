#include "launch/core/host/process_stat.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace launch::process_stat_test {

TEST(ProcessStat, NameStateParentAndSession) {
  const auto stat = parse_process_stat("123 (python) D 7 8 9 0 -1 4194560 1 2 3\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "python");
  EXPECT_EQ(stat->state, 'D');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->session, 9);
}

TEST(ProcessStat, TheTerminalAndWhoIsInItsForeground) {
  const auto stat = parse_process_stat("123 (sh) S 7 8 9 34817 10 4194560 1 2 3\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->group, 8);
  EXPECT_EQ(stat->terminal, 34817U);
  EXPECT_EQ(stat->foreground_group, 10);
  const auto far = parse_process_stat("1 (sh) S 7 8 9 -2147448832 10 0");
  ASSERT_TRUE(far);
  EXPECT_EQ(far->terminal, 0x80008800U) << "of a number that does not fit a signed one";
  const auto none = parse_process_stat("1 (sh) S 7 8 9 0 -1 4194560 1 2 3\n");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->terminal, 0U);
  EXPECT_EQ(none->foreground_group, 0);
}

TEST(ProcessStat, WhoEndsLeavesItsChildrenBeforeItIsCollected) {
  const auto is_ending = [](const char* text) { return parse_process_stat(text).value().ending; };
  EXPECT_FALSE(is_ending("1 (launch-agent) R 7 8 9 0 -1 4194560 1 2 3\n"));
  EXPECT_FALSE(is_ending("1 (launch-agent) R 7 8 9 0"));
  EXPECT_TRUE(is_ending("1 (launch-agent) R 7 8 9 0 -1 4194564 1 2 3\n")) << "its first thread is on its way out";
  EXPECT_TRUE(is_ending("1 (launch-agent) D 7 8 9 0 -1 2151678212 1 2 3\n")) << "flags of which the highest is set";
  EXPECT_TRUE(is_ending("1 (launch-agent) Z 7 8 9 0")) << "of a kernel that tells no flags";
  EXPECT_TRUE(is_ending("1 (launch-agent) X 7 8 9 0"));
}

TEST(ProcessStat, ANameMayHoldBlanksBracketsAndWhatLooksLikeTheRest) {
  for (const std::string name : {"a b", "a) S 1 1 1 (b", ")", "((", "tmux: server", "x) Z", "", "a\nb"}) {
    const auto stat = parse_process_stat("1 (" + name + ") R 7 8 9 0");
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->name, name);
    EXPECT_EQ(stat->state, 'R');
    EXPECT_EQ(stat->parent, 7);
  }
}

TEST(ProcessStat, WhatIsNoneIsNone) {
  for (const char* const text : {"", "1", "1 (a", "1 a)", ") (", "1 (a)", "1 (a) ", "1 (a) S", "1 (a) S 7 8",
                                 "1 (a) SS 7 8 9", "1 (a) S x 8 9", "1 (a) S 7 8 x"})
    EXPECT_FALSE(parse_process_stat(text)) << text;
}

TEST(ProcessStatus, TheDebuggerAndTheUser) {
  const auto status =
      parse_process_status("Name:\ta\nPid:\t5\nTracerPid:\t77\nUid:\t1000\t1001\t1002\t1003\nGid:\t0\n");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->tracer, 77);
  EXPECT_EQ(status->real_uid, 1000U);
  EXPECT_EQ(status->saved_uid, 1002U);
  for (const char* const text : {"", "Uid:", "Uid:\t1\n", "TracerPid:\t1\n"}) EXPECT_FALSE(parse_process_status(text));
}

TEST(ProcessLook, SaysWhoKeepsItFromEnding) {
  EXPECT_EQ(to_text(ProcessLook{1, "a", 'Z', "", {}, 77, {}}),
            "pid 1 (a), ended, but not collected (Z), held by its debugger, pid 77");
  EXPECT_EQ(to_text(ProcessLook{1, "su", 'S', "", {}, 0, 0}),
            "pid 1 (su), sleeping (S), may not be signalled (it runs as uid 0)");
}

TEST(ProcessLook, SaysWhereItSleeps) {
  EXPECT_EQ(to_text(ProcessLook{123, "python", 'D', "nfs_wait_bit_killable", {}}),
            "pid 123 (python), uninterruptible sleep (D) in nfs_wait_bit_killable");
  EXPECT_EQ(to_text(ProcessLook{123, "python", 'D', "", {}}), "pid 123 (python), uninterruptible sleep (D)");
  EXPECT_EQ(to_text(ProcessLook{1, "my prog", 'S', "do_wait", {}}), "pid 1 (\"my prog\"), sleeping (S) in do_wait");
  EXPECT_EQ(to_text(ProcessLook{1, "a", 'I', "", {}}), "pid 1 (a), state (I)");
  EXPECT_EQ(to_text(ProcessLook{1, "", '?', "", {}}), "pid 1");
}

TEST(ProcessLook, SaysHowItGotThereWhenItIsStuck) {
  const char* const stack = "[<0>] io_schedule+0x46/0x80\n[<0>] folio_wait_bit+0x13/0x20\n";
  EXPECT_EQ(to_text(ProcessLook{1, "a", 'D', "io_schedule", stack}),
            "pid 1 (a), uninterruptible sleep (D) in io_schedule [io_schedule < folio_wait_bit]");
  EXPECT_EQ(to_text(ProcessLook{1, "a", 'S', "io_schedule", stack}), "pid 1 (a), sleeping (S) in io_schedule");
  std::string deep;
  for (char c = 'a'; c < 'z'; ++c) deep += fmt::format("[<0>] {}+0x1/0x2\n", c);
  EXPECT_EQ(to_text(ProcessLook{1, "a", 'D', "", deep}),
            "pid 1 (a), uninterruptible sleep (D) [a < b < c < d < e < f]");
  EXPECT_EQ(to_text(ProcessLook{1, "a", 'D', "", "\n\n"}), "pid 1 (a), uninterruptible sleep (D)");
}

TEST(ProcessLook, ManyAreNamedAndTheRestCounted) {
  const std::vector<ProcessLook> looks{{12, "python", 'S', "do_wait", {}}, {13, "sh", 'D', "", {}}};
  EXPECT_EQ(name_all(looks, 2), "pid 12 (python), 13 (sh)");
  EXPECT_EQ(name_all(looks, 9), "pid 12 (python), 13 (sh) and 7 more");
  EXPECT_EQ(describe_all(looks, 3),
            "pid 12 (python), sleeping (S) in do_wait; pid 13 (sh), uninterruptible sleep (D) and 1 more");
}

TEST(ProcessLook, IsExitingIfItsStackSaysSo) {
  EXPECT_TRUE(is_exiting({1, "a", 'D', "", "[<0>] exit_mmap+0x1/0x2\n[<0>] do_exit+0x3/0x4\n"}));
  EXPECT_FALSE(is_exiting({1, "a", 'D', "", "[<0>] nfs_wait_bit_killable+0x1/0x2\n"}));
  EXPECT_FALSE(is_exiting({1, "a", 'D', "do_exit", ""}));
}

TEST(ProcessLook, StandsStillWhenNothingWakesIt) {
  EXPECT_TRUE(stands_still({1, "a", 'D', "nfs_wait_bit_killable", ""}));
  EXPECT_TRUE(stands_still({1, "a", 'T', "", ""}));
  EXPECT_FALSE(stands_still({1, "a", 'S', "hrtimer_nanosleep", ""}));
  EXPECT_FALSE(stands_still({1, "sh", 'D', "kernel_clone", ""})) << "waits for its own child to begin";
  EXPECT_FALSE(stands_still({1, "sh", 'D', "", "[<0>] kernel_clone+0x1\n[<0>] __do_sys_vfork+0x2\n"}));
}

}  // namespace launch::process_stat_test
