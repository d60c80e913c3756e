#include "launch/core/logs/line_prefix.hpp"

#include <gtest/gtest.h>

namespace launch::line_prefix_test {

PrefixFacts facts(int nproc) {
  return {.role = "default",
          .host = "n1",
          .node_rank = NodeRank(2),
          .base_rank = GlobalRank(6),
          .restarts = 1,
          .nproc = nproc};
}

std::string prefix(const PrefixStyle& style, int rank, int nproc = 2) {
  std::string text;
  LinePrefix(style, facts(nproc), "stdout").add(text, rank, "12:00");
  return text;
}

TEST(LinePrefix, SaysWhoSpeaks) {
  EXPECT_EQ(prefix({}, 1), "[default1]:");
  EXPECT_EQ(prefix({.pattern = "${hostname}:${rank}/$local_rank of $node_rank ${x} $$: "}, 1), "n1:7/1 of 2 ${x} $: ");
  EXPECT_EQ(prefix({.pattern = "${host} ${stream} ${restart} "}, 0), "n1 stdout 1 ");
  EXPECT_EQ(prefix({.pattern = ""}, 0), "");
}

TEST(LinePrefix, TheTimeMayStandAnywhere) {
  EXPECT_EQ(prefix({.pattern = "${time}"}, 0), "12:00");
  EXPECT_EQ(prefix({.pattern = "a${time}b$time|"}, 0), "a12:00b12:00|");
  EXPECT_EQ(prefix({.pattern = "$${time}"}, 0), "${time}");
  EXPECT_TRUE(LinePrefix({.pattern = "$time"}, facts(1), "").timed());
  EXPECT_FALSE(LinePrefix({.pattern = "$$time"}, facts(1), "").timed());
}

TEST(LinePrefix, SeveralThatSayTheSameAreRanges) {
  LinePrefix line({.pattern = "[${local_rank}|${rank}]"}, facts(8), "stdout");
  std::string text;
  line.add(text, {0, 1, 2, 5}, "");
  EXPECT_EQ(text, "[0-2,5|6-8,11]");
  line.add(text, {0, 1, 2, 5}, "");
  line.add(text, std::vector<int>{4}, "");
  EXPECT_EQ(text, "[0-2,5|6-8,11][0-2,5|6-8,11][4|10]");
}

TEST(LinePrefix, AlignedPrefixesHaveOneWidth) {
  const PrefixStyle style{.pattern = "[${local_rank}]: ", .aligned = true};
  EXPECT_EQ(prefix(style, 9, 11), "[9]:  ");
  EXPECT_EQ(prefix(style, 10, 11), "[10]: ");
  EXPECT_EQ(prefix({.pattern = "\u00e4${local_rank}", .aligned = true}, 9, 11), "\u00e49 ");
}

TEST(LinePrefix, AColourIsARanksOwnAndEndsWithThePrefix) {
  const PrefixStyle style{.pattern = "${rank}", .coloured = true};
  EXPECT_EQ(prefix(style, 0), "\x1b[93m6\x1b[0m");
  EXPECT_EQ(prefix(style, 1), "\x1b[95m7\x1b[0m");
  std::string text;
  LinePrefix(style, facts(2), "stdout").add(text, {0, 1}, "");
  EXPECT_EQ(text, "\x1b[1m6-7\x1b[0m");
}

}  // namespace launch::line_prefix_test
