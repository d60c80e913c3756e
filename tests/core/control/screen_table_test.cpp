#include "launch/core/control/screen_table.hpp"

#include <gtest/gtest.h>

namespace launch::screen_table_test {
namespace {

ScreenTable table() { return ScreenTable({{"rank"}, {"host", false}, {"step"}, {"rate", true, 6}, {"line", false}}); }

std::string text_of(const ScreenTable& table, std::size_t columns = 80) {
  std::string text;
  table.add_to(text, columns);
  return text;
}

TEST(ScreenTable, ColumnsAreAsWideAsTheirCells) {
  ScreenTable two = table();
  two.add_row({"7", "a", "120000", "2/s", "hello"});
  two.add_line("between them");
  two.add_row({"8", "longer-host", "1", "2/s", ""});
  EXPECT_EQ(
      "rank  host           step    rate  line\n"
      "   7  a            120000     2/s  hello\n"
      "between them\n"
      "   8  longer-host       1     2/s\n",
      text_of(two));
}

TEST(ScreenTable, WhatIsKnownOfNoRowHasNoColumn) {
  ScreenTable two = table();
  two.add_row({"7", "a", "", "", "hello"});
  two.add_row({"8", "", "", "", ""});
  EXPECT_EQ("rank  host  line\n   7  a     hello\n   8  -\n", text_of(two));
}

TEST(ScreenTable, LinesAloneHaveNoHead) {
  ScreenTable lines = table();
  EXPECT_EQ("", text_of(lines));
  lines.add_line("one");
  EXPECT_EQ("one\n", text_of(lines));
}

TEST(ScreenTable, RowsAreCut) {
  ScreenTable one = table();
  one.add_row({"7", "a", "1", "2/s", std::string(100, 'x')});
  EXPECT_EQ("rank  host  step    rate  line\n   7  a        1     2/s  xxxx\n", text_of(one, 30));
}

}  // namespace
}  // namespace launch::screen_table_test
