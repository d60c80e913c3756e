#include "launch/core/base/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::environment_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Environment, ReadsLinesAtTheFirstEqualsSign) {
  const auto env = Environment::from_lines({"A=1", "B=x=y", "EMPTY="});
  EXPECT_EQ(env.get("A"), "1");
  EXPECT_EQ(env.get("B"), "x=y");
  EXPECT_EQ(env.get("EMPTY"), "");
  EXPECT_EQ(env.get("C"), std::nullopt);
}

TEST(Environment, LeavesOutLinesWithoutAnEqualsSign) {
  EXPECT_THAT(Environment::from_lines({"noise", ""}).lines(), IsEmpty());
}

TEST(Environment, TheFirstOfTwoEqualNamesWinsAsInGetenv) {
  EXPECT_EQ(Environment::from_lines({"A=1", "A=2"}).get("A"), "1");
}

TEST(Environment, SettingReplacesAndLinesAreInOrderOfName) {
  Environment env{{"B", "1"}, {"A", "1"}};
  env.set("B", "2");
  env.set("C", "");
  EXPECT_THAT(env.lines(), ElementsAre("A=1", "B=2", "C="));
}

TEST(Environment, RemovingTakesAVariableAway) {
  Environment env{{"A", "1"}, {"B", "1"}};
  env.remove("A");
  env.remove("C");
  EXPECT_THAT(env.lines(), ElementsAre("B=1"));
}

}  // namespace launch::environment_test
