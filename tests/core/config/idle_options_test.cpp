#include "launch/core/config/idle_options.hpp"

#include "settling.hpp"

namespace launch::idle_options_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IdleOptions, WhatNeedsLinesThatAreShown) {
  EXPECT_THAT(config_of({"--fold"}).notices, ElementsAre("--fold has no effect without --tee"));
  EXPECT_THAT(config_of({"--fold", "--color=always", "-r3"}).notices,
              ElementsAre("--fold, --color have no effect without --tee"));
  EXPECT_THAT(config_of({"--fold", "--color=always", "-t0:1"}).notices, IsEmpty());
}

TEST(IdleOptions, WhatNeedsFiles) {
  EXPECT_THAT(config_of({"--log-max-size=1M"}).notices,
              ElementsAre("--log-max-size has no effect without --redirects or --tee"));
  EXPECT_THAT(config_of({"--log-max-size=1M", "-r2"}).notices, IsEmpty());
  EXPECT_THAT(config_of({"--log-writer=launch", "-t1"}).notices, IsEmpty());
}

TEST(IdleOptions, WhatNeedsCommandsAroundTheWorkers) {
  EXPECT_THAT(config_of({"--hook-timeout=7"}).notices,
              ElementsAre("--hook-timeout has no effect without --before-workers or --after-workers"));
  for (const char* command : {"--before-workers=true", "--after-workers=true"})
    EXPECT_THAT(config_of({"--hook-timeout=7", command}).notices, IsEmpty());
}

TEST(IdleOptions, WhatNeedsRestarts) {
  EXPECT_THAT(config_of({"--requeue-exit=7"}).notices,
              ElementsAre("--requeue-exit has no effect without --requeue-on"));
  EXPECT_THAT(config_of({"--restart-on=7", "--repeat-errors"}).notices,
              ElementsAre("--restart-on, --repeat-errors have no effect without --max-restarts"));
  EXPECT_THAT(config_of({"--restart-on=7", "--fail-on=3", "--restart-window=60", "--max-restarts=1"}).notices,
              IsEmpty());
}

TEST(IdleOptions, KeysOfC10dInAStaticJob) {
  EXPECT_THAT(config_of({"--rdzv-conf=join_timeout=5,is_host=1,timeout=3"}).notices,
              ElementsAre("--rdzv-conf: is_host, join_timeout have no effect without --rdzv-backend c10d"));
  EXPECT_THAT(config_of({"--rdzv-backend=c10d", "--rdzv-conf=join_timeout=5"}).notices, IsEmpty());
}

}  // namespace launch::idle_options_test
