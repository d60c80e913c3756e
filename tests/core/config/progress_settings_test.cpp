#include "launch/core/config/progress_settings.hpp"

#include "settling.hpp"

namespace launch::progress_settings_test {

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

}  // namespace launch::progress_settings_test
