#include "launch/core/base/error.hpp"

#include <gtest/gtest.h>

namespace launch::error_test {

TEST(Error, ExitCodeTellsBadInputAndTimeOutFromTheRest) {
  EXPECT_EQ(exit_code(ErrorCode::usage), 2);
  EXPECT_EQ(exit_code(ErrorCode::conflict), 2);
  EXPECT_EQ(exit_code(ErrorCode::timeout), 124);
  for (const auto code : {ErrorCode::system, ErrorCode::protocol, ErrorCode::closed, ErrorCode::cancelled}) {
    EXPECT_EQ(exit_code(code), 1);
  }
}

TEST(ErrorDeathTest, ReadingTheValueOfAFailedResultAbortsWithItsMessage) {
  const Result<int> failed = Error{ErrorCode::system, "no such luck"};
  EXPECT_DEATH(static_cast<void>(failed.value()), "no such luck");
}

}  // namespace launch::error_test
