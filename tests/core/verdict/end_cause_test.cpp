#include "launch/core/verdict/end_cause.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace launch::end_cause_test {

constexpr ExitStatus failed{ExitStatus::Kind::exited, 1};
constexpr ExitStatus crashed{ExitStatus::Kind::signalled, SIGSEGV};
constexpr ExitStatus killed{ExitStatus::Kind::signalled, SIGKILL};

TEST(EndCause, WhatTheStatusSaysIsEnoughIfNothingElseIsKnown) {
  EXPECT_EQ(to_text(EndCause(), failed), "");
  EXPECT_EQ(to_text(EndCause(), crashed), ", segmentation fault");
}

TEST(EndCause, WhatIsKnownBetterComesFirst) {
  EXPECT_EQ(to_text({"save", true, true, true, "memory"}, killed), ", because its watchdog timer 'save' expired");
  EXPECT_EQ(to_text({std::nullopt, true, true, true, "memory"}, killed), ", the early warning that launch passed on");
  EXPECT_EQ(to_text({std::nullopt, false, true, true, "memory"}, killed), ", which launch received and passed on");
  EXPECT_EQ(to_text({std::nullopt, false, false, true, "out of memory"}, killed), ", out of memory");
}

TEST(EndCause, MemoryOfOthersIsMentionedBeside) {
  EXPECT_EQ(to_text({std::nullopt, false, false, false, "the kernel killed a process"}, crashed),
            ", segmentation fault; the kernel killed a process");
}

}  // namespace launch::end_cause_test
