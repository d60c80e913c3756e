#include "launch/core/log_settings.hpp"

#include "settling.hpp"

namespace launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LogSettings, StreamsAreANumberOrAMapOfLocalRanks) {
  for (const char* option : {"--redirects=", "--tee="}) {
    for (const char* good : {"0", "3", "0:1", "0:3,1:0,12:2"})
      EXPECT_EQ(fault_of({std::string(option) + good}), "") << good;
    for (const char* bad : {"4", "-1", "x", "0:4", "0:1,", ":1", "0:", "a:1", "0;1", "01"})
      EXPECT_THAT(fault_of({std::string(option) + bad}), HasSubstr("expected 0, 1, 2 or 3")) << bad;
  }
}

TEST(LogSettings, TheFilterIsAListOfLocalRanks) {
  EXPECT_EQ(fault_of({"--local-ranks-filter=0, 2,7"}), "");
  for (const char* bad : {"a", "0,", "0;1", "0:1"})
    EXPECT_THAT(fault_of({std::string("--local-ranks-filter=") + bad}), HasSubstr("expected local ranks")) << bad;
}

TEST(LogSettings, WhatHasNoEffectIsSaidInOneLine) {
  EXPECT_THAT(config_of({"--redirects=0", "--tee=0:0,1:0", "--event-log-handler=null", "--log-dir=d"}).notices,
              IsEmpty());
  EXPECT_THAT(config_of({"-t3", "-r", "0:1", "--local-ranks-filter=0"}).notices,
              ElementsAre(HasSubstr("--redirects, --tee, --local-ranks-filter without effect")));
  EXPECT_THAT(config_of({"--event-log-handler=console", "--logs-specs=mine"}).notices,
              ElementsAre(HasSubstr("--logs-specs mine, --event-log-handler console without effect")));
}

TEST(LogSettings, TheFolderIsKept) {
  EXPECT_EQ(config_of({"--log-dir=/a/b"}).log_folder, "/a/b");
  EXPECT_EQ(config_of({"--log-dir="}).log_folder, "");
}

}  // namespace
}  // namespace launch
