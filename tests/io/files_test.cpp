#include "launch/io/files.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
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

TEST(Files, ReadsTheWholeOfWhatTheUserHasNamed) {
  const std::string path = temp_folder() + "/whole";
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + '\n';
  std::ofstream(path) << text;
  const auto whole = read_whole(path, text.size());
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_TRUE(*whole == text) << whole->size();
  std::ofstream(path).close();
  EXPECT_EQ(read_whole(path, 0).value(), "");
}

TEST(Files, OfAWholeFileMoreThanTheLimitIsAnError) {
  const std::string path = temp_folder() + "/whole";
  std::ofstream(path) << "0123456789";
  for (const std::string& what : {path, std::string("/dev/zero")}) {
    const auto whole = read_whole(what, 9);
    ASSERT_FALSE(whole) << what;
    EXPECT_EQ(whole.error().code, ErrorCode::usage);
    EXPECT_EQ(whole.error().message, "it has more than 9 bytes");
  }
}

TEST(Files, AWholeFileThatCannotBeReadIsAnErrorInTheSystemsWords) {
  const auto missing = read_whole(temp_folder() + "/nothing", 10), folder = read_whole(temp_folder(), 10);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "No such file or directory");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "Is a directory");
}

// The pipe becomes our standard input, and is given in two halves, the second when the first has been read.
class Halves {
 public:
  explicit Halves(int flags) : before_(::dup(STDIN_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | flags), 0);
    EXPECT_EQ(::dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    ::close(ends[0]);
    writer_ = Fd(ends[1]);
    EXPECT_TRUE(write_all(writer_.get(), "first "));
    second_ = std::thread([this] {
      while (bytes_waiting(STDIN_FILENO) > 0) std::this_thread::yield();
      EXPECT_TRUE(write_all(writer_.get(), "second"));
      writer_.reset();
    });
  }
  Halves(const Halves&) = delete;
  Halves& operator=(const Halves&) = delete;
  ~Halves() {
    second_.join();
    ::dup2(before_.get(), STDIN_FILENO);
  }

 private:
  Fd before_, writer_;
  std::thread second_;
};

TEST(Files, AFileIsReplacedAsAWhole) {
  const std::string folder = temp_folder() + "/replaced";
  fs::remove_all(folder);
  fs::create_directory(folder);
  const std::string path = folder + "/m.prom";
  ASSERT_TRUE(replace_file(path, "one\n"));
  const std::ifstream reader(path);  // has opened the old one
  ASSERT_TRUE(replace_file(path, "two\n"));
  std::stringstream before;
  before << reader.rdbuf();
  EXPECT_EQ(before.str(), "one\n");
  EXPECT_EQ(read_file(path, 100), "two\n");
  EXPECT_EQ(1, std::distance(fs::directory_iterator(folder), fs::directory_iterator())) << "nothing is left beside it";
}

TEST(Files, AFileThatCannotBeReplacedIsLeftAsItWas) {
  const std::string folder = temp_folder() + "/replaced";
  fs::remove_all(folder);
  fs::create_directories(folder + "/m.prom/inside");
  EXPECT_EQ(replace_file(folder + "/m.prom", "x").error().message,
            "it is a directory; only a regular file can be replaced");
  EXPECT_EQ(replace_file(folder + "/missing/m.prom", "x").error().message, "No such file or directory");
  EXPECT_EQ(1, std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Files, OfWhatIsLeftOnlyARegularFileIsRemoved) {
  const std::string folder = temp_folder() + "/old";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder + "/report") << "{}";
  fs::create_symlink(folder + "/report", folder + "/link");
  for (const char* kept : {"", "/link"}) EXPECT_TRUE(remove_old(folder + kept)) << kept;
  EXPECT_TRUE(fs::exists(folder + "/report"));
  EXPECT_TRUE(fs::is_symlink(folder + "/link"));
  EXPECT_TRUE(remove_old(folder + "/report"));
  EXPECT_FALSE(fs::exists(folder + "/report"));
  EXPECT_TRUE(remove_old(folder + "/report")) << "nothing is there";
  EXPECT_TRUE(remove_old(""));
}

TEST(Files, WhetherAFileCouldBeWrittenIsKnownBefore) {
  const std::string folder = temp_folder() + "/places";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder + "/old") << "{}";
  for (const std::string& path : {folder + "/new", folder + "/old", std::string("/dev/null")})
    EXPECT_TRUE(may_write(path)) << path;
  const std::pair<std::string, std::string> rows[] = {{folder, "it is a directory"},
                                                      {folder + "/no/file", "No such file or directory"},
                                                      {folder + "/old/file", "Not a directory"}};
  for (const auto& [path, what] : rows) EXPECT_EQ(may_write(path).error().message, what) << path;
  EXPECT_FALSE(fs::exists(folder + "/new")) << "nothing was made";
  EXPECT_EQ(read_file(folder + "/old", 10), "{}");
}

TEST(Files, WhatIsNoRegularFileIsNotReplaced) {
  const std::string folder = temp_folder() + "/replaced";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder + "/real") << "kept";
  fs::create_symlink(folder + "/real", folder + "/link");
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  const std::pair<std::string, std::string> rows[] = {{"/dev/null", "a device"},
                                                      {folder, "a directory"},
                                                      {folder + "/link", "a symbolic link"},
                                                      {folder + "/pipe", "a pipe"}};
  for (const auto& [path, what] : rows) {
    const std::string expected = "it is " + what + "; only a regular file can be replaced";
    const Status may = may_replace(path), replaced = replace_file(path, "x");
    ASSERT_TRUE(!may && !replaced) << path;
    EXPECT_EQ(may.error().message, expected);
    EXPECT_EQ(replaced.error().message, expected);
  }
  EXPECT_TRUE(may_replace(folder + "/real") && may_replace(folder + "/missing"));
  EXPECT_EQ(read_file(folder + "/real", 100), "kept");
}

TEST(Files, WhatLiesWhereTheUnfinishedFileGoesIsNotWrittenTo) {
  const std::string folder = temp_folder() + "/replaced";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder + "/victim") << "kept";
  fs::create_symlink(folder + "/victim", folder + "/m.prom.new");
  ASSERT_TRUE(replace_file(folder + "/m.prom", "one\n"));
  EXPECT_EQ(read_file(folder + "/victim", 100), "kept");
  EXPECT_FALSE(is_link(folder + "/m.prom"));
  fs::create_directories(folder + "/m.prom.new/inside");
  const Status refused = replace_file(folder + "/m.prom", "two\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, folder + "/m.prom.new is in the way and cannot be removed");
  EXPECT_EQ(read_file(folder + "/m.prom", 100), "one\n");
}

TEST(Files, APipeIsReadToItsEnd) {
  const Halves input(0);
  EXPECT_EQ(read_whole("/proc/self/fd/0", 100).value(), "first second");
}

TEST(Files, ADashIsTheStandardInput) {
  const Halves input(0);
  EXPECT_EQ(read_whole("-", 100).value(), "first second");
}

// As after a program that shares it, such as some shells' and Node.js.
TEST(Files, AStandardInputThatDoesNotBlockIsWaitedFor) {
  const Halves input(O_NONBLOCK);
  const auto whole = read_whole("-", 100);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(*whole, "first second");
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

TEST(Files, DescriptorsOfOneFileAreKnown) {
  std::array<int, 2> pipe{}, other{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(other.data(), O_CLOEXEC), 0);
  const Fd reader(pipe[0]), writer(pipe[1]), other_reader(other[0]), other_writer(other[1]);
  const Fd again(::fcntl(writer.get(), F_DUPFD_CLOEXEC, 0));
  EXPECT_TRUE(is_same_file(writer.get(), again.get()));
  EXPECT_FALSE(is_same_file(writer.get(), other_writer.get()));
  EXPECT_FALSE(is_same_file(-1, -1));
}

}  // namespace launch::files_test
