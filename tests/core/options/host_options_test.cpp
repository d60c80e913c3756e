#include "launch/core/options/host_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_options_test {

TEST(HostOptions, AreThoseOfSeveralHosts) {
  for (const OptionRow& row : host_options()) {
    EXPECT_EQ(row.group, OptionGroup::hosts) << row.name;
    EXPECT_TRUE(row.ours) << row.name;
  }
}

TEST(HostOptions, TheirDefaultsAreWhatTheWordsSay) {
  EXPECT_EQ(row_of(&Options::start_with).initial, "auto");
  EXPECT_EQ(row_of(&Options::fanout).initial, "64");
  EXPECT_EQ(row_of(&Options::ssh).initial, "ssh");
}

TEST(HostOptions, OnlyTheWayOfSshIsReadFromAVariable) {
  for (const OptionRow& row : host_options())
    EXPECT_EQ(row.variables.empty(), row.member != OptionMember(&Options::ssh)) << row.name;
}

}  // namespace launch::host_options_test
