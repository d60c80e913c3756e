#include "launch/core/config/progress_settings.hpp"

#include "settling.hpp"

namespace launch::progress_settings_test {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(ProgressSettings, WithoutTheOptionNothingPassesLaunchForIt) {
  const LogChoice logs = config_of({}).logs;
  EXPECT_FALSE(logs.taps_out || logs.through_launch || logs.listens);
  EXPECT_EQ("", logs.progress);
}

TEST(ProgressSettings, AllOutputPassesLaunch) {
  const LogChoice logs = config_of({"--progress=tqdm"}).logs;
  EXPECT_TRUE(logs.taps_out && logs.taps_err && logs.through_launch && logs.listens);
  EXPECT_EQ("tqdm", logs.progress);
}

TEST(ProgressSettings, Faults) {
  EXPECT_THAT(fault_of({"--progress=step"}), HasSubstr("--progress step: it has no group"));
  EXPECT_THAT(fault_of({"--progress=(x"}), HasSubstr("that is no regular expression that launch can use"));
  EXPECT_THAT(fault_of({"--progress=hf", "--stderr=inherit"}), HasSubstr("--stderr inherit: expected pass"));
  EXPECT_THAT(fault_of({"--progress=hf", "--log-writer=workers"}), HasSubstr("--log-writer workers: expected launch"));
  EXPECT_EQ("", fault_of({"--progress=step=([0-9]+)", "--stderr=pass", "--log-writer=auto"}));
}

TEST(HangSettings, OffUnlessATimeIsGiven) {
  EXPECT_EQ(Duration::zero(), config_of({}).hang.timeout);
  EXPECT_FALSE(config_of({"--hang-timeout=0"}).logs.listens);
}

TEST(HangSettings, OutputPassesLaunchSoThatItIsHeard) {
  const Config config = config_of({"--hang-timeout=1.5"});
  EXPECT_EQ(std::chrono::milliseconds(1500), config.hang.timeout);
  EXPECT_EQ(HangChoice::Deed::report, config.hang.deed);
  EXPECT_TRUE(config.logs.taps_out && config.logs.listens);
  EXPECT_FALSE(config.logs.through_launch) << "the files are looked at";
}

TEST(HangSettings, WhatFollows) {
  using Deed = HangChoice::Deed;
  EXPECT_EQ(Deed::fail, config_of({"--hang-timeout=9", "--on-hang=fail"}).hang.deed);
  EXPECT_EQ(Deed::restart, config_of({"--hang-timeout=9", "--on-hang=restart", "--max-restarts=1"}).hang.deed);
  EXPECT_THAT(fault_of({"--hang-timeout=9", "--on-hang=restart"}), HasSubstr("expected --max-restarts as well"));
  EXPECT_THAT(fault_of({"--hang-timeout=9", "--on-hang=cry"}), HasSubstr("expected report, restart or fail"));
  for (const char* bad : {"0.1", "-1", "1e9"})
    EXPECT_THAT(fault_of({std::string("--hang-timeout=") + bad}),
                HasSubstr("expected seconds from 0.5 to 604800, or 0"));
  EXPECT_THAT(config_of({"--on-hang=fail"}).notices, Contains(HasSubstr("--on-hang has no effect without")));
}

}  // namespace launch::progress_settings_test
