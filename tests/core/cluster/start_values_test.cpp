#include "launch/core/cluster/start_values.hpp"

#include <gtest/gtest.h>

namespace launch::start_values_test {

TEST(StartValues, AValueComesWithItsVariable) {
  const Environment env{{"SIZE", "4"}, {"RANK", "3"}, {"HOST", "n1"}};
  const StartValues values(env, "Some starter");
  EXPECT_EQ(values.nodes("SIZE")->value, 4);
  EXPECT_EQ(values.nodes("SIZE")->from, "SIZE");
  EXPECT_EQ(values.rank("RANK", 4)->value, NodeRank(3));
  EXPECT_EQ(*values.text("HOST"), "n1");
}

TEST(StartValues, AnErrorNamesTheVariableAndWhatToDo) {
  const Environment env{{"RANK", "4"}, {"HOST", ""}};
  const StartValues values(env, "Some starter");
  EXPECT_EQ(values.rank("RANK", 4).error().message, "RANK=4: expected a number from 0 to 3");
  const char* missing =
      " is not set, although Some starter started launch; set it again, or give --cluster=none and all options of the "
      "job";
  EXPECT_EQ(values.nodes("SIZE").error().message, std::string("SIZE") + missing);
  EXPECT_EQ(values.text("HOST").error().message, std::string("HOST") + missing);
}

TEST(StartValues, APortFollowsFromAText) {
  EXPECT_EQ(port_by("slurm tiny 3.0"), port_by("slurm tiny 3.0"));
  EXPECT_NE(port_by("slurm tiny 3.0"), port_by("slurm tiny 3.1"));
  for (int i = 0; i < 10'000; ++i) {
    const int port = port_by(std::to_string(i));
    ASSERT_TRUE(port >= 61'000 && port < 65'535) << port;
  }
}

}  // namespace launch::start_values_test
