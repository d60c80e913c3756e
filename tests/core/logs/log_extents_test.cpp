#include "launch/core/logs/log_extents.hpp"

#include "launch/core/base/random.hpp"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::log_extents_test {

using ::testing::Optional;
using Piece = LogExtents::Piece;

TEST(LogExtents, NothingLiesAnywhereAtFirst) {
  const LogExtents extents;
  EXPECT_EQ(extents.find(0), std::nullopt);
  EXPECT_EQ(extents.next(0), std::nullopt);
  EXPECT_EQ(extents.end(), 0U);
}

TEST(LogExtents, FindsTheRestOfAPiece) {
  LogExtents extents;
  extents.wrote(100, 10, 7, 1000);
  EXPECT_EQ(extents.find(99), std::nullopt);
  EXPECT_THAT(extents.find(100), Optional(Piece{7, 1000, 10}));
  EXPECT_THAT(extents.find(103), Optional(Piece{7, 1003, 7}));
  EXPECT_THAT(extents.find(109), Optional(Piece{7, 1009, 1}));
  EXPECT_EQ(extents.find(110), std::nullopt);
  EXPECT_EQ(extents.end(), 110U);
}

TEST(LogExtents, BytesInARowBecomeOnePiece) {
  LogExtents extents;
  extents.wrote(0, 10, 1, 50);
  extents.wrote(10, 5, 1, 60);
  EXPECT_THAT(extents.find(0), Optional(Piece{1, 50, 15}));
  extents.wrote(15, 5, 1, 66);  // somebody else's byte lies between
  EXPECT_THAT(extents.find(0), Optional(Piece{1, 50, 15}));
  EXPECT_THAT(extents.find(15), Optional(Piece{1, 66, 5}));
  extents.wrote(21, 5, 1, 71);  // a byte was lost
  EXPECT_THAT(extents.find(15), Optional(Piece{1, 66, 5}));
  EXPECT_EQ(extents.find(20), std::nullopt);
  extents.wrote(26, 5, 2, 76);  // another file
  EXPECT_THAT(extents.find(21), Optional(Piece{1, 71, 5}));
  EXPECT_THAT(extents.find(26), Optional(Piece{2, 76, 5}));
}

TEST(LogExtents, NextLeapsOverWhatWasLost) {
  LogExtents extents;
  extents.wrote(10, 10, 1, 0);
  extents.wrote(30, 10, 1, 10);
  EXPECT_THAT(extents.next(0), Optional(10U));
  EXPECT_THAT(extents.next(10), Optional(10U));
  EXPECT_THAT(extents.next(19), Optional(19U));
  EXPECT_THAT(extents.next(20), Optional(30U));
  EXPECT_THAT(extents.next(39), Optional(39U));
  EXPECT_EQ(extents.next(40), std::nullopt);
}

TEST(LogExtents, AForgottenFileHasNoBytes) {
  LogExtents extents;
  extents.wrote(0, 10, 1, 0);
  extents.wrote(10, 10, 2, 0);
  extents.wrote(20, 10, 1, 10);
  extents.wrote(30, 10, 3, 0);
  extents.forget(1);
  extents.forget(4);
  EXPECT_EQ(extents.find(5), std::nullopt);
  EXPECT_THAT(extents.next(0), Optional(10U));
  EXPECT_THAT(extents.find(15), Optional(Piece{2, 5, 5}));
  EXPECT_EQ(extents.find(25), std::nullopt);
  EXPECT_THAT(extents.next(25), Optional(30U));
  extents.forget(3);
  EXPECT_EQ(extents.next(20), std::nullopt);
  EXPECT_EQ(extents.end(), 40U);
  extents.wrote(40, 10, 3, 10);  // the file is there again
  EXPECT_THAT(extents.find(40), Optional(Piece{3, 10, 10}));
}

TEST(LogExtents, NothingWrittenIsNoPiece) {
  LogExtents extents;
  extents.wrote(5, 0, 1, 0);
  EXPECT_EQ(extents.next(0), std::nullopt);
  EXPECT_EQ(extents.end(), 0U);
}

// Where each byte lies, one by one.
class NaiveExtents {
 public:
  void wrote(std::uint64_t offset, std::uint64_t size, int file, std::uint64_t position) {
    for (std::uint64_t i = 0; i < size; ++i) bytes_[offset + i] = {file, position + i};
  }
  void forget(int file) {
    std::erase_if(bytes_, [file](const auto& byte) { return byte.second.first == file; });
  }
  std::optional<Piece> find(std::uint64_t offset) const {
    const auto first = bytes_.find(offset);
    if (first == bytes_.end()) return std::nullopt;
    const auto [file, position] = first->second;
    Piece piece{file, position, 0};
    for (auto byte = first; byte != bytes_.end() && byte->first == offset + piece.size &&
                            byte->second == Place{file, position + piece.size};
         ++byte) {
      ++piece.size;
    }
    return piece;
  }
  std::optional<std::uint64_t> next(std::uint64_t offset) const {
    const auto byte = bytes_.lower_bound(offset);
    return byte == bytes_.end() ? std::nullopt : std::optional(byte->first);
  }

 private:
  using Place = std::pair<int, std::uint64_t>;
  std::map<std::uint64_t, Place> bytes_;
};

void play(std::uint64_t seed) {
  Random random(seed);
  LogExtents extents;
  NaiveExtents naive;
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::uint64_t position = 0;
  int file = 0;
  for (int i = 0; i < 60; ++i) {
    if (random.next() % 4 == 0) offset += random.next() % 5;    // lost
    if (random.next() % 8 == 0) position += random.next() % 3;  // somebody else's
    if (random.next() % 6 == 0) {
      ++file;
      position = 0;
    }
    const std::uint64_t size = random.next() % 6;
    extents.wrote(offset, size, file, position);
    naive.wrote(offset, size, file, position);
    offset += size;
    position += size;
    end = size > 0 ? offset : end;
    ASSERT_EQ(extents.end(), end) << "seed " << seed;
    if (random.next() % 8 == 0) {
      const int gone = static_cast<int>(random.next() % (file + 1));
      extents.forget(gone);
      naive.forget(gone);
    }
    for (std::uint64_t at = 0; at <= offset + 1; ++at) {
      ASSERT_EQ(extents.find(at), naive.find(at)) << "seed " << seed << ", step " << i << ", offset " << at;
      ASSERT_EQ(extents.next(at), naive.next(at)) << "seed " << seed << ", step " << i << ", offset " << at;
    }
  }
}

TEST(LogExtents, EachByteLiesWhereItWasWritten) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) ASSERT_NO_FATAL_FAILURE(play(seed));
}

TEST(LogExtents, WhatIsTakenBackLiesNowhere) {
  LogExtents extents;
  extents.wrote(0, 10, 1, 50);
  extents.wrote(20, 10, 2, 0);
  EXPECT_EQ(extents.take_back(30), 0U);
  EXPECT_EQ(extents.take_back(25), 5U);
  EXPECT_THAT(extents.find(20), Optional(Piece{2, 0, 5}));
  EXPECT_EQ(extents.find(25), std::nullopt);
  EXPECT_EQ(extents.take_back(4), 11U) << "the second piece, and the end of the first";
  EXPECT_THAT(extents.find(0), Optional(Piece{1, 50, 4}));
  EXPECT_EQ(extents.next(4), std::nullopt);
  EXPECT_EQ(extents.bytes(), 4U);
}

TEST(LogExtents, ALaterPartGoesOnWhereThisOneEnds) {
  LogExtents extents;
  extents.wrote(0, 10, 1, 50);
  LogExtents later;
  later.wrote(10, 5, 1, 60);
  later.wrote(20, 3, 2, 0);
  extents.append(later);
  EXPECT_THAT(extents.find(0), Optional(Piece{1, 50, 15}));
  EXPECT_THAT(extents.find(20), Optional(Piece{2, 0, 3}));
  EXPECT_EQ(extents.bytes(), 18U);
  EXPECT_EQ(later.bytes(), 8U);
}

}  // namespace launch::log_extents_test
