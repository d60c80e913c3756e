#include "launch/core/options/help.hpp"

#include "launch/core/options/option_table.hpp"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::help_test {

using ::testing::HasSubstr;

TEST(Help, FitsATerminalOfEightyColumns) {
  std::istringstream lines(help_text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

// After a wanted change: launch --help > tests/data/help.txt
TEST(Help, IsWhatItWas) {
  std::ifstream file(LAUNCH_TEST_DATA "/help.txt");
  std::stringstream kept;
  kept << file.rdbuf();
  EXPECT_EQ(help_text(), kept.str());
}

TEST(Help, ShowsEveryOptionWithItsVariablesAndDefault) {
  for (const OptionRow& row : option_table()) {
    EXPECT_THAT(help_text(), HasSubstr(row.name));
    for (const std::string_view variable : row.variables) EXPECT_THAT(help_text(), HasSubstr(variable));
    EXPECT_THAT(help_text(), HasSubstr(row.initial));
  }
}

TEST(Help, ShowsAnExampleOfEachKindOfJob) {
  for (const char* example : {"--nproc-per-node=gpu train.py", "--node-rank=K --master-addr=HOST", "./train\n"}) {
    EXPECT_THAT(help_text(), HasSubstr(example));
  }
}

TEST(Help, VersionIsOneLine) { EXPECT_EQ(version_text(), "launch " LAUNCH_VERSION "\n"); }

}  // namespace launch::help_test
