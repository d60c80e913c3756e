#include "launch/core/options/option_table.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace launch::option_table_test {

Options parse(const std::vector<std::string>& args) {
  const auto command = parse_command(args, {});
  if (command && std::holds_alternative<Options>(*command)) return std::get<Options>(*command);
  ADD_FAILURE() << args.front();
  return {};
}

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

TEST(OptionTable, EverySettingHasOneRow) {
  for (const OptionRow& row : option_table()) {
    if (std::holds_alternative<std::monostate>(row.member)) continue;
    EXPECT_EQ(&row_of(row.member), &row) << row.name;
  }
}

TEST(OptionTable, ClosedRowsHaveChoices) {
  for (const OptionRow& row : option_table()) EXPECT_TRUE(row.closed == Closed::no || !row.choices.empty()) << row.name;
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

TEST(OptionTable, ADefaultIsAsIfTheUserHadWrittenIt) {
  const Options defaults = parse({"a"});
  for (const OptionRow& row : option_table()) {
    if (row.initial.empty()) continue;
    const Options written = parse({std::string(row.name) + "=" + std::string(row.initial), "a"});
    const auto same = [&](auto member) {
      if constexpr (std::is_same_v<decltype(member), std::monostate>) {
        return false;
      } else {
        const bool given = (defaults.*member).given() || !(written.*member).given();
        return !given && (defaults.*member).value == (written.*member).value;
      }
    };
    EXPECT_TRUE(std::visit(same, row.member)) << row.name;
  }
}

TEST(OptionTable, ADefaultIsShownAsHelpTellsIt) {
  const auto shown = shown_settings(parse({"a"}));
  for (const OptionRow& row : option_table()) {
    if (row.initial.empty()) continue;
    const auto setting =
        std::find_if(shown.begin(), shown.end(), [&](const auto& each) { return each.name == row.name; });
    ASSERT_NE(setting, shown.end());
    EXPECT_EQ(setting->value, row.hides_default ? "" : row.initial) << row.name;
  }
}

TEST(OptionTable, UnderscoresReplaceTheInnerDashesOnly) {
  EXPECT_EQ(underscored("--nproc-per-node"), "--nproc_per_node");
  EXPECT_EQ(underscored("--role"), "--role");
}

}  // namespace launch::option_table_test
