#include "launch/core/base/text.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace launch::text_test {

TEST(Text, TrimsWhiteSpaceAtBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, ReadsWholeNumbersAsPythonDoes) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int(" 1 "), 1);
  EXPECT_EQ(parse_int("+2"), 2);
  EXPECT_EQ(parse_int("-3"), -3);
  EXPECT_EQ(parse_int("007"), 7);
  for (const char* bad : {"", " ", "x", "1x", "1.0", "0x10", "1 2", "+", "-", "+-1", "--1", "1:2"}) {
    EXPECT_FALSE(parse_int(bad)) << bad;
  }
}

TEST(Text, WholeNumbersBeyondIntStayAtItsLimits) {
  EXPECT_EQ(parse_int("99999999999999999999"), std::numeric_limits<int>::max());
  EXPECT_EQ(parse_int("-99999999999999999999"), std::numeric_limits<int>::min());
}

TEST(Text, ReadsFiniteDecimals) {
  EXPECT_EQ(parse_decimal("0.5"), 0.5);
  EXPECT_EQ(parse_decimal(" 5 "), 5.0);
  EXPECT_EQ(parse_decimal("+1e2"), 100.0);
  EXPECT_EQ(parse_decimal("-.5"), -0.5);
  for (const char* bad : {"", "x", "1s", "inf", "nan", "-inf", "1e999", "1,5"}) EXPECT_FALSE(parse_decimal(bad)) << bad;
}

TEST(Text, ReadsSwitchesAsNumbersAndWords) {
  for (const char* on : {"1", "2", "-1", " 1 ", "true", "True", "YES"}) EXPECT_EQ(parse_bool(on), true) << on;
  for (const char* off : {"0", " 0", "false", "FALSE", "No"}) EXPECT_EQ(parse_bool(off), false) << off;
  for (const char* bad : {"", "on", "y", "truee", "0.0"}) EXPECT_FALSE(parse_bool(bad)) << bad;
}

TEST(Text, ShowsAnyBytesOnOneBoundedLine) {
  EXPECT_EQ(shown("plain"), "plain");
  EXPECT_EQ(shown(""), "\"\"");
  EXPECT_EQ(shown("a b"), "\"a b\"");
  EXPECT_EQ(shown("a\nb"), "\"a\\x0ab\"");
  EXPECT_EQ(shown(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(shown(std::string(1000, 'x')), std::string(120, 'x') + "...");
}

TEST(Text, BeginsWithWholeCharacters) {
  EXPECT_EQ(beginning_of("abc", 3), "abc");
  EXPECT_EQ(beginning_of("abc", 2), "ab");
  EXPECT_EQ(beginning_of("a\u00e9", 2), "a");
  EXPECT_EQ(beginning_of("\xff\xbf\xbf\xbf\xbf\xbf", 5), "\xff\xbf\xbf\xbf\xbf") << "no UTF-8";
  EXPECT_EQ(beginning_of("", 0), "");
}

TEST(Text, PutsSpacesForControls) {
  EXPECT_EQ(without_controls("a\tb\x1b[31m\n\x7f", 99), "a b [31m  ");
  EXPECT_EQ(without_controls("\u00e4\u0085\u009b\u00a0", 99), "\u00e4    \u00a0");
  EXPECT_EQ(without_controls(std::string_view("\0x", 2), 99), " x");
  EXPECT_EQ(without_controls("", 9), "");
}

TEST(Text, CutsBetweenCharacters) {
  EXPECT_EQ(without_controls("abc", 3), "abc");
  EXPECT_EQ(without_controls("abc", 2), "ab");
  EXPECT_EQ(without_controls("abc", 0), "");
  EXPECT_EQ(without_controls("a\u00e4", 2), "a");
  EXPECT_EQ(without_controls("a\U0001F600", 4), "a");
  EXPECT_EQ(without_controls("a\U0001F600", 5), "a\U0001F600");
  EXPECT_EQ(without_controls("a\u0085", 2), "a");
  EXPECT_EQ(without_controls(std::string(9, '\xbf'), 8), std::string(8, '\xbf'));
}

TEST(Text, LeavesOutColors) {
  EXPECT_EQ(without_colors("plain"), "plain");
  EXPECT_EQ(without_colors("\x1b[1;35mValueError\x1b[0m: x"), "ValueError: x");
  EXPECT_EQ(without_colors("a\x1b]8;;http://h\x1b\\b\x1b]0;title\ac"), "abc");
  EXPECT_EQ(without_colors("a\x1b=b\x1b>c"), "abc");
  EXPECT_EQ(without_colors("a\x1b[K\x1b[2Jb"), "ab");
  for (const char* unfinished : {"a\x1b", "a\x1b[", "a\x1b[1;3", "a\x1b]0;title", "a\x1b]0;title\x1b"})
    EXPECT_EQ(without_colors(unfinished), "a") << unfinished;
}

TEST(Text, PutsAValueBesideItsOriginAsTheUserTypesIt) {
  EXPECT_EQ(as_typed("--nnodes", "0"), "--nnodes 0");
  EXPECT_EQ(as_typed("PET_NNODES", "0"), "PET_NNODES=0");
}

TEST(Text, SplitsAtEverySeparator) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(split("a,", ','), (std::vector<std::string_view>{"a", ""}));
}

TEST(Text, TheFirstLinesAreWhole) {
  EXPECT_EQ(first_lines("a\nb\nc\n", 6), "a\nb\nc\n");
  EXPECT_EQ(first_lines("a\nb\nc\n", 5), "a\nb\n");
  EXPECT_EQ(first_lines("a\nb\nc\n", 4), "a\nb\n");
  EXPECT_EQ(first_lines("long\nb\n", 2), "long\n") << "one that is longer";
  EXPECT_EQ(first_lines("long\nb\n", 4), "long\n");
  EXPECT_EQ(first_lines("no end", 2), "no end");
  EXPECT_EQ(first_lines("", 0), "");
}

TEST(FirstClauses, KeepsWholeClausesFromTheBeginning) {
  const std::string line = "waiting for node 1 (1 of 2 have joined); giving up in 15 min; more";
  EXPECT_EQ(first_clauses(line, line.size()), line);
  EXPECT_EQ(first_clauses(line, line.size() - 1), "waiting for node 1 (1 of 2 have joined); giving up in 15 min; ...");
  EXPECT_EQ(first_clauses(line, 60), "waiting for node 1 (1 of 2 have joined); giving up in 15 min");
  EXPECT_EQ(first_clauses(line, 59), "waiting for node 1 (1 of 2 have joined); ...");
  EXPECT_EQ(first_clauses(line, 44), "waiting for node 1 (1 of 2 have joined); ...");
  EXPECT_EQ(first_clauses(line, 43), "waiting for node 1 (1 of 2 have joined)");
  EXPECT_EQ(first_clauses(line, 39), "waiting for node 1 (1 of 2 have joined)");
  EXPECT_EQ(first_clauses(line, 38), "waiting for node 1 (1 of 2 have joi...");
  EXPECT_EQ(first_clauses(line, 20), "waiting for node ...");
  EXPECT_EQ(first_clauses(line, 3), "wai");
  EXPECT_EQ(first_clauses("\u00e4\u00e4\u00e4\u00e4", 6), "\u00e4...") << "between characters";
}

TEST(ForShell, WordsCanBePasted) {
  EXPECT_EQ(for_shell("--lr=3"), "--lr=3");
  EXPECT_EQ(for_shell("/opt/a_b-c.d:e,f@g%h^i+j"), "/opt/a_b-c.d:e,f@g%h^i+j");
  EXPECT_EQ(for_shell(""), "''");
  for (const char* word : {"a b", "$HOME", "~", "*", "a;b", "`id`", "\"x\"", "<a>", "a\\b", "#"})
    EXPECT_EQ(for_shell(word), "'" + std::string(word) + "'");
  EXPECT_EQ(for_shell("it's"), R"('it'\''s')");
  EXPECT_EQ(for_shell("a\n1'\\\x7f\x1b"), R"($'a\0121\'\\\177\033')") << "no control byte reaches the terminal";
  EXPECT_EQ(for_shell(std::vector<std::string>{"echo", "a b", ""}), "echo 'a b' ''");
  EXPECT_EQ(for_shell(std::vector<std::string>()), "");
}

TEST(Counted, HasThePlural) {
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(0, "node"), "0 nodes");
  EXPECT_EQ(counted(1, "process", "es"), "1 process");
  EXPECT_EQ(counted(2, "process", "es"), "2 processes");
}

}  // namespace launch::text_test
