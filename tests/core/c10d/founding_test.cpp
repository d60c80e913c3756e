#include "launch/core/c10d/founding.hpp"

#include <gtest/gtest.h>

namespace launch::founding_test {

using enum Hearsay;

TEST(Founding, AtOnceIfAllOthersAnswerThatTheyKnowOfNoJobOrAreNotThere) {
  EXPECT_TRUE(may_found({nobody, nobody, nobody}, false));
  EXPECT_TRUE(may_found({nobody, no_job, nobody}, false));
}

TEST(Founding, NeverIfAnyOfThemKnowsOfAJob) {
  EXPECT_FALSE(may_found({nobody, nobody, job}, false));
  EXPECT_FALSE(may_found({nobody, nobody, job}, true));
}

TEST(Founding, WhoDoesNotAnswerIsWaitedFor) {
  EXPECT_FALSE(may_found({nobody, silent, nobody}, false));
  EXPECT_TRUE(may_found({nobody, silent, nobody}, true));
}

// This node may be the one that is cut off.
TEST(Founding, NeverIfHalfOfThemOrMoreDoNotAnswer) {
  EXPECT_FALSE(may_found({nobody, silent}, true));
  EXPECT_FALSE(may_found({nobody, silent, silent}, true));
  EXPECT_FALSE(may_found({nobody, nobody, silent, silent}, true));
  EXPECT_TRUE(may_found({nobody, nobody, nobody, silent, silent}, true));
}

}  // namespace launch::founding_test
