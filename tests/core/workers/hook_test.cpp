#include "launch/core/workers/hook.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::hook_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Optional;

const HookChoice both{"mount /data", "umount /data", 5s};

TEST(Hook, IsACommandForTheShellWithTheEnvironmentOfTheFirstWorker) {
  const auto hook = hook_before(both, {"RANK=4"}, "/logs/attempt_0");
  ASSERT_TRUE(hook);
  EXPECT_EQ(hook->executable, "/bin/sh");
  EXPECT_THAT(hook->argv, ElementsAre("/bin/sh", "-c", "mount /data"));
  EXPECT_THAT(hook->env, ElementsAre("RANK=4"));
  EXPECT_EQ(hook->log_file, "/logs/attempt_0/before_workers.log");
  EXPECT_EQ(hook->times.limit, 5s);
}

TEST(Hook, AfterTheWorkersItKnowsHowTheyEnded) {
  const auto hook = hook_after(both, {"RANK=4", "LAUNCH_EXIT_CODE=99"}, "", 7);
  ASSERT_TRUE(hook);
  EXPECT_THAT(hook->argv, ElementsAre("/bin/sh", "-c", "umount /data"));
  EXPECT_THAT(hook->env, ElementsAre("RANK=4", "LAUNCH_EXIT_CODE=7"));
  EXPECT_EQ(hook->log_file, "") << "no output is kept";
}

TEST(Hook, ThereIsNoneUnlessTheUserWantsIt) {
  EXPECT_FALSE(hook_before({}, {}, ""));
  EXPECT_FALSE(hook_after({}, {}, "", 0));
}

TEST(Hook, SaysWhatIsWrongWithItsEnd) {
  const HookSpec before = *hook_before(both, {}, "");
  const HookSpec after = *hook_after(both, {}, "", 0);
  const ExitStatus three{ExitStatus::Kind::exited, 3};
  const ExitStatus killed{ExitStatus::Kind::signalled, SIGKILL};
  struct Row {
    const HookSpec& spec;
    HookEnd end;
    std::string last_line;
    std::string fault;
  };
  const Row rows[] = {
      {before, {}, "mounted", ""},
      {before, {three}, "", "the command of --before-workers failed: exit code 3"},
      {before,
       {three},
       "no such disk",
       "the command of --before-workers failed: exit code 3; its last line: no such disk"},
      {after, {killed}, "", "the command of --after-workers failed: signal 9 (SIGKILL)"},
      {after,
       {killed, true},
       "",
       "the command of --after-workers ran for longer than 5 s (--hook-timeout) and was killed"},
      {after,
       {.timed_out = true, .outlives = true},
       "",
       "the command of --after-workers ran for longer than 5 s (--hook-timeout) and outlives SIGKILL"},
      {before, {.not_started = "no pipe"}, "", "the command of --before-workers was not run: no pipe"},
  };
  for (const Row& row : rows) EXPECT_EQ(fault_of_hook(row.spec, row.end, row.last_line), row.fault);
}

TEST(HookLines, AreWholeHoweverTheBytesCome) {
  HookLines lines;
  EXPECT_THAT(lines.take("one\ntw"), ElementsAre("one"));
  EXPECT_EQ(lines.last(), "one");
  EXPECT_THAT(lines.take("o\n\nthree"), ElementsAre("two"));
  EXPECT_THAT(lines.rest(), Optional(std::string("three")));
  EXPECT_EQ(lines.last(), "three");
  EXPECT_FALSE(lines.rest());
}

TEST(HookLines, HaveNoControlCharactersAndABoundedLength) {
  HookLines lines;
  EXPECT_THAT(lines.take("\x1b[31mred\x1b[0m\tgreen\r\n"), ElementsAre("red green"));
  const auto pieces = lines.take(std::string(10'000, 'x'));
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].size(), 4096U);
  EXPECT_EQ(lines.rest()->size(), 10'000U - 2 * 4096U);
}

}  // namespace launch::hook_test
