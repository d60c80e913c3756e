#include "launch/core/line_router.hpp"

#include "launch/core/random.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Lines {
  std::vector<std::string> all;
  LineRouter router{"p:"};

  Lines& feed(std::string_view bytes) {
    router.feed(bytes, [this](std::string_view line) { all.emplace_back(line); });
    return *this;
  }
  Lines& flush() {
    router.flush([this](std::string_view line) { all.emplace_back(line); });
    return *this;
  }
};

TEST(LineRouter, GivesWholeLinesWithThePrefix) {
  EXPECT_THAT(Lines().feed("a\n\nb\nc").all, ElementsAre("p:a\n", "p:\n", "p:b\n"));
  EXPECT_THAT(Lines().feed("a").feed("b\nc").feed("\n").all, ElementsAre("p:ab\n", "p:c\n"));
}

TEST(LineRouter, HoldsAnUnfinishedLineUntilItIsFlushed) {
  Lines lines;
  EXPECT_THAT(lines.feed("abc").all, IsEmpty());
  EXPECT_TRUE(lines.router.holds());
  EXPECT_THAT(lines.flush().all, ElementsAre("p:abc\n"));
  EXPECT_FALSE(lines.router.holds());
  EXPECT_THAT(lines.flush().all, ElementsAre("p:abc\n"));
}

TEST(LineRouter, BytesPassUnchanged) {
  const std::string bytes = std::string("\xff\0\x01", 3) + "\xc3";
  EXPECT_THAT(Lines().feed(bytes + "\n").all, ElementsAre("p:" + bytes + "\n"));
}

TEST(LineRouter, OfARewrittenLineTheLastStateIsShown) {
  EXPECT_THAT(Lines().feed("10%\r20%\r100%\n").all, ElementsAre("p:100%\n"));
  EXPECT_THAT(Lines().feed("10%\r").feed("20%\r").feed("100%\ndone\n").all, ElementsAre("p:100%\n", "p:done\n"));
  EXPECT_THAT(Lines().feed("10%").feed("\r20%\r").flush().all, ElementsAre("p:20%\r\n"));
  // The line end of another system is kept.
  EXPECT_THAT(Lines().feed("a\r\nb\r").feed("\n").all, ElementsAre("p:a\r\n", "p:b\r\n"));
  EXPECT_THAT(Lines().feed("a\r\r\nb\r").feed("\r\n").all, ElementsAre("p:a\r\r\n", "p:b\r\r\n"));
}

TEST(LineRouter, ALineWithoutAnEndIsGivenInPieces) {
  Lines lines;
  for (int i = 0; i < 40; ++i) lines.feed(std::string(8192, 'x'));
  std::size_t bytes = 0;
  for (const std::string& line : lines.all) bytes += line.size() - 3;
  EXPECT_GE(lines.all.size(), 3U);
  EXPECT_GE(bytes + LineRouter::longest_held + 8192, std::size_t{40} * 8192);
}

TEST(LineRouter, TheCutOfTheBytesDoesNotMatter) {
  Random random(7);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "ab\n\r"[random.next() % 4];
  const auto whole = Lines().feed(text).flush().all;
  for (int round = 0; round < 50; ++round) {
    Lines lines;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = std::min<std::size_t>(rest.size(), 1 + random.next() % 7);
      lines.feed(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    EXPECT_EQ(lines.flush().all, whole);
  }
}

}  // namespace
}  // namespace launch
