#include "launch/io/files.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace launch::files_test {

namespace fs = std::filesystem;

std::string temp_folder() {
  const std::string folder = testing::TempDir() + "files_test_" + std::to_string(::getpid());
  fs::create_directories(folder);
  return folder;
}

TEST(Files, ReadsAtMostTheLimit) {
  const std::string path = temp_folder() + "/text";
  std::ofstream(path) << "0123456789";
  EXPECT_EQ(read_file(path, 4), "0123");
  EXPECT_EQ(read_file(path, 100), "0123456789");
  EXPECT_EQ(read_file(path + "/nothing", 100), "");
}

TEST(Files, ReadsTheEndOfWhatGrows) {
  const std::string path = temp_folder() + "/tail";
  std::ofstream(path) << "0123456789";
  EXPECT_EQ(read_tail(path, 4), "6789");
  EXPECT_EQ(read_tail(path, 100), "0123456789");
  EXPECT_EQ(file_size(path), 10U);
  EXPECT_EQ(read_tail("", 4), "");
  EXPECT_EQ(read_tail(path + "/nothing", 4), "");
  EXPECT_EQ(file_size(temp_folder()), 0U) << "a folder";
}

TEST(Files, AnInputThatCannotBeOpenedIsAnErrorThatNamesIt) {
  const auto fd = open_input("/nowhere/at/all");
  ASSERT_FALSE(fd);
  EXPECT_NE(fd.error().message.find("/nowhere/at/all"), std::string::npos);
}

TEST(Files, AnOutputThatCannotBeOpenedIsAnErrorThatNamesIt) {
  const auto fd = open_output("/nowhere/at/all");
  ASSERT_FALSE(fd);
  EXPECT_NE(fd.error().message.find("/nowhere/at/all"), std::string::npos);
}

TEST(Files, WhatIsInMemoryIsKnown) {
  EXPECT_FALSE(is_in_memory("/proc"));
  EXPECT_FALSE(is_in_memory("/missing/folder"));
  struct statfs info {};
  if (::statfs("/dev/shm", &info) != 0 || info.f_type != TMPFS_MAGIC) GTEST_SKIP() << "/dev/shm is not in memory here";
  EXPECT_TRUE(is_in_memory("/dev/shm"));
}

TEST(Files, ALinkIsKnownWhereverItLeads) {
  const std::string folder = temp_folder();
  const std::string link = folder + "/link";
  fs::remove(link);
  EXPECT_FALSE(is_link(link));
  fs::create_symlink(folder + "/nothing", link);
  EXPECT_TRUE(is_link(link));
  EXPECT_FALSE(is_link(folder));
}

}  // namespace launch::files_test
