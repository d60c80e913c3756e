#include "launch/io/log_pump.hpp"

#include "launch/core/random.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"
#include "run.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace launch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A folder, and a pipe that stands for the console.
class LogPumpTest : public testing::Test {
 protected:
  LogPumpTest() : folder_(testing::TempDir() + "log_pump_" + std::to_string(::getpid())) {
    ::signal(SIGPIPE, SIG_IGN);  // as launch does
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    in_ = Fd(ends[0]);
    out_ = Fd(ends[1]);
  }

  FollowedFile follow(const std::string& name, const std::string& prefix) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path).flush();
    return {path, out_.get(), prefix, {}, {}};
  }

  void append(const FollowedFile& file, const std::string& text) { std::ofstream(file.path, std::ios::app) << text; }

  // Reads the console until it has said so many bytes, or a deadline.
  std::string hear(std::size_t bytes) {
    std::string heard;
    while (heard.size() < bytes) {
      pollfd fd{in_.get(), POLLIN, 0};
      if (::poll(&fd, 1, 5000) != 1) break;
      char chunk[65536];
      const ssize_t got = ::read(in_.get(), chunk, std::min(sizeof chunk, bytes - heard.size()));
      if (got <= 0) break;
      heard.append(chunk, static_cast<std::size_t>(got));
    }
    return heard;
  }

  std::string folder_;
  Fd in_, out_;
  boost::asio::io_context io_{1};
};

TEST_F(LogPumpTest, ShowsLinesAsTheyAreWrittenAndTheRestAtTheEnd) {
  const FollowedFile a = follow("a", "[0]:");
  LogPump pump(io_.get_executor(), {a});
  append(a, "one\ntwo");
  EXPECT_EQ(hear(8), "[0]:one\n");
  append(a, "!\n");
  EXPECT_EQ(hear(9), "[0]:two!\n");
  append(a, "three");
  EXPECT_TRUE(run(io_, pump.drain(later(now(), 5s))));
  EXPECT_EQ(hear(10), "[0]:three\n");
}

TEST_F(LogPumpTest, AnUnfinishedLineIsShownAfterAMoment) {
  const FollowedFile a = follow("a", "");
  LogPump pump(io_.get_executor(), {a});
  append(a, "Password:");
  EXPECT_EQ(hear(10), "Password:\n");
  EXPECT_TRUE(run(io_, pump.drain(later(now(), 5s))));
}

TEST_F(LogPumpTest, LinesOfManyFilesAreNotMixed) {
  std::vector<FollowedFile> files;
  for (int i = 0; i < 8; ++i) files.push_back(follow(std::to_string(i), std::to_string(i) + ":"));
  LogPump pump(io_.get_executor(), files);
  Random random(3);
  std::size_t expected = 0;
  std::vector<int> count(files.size());
  for (int i = 0; i < 2000; ++i) {
    const auto who = random.next() % files.size();
    const std::string line = std::to_string(count[who]++) + std::string(random.next() % 50, 'x') + "\n";
    const auto cut = random.next() % line.size();
    append(files[who], line.substr(0, cut));
    append(files[who], line.substr(cut));
    expected += line.size() + 2;
  }
  std::string heard = hear(expected);
  EXPECT_TRUE(run(io_, pump.drain(later(now(), 5s))));
  std::vector<int> next(files.size());
  std::istringstream lines(heard);
  for (std::string line; std::getline(lines, line);) {
    const auto who = static_cast<std::size_t>(line[0] - '0');
    ASSERT_LT(who, files.size()) << line;
    EXPECT_EQ(std::stoi(line.substr(2)), next[who]++) << line;
  }
  EXPECT_EQ(next, count);
}

TEST_F(LogPumpTest, LinesThatHoldAFilterAreCopied) {
  FollowedFile a = follow("a", "[0]:");
  a.filters = {"loss", "x,y"};
  a.filtered_file = folder_ + "/filtered";
  LogPump pump(io_.get_executor(), {a});
  append(a, "loss 1\nnothing\nx,y\n");
  EXPECT_TRUE(run(io_, pump.drain(later(now(), 5s))));
  EXPECT_EQ(read_file(a.filtered_file, 1000), "[0]:loss 1\n[0]:x,y\n");
}

TEST_F(LogPumpTest, AConsoleThatTakesNothingHoldsNobodyUp) {
  const FollowedFile a = follow("a", "");
  LogPump pump(io_.get_executor(), {a});
  append(a, std::string(std::size_t{1} << 20, 'x') + "\n");
  EXPECT_FALSE(run(io_, pump.drain(later(now(), 50ms))));
  in_.reset();
  EXPECT_TRUE(run(io_, pump.drain(later(now(), 5s))));
}

TEST_F(LogPumpTest, AClosedConsoleIsNoError) {
  const FollowedFile a = follow("a", "");
  in_.reset();
  LogPump pump(io_.get_executor(), {a});
  append(a, "one\n");
  EXPECT_TRUE(run(io_, pump.drain(later(now(), 5s))));
}

TEST_F(LogPumpTest, AFilterLooksAtTheLineAndNotAtItsPrefix) {
  FollowedFile a = follow("a", "[default0]:");
  a.filters = {"default"};
  a.filtered_file = folder_ + "/filtered";
  LogPump pump(io_.get_executor(), {a});
  append(a, "one\nby default\n");
  EXPECT_TRUE(run(io_, pump.drain(later(now(), 5s))));
  EXPECT_EQ(read_file(a.filtered_file, 1000), "[default0]:by default\n");
}

TEST_F(LogPumpTest, AConsoleThatDoesNotBlockLosesNothing) {
  ASSERT_EQ(::fcntl(out_.get(), F_SETFL, O_NONBLOCK), 0);
  const FollowedFile a = follow("a", "");
  LogPump pump(io_.get_executor(), {a});
  const std::string line = std::string(99, 'x') + "\n";
  std::string text;
  for (int i = 0; i < 5000; ++i) text += line;
  append(a, text);
  EXPECT_FALSE(run(io_, pump.drain(later(now(), 20ms))));
  EXPECT_EQ(hear(text.size()), text);
  EXPECT_TRUE(run(io_, pump.drain(later(now(), 5s))));
}

TEST_F(LogPumpTest, AWorkerThatNeverStopsDoesNotSilenceTheOthers) {
  const FollowedFile busy = follow("busy", "b:");
  const FollowedFile quiet = follow("quiet", "q:");
  append(busy, std::string(std::size_t{8} << 20, 'x') + "\n");
  append(quiet, "hello\n");
  LogPump pump(io_.get_executor(), {busy, quiet});
  // Each file in turn: the quiet one's line comes before the busy one has been read to its end.
  const std::string heard = hear(std::size_t{1} << 20);
  EXPECT_NE(heard.find("q:hello\n"), std::string::npos);
  in_.reset();
  EXPECT_TRUE(run(io_, pump.drain(later(now(), 10s))));
}

}  // namespace
}  // namespace launch
