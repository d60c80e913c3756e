#include "launch/core/options/help.hpp"

#include "launch/core/options/option_table.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::help_test {

using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Help, FitsTerminalsOfAnyWidthFromSixtyColumnsOn) {
  for (const std::size_t columns : {60U, 72U, 80U, 100U, 200U})
    for (const std::string& text : {help_text(columns), short_help_text(columns)})
      for (const std::string& line : lines_of(text))
        EXPECT_LE(line.size(), std::min<std::size_t>(columns, 100)) << line;
}

TEST(Help, TheShortTextIsOneScreenWithTheMostNeededOptions) {
  EXPECT_LE(lines_of(short_help_text()).size(), 40U);
  for (const char* said : {"\n  --nproc-per-node COUNT      workers per node, or gpu, cpu, auto (default 1)\n",
                           "\n  --rdzv-endpoint HOST[:PORT] c10d: host of the store\n", "--help has every option"})
    EXPECT_THAT(short_help_text(), HasSubstr(said));
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
  for (const char* example : {"--nproc-per-node=gpu train.py", "--master-addr=HOST --master-port=29500", "./train\n"}) {
    EXPECT_THAT(help_text(), HasSubstr(example));
  }
}

TEST(Help, VersionIsALineAndWhatWasBuilt) {
  EXPECT_THAT(version_text(), testing::MatchesRegex("launch " LAUNCH_VERSION "\nbuilt for .+ by .+\n"));
}

}  // namespace launch::help_test
