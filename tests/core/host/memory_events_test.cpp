#include "launch/core/host/memory_events.hpp"

#include <gtest/gtest.h>

namespace launch::memory_events_test {

using namespace std::chrono_literals;

TEST(MemoryEvents, TheGroupOfVersion2) {
  const auto group = memory_group("0::/system.slice/job.scope\n");
  ASSERT_TRUE(group);
  EXPECT_TRUE(group->version_2);
  EXPECT_EQ(group->path, "/system.slice/job.scope");
  EXPECT_EQ(memory_group("0::/\n")->path, "");
}

TEST(MemoryEvents, WhereVersion1HasTheMemoryItCounts) {
  const auto group = memory_group("5:devices:/\n4:memory:/a/b:c\n0::/\n");
  ASSERT_TRUE(group);
  EXPECT_FALSE(group->version_2);
  EXPECT_EQ(group->path, "/memory/a/b:c");
}

TEST(MemoryEvents, WithoutGroupsThereIsNone) {
  for (const char* text : {"", "\n", "rubbish", "4:cpu:/x\n", ":"}) EXPECT_FALSE(memory_group(text)) << text;
}

TEST(MemoryEvents, KillsAreCounted) {
  EXPECT_EQ(oom_kills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n"), 2);
  EXPECT_EQ(oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 7);
  EXPECT_EQ(oom_kills("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt);
  EXPECT_EQ(oom_kills(""), std::nullopt);
}

TEST(MemoryEvents, InWords) {
  EXPECT_EQ(oom_text(true, 1, "67108864\n", "67100000\n"),
            "killed by the out-of-memory killer (its control group: limit 64 MiB, peak 63 MiB)");
  EXPECT_EQ(oom_text(true, 1, "max\n", ""), "killed by the out-of-memory killer");
  EXPECT_EQ(oom_text(true, 1, "9223372036854771712\n", "x"), "killed by the out-of-memory killer");
  EXPECT_EQ(oom_text(false, 1, "67108864\n", ""),
            "the out-of-memory killer struck once in this attempt (its control group: limit 64 MiB)");
  EXPECT_EQ(oom_text(false, 3, "", ""), "the out-of-memory killer struck 3 times in this attempt");
}

TEST(OomCount, CountsFromTheStartOfTheWorkers) {
  OomCount count(5);
  count.look(5, Time(1s));
  EXPECT_EQ(count.times(), 0);
  count.look(7, Time(2s));
  EXPECT_EQ(count.times(), 2);
  count.look(std::nullopt, Time(3s));
  EXPECT_EQ(count.times(), 2);
}

TEST(OomCount, WhereNobodyCountsItHasNotStruck) {
  OomCount count;
  count.look(1, Time(1s));
  EXPECT_EQ(count.times(), 0);
  EXPECT_FALSE(count.explains_kill(Time(1s)));
}

TEST(OomCount, ExplainsAKillAtOnceButNotLater) {
  OomCount at_once(0);
  at_once.look(1, Time(2s));
  EXPECT_TRUE(at_once.explains_kill(Time(2s)));
  OomCount later_on(0);
  later_on.look(1, Time(2s));
  later_on.look(1, Time(3s));
  EXPECT_FALSE(later_on.explains_kill(Time(3s)));
  later_on.look(2, Time(4s));
  EXPECT_TRUE(later_on.explains_kill(Time(4s)));
}

TEST(OomCount, ExplainsAsManyEndsAsItHasStruck) {
  OomCount count(0);
  count.look(2, Time(2s));
  EXPECT_TRUE(count.explains_kill(Time(2s)));
  EXPECT_TRUE(count.explains_kill(Time(2s)));
  EXPECT_FALSE(count.explains_kill(Time(2s)));
}

}  // namespace launch::memory_events_test
