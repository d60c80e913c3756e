#include "launch/core/config/restart_rules.hpp"

#include <gtest/gtest.h>

namespace launch::restart_rules_test {

Failure failure_of(Failure::Kind kind, int exit_code) {
  Failure failure;
  failure.kind = kind;
  failure.exit_code = exit_code;
  return failure;
}

TEST(RestartRules, AnEndIsKnownByItsExitCode) {
  const EndSet ends{{3, 137}, false};
  EXPECT_TRUE(ends.contains(failure_of(Failure::Kind::worker, 3)));
  EXPECT_TRUE(ends.contains(failure_of(Failure::Kind::worker, 137)));
  EXPECT_FALSE(ends.contains(failure_of(Failure::Kind::worker, 4)));
}

TEST(RestartRules, AWorkerThatDidNotStartIsOnlyMeantByName) {
  EXPECT_FALSE((EndSet{{127}, false}).contains(failure_of(Failure::Kind::start, 127)));
  EXPECT_TRUE((EndSet{{}, true}).contains(failure_of(Failure::Kind::start, 127)));
  EXPECT_FALSE((EndSet{{}, true}).empty());
  EXPECT_TRUE(EndSet{}.empty());
}

}  // namespace launch::restart_rules_test
