#include "launch/core/options/option_table.hpp"

#include <set>

#include <gtest/gtest.h>

namespace launch::option_table_test {

TEST(OptionTable, NamesAreUniqueAndWellFormed) {
  std::set<std::string_view> seen;
  for (const OptionRow& row : option_table()) {
    EXPECT_TRUE(seen.insert(row.name).second) << row.name;
    if (!row.short_name.empty()) {
      EXPECT_TRUE(seen.insert(row.short_name).second) << row.short_name;
    }
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos) << row.name;
    EXPECT_EQ(row.takes == OptionValue::none, row.value.empty()) << row.name;
    if (row.takes == OptionValue::optional) {
      EXPECT_FALSE(row.choices.empty()) << row.name;
    }
  }
}

// As torchrun names them: PET_ and the long name. Two options of torchrun's have none.
TEST(OptionTable, EveryOptionOfTorchrunsHasItsVariable) {
  std::set<std::string> without;
  for (const OptionRow& row : option_table()) {
    if (row.ours || row.group == OptionGroup::other) continue;
    std::string expected = "PET_";
    for (const char c : row.name.substr(2)) expected += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
    if (row.variables.empty()) {
      without.emplace(row.name);
    } else {
      EXPECT_EQ(row.variables.front(), expected);
    }
  }
  EXPECT_EQ(without, (std::set<std::string>{"--logs-specs", "--numa-binding"}));
}

TEST(OptionTable, GroupsStandTogetherAndHaveHeadings) {
  std::set<OptionGroup> closed;
  const OptionRow* before = nullptr;
  for (const OptionRow& row : option_table()) {
    EXPECT_FALSE(heading(row.group).empty());
    if (before != nullptr && before->group != row.group) closed.insert(before->group);
    EXPECT_FALSE(closed.contains(row.group)) << row.name;
    before = &row;
  }
}

TEST(OptionTable, UnderscoresReplaceTheInnerDashesOnly) {
  EXPECT_EQ(underscored("--nproc-per-node"), "--nproc_per_node");
  EXPECT_EQ(underscored("--role"), "--role");
}

}  // namespace launch::option_table_test
