#include "launch/core/options/ending_options.hpp"

#include "../config/settling.hpp"

namespace launch::ending_options_test {

TEST(EndingOptions, AreThoseOfTheEnd) {
  for (const OptionRow& row : ending_options()) EXPECT_EQ(row.group, OptionGroup::ending) << row.name;
}

TEST(EndingOptions, EveryChoiceIsAValue) {
  for (const OptionRow& row : ending_options())
    for (const std::string_view choice : row.choices)
      EXPECT_EQ(fault_of({std::string(row.name) + "=" + std::string(choice)}), "") << row.name;
}

TEST(EndingOptions, TheirDefaultsAreWhatTheRulesTake) {
  const auto told = [](Setting<double> Options::*member) { return std::string(row_of(member).initial) + " s"; };
  const Config config = config_of({});
  EXPECT_EQ(to_text(config.heartbeat_timeout), told(&Options::heartbeat_timeout));
  EXPECT_EQ(to_text(config.kill_grace), told(&Options::kill_grace));
  EXPECT_EQ(to_text(config.shutdown_timeout), std::string(row_of(&Options::shutdown_timeout).initial) + " s");
}

}  // namespace launch::ending_options_test
