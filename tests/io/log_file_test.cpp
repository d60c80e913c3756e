#include "launch/io/log_file.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"
#include "log_file_driver.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch::log_file_test {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class LogFiles : public testing::Test {
 protected:
  LogFiles() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~LogFiles() override { fs::remove_all(folder_); }

  Log log(std::uint64_t max_size = 0, int max_files = 0) const { return {path(), max_size, max_files}; }
  std::string path() const { return folder_ + "/out"; }
  std::string content(int age = 0) const {
    return read_file(age == 0 ? path() : path() + "." + std::to_string(age), 1 << 24);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(folder_)) result.push_back(entry.path().filename());
    std::sort(result.begin(), result.end());
    return result;
  }

  std::string folder_ = testing::TempDir() + "log_file_XXXXXX";
  Disk disk_;
};

TEST_F(LogFiles, HaveWhatComes) {
  Log out = log();
  out.append("one\ntw");
  out.append("o\nthree");
  EXPECT_EQ(content(), "one\ntwo\nthree");
  out.finish();
  EXPECT_EQ(content(), "one\ntwo\nthree");
  EXPECT_EQ(out.lost(), 0U);
  EXPECT_EQ(out.extents.find(2), (LogExtents::Piece{0, 2, 11}));
  out.check();
}

// So that a reader who sees them does not take them for old ones.
TEST_F(LogFiles, KnowWhenBytesWereWrittenBeforeTheyAreThere) {
  ASSERT_EQ(0, ::mkfifo(path().c_str(), 0600));
  const Fd reader(::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Log out = log();
  const Time before = now();
  std::thread writer([&out] { out.append(std::string(std::size_t{4} << 20, 'x') + "\n"); });  // more than it holds
  while (bytes_waiting(reader.get()) == 0) {
  }
  EXPECT_EQ(0U, out.file.times()->begin_of(before));
  std::string bytes(std::size_t{1} << 20, 0);
  for (std::size_t got = 0; got < (std::size_t{4} << 20) + 1;)
    got += static_cast<std::size_t>(std::max<ssize_t>(::read(reader.get(), bytes.data(), bytes.size()), 0));
  writer.join();
}

TEST_F(LogFiles, BeginEmpty) {
  ASSERT_TRUE(write_file(path(), "of yesterday"));
  log();
  EXPECT_EQ(content(), "");
}

TEST_F(LogFiles, SayWhyTheyCannotBeOpened) {
  LogFile file(folder_ + "/none/out", 0, 0);
  const Status opened = file.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::system);
  EXPECT_EQ(opened.error().message,
            "cannot open " + folder_ + "/none/out for a worker's output: No such file or directory");
}

// ---- one after the other

TEST_F(LogFiles, MakeRoomForTheNext) {
  Log out = log(8, 3);
  out.append("a\nbb\nccc\n");
  EXPECT_EQ(content(1), "a\nbb\n");
  EXPECT_EQ(content(), "ccc\n");
  out.append("dd");
  out.append("ddddd\ne\n");
  EXPECT_EQ(content(2), "a\nbb\n");
  EXPECT_EQ(content(1), "ccc\nddddddd\n");  // a line that has begun is finished
  EXPECT_EQ(content(), "e\n");
  EXPECT_THAT(out.deleted, ElementsAre());
  out.check();
  out.append("fffffff\ngggg");
  EXPECT_EQ(content(2), "e\n");
  EXPECT_EQ(content(1), "fffffff\n");
  EXPECT_EQ(content(), "gggg");
  EXPECT_THAT(names(), ElementsAre("out", "out.1", "out.2"));
  EXPECT_THAT(out.deleted, ElementsAre(0, 1));
  EXPECT_EQ(out.extents.next(0), out.given.find('e'));
  std::string bytes;
  out.file.read_back({1, 0, 4}, bytes);
  EXPECT_EQ(bytes, "");
  EXPECT_EQ(out.lost(), 0U);
  out.check();
}

TEST_F(LogFiles, MayBeOneAtATime) {
  Log out = log(4, 1);
  out.append("aaa\nbbb\nccc\n");
  EXPECT_EQ(content(), "ccc\n");
  EXPECT_THAT(names(), ElementsAre("out"));
  EXPECT_THAT(out.deleted, ElementsAre(0, 1));
  out.check();
}

TEST_F(LogFiles, GrowWhenNoNextCanBeMade) {
  Log out = log(8, 3);
  fs::create_directory(path() + ".next");
  out.append("aaaaaaa\nbbb\n");
  EXPECT_EQ(content(), "aaaaaaa\nbbb\n");
  fs::remove(path() + ".next");
  out.append("c\n");
  EXPECT_EQ(content(), "c\n");
  EXPECT_EQ(content(1), "aaaaaaa\nbbb\n");
  EXPECT_EQ(out.lost(), 0U);
}

TEST_F(LogFiles, GrowWhenNoNextCanBeMadeForALineThatIsTooLong) {
  Log out = log(8, 3);
  fs::create_directory(path() + ".next");
  disk_.hold(8);
  out.append("abcdefghijkl");
  disk_.hold(unlimited);
  EXPECT_EQ(content(), "abcdefgh");
  EXPECT_EQ(out.lost(), 4U);
  out.append("mno\np");
  EXPECT_EQ(content(), "abcdefgh[launch: 8 bytes lost here: File too large]\np");
  EXPECT_EQ(out.lost(), 8U);
  out.check();
}

// ---- a full disk

TEST_F(LogFiles, OfAFullDiskHaveWholeLines) {
  Log out = log();
  disk_.hold(13);
  out.append("one\ntwo\nthree\nfour\n");
  disk_.hold(unlimited);
  EXPECT_EQ(content(), "one\ntwo\n");
  EXPECT_EQ(out.lost(), 11U);
  EXPECT_EQ(out.file.reason(), "File too large");
  out.finish();
  EXPECT_EQ(content(), "one\ntwo\n[launch: 11 bytes lost here: File too large]\n");
  EXPECT_EQ(out.lost(), 11U);
  out.check();
}

TEST_F(LogFiles, OfAFullDiskDoNotKeepTheBeginningOfALine) {
  Log out = log();
  out.append("one\nbe");
  out.append("gun");
  disk_.hold(10);
  const auto written = out.append(" and ended\n");
  disk_.hold(unlimited);
  EXPECT_EQ(written.taken_back_from, 4U);
  EXPECT_EQ(content(), "one\n");
  EXPECT_EQ(out.lost(), 16U);
  out.check();
}

TEST_F(LogFiles, FinishALineThatHasBegunBeforeTheDiskIsFull) {
  Log out = log();
  out.append("one\nbegun");
  disk_.hold(20);
  out.append(" ended\nand more\n");
  disk_.hold(unlimited);
  EXPECT_EQ(content(), "one\nbegun ended\n");
  EXPECT_EQ(out.lost(), 9U);
}

// Each line comes alone, as from a worker that says little.
TEST_F(LogFiles, SayWhereBytesWereLostAndGoOnWithTheNextLine) {
  Log out = log();
  out.append("one\n");
  disk_.hold(5);
  out.append("two\n");
  disk_.hold(unlimited);
  out.append("three\n");
  disk_.hold(56);
  out.append("four\n");
  out.append("five\n");
  disk_.hold(unlimited);
  out.append("six\n");
  out.append("seven\n");
  const std::string note = " bytes lost here: File too large]\n";
  EXPECT_EQ(content(), "one\n[launch: 4" + note + "three\n[launch: 10" + note + "six\nseven\n");
  EXPECT_EQ(out.lost(), 14U);
  out.finish();
  EXPECT_TRUE(content().ends_with("seven\n"));
  out.check();
}

TEST_F(LogFiles, DoNotHaveTheRestOfALostLine) {
  Log out = log();
  disk_.hold(0);
  out.append("one\ntw");
  disk_.hold(unlimited);
  out.append("o");
  EXPECT_EQ(content(), "");
  out.append("!\nthree\n");
  EXPECT_EQ(content(), "[launch: 9 bytes lost here: File too large]\nthree\n");
  EXPECT_EQ(out.lost(), 9U);
  out.check();
}

TEST_F(LogFiles, DoNotHaveAPartOfANote) {
  Log out = log();
  out.append("one\n");
  for (const rlim_t full : {4, 40, 48, 51}) {  // before, in and behind the note, and in the line
    disk_.hold(full);
    out.append("two\n");
    disk_.hold(unlimited);
    EXPECT_EQ(content(), "one\n");
  }
  out.finish();
  EXPECT_EQ(content(), "one\n[launch: 16 bytes lost here: File too large]\n");
  disk_.hold(10);
  Log other = log();
  other.append("a line that is too long\n");
  other.finish();
  disk_.hold(unlimited);
  EXPECT_EQ(content(), "");
}

// ---- bytes that were lost on their way to the file

TEST_F(LogFiles, SayWhatNeverCame) {
  Log out = log();
  out.append("one\nbegun");
  out.lose(" ended\nlost\nlost");
  EXPECT_EQ(out.append(" too\ntwo\n").taken_back_from, 4U);
  EXPECT_EQ(content(), "one\n[launch: 26 bytes lost here: the file system did not answer]\ntwo\n");
  EXPECT_EQ(out.lost(), 26U);
  out.append("begun");
  out.lose("lost\n");
  out.finish();
  EXPECT_EQ(content(),
            "one\n[launch: 26 bytes lost here: the file system did not answer]\ntwo\n"
            "[launch: 10 bytes lost here: the file system did not answer]\n");
  EXPECT_EQ(out.lost(), 36U);
  out.check();
}

// ---- what a console reads

TEST_F(LogFiles, AreReadInBoundedPieces) {
  Log out = log();
  out.append(std::string(300'000, 'a') + std::string(300'000, 'b') + "\n");
  std::string bytes;
  out.file.read_back({0, 299'000, 300'000}, bytes);
  EXPECT_EQ(bytes, std::string(1'000, 'a') + std::string((256 << 10) - 1'000, 'b'));
  out.file.read_back({0, 599'999, 100}, bytes);
  EXPECT_EQ(bytes, "b\n");
  out.file.read_back({0, 700'000, 100}, bytes);
  EXPECT_EQ(bytes, "");
  out.file.read_back({7, 0, 100}, bytes);
  EXPECT_EQ(bytes, "");
}

TEST_F(LogFiles, AreReadWhileTheyAreWritten) {
  Log out = log(10, 2);
  std::atomic<bool> done = false;
  std::thread console([&] {
    for (int file = 0; !done; file = (file + 1) % 200) {
      std::string bytes;
      out.file.read_back({file, 0, 5}, bytes);
      EXPECT_TRUE(std::string_view("line\n").starts_with(bytes)) << bytes;
    }
  });
  for (int i = 0; i < 400; ++i) out.append("line\n");
  done = true;
  console.join();
  EXPECT_EQ(content(), "line\nline\n");
}

}  // namespace launch::log_file_test
