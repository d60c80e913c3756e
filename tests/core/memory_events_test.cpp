#include "launch/core/memory_events.hpp"

#include <gtest/gtest.h>

namespace launch::memory_events_test {

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
  EXPECT_EQ(oom_text(true, "67108864\n", "67100000\n"),
            "killed by the out-of-memory killer; memory limit 64 MiB; peak 63 MiB");
  EXPECT_EQ(oom_text(true, "max\n", ""), "killed by the out-of-memory killer");
  EXPECT_EQ(oom_text(true, "9223372036854771712\n", "x"), "killed by the out-of-memory killer");
  EXPECT_EQ(oom_text(false, "67108864\n", ""),
            "the out-of-memory killer has ended another process since the workers were started; memory limit 64 MiB");
}

}  // namespace launch::memory_events_test
