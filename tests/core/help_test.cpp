#include "launch/core/help.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch {
namespace {

using ::testing::HasSubstr;

TEST(Help, FitsIntoAHundredColumns) {
  std::istringstream lines(help_text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Help, ShowsEveryOptionWithItsVariable) {
  std::istringstream lines(help_text());
  std::string options;
  for (std::string line; std::getline(lines, line);) {
    const auto dashes = line.find("--");
    const auto variable = line.find("PET_");
    if (dashes == std::string::npos || variable == std::string::npos) continue;
    std::string name = line.substr(dashes + 2, line.find(' ', dashes) - dashes - 2);
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
    EXPECT_EQ(line.substr(variable), "PET_" + name);
    options += name + " ";
  }
  EXPECT_EQ(options,
            "NNODES NPROC_PER_NODE NODE_RANK MASTER_ADDR MASTER_PORT STANDALONE RDZV_BACKEND RDZV_ENDPOINT RDZV_ID "
            "RDZV_CONF ROLE MODULE NO_PYTHON SHUTDOWN_TIMEOUT MONITOR_INTERVAL ");
}

TEST(Help, ShowsAnExampleOfEachKindOfJob) {
  for (const char* example : {"--nproc-per-node=gpu train.py", "--node-rank=K --master-addr=HOST", "./train\n"}) {
    EXPECT_THAT(help_text(), HasSubstr(example));
  }
}

TEST(Help, VersionIsOneLine) { EXPECT_EQ(version_text(), "launch " LAUNCH_VERSION "\n"); }

}  // namespace
}  // namespace launch
