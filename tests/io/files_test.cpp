#include "launch/io/files.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace launch {
namespace {

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

// With the folders of one attempt.
Result<ErrorFolder> begun(Result<ErrorFolder> folder, int nproc) {
  if (!folder) return folder;
  if (Status made = folder->begin_attempt(nproc); !made) return made.error();
  return folder;
}

TEST(ErrorFolder, HasAFolderForEachLocalRankAndVanishesWhenEmpty) {
  auto folder = begun(ErrorFolder::create_temporary(temp_folder(), "a/b"), 3);
  ASSERT_TRUE(folder);
  const std::string attempt = folder->attempt();
  EXPECT_TRUE(fs::is_directory(attempt + "/0"));
  EXPECT_TRUE(fs::is_directory(attempt + "/2"));
  EXPECT_EQ(attempt.substr(attempt.rfind('/')), "/attempt_0");
  const fs::path top = fs::path(attempt).parent_path().parent_path();
  EXPECT_EQ(fs::status(top).permissions(), fs::perms::owner_all);
  folder->remove_empty();
  EXPECT_FALSE(fs::exists(top));
}

TEST(ErrorFolder, KeepsWhatAWorkerWrote) {
  auto folder = begun(ErrorFolder::create_temporary(temp_folder(), "id"), 2);
  ASSERT_TRUE(folder);
  const std::string written = folder->attempt() + "/1/error.json";
  std::ofstream(written) << "{}";
  const std::string empty = folder->attempt() + "/0";
  folder->remove_empty();
  EXPECT_TRUE(fs::exists(written));
  EXPECT_FALSE(fs::exists(empty));
}

TEST(ErrorFolder, KeepsOfEveryAttemptWhatAWorkerWrote) {
  auto folder = begun(ErrorFolder::create_temporary(temp_folder(), "id"), 1);
  ASSERT_TRUE(folder);
  const std::string first = folder->attempt();
  ASSERT_TRUE(folder->begin_attempt(1));
  EXPECT_EQ(folder->attempt(), first.substr(0, first.size() - 1) + "1");
  EXPECT_FALSE(fs::exists(first));
  std::ofstream(folder->attempt() + "/0/error.json") << "{}";
  const std::string second = folder->attempt();
  ASSERT_TRUE(folder->begin_attempt(1));
  folder->remove_empty();
  EXPECT_TRUE(fs::exists(second + "/0/error.json"));
}

TEST(ErrorFolder, SaysWhereItCouldNotBeMade) {
  for (const auto& folder :
       {ErrorFolder::create_temporary("/nowhere/at/all", "id"), ErrorFolder::create("/dev/null/at/all", "id")}) {
    ASSERT_FALSE(folder);
    EXPECT_NE(folder.error().message.find("/at/all"), std::string::npos);
    EXPECT_NE(folder.error().message.find("--log-dir or TMPDIR"), std::string::npos);
  }
}

TEST(ErrorFolder, InAFolderOfTheUsersIsMadeWithItAndLeavesItBehind) {
  const std::string place = temp_folder() + "/logs/deep";
  auto folder = begun(ErrorFolder::create(place, "id"), 1);
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->attempt().substr(0, place.size() + 4), place + "/id_");
  folder->remove_empty();
  EXPECT_TRUE(fs::is_empty(place));
}

TEST(Files, AnOutputThatCannotBeOpenedIsAnErrorThatNamesIt) {
  const auto fd = open_output("/nowhere/at/all");
  ASSERT_FALSE(fd);
  EXPECT_NE(fd.error().message.find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace launch
