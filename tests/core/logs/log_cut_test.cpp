#include "launch/core/logs/log_cut.hpp"

#include "launch/core/base/random.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::log_cut_test {

using ::testing::ElementsAre;

TEST(LogCut, WithoutALimitAllGoesToTheFile) {
  EXPECT_EQ(cut_for_file("a\nb", {1000, 3}, 0), 3U);
  EXPECT_EQ(cut_for_file("", {1000, 3}, 0), 0U);
}

TEST(LogCut, WhatFitsGoesToTheFile) {
  EXPECT_EQ(cut_for_file("ab\ncd\n", {4, 0}, 10), 6U);
  EXPECT_EQ(cut_for_file("ab\ncde", {4, 0}, 10), 6U);
  EXPECT_EQ(cut_for_file("abcdef", {4, 4}, 10), 6U);
  EXPECT_EQ(cut_for_file("", {4, 0}, 10), 0U);
}

TEST(LogCut, TheFileEndsWithTheLastLineThatFits) {
  EXPECT_EQ(cut_for_file("ab\ncd\nef\n", {0, 0}, 8), 6U);
  EXPECT_EQ(cut_for_file("ab\ncd\nefg", {0, 0}, 8), 6U);
  EXPECT_EQ(cut_for_file("ab\ncd\nef\n", {2, 2}, 8), 6U);
  EXPECT_EQ(cut_for_file("ab\ncd\n", {6, 0}, 8), 0U);
  EXPECT_EQ(cut_for_file("\n\n\n", {6, 0}, 8), 2U);
  EXPECT_EQ(cut_for_file("\n", {8, 0}, 8), 0U);
  EXPECT_EQ(cut_for_file("\n", {12, 0}, 8), 0U);
}

TEST(LogCut, ALineThatHasBegunIsFinished) {
  EXPECT_EQ(cut_for_file("cd\nef\n", {7, 2}, 8), 3U);
  EXPECT_EQ(cut_for_file("cd", {7, 2}, 8), 2U);
  EXPECT_EQ(cut_for_file("d\ne", {12, 6}, 8), 2U);  // eight bytes, the first six written
  EXPECT_EQ(cut_for_file("\n\n", {8, 1}, 8), 1U);
}

TEST(LogCut, ALineThatFitsNoFileIsTorn) {
  EXPECT_EQ(cut_for_file("abcdefgh", {0, 0}, 8), 8U);
  EXPECT_EQ(cut_for_file("abcdefgh\n", {0, 0}, 8), 8U);
  EXPECT_EQ(cut_for_file("abcdefghijklmnopqrs", {0, 0}, 8), 8U);
  EXPECT_EQ(cut_for_file("abcdefghijklmnopqrs", {3, 3}, 8), 5U);
  EXPECT_EQ(cut_for_file("abcdefghijklmnopqrs", {5, 3}, 8), 3U);
  EXPECT_EQ(cut_for_file("abc", {12, 6}, 8), 0U);
  // Where it begins behind others, it begins a file.
  EXPECT_EQ(cut_for_file("abcdefghijklmnopqrs", {2, 0}, 8), 0U);
  EXPECT_EQ(cut_for_file("a\nabcdefghijklmnopqrs", {2, 0}, 8), 2U);
}

TEST(LogCut, TheFillFollowsWhatIsAppended) {
  EXPECT_EQ(after({}, ""), (FileFill{0, 0}));
  EXPECT_EQ(after({}, "ab"), (FileFill{2, 2}));
  EXPECT_EQ(after({2, 2}, "cd"), (FileFill{4, 4}));
  EXPECT_EQ(after({4, 4}, "e\nf\ng"), (FileFill{9, 1}));
  EXPECT_EQ(after({9, 1}, "\n"), (FileFill{10, 0}));
  EXPECT_EQ(after({10, 0}, ""), (FileFill{10, 0}));
}

// Line by line, as the header tells it.
std::size_t naive_cut(std::string_view bytes, FileFill fill, std::uint64_t max_size) {
  if (max_size == 0) return bytes.size();
  std::size_t cut = 0;
  while (cut < bytes.size()) {
    const auto end = bytes.find('\n', cut);
    const std::string_view part = bytes.substr(cut, end == std::string_view::npos ? end : end + 1 - cut);
    const bool fits = fill.size + part.size() <= max_size;
    const bool begun = fill.open_line > 0;
    const bool too_long = fill.open_line + part.size() > max_size;
    if (!fits && too_long && (begun || fill.size == 0)) {
      return cut + std::min<std::uint64_t>(part.size(), max_size - std::min(max_size, fill.size));
    }
    if (!fits && !begun) return cut;
    cut += part.size();
    fill.size += part.size();
    fill.open_line = part.ends_with('\n') ? 0 : fill.open_line + part.size();
  }
  return cut;
}

// What a writer makes of the stream that comes in these chunks.
std::vector<std::string> files_of(const std::vector<std::string_view>& chunks, std::uint64_t max_size) {
  std::vector<std::string> files(1);
  FileFill fill;
  for (std::string_view chunk : chunks) {
    while (true) {
      const std::size_t cut = cut_for_file(chunk, fill, max_size);
      EXPECT_EQ(cut, naive_cut(chunk, fill, max_size));
      files.back() += chunk.substr(0, cut);
      fill = after(fill, chunk.substr(0, cut));
      EXPECT_EQ(fill.size, files.back().size());
      EXPECT_EQ(fill.open_line, files.back().size() - (files.back().rfind('\n') + 1));
      chunk.remove_prefix(cut);
      if (chunk.empty()) break;
      if (files.back().empty()) return {"no progress"};
      files.emplace_back();
      fill = {};
    }
  }
  return files;
}

std::vector<std::string_view> in_chunks(std::string_view stream, std::size_t longest, Random& random) {
  std::vector<std::string_view> chunks;
  while (!stream.empty()) {
    chunks.push_back(stream.substr(0, 1 + random.next() % longest));
    stream.remove_prefix(chunks.back().size());
  }
  return chunks;
}

TEST(LogCut, TheNextFileBeginsWithTheBytesThatRemain) {
  EXPECT_THAT(files_of({"ab\ncd\nef\ngh"}, 8), ElementsAre("ab\ncd\n", "ef\ngh"));
  EXPECT_THAT(files_of({"ab\ncd\ne", "f\ngh"}, 8), ElementsAre("ab\ncd\nef\n", "gh"));
  EXPECT_THAT(files_of({"a\nabcdefghijk\nb\n"}, 8), ElementsAre("a\n", "abcdefgh", "ijk\nb\n"));
  EXPECT_THAT(files_of({"a\nabcd", "efghijk\nb\n"}, 8), ElementsAre("a\nabcdef", "ghijk\nb\n"));
}

std::size_t first_line(std::string_view bytes) { return std::min(bytes.find('\n'), bytes.size() - 1) + 1; }

void play(std::uint64_t seed) {
  Random random(seed);
  const std::uint64_t max_size = random.next() % 8 == 0 ? random.next() % 4 : 1 + random.next() % 200;
  const std::uint64_t longest_text = 1 + random.next() % (seed % 2 == 0 ? std::max<std::uint64_t>(max_size, 1) : 300);
  std::string stream;
  std::size_t longest = 0;
  std::vector<std::size_t> whole_lines;  // where those begin that must not be torn
  for (int i = 0; i < 200; ++i) {
    const std::size_t text = random.next() % longest_text;
    const bool open = i == 199 && random.next() % 2 == 0;
    if (text + (open ? 0 : 1) <= max_size) whole_lines.push_back(stream.size());
    stream += std::string(text, static_cast<char>('a' + i % 26)) + (open ? "" : "\n");
    longest = std::max(longest, text + 1);
  }
  for (const std::size_t longest_chunk : {std::size_t{1}, std::size_t{7}, std::size_t{500}, stream.size()}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", chunks up to " << longest_chunk);
    const std::vector<std::string> files = files_of(in_chunks(stream, longest_chunk, random), max_size);
    std::string all;
    for (std::size_t i = 0; i < files.size(); ++i) {
      all += files[i];
      if (max_size == 0) continue;
      ASSERT_LE(files[i].size(), max_size + longest);
      if (i + 1 == files.size()) continue;
      // It did not end early, and only an over-long line is torn.
      ASSERT_GT(files[i].size() + first_line(files[i + 1]), max_size);
      if (files[i].ends_with('\n')) continue;
      ASSERT_GE(files[i].size(), max_size);
      const std::size_t line = stream.rfind('\n', all.size() - 1) + 1;
      ASSERT_FALSE(std::binary_search(whole_lines.begin(), whole_lines.end(), line)) << "torn at " << all.size();
    }
    ASSERT_EQ(all, stream);
    ASSERT_TRUE(max_size > 0 || files.size() == 1);
  }
}

TEST(LogCut, FilesHoldTheWholeStreamAndTearNoLineThatFits) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) ASSERT_NO_FATAL_FAILURE(play(seed));
}

}  // namespace launch::log_cut_test
