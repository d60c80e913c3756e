#include "launch/io/error_folder.hpp"

#include "launch/io/files.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch::error_folder_test {

namespace fs = std::filesystem;

std::string temp_folder() {
  const std::string folder = testing::TempDir() + "error_folder_test_" + std::to_string(::getpid());
  fs::create_directories(folder);
  return folder;
}

// With the folders of one attempt.
Result<ErrorFolder> begun(Result<ErrorFolder> folder, int nproc) {
  if (!folder) return folder;
  if (Status made = folder->begin_attempt(nproc); !made) return made.error();
  return folder;
}

TEST(ErrorFolder, HasAFolderForEachLocalRankAndVanishesWhenEmpty) {
  auto folder = begun(ErrorFolder::create_temporary({temp_folder()}, "a/b"), 3);
  ASSERT_TRUE(folder);
  const std::string attempt = folder->attempt();
  EXPECT_TRUE(fs::is_directory(attempt + "/0"));
  EXPECT_TRUE(fs::is_directory(attempt + "/2"));
  EXPECT_EQ(attempt.substr(attempt.rfind('/')), "/attempt_0");
  const fs::path top = fs::path(attempt).parent_path().parent_path();
  EXPECT_EQ(fs::status(top).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(fs::path(attempt).parent_path()).permissions(), fs::perms::owner_all);
  folder->remove_empty();
  EXPECT_FALSE(fs::exists(top));
}

TEST(ErrorFolder, FoldersOfAttemptsAndRanksHaveTheModeOfTheUsersOther) {
  const mode_t before = ::umask(027);
  auto folder = begun(ErrorFolder::create_temporary({temp_folder()}, "id"), 1);
  ::umask(before);
  ASSERT_TRUE(folder);
  const auto expected = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec;
  EXPECT_EQ(fs::status(folder->attempt()).permissions(), expected);
  EXPECT_EQ(fs::status(folder->attempt() + "/0").permissions(), expected);
}

TEST(ErrorFolder, KeepsWhatAWorkerWrote) {
  auto folder = begun(ErrorFolder::create_temporary({temp_folder()}, "id"), 2);
  ASSERT_TRUE(folder);
  const std::string written = folder->attempt() + "/1/error.json";
  std::ofstream(written) << "{}";
  const std::string empty = folder->attempt() + "/0";
  folder->remove_empty();
  EXPECT_TRUE(fs::exists(written));
  EXPECT_FALSE(fs::exists(empty));
}

TEST(ErrorFolder, KeepsOfEveryAttemptWhatAWorkerWrote) {
  auto folder = begun(ErrorFolder::create_temporary({temp_folder()}, "id"), 1);
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

TEST(ErrorFolder, IsMadeAgainForTheNextAttemptWhenItWasRemoved) {
  const std::string place = temp_folder() + "/cleaned";
  for (const bool temporary : {false, true}) {
    fs::create_directories(place);
    auto folder = begun(temporary ? ErrorFolder::create_temporary({place}, "id") : ErrorFolder::create(place, "id"), 1);
    ASSERT_TRUE(folder);
    const fs::path run = fs::path(folder->attempt()).parent_path();
    fs::remove_all(temporary ? run.parent_path() : fs::path(place));
    ASSERT_TRUE(folder->begin_attempt(1));
    EXPECT_EQ(folder->attempt(), (run / "attempt_1").string());
    EXPECT_TRUE(fs::is_directory(run / "attempt_1" / "0"));
    EXPECT_EQ(fs::status(run).permissions(), fs::perms::owner_all);
    EXPECT_EQ(fs::exists(place + "/latest/attempt_1"), !temporary);
    folder->remove_empty();
    EXPECT_TRUE(fs::is_empty(place));
  }
}

// Anybody can make a folder of this name in /tmp once it is free.
TEST(ErrorFolder, IsNotMadeAgainInsideOfSomethingElse) {
  const std::string place = temp_folder() + "/trap";
  fs::create_directories(place);
  auto folder = begun(ErrorFolder::create_temporary({place}, "id"), 1);
  ASSERT_TRUE(folder);
  const fs::path top = fs::path(folder->attempt()).parent_path().parent_path();
  fs::remove_all(top);
  fs::create_directories(place + "/elsewhere");
  fs::create_symlink(place + "/elsewhere", top);
  EXPECT_FALSE(folder->begin_attempt(1));
  EXPECT_TRUE(fs::is_empty(place + "/elsewhere"));
}

TEST(ErrorFolder, SaysWhereItCouldNotBeMade) {
  for (const auto& folder : {ErrorFolder::create_temporary({"/nowhere/at/all", "/no"}, "id"),
                             ErrorFolder::create("/dev/null/at/all", "id")}) {
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

// Where the link in `place` leads; empty: there is none.
std::string latest(const std::string& place) {
  std::error_code error;
  return fs::read_symlink(place + "/latest", error).string();
}

std::string job_of(const ErrorFolder& folder) { return fs::path(folder.attempt()).parent_path().filename().string(); }

TEST(LatestJob, IsTheNewestOfTheUsersFolder) {
  const std::string place = temp_folder() + "/jobs";
  auto first = begun(ErrorFolder::create(place, "id"), 1);
  ASSERT_TRUE(first);
  EXPECT_EQ(latest(place), job_of(*first));
  EXPECT_TRUE(fs::is_directory(place + "/latest/attempt_0/0"));
  auto second = begun(ErrorFolder::create(place, "id"), 1);
  ASSERT_TRUE(second);
  EXPECT_EQ(latest(place), job_of(*second));
  first->remove_empty();
  EXPECT_EQ(latest(place), job_of(*second)) << "the older one went";
  second->remove_empty();
  EXPECT_TRUE(fs::is_empty(place));
}

TEST(LatestJob, StaysWithWhatStays) {
  const std::string place = temp_folder() + "/kept";
  auto folder = begun(ErrorFolder::create(place, "id"), 1);
  ASSERT_TRUE(folder);
  const std::string job = job_of(*folder);
  std::ofstream(folder->attempt() + "/0/stdout.log") << "x";
  folder->remove_empty();
  EXPECT_EQ(latest(place), job);
}

TEST(LatestJob, WhatIsTheUsersIsLeftAlone) {
  const std::string place = temp_folder() + "/own";
  fs::create_directories(place + "/latest/deep");
  ASSERT_TRUE(ErrorFolder::create(place, "id"));
  EXPECT_TRUE(fs::is_directory(place + "/latest/deep"));
  fs::remove_all(place + "/latest");
  std::ofstream(place + "/latest") << "text";
  ASSERT_TRUE(ErrorFolder::create(place, "id"));
  EXPECT_EQ(read_file(place + "/latest", 10), "text");
  EXPECT_EQ(std::distance(fs::directory_iterator(place), {}), 1) << "nothing else is left";
}

TEST(LatestJob, TakesThePlaceOfALinkThatLeadsNowhere) {
  const std::string place = temp_folder() + "/lost";
  fs::create_directories(place);
  fs::create_symlink("gone", place + "/latest");
  auto folder = begun(ErrorFolder::create(place, "id"), 1);
  ASSERT_TRUE(folder);
  EXPECT_EQ(latest(place), job_of(*folder));
}

TEST(LatestJob, IsNotKeptInATemporaryFolder) {
  auto folder = begun(ErrorFolder::create_temporary({temp_folder()}, "id"), 1);
  ASSERT_TRUE(folder);
  EXPECT_EQ(latest(fs::path(folder->attempt()).parent_path().parent_path().string()), "");
}

TEST(ErrorFolder, ATemporaryOneIsInTheFirstPlaceThatCanBeWrittenTo) {
  const std::string second = temp_folder() + "/second";
  fs::create_directories(second);
  auto folder = begun(ErrorFolder::create_temporary({"/nowhere", "/proc", second + "/./", "/tmp"}, "id"), 1);
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->attempt().starts_with(second + "/torchelastic_")) << folder->attempt();
  folder->remove_empty();
  EXPECT_TRUE(fs::is_empty(second)) << "nothing of the trial is left";
}

// As on a full disk, which still has room for folders.
TEST(ErrorFolder, APlaceThatTakesOnlyFoldersIsNoneForATemporaryOne) {
  const std::string place = temp_folder() + "/full";
  fs::create_directories(place);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit no_bytes{0, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &no_bytes);
  auto folder = ErrorFolder::create_temporary({place}, "id");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("File too large"), std::string::npos) << folder.error().message;
  EXPECT_TRUE(fs::is_empty(place));
}

// Where the kernel finds PLACE.
std::string resolved_attempt(const std::string& place) {
  auto folder = begun(ErrorFolder::create(place, "id"), 1);
  if (!folder) return folder.error().message;
  EXPECT_EQ(folder->attempt().find("//"), std::string::npos) << folder->attempt();
  return fs::canonical(fs::path(folder->attempt()).parent_path().parent_path()).string();
}

TEST(ErrorFolder, APathOfTheUsersIsTakenAsTheKernelDoes) {
  const std::string top = fs::canonical(temp_folder()).string();
  fs::create_directories(top + "/far/away");
  fs::remove(top + "/link");
  fs::create_directory_symlink(top + "/far/away", top + "/link");
  EXPECT_EQ(resolved_attempt(top + "/link/../x"), top + "/far/x");
  EXPECT_EQ(resolved_attempt(top + "/new/../y"), top + "/y");
  EXPECT_TRUE(fs::is_directory(top + "/new"));
  EXPECT_EQ(resolved_attempt(top + "/slash///"), top + "/slash");
}

TEST(ErrorFolder, OfALongRunIdAsMuchIsInItsNameAsFitsThere) {
  const auto name_of = [](const std::string& run_id) {
    auto folder = begun(ErrorFolder::create(temp_folder(), run_id), 1);
    if (!folder) return folder.error().message;
    const std::string name = fs::path(folder->attempt()).parent_path().filename().string();
    return name.substr(0, name.size() - 8);
  };
  EXPECT_EQ(name_of(std::string(246, 'i')), std::string(246, 'i') + "_");
  EXPECT_EQ(name_of(std::string(300, 'i')), std::string(246, 'i') + "_");
  EXPECT_EQ(name_of(std::string(245, 'i') + "\u00e9"), std::string(245, 'i') + "_") << "no half character";
  EXPECT_EQ(name_of(" s "), " s _");
}

TEST(LatestJob, MayHaveTheLongestName) {
  const std::string place = temp_folder() + "/long";
  auto folder = begun(ErrorFolder::create(place, std::string(300, 'i')), 1);
  ASSERT_TRUE(folder);
  EXPECT_EQ(latest(place), job_of(*folder));
}

}  // namespace launch::error_folder_test
