#include "launch/core/logs/line_router.hpp"

#include "launch/core/base/random.hpp"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::line_router_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Lines {
  std::vector<std::string> all;
  LineRouter router;

  Lines& feed(std::string_view bytes) {
    router.feed(bytes, [this](std::string_view line) { all.emplace_back(line); });
    return *this;
  }
  Lines& flush() {
    router.flush([this](std::string_view line) { all.emplace_back(line); });
    return *this;
  }
};

TEST(LineRouter, GivesWholeLinesWithoutTheirEnd) {
  EXPECT_THAT(Lines().feed("a\n\nb\nc").all, ElementsAre("a", "", "b"));
  EXPECT_THAT(Lines().feed("a").feed("b\nc").feed("\n").all, ElementsAre("ab", "c"));
}

TEST(LineRouter, HoldsAnUnfinishedLineUntilItIsFlushed) {
  Lines lines;
  EXPECT_THAT(lines.feed("abc").all, IsEmpty());
  EXPECT_TRUE(lines.router.holds());
  EXPECT_THAT(lines.flush().all, ElementsAre("abc"));
  EXPECT_FALSE(lines.router.holds());
  EXPECT_THAT(lines.flush().all, ElementsAre("abc"));
}

TEST(LineRouter, BytesPassUnchanged) {
  const std::string bytes = std::string("\xff\0\x01", 3) + "\xc3";
  EXPECT_THAT(Lines().feed(bytes + "\n").all, ElementsAre(bytes));
}

TEST(LineRouter, OfARewrittenLineTheLastStateIsShown) {
  EXPECT_THAT(Lines().feed("10%\r20%\r100%\n").all, ElementsAre("100%"));
  EXPECT_THAT(Lines().feed("10%\r").feed("20%\r").feed("100%\ndone\n").all, ElementsAre("100%", "done"));
  EXPECT_THAT(Lines().feed("10%").feed("\r20%\r").flush().all, ElementsAre("20%\r"));
  // The line end of another system is kept.
  EXPECT_THAT(Lines().feed("a\r\nb\r").feed("\n").all, ElementsAre("a\r", "b\r"));
  EXPECT_THAT(Lines().feed("a\r\r\nb\r").feed("\r\n").all, ElementsAre("a\r\r", "b\r\r"));
}

TEST(LineRouter, ALineWithoutAnEndIsGivenInPieces) {
  Lines lines;
  const std::string piece(std::size_t{256} << 10, 'x');
  for (int i = 0; i < 20; ++i) lines.feed(piece);
  std::size_t bytes = 0;
  for (const std::string& line : lines.all) bytes += line.size();
  EXPECT_GE(lines.all.size(), 3U);
  EXPECT_GE(bytes + LineRouter::longest_held + piece.size(), 20 * piece.size());
}

TEST(LineRouter, ALineOfManyPiecesIsOneLineUpTo1MiB) {
  Lines lines;
  const std::string piece(4096, 'x');
  for (int i = 0; i < 256; ++i) lines.feed(piece);
  EXPECT_THAT(lines.feed("\n").all, ElementsAre(std::string(std::size_t{1} << 20, 'x')));
}

TEST(LineRouter, WholeLinesAreNotBounded) {
  const std::string long_line(LineRouter::longest_held * 2, 'x');
  EXPECT_THAT(Lines().feed("a\n" + long_line + "\nb\n").all, ElementsAre("a", long_line, "b"));
}

TEST(LineRouter, HoldsAsMuchAsItSaysAndNoMore) {
  const std::string most(LineRouter::longest_held, 'x');
  Lines lines;
  EXPECT_THAT(lines.feed(most).all, IsEmpty());
  EXPECT_THAT(lines.feed("y").all, ElementsAre(most + "y"));
  EXPECT_FALSE(lines.router.holds());
  EXPECT_THAT(lines.feed("z\n").all, ElementsAre(most + "y", "z"));
}

TEST(LineRouter, TellsThatWhatItHoldsWasRewritten) {
  Lines lines;
  const auto rewritten_after = [&](std::string_view bytes) { return lines.feed(bytes).router.rewritten(); };
  EXPECT_FALSE(rewritten_after("10%"));
  EXPECT_TRUE(rewritten_after("\r"));
  EXPECT_TRUE(rewritten_after("20%"));
  EXPECT_FALSE(rewritten_after("\n"));
  EXPECT_FALSE(rewritten_after("done"));
  EXPECT_TRUE(rewritten_after("\r1\r2"));
  lines.flush();
  EXPECT_FALSE(lines.router.rewritten());
  EXPECT_FALSE(rewritten_after("1\r2\n"));
  EXPECT_FALSE(rewritten_after("a\r\n"));
  EXPECT_FALSE(rewritten_after("3"));
}

TEST(LineRouter, WholeLinesAreGivenWithoutACopy) {
  const std::string bytes = "end\nabc\n1\r2\ndef\n";
  std::vector<const char*> places;
  LineRouter router;
  router.feed("of a line, ", [](std::string_view) {});
  router.feed(bytes, [&](std::string_view line) { places.push_back(line.data()); });
  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(places[1], bytes.data() + 4);
  EXPECT_EQ(places[2], bytes.data() + 10);
  EXPECT_EQ(places[3], bytes.data() + 12);
}

// Of the whole text at once.
std::vector<std::string> naive_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    std::string line = text.substr(at, text.find('\n', at) - at);
    const std::size_t words = line.find_last_not_of('\r') + 1;
    lines.push_back(line.substr(line.substr(0, words).find_last_of('\r') + 1));
    if (words == 0) lines.back() = line;
  }
  return lines;
}

TEST(LineRouter, TheCutOfTheBytesDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    // Some pieces have no carriage returns at all.
    std::string text;
    while (text.size() < 2000) {
      const std::string_view alphabet = random.next() % 2 == 0 ? "ab\n" : "a\n\r\r";
      for (auto i = random.next() % 60; i > 0; --i) text += alphabet[random.next() % alphabet.size()];
    }
    text += '\n';
    const std::size_t longest = 1 + random.next() % 40;
    Lines lines;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = std::min<std::size_t>(rest.size(), 1 + random.next() % longest);
      lines.feed(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    EXPECT_EQ(lines.flush().all, naive_lines(text)) << "seed " << seed;
  }
}

}  // namespace launch::line_router_test
