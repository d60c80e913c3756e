#include "launch/io/message_console.hpp"

#include "launch/io/fd.hpp"
#include "launch/io/line_sink.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::message_console_test {

using namespace std::chrono_literals;

// What a terminal shows of these bytes, row by row.
class Screen {
 public:
  void take(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes.substr(i, 3) == "\x1b[K") {
        rows_.back().resize(std::min(rows_.back().size(), column_));
        i += 2;
      } else if (bytes[i] == '\r') {
        column_ = 0;
      } else if (bytes[i] == '\n') {
        rows_.emplace_back();
      } else {
        rows_.back().resize(std::max(rows_.back().size(), column_ + 1), ' ');
        rows_.back()[column_++] = bytes[i];
      }
    }
  }
  std::string text() const {
    std::string all;
    for (const std::string& row : rows_) all += (all.empty() ? "" : "\n") + row;
    return all;
  }

 private:
  std::vector<std::string> rows_{""};
  std::size_t column_ = 0;
};

class MessageConsoleTest : public testing::Test {
 protected:
  MessageConsoleTest() {
    int ours = -1, theirs = -1;
    EXPECT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, nullptr), 0);
    screen_ = Fd(ours);
    terminal_ = Fd(theirs);
    console_.open(terminal_.get());
  }

  // All that was written up to now: the kernel passes on a pseudo-terminal's bytes when it has time for it.
  std::string shown() {
    console_.flush(20s);
    const std::string mark = "\x05";
    EXPECT_TRUE(write_all(terminal_.get(), mark));
    std::string heard;
    pollfd ready{screen_.get(), POLLIN, 0};
    std::array<char, 4096> chunk;
    while (!heard.ends_with(mark) && ::poll(&ready, 1, 20'000) == 1) {
      const ssize_t got = ::read(screen_.get(), chunk.data(), chunk.size());
      if (got <= 0) break;
      heard.append(chunk.data(), static_cast<std::size_t>(got));
    }
    heard.resize(heard.size() - std::min(heard.size(), mark.size()));
    return heard;
  }
  static void write_line(LineSink& sink, const std::string& line) {
    sink.take([&](std::string& text) { text += line + "\n"; });
    sink.write();
  }

  Fd screen_, terminal_;
  MessageConsole console_;
};

TEST_F(MessageConsoleTest, ProgressStaysBelowTheLinesOfWorkers) {
  LineSink sink(terminal_.get(), console_);
  Screen screen;
  write_line(sink, "first");
  console_.show_progress("waiting: 1");
  write_line(sink, "second");
  screen.take(shown());
  EXPECT_EQ(screen.text(), "first\nsecond\nwaiting: 1");
  console_.show_progress("waiting: 2");
  console_.say("launch: fact\n");
  write_line(sink, "third");
  screen.take(shown());
  EXPECT_EQ(screen.text(), "first\nsecond\nlaunch: fact\nthird\n");
  console_.show_progress("waiting: 3");
  console_.end_progress();
  write_line(sink, "fourth");
  screen.take(shown());
  EXPECT_EQ(screen.text(), "first\nsecond\nlaunch: fact\nthird\nfourth\n");
}

TEST_F(MessageConsoleTest, WhatIsSaidInATurnIsALineOfItsOwn) {
  console_.show_progress("waiting");
  std::string before;
  {
    const MessageConsole::Turn turn(console_);
    before = turn.opening();
    console_.say("launch: fact\n");
    console_.show_progress("waiting still");
  }
  Screen screen;
  screen.take(shown());
  EXPECT_EQ(screen.text(), "launch: fact\nwaiting still");
  EXPECT_EQ(before, "\r\x1b[K");
}

TEST_F(MessageConsoleTest, ManyAtOnceShareATerminal) {
  constexpr int lines = 300;
  std::atomic<bool> over = false;
  std::string heard;
  std::thread reader([&] {
    std::array<char, 4096> chunk;
    while (heard.find("end\r\n") == std::string::npos) {
      const ssize_t got = ::read(screen_.get(), chunk.data(), chunk.size());
      if (got <= 0) break;
      heard.append(chunk.data(), static_cast<std::size_t>(got));
    }
  });
  const auto speak = [&](char who) {
    LineSink sink(terminal_.get(), console_);
    for (int i = 0; i < lines; ++i) write_line(sink, std::string(20, who));
  };
  std::thread a(speak, 'a');
  std::thread b(speak, 'b');
  std::thread c([&] {
    while (!over) console_.show_progress("waiting");
  });
  for (int i = 0; i < lines; ++i) console_.say(std::string(20, 'm') + "\n");
  a.join();
  b.join();
  over = true;
  c.join();
  console_.end_progress();
  console_.say("end\n");
  EXPECT_TRUE(console_.flush(20s));
  reader.join();
  Screen screen;
  screen.take(heard);
  std::string whole = screen.text();
  for (const char who : {'a', 'b', 'm'}) {
    int count = 0;
    const std::string line = std::string(20, who) + "\n";
    for (auto at = whole.find(line); at != std::string::npos; at = whole.find(line)) {
      whole.erase(at, line.size());
      ++count;
    }
    EXPECT_EQ(count, lines) << who;
  }
  EXPECT_EQ(whole, "end\n");
}

TEST_F(MessageConsoleTest, NoLineChangesWhileWorkersHaveTheTerminal) {
  EXPECT_EQ(console_.progress_interval(), 1s);
  console_.lend(terminal_.get());
  EXPECT_EQ(console_.progress_interval(), 10s);
  EXPECT_TRUE(write_all(terminal_.get(), "loss 0.1"));
  console_.show_progress("waiting: 1");
  EXPECT_EQ(shown(), "loss 0.1waiting: 1\r\n");
  EXPECT_TRUE(write_all(terminal_.get(), "last words"));
  console_.take_back();
  EXPECT_EQ(console_.progress_interval(), 1s);
  console_.show_progress("waiting: 2");
  console_.show_progress("waiting: 3");
  console_.end_progress();
  EXPECT_EQ(shown(), "last wordswaiting: 2\r\n\rwaiting: 3\x1b[K\r\x1b[K");
}

TEST_F(MessageConsoleTest, WhatWorkersHaveIsNotAlwaysOurTerminal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd in(ends[0]), out(ends[1]);
  console_.lend(out.get());
  EXPECT_EQ(console_.progress_interval(), 1s);
  EXPECT_FALSE(console_.shares(out.get()));
  EXPECT_TRUE(console_.shares(terminal_.get()));
  MessageConsole plain;
  plain.open(out.get());
  EXPECT_FALSE(plain.shares(out.get()));
  EXPECT_EQ(plain.progress_interval(), 30s);
  plain.show_progress("waiting");
  std::array<char, 64> text{};
  EXPECT_EQ(::read(in.get(), text.data(), text.size()), 8);
  EXPECT_EQ(std::string(text.data()), "waiting\n");
}

// A process that is in the background of the terminal, which is its own.
TEST_F(MessageConsoleTest, InTheBackgroundProgressIsALineNowAndThen) {
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setsid();
    ::ioctl(terminal_.get(), TIOCSCTTY, 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      MessageConsole own;
      own.open(terminal_.get());
      own.show_progress("waiting: 1");
      own.show_progress("waiting: 2");
      own.end_progress();
      own.show_progress("another: 1");
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    (void)!::write(terminal_.get(), "\x06", 1);
    ::_exit(0);
  }
  std::string heard;
  pollfd ready{screen_.get(), POLLIN, 0};
  while (!heard.ends_with("\x06") && ::poll(&ready, 1, 20'000) == 1) {
    char one = 0;
    if (::read(screen_.get(), &one, 1) != 1) break;
    heard += one;
  }
  int status = 0;
  ::waitpid(leader, &status, 0);
  EXPECT_EQ(heard, "waiting: 1\r\nanother: 1\r\n\x06");
}

TEST(MessageConsole, OneThatIsNotOpenSaysNothing) {
  MessageConsole console;
  console.say("lost\n");
  console.show_progress("lost");
  console.end_progress();
  EXPECT_TRUE(console.flush(0s));
}

}  // namespace launch::message_console_test
