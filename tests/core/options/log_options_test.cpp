#include "launch/core/options/log_options.hpp"

#include "../config/settling.hpp"

namespace launch::log_options_test {

using ::testing::HasSubstr;

TEST(LogOptions, AreThoseOfTheLogs) {
  for (const OptionRow& row : log_options()) EXPECT_EQ(row.group, OptionGroup::logs) << row.name;
}

TEST(LogOptions, EveryChoiceIsAValue) {
  for (const OptionRow& row : log_options())
    for (const std::string_view choice : row.choices)
      EXPECT_EQ(fault_of({std::string(row.name) + "=" + std::string(choice)}), "") << row.name;
}

TEST(LogOptions, TheirDefaultsAreWhatTheRulesTake) {
  EXPECT_EQ(config_of({}).logs.prefix, row_of(&Options::log_line_prefix_template).initial);
  const int files = config_of({"--log-max-size=1M"}).logs.max_files;
  EXPECT_THAT(row_of(&Options::log_max_files).text, HasSubstr(std::to_string(files) + " without this option"));
}

}  // namespace launch::log_options_test
