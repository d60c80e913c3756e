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

}  // namespace
}  // namespace launch
