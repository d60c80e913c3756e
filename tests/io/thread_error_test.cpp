#include "launch/io/thread_error.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::thread_error_test {

using testing::HasSubstr;

std::string words(int code) { return thread_refused("the output", {code, std::system_category()}).message; }

TEST(ThreadError, SaysWhatIsInTheWay) {
  EXPECT_THAT(words(EAGAIN), HasSubstr("cannot start a thread for the output: "));
  EXPECT_THAT(words(EAGAIN), HasSubstr("; the limit of processes is reached"));
  EXPECT_THAT(words(EPERM), HasSubstr("; a filter of system calls"));
  EXPECT_EQ(words(ENOMEM), "cannot start a thread for the output: Cannot allocate memory");
}

}  // namespace launch::thread_error_test
