#include "launch/io/log_reader.hpp"

#include "launch/io/clock.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace launch::log_reader_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most = 10'000;

class LogReaderTest : public testing::Test {
 public:
  LogReaderTest() : folder_(testing::TempDir() + "log_reader_test_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~LogReaderTest() override { std::filesystem::remove_all(folder_); }
  LogReaderTest(const LogReaderTest&) = delete;
  LogReaderTest& operator=(const LogReaderTest&) = delete;

 protected:
  std::string path(int rank) const { return folder_ + "/stdout.log" + (rank == 0 ? "" : std::to_string(rank)); }
  void write(int rank, const std::string& text) { std::ofstream(path(rank), std::ios::app) << text; }
  LogReader::File file(int rank) const { return {rank, rank, path(rank)}; }
  static std::string text_of(const LogReader::Read& read) {
    std::string text;
    for (const LogReader::Piece& piece : read.pieces) text += piece.text;
    return text;
  }
  std::string read(int lines = 2, bool ends = false) {
    return text_of(reader_.read({file(0)}, {lines, most, ends, false}));
  }

  std::string folder_;
  LogReader reader_;
};

TEST_F(LogReaderTest, BeginsWithTheLastLinesAndGivesEachLineOnce) {
  write(0, "one\ntwo\nthree\n");
  const LogReader::Read first = reader_.read({file(0)}, {2, most, false, false});
  EXPECT_EQ("two\nthree\n", text_of(first));
  ASSERT_EQ(1U, first.pieces.size());
  EXPECT_EQ("stdout", first.pieces[0].stream);
  EXPECT_EQ("", read());
  write(0, "four\nfi");
  EXPECT_EQ("four\n", read());
  write(0, "ve\n");
  EXPECT_EQ("five\n", read());
}

TEST_F(LogReaderTest, KnowsWhereToBegin) {
  write(0, "one\ntwo\nthree");
  for (const auto& [lines, text] : std::vector<std::pair<int, std::string>>{
           {0, ""}, {1, "three"}, {2, "two\nthree"}, {3, "one\ntwo\nthree"}, {99, "one\ntwo\nthree"}}) {
    LogReader reader;
    EXPECT_EQ(text, text_of(reader.read({file(0)}, {lines, most, true, false}))) << lines;
  }
}

TEST_F(LogReaderTest, ManyLinesAreFoundInALargeFile) {
  std::string text;
  for (int line = 0; line < 300'000; ++line) text += std::to_string(line) + '\n';
  write(0, text);
  for (const int lines : {9'000, 9'999, 200'000, 299'999, 300'000, 300'001}) {
    LogReader reader;
    const std::string first = text_of(reader.read({file(0)}, {lines, most, true, false}));
    EXPECT_EQ(first.substr(0, first.find('\n')), std::to_string(std::max(0, 300'000 - lines)));
  }
}

TEST_F(LogReaderTest, ALineWithoutAnEndIsGivenToWhoDoesNotWait) {
  write(0, "one\ntw");
  EXPECT_EQ("one\n", read(9));
  EXPECT_EQ("tw", read(9, true));
}

TEST_F(LogReaderTest, FollowsTheNewFileThatTakesItsPlace) {
  write(0, "one\n");
  EXPECT_EQ("one\n", read());
  write(0, "two\n");
  std::filesystem::rename(path(0), path(0) + ".1");
  write(0, "three\n");
  EXPECT_EQ("two\n", read());
  EXPECT_EQ("three\n", read());
}

TEST_F(LogReaderTest, NoFileIsLeftOutIfSeveralTookItsPlaceMeanwhile) {
  const auto rotate = [&] {
    for (int age = 5; age >= 0; --age) {
      const auto name = [&](int number) { return path(0) + (number == 0 ? "" : "." + std::to_string(number)); };
      if (std::filesystem::exists(name(age))) std::filesystem::rename(name(age), name(age + 1));
    }
  };
  write(0, "one\n");
  EXPECT_EQ("one\n", read());
  std::string expected;
  for (const char* text : {"two\n", "three\n", "four\n", "five\n"}) {
    rotate();
    write(0, text);
    expected += text;
  }
  std::string found;
  for (int i = 0; i < 10; ++i) {
    const LogReader::Read got = reader_.read({file(0)}, {10, most, false, false});
    EXPECT_FALSE(got.replaced);
    found += text_of(got);
  }
  EXPECT_EQ(expected, found);
}

TEST_F(LogReaderTest, WhatIsGoneMeanwhileIsToldAndTheOldestThatIsThereComesNext) {
  write(0, "one\n");
  EXPECT_EQ("one\n", read());
  std::filesystem::remove(path(0));
  write(0, "three\n");
  std::filesystem::rename(path(0), path(0) + ".1");
  write(0, "four\n");
  const LogReader::Read first = reader_.read({file(0)}, {10, most, false, false});
  EXPECT_TRUE(first.replaced);
  EXPECT_TRUE(first.more);
  EXPECT_EQ("three\n", text_of(first));
  const LogReader::Read second = reader_.read({file(0)}, {10, most, false, false});
  EXPECT_FALSE(second.replaced);
  EXPECT_EQ("four\n", text_of(second));
}

TEST_F(LogReaderTest, AFileThatComesLaterIsReadFromItsBeginning) {
  EXPECT_EQ("", read());
  write(1, "one\ntwo\nthree\n");
  EXPECT_EQ("one\ntwo\nthree\n", text_of(reader_.read({file(1)}, {1, most, false, false})));
}

TEST_F(LogReaderTest, AFileOfTheLastAttemptIsReadToItsEnd) {
  write(0, "one\n");
  EXPECT_EQ("one\n", read());
  write(0, "two\n");
  write(1, "three\n");
  EXPECT_EQ("two\nthree\n", text_of(reader_.read({file(1)}, {1, most, false, false})));
}

TEST_F(LogReaderTest, AllFilesHaveTheirTurnAndNoLineIsCut) {
  std::vector<LogReader::File> files;
  for (const int rank : {0, 1, 2}) {
    for (int line = 0; line < 1000; ++line) write(rank, "rank " + std::to_string(rank) + " has written this line\n");
    files.push_back(file(rank));
  }
  std::vector<std::size_t> bytes(3);
  for (int turns = 0; turns < 100; ++turns) {
    const LogReader::Read read = reader_.read(files, {1000, most, false, false});
    for (const LogReader::Piece& piece : read.pieces) {
      EXPECT_TRUE(piece.text.starts_with("rank ") && piece.text.ends_with("line\n")) << piece.text;
      bytes[static_cast<std::size_t>(piece.rank)] += piece.text.size();
    }
    if (!read.more) break;
    if (turns == 2) {
      EXPECT_GT(std::min({bytes[0], bytes[1], bytes[2]}), 0U);
    }
  }
  for (const int rank : {0, 1, 2})
    EXPECT_EQ(std::filesystem::file_size(path(rank)), bytes[static_cast<std::size_t>(rank)]);
}

TEST_F(LogReaderTest, SaysThatThereIsMoreBehindALongLine) {
  write(0, "one\ntwo\n" + std::string(9'900, 'x') + "\nthree\n");
  std::string text;
  bool more = true;
  for (int turns = 0; more && turns < 5; ++turns) {
    const LogReader::Read read = reader_.read({file(0)}, {99, most, true, true});
    text += text_of(read);
    more = read.more;
  }
  EXPECT_FALSE(more);
  EXPECT_TRUE(text.ends_with("x\nthree\n")) << text.size();
}

TEST_F(LogReaderTest, MayStopAtWhatWasThere) {
  write(0, "one\n");
  EXPECT_EQ("one\n", text_of(reader_.read({file(0)}, {9, most, true, true})));
  write(0, "two\n");
  EXPECT_EQ("", text_of(reader_.read({file(0)}, {9, most, true, true})));
}

TEST_F(LogReaderTest, TheLastWordsOfAnEarlierAttemptNeedNoEnd) {
  write(0, "one\n");
  EXPECT_EQ("one\n", read());
  write(0, "Segmentation fault");
  write(1, "two\n");
  EXPECT_EQ("Segmentation faulttwo\n", text_of(reader_.read({file(1)}, {1, most, false, false})));
}

TEST_F(LogReaderTest, MayBeginWithWhatWasWrittenSince) {
  write(0, "one\ntwo\nthree\nfour\n");
  const auto times = std::make_shared<FileTimes>();
  const Time start = now();
  times->wrote(0, start - 60s);
  times->wrote(6, start - 10s);  // within "two"
  times->wrote(14, start - 5s);
  for (const auto& [lines, age, text] :
       std::vector<std::tuple<int, Duration, std::string>>{{-1, 60s, "one\ntwo\nthree\nfour\n"},
                                                           {-1, 20s, "two\nthree\nfour\n"},
                                                           {-1, 7s, "four\n"},
                                                           {2, 20s, "three\nfour\n"},
                                                           {9, 7s, "four\n"},
                                                           {0, 60s, ""},
                                                           {-1, 1s, ""}}) {
    LogReader reader;
    const auto read = reader.read({{0, 0, path(0), times}}, {lines, most, true, true, start - age});
    EXPECT_EQ(text, text_of(read)) << lines << " " << age.count();
    EXPECT_FALSE(read.undated);
  }
}

TEST_F(LogReaderTest, WithoutANumberOfLinesItGivesAll) {
  write(0, "one\ntwo\n");
  EXPECT_EQ("one\ntwo\n", read(-1));
}

// The file was replaced, and the position is one in the other file.
TEST_F(LogReaderTest, APositionBehindTheEndOfTheFileIsNotBelieved) {
  write(0, "one\ntwo\n");
  const auto times = std::make_shared<FileTimes>();
  times->wrote(1000, now());
  const LogReader::File dated{0, 0, path(0), times};
  for (const auto& [lines, text] : std::vector<std::pair<int, std::string>>{{-1, "one\ntwo\n"}, {1, "two\n"}}) {
    LogReader reader;
    EXPECT_EQ(text, text_of(reader.read({dated}, {lines, most, true, true, now() - 60s}))) << lines;
  }
}

TEST_F(LogReaderTest, SaysThatAnOlderFileHasSomeOfIt) {
  write(0, "one\ntwo\n");
  const auto times = std::make_shared<FileTimes>();
  const Time start = now();
  times->wrote(0, start - 60s);
  times->clear();
  times->wrote(0, start - 30s);
  const LogReader::File dated{0, 0, path(0), times};
  for (const auto& [lines, age, replaced] : std::vector<std::tuple<int, Duration, bool>>{
           {-1, 70s, true}, {9, 70s, true}, {1, 70s, false}, {-1, 50s, false}}) {
    LogReader reader;
    EXPECT_EQ(replaced, reader.read({dated}, {lines, most, true, true, start - age}).replaced) << lines;
  }
}

TEST_F(LogReaderTest, WhatAWorkerWritesItselfHasNoTimes) {
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += "line " + std::to_string(i) + "\n";
  write(0, lines);
  std::filesystem::last_write_time(path(0), std::filesystem::file_time_type::clock::now() - 60s);
  for (const auto& [wish, age, count] :
       std::vector<std::tuple<int, Duration, int>>{{-1, 120s, 10}, {3, 120s, 3}, {-1, 30s, 0}, {3, 30s, 0}}) {
    LogReader reader;
    const auto read = reader.read({file(0)}, {wish, most, true, true, now() - age});
    const std::string text = text_of(read);
    EXPECT_EQ(count, std::count(text.begin(), text.end(), '\n')) << wish << " " << age.count();
    EXPECT_EQ(count > 0, read.undated);
  }
}

TEST_F(LogReaderTest, WhatComesLaterIsGivenWhateverItsAge) {
  write(0, "one\n");
  const auto times = std::make_shared<FileTimes>();
  times->wrote(0, now() - 60s);
  const LogReader::File dated{0, 0, path(0), times};
  const LogReader::Wish wish{-1, most, false, false, now() - 1s};
  EXPECT_EQ("", text_of(reader_.read({dated}, wish)));
  write(0, "two\n");
  EXPECT_EQ("two\n", text_of(reader_.read({dated}, wish)));
}

TEST_F(LogReaderTest, AVeryLongLineComesInParts) {
  const std::string line(3 * most, 'x');
  write(0, line + "\n");
  std::string text = read();
  for (int turns = 0; turns < 5; ++turns) text += read();
  EXPECT_EQ(line + "\n", text);
}

}  // namespace
}  // namespace launch::log_reader_test
