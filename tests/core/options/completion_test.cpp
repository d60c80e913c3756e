#include "launch/core/options/completion.hpp"

#include "launch/core/options/option_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::completion_test {

using ::testing::HasSubstr;

TEST(Completion, KnowsEveryOptionInEveryShell) {
  for (const char* shell : {"bash", "zsh", "tcsh", "fish"}) {
    const auto text = completion_text(shell);
    ASSERT_TRUE(text);
    for (const OptionRow& row : option_table()) EXPECT_THAT(*text, HasSubstr(row.name.substr(2))) << shell;
    EXPECT_THAT(*text, HasSubstr("node socket exclusive core-complex"));
    EXPECT_EQ(text->back(), '\n');
  }
}

TEST(Completion, AnUnknownShellIsAnError) {
  const auto text = completion_text("ksh");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::usage);
  EXPECT_THAT(text.error().message, HasSubstr("--print-completion ksh"));
}

}  // namespace launch::completion_test
