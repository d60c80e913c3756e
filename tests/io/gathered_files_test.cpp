#include "launch/io/gathered_files.hpp"

#include "launch/io/files.hpp"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace launch::gathered_files_test {

using testing::ElementsAre;
using testing::IsEmpty;

class GatheredFiles : public testing::Test {
 protected:
  GatheredFiles() { folder_ = ::mkdtemp(name_.data()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string name_ = testing::TempDir() + "gathered-XXXXXX";
  std::string folder_;
};

TEST_F(GatheredFiles, AreFoundInAllFoldersButNotBehindLinks) {
  for (const char* name : {"/b/1/stdout.log", "/a.log", "/b/0/stderr.log"})
    EXPECT_TRUE(write_piece(folder_ + name, "x", true));
  std::filesystem::create_directory_symlink(folder_ + "/b", folder_ + "/latest");
  std::filesystem::create_symlink(folder_ + "/a.log", folder_ + "/c.log");
  EXPECT_THAT(files_below(folder_), ElementsAre("a.log", "b/0/stderr.log", "b/1/stdout.log"));
  EXPECT_THAT(files_below(folder_ + "/none"), IsEmpty());
}

TEST_F(GatheredFiles, PiecesMakeTheFileAgain) {
  const std::string from = folder_ + "/from", to = folder_ + "/x/y/to";
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i);
  ASSERT_TRUE(write_file(from, bytes));
  ASSERT_TRUE(make_folders(folder_ + "/x/y"));
  ASSERT_TRUE(write_file(to, "of an older job"));
  for (std::uint64_t at = 0;;) {
    const auto piece = read_piece(from, at, 300);
    ASSERT_TRUE(piece);
    ASSERT_TRUE(write_piece(to, *piece, at == 0));
    at += piece->size();
    if (piece->size() < 300) break;
  }
  EXPECT_EQ(read_file(to, 10'000), bytes);
  EXPECT_EQ(read_piece(from, 5000, 300).value(), "");
}

TEST_F(GatheredFiles, WhatIsWrongIsSaid) {
  EXPECT_EQ(read_piece(folder_ + "/none", 0, 10).error().message, "No such file or directory");
  EXPECT_EQ(write_piece(folder_ + "/none", "x", false).error().message, "No such file or directory");
  ASSERT_TRUE(write_piece(folder_ + "/file", "x", true));
#ifdef _LIBCPP_VERSION
  constexpr const char* in_the_way = "File exists";
#else
  constexpr const char* in_the_way = "Not a directory";
#endif
  EXPECT_EQ(write_piece(folder_ + "/file/inside", "x", true).error().message, in_the_way);
  EXPECT_EQ(make_folders(folder_ + "/file").error().message, in_the_way);
  EXPECT_EQ(write_piece("/dev/full", "x", true).error().message, "No space left on device");
}

}  // namespace launch::gathered_files_test
