#include "launch/io/log.hpp"

#include <gtest/gtest.h>

namespace launch {
namespace {

TEST(Log, WritesOneLineAFactToStandardError) {
  testing::internal::CaptureStderr();
  open_log();
  log_info("fact {not a format}");
  log_warning("odd");
  log_error("bad");
  write_report("first\n  second");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "launch: fact {not a format}\nlaunch: warning: odd\nlaunch: error: bad\nlaunch: first\n  second\n");
}

TEST(Log, ProgressIsALineWhereNoTerminalIs) {
  testing::internal::CaptureStderr();
  open_log();
  log_progress("1 of 2");
  end_progress();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "launch: 1 of 2\n");
  EXPECT_EQ(progress_interval(), std::chrono::seconds(30));
}

}  // namespace
}  // namespace launch
