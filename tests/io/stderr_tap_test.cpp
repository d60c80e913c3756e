#include "launch/io/stderr_tap.hpp"

#include "listener.hpp"
#include "no_threads.hpp"
#include "run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace launch::stderr_tap_test {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Duration long_enough = 20s;

class StderrTapTest : public testing::Test {
 protected:
  StderrTapTest() {
    ::signal(SIGPIPE, SIG_IGN);  // as launch does
    make(console_.out.get());
  }
  // The thread must end before what it uses.
  void TearDown() override {
    console_.in.reset();
    if (tap_) drain();
  }

  void make(int console) {
    tap_.emplace(io_.get_executor(), StderrTap::Shown{console, "standard output"},
                 [this](bool ends_line) { ends_line_ = ends_line; });
  }
  Fd add(bool shown = true) {
    auto writer = tap_->add(shown);
    EXPECT_TRUE(writer);
    return *std::move(writer);
  }
  static void say(const Fd& writer, std::string_view text) { EXPECT_TRUE(write_all(writer.get(), text)); }
  StderrTap::Outcome drain(Duration patience = long_enough) { return run(io_, tap_->drain(patience)); }

  Listener console_;
  boost::asio::io_context io_{1};
  std::atomic<bool> ends_line_ = true;
  std::optional<StderrTap> tap_;
};

TEST_F(StderrTapTest, WhatPassesIsCounted) {
  const auto tally = std::make_shared<StreamTally>();
  auto writer = tap_->add(true, {tally, {}});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(tap_->begin());
  say(*writer, "one\ntwo\nno end");
  EXPECT_EQ(console_.hear(14), "one\ntwo\nno end");
  EXPECT_TRUE(drain().shown);
  EXPECT_TRUE(tally->passes());
  EXPECT_EQ(2U, tally->lines());
  EXPECT_EQ(14U, tally->bytes());
  EXPECT_EQ(0U, tally->lost());
}

TEST_F(StderrTapTest, ShowsEachByteAtOnceAndAddsNone) {
  const Fd worker = add();
  ASSERT_TRUE(tap_->begin());
  for (const std::string& text :
       {std::string(" 10%|#"), std::string("\r 20%|##"), std::string("\x1b[31mred\x1b[0m"), std::string("\0\n", 2)}) {
    say(worker, text);
    EXPECT_EQ(console_.hear(text.size()), text);
  }
  say(worker, "no end");
  EXPECT_EQ(console_.hear(6), "no end");
  EXPECT_TRUE(drain().shown);
  EXPECT_FALSE(ends_line_);
  EXPECT_TRUE(console_.silent());
}

TEST_F(StderrTapTest, KeepsTheLastOfEachStream) {
  const Fd one = add(), other = add(false);
  ASSERT_TRUE(tap_->begin());
  std::thread reader([this] { console_.hear(3 * StderrTap::kept + 4); });
  say(one, std::string(3 * StderrTap::kept, 'x') + "end\n");
  say(other, "not shown");
  reader.join();
  const std::string last = tap_->tail(0);
  EXPECT_EQ(last.size(), StderrTap::kept);
  EXPECT_EQ(last.substr(last.size() - 5), "xend\n");
  EXPECT_EQ(tap_->tail(1), "not shown");
  EXPECT_TRUE(console_.silent());
}

TEST_F(StderrTapTest, ALongLineOfOneIsNotTornByAnother) {
  const Fd one = add(), other = add();
  ASSERT_TRUE(tap_->begin());
  const std::string line = std::string(50'000, 'x') + "\n";  // which a pipe takes at once
  std::atomic<bool> stop = false;
  std::thread noise([&] {
    while (!stop) say(other, "y\n");
  });
  std::string heard;
  std::ptrdiff_t letters = 0;  // of the long line: the other one says more and more meanwhile
  const auto add_heard = [&heard, &letters](const std::string& more) {
    letters += std::count(more.begin(), more.end(), 'x');
    heard += more;
  };
  for (int i = 0; i < 20; ++i) {
    say(one, line);
    while (letters < (i + 1) * std::ptrdiff_t{50'000}) {
      add_heard(console_.hear(1));
      add_heard(console_.heard());
    }
  }
  stop = true;
  std::thread reader([this, &heard] { heard += console_.hear(std::size_t{1} << 30); });
  noise.join();
  (void)drain();
  tap_.reset();
  console_.out.reset();
  reader.join();
  for (std::size_t at = heard.find('x'); at != std::string::npos; at = heard.find('x', heard.find('\n', at)))
    ASSERT_EQ(heard.substr(at, line.size()), line);
}

TEST_F(StderrTapTest, OnATerminalWorkersHaveOneOfTheSameSize) {
  int ours = -1, theirs = -1;
  winsize size{31, 97, 0, 0};
  ASSERT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, &size), 0);
  const Fd screen(ours), terminal(theirs);
  make(terminal.get());
  const Fd worker = add();
  ASSERT_TRUE(tap_->begin());
  EXPECT_EQ(::isatty(worker.get()), 1);
  winsize seen{};
  ASSERT_EQ(::ioctl(worker.get(), TIOCGWINSZ, &seen), 0);
  EXPECT_EQ(seen.ws_col, 97);
  say(worker, "a\nb\t\x1b[1m\n");
  char shown[64] = {};
  std::string all;
  while (all.size() < 11) {
    const ssize_t got = ::read(screen.get(), shown, sizeof shown);
    ASSERT_GT(got, 0);
    all.append(shown, static_cast<std::size_t>(got));
  }
  EXPECT_EQ(all, "a\r\nb\t\x1b[1m\r\n");  // as the terminal itself writes the end of a line
  EXPECT_EQ(tap_->tail(0), "a\nb\t\x1b[1m\n");
  size.ws_col = 120;
  ASSERT_EQ(::ioctl(screen.get(), TIOCSWINSZ, &size), 0);
  const auto give_up = std::chrono::steady_clock::now() + long_enough;
  while (seen.ws_col != 120 && std::chrono::steady_clock::now() < give_up) {
    say(worker, ".");
    ASSERT_GT(::read(screen.get(), shown, sizeof shown), 0);  // so that it takes more
    ASSERT_EQ(::ioctl(worker.get(), TIOCGWINSZ, &seen), 0);
  }
  EXPECT_EQ(seen.ws_col, 120);
  EXPECT_TRUE(drain().shown);
}

TEST_F(StderrTapTest, WhatIsLeftWhenAllHaveEndedIsShown) {
  Fd worker = add();
  say(worker, "before the thread\n");
  worker.reset();
  ASSERT_TRUE(tap_->begin());
  EXPECT_TRUE(drain().shown);
  EXPECT_EQ(console_.heard(), "before the thread\n");
}

TEST_F(StderrTapTest, AConsoleThatTakesNothingHoldsUpTheWorkersAndNobodyElse) {
  const Fd worker = add();
  ASSERT_TRUE(tap_->begin());
  std::thread writer([&worker] { (void)write_all(worker.get(), std::string(std::size_t{4} << 20, 'x')); });
  pollfd console{console_.out.get(), POLLOUT, 0};
  while (::poll(&console, 1, 0) != 0 || bytes_waiting(worker.get()) == 0) {  // the console is full, and there is more
  }
  EXPECT_FALSE(drain(50ms).shown);
  console_.in.reset();
  EXPECT_TRUE(drain().shown);
  tap_.reset();  // and with it the other end of the worker's pipe
  writer.join();
}

TEST_F(StderrTapTest, AReaderThatHasGoneIsNoLoss) {
  const Fd worker = add();
  ASSERT_TRUE(tap_->begin());
  console_.in.reset();
  say(worker, "to nobody\n");
  EXPECT_EQ(tap_->tail(0), "to nobody\n");
  const auto outcome = drain();
  EXPECT_TRUE(outcome.shown);
  EXPECT_EQ(outcome.lost, 0U);
}

TEST_F(StderrTapTest, WhatADiskDoesNotTakeIsCounted) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  make(full.get());
  const Fd worker = add();
  ASSERT_TRUE(tap_->begin());
  say(worker, "lost\n");
  const auto outcome = drain();
  EXPECT_EQ(outcome.lost, 5U);
  EXPECT_THAT(outcome.reason, HasSubstr("No space left"));
}

TEST_F(StderrTapTest, TapsThatShareThemHaveOnlySoManyLargePipes) {
  const auto left = std::make_shared<int>(2);
  StderrTap out(io_.get_executor(), {console_.out.get(), "standard output", left}, [](bool) {});
  StderrTap err(io_.get_executor(), {console_.out.get(), "standard error", left}, [](bool) {});
  std::vector<Fd> writers;
  std::vector<int> sizes;
  for (StderrTap* tap : {&out, &err, &out, &err}) {
    auto writer = tap->add(true);
    ASSERT_TRUE(writer);
    sizes.push_back(::fcntl(writer->get(), F_GETPIPE_SZ));
    writers.push_back(*std::move(writer));
  }
  const Listener usual;
  const int size = ::fcntl(usual.out.get(), F_GETPIPE_SZ);
  EXPECT_EQ(0, *left);
  EXPECT_EQ(sizes, (std::vector<int>{sizes[0], sizes[0], size, size}));
  EXPECT_GT(sizes[0], size);
}

TEST_F(StderrTapTest, WithoutAThreadThereIsAnError) {
  const Fd worker = add();
  const NoThreads none;
  const Status begun = tap_->begin();
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error().message, HasSubstr("cannot start a thread for the workers' standard output"));
}

TEST_F(StderrTapTest, AnEarThatTakesItsTimeHoldsUpNothingThatCame) {
  std::string kept;
  auto writer = tap_->add(true, {nullptr, [&](std::string_view) { kept = tap_->tail(0); }});
  ASSERT_TRUE(writer && tap_->begin());
  say(*writer, "step 1\n");
  EXPECT_EQ(console_.hear(7), "step 1\n");
  writer->reset();
  drain();
  EXPECT_EQ(kept, "step 1\n");
}

TEST_F(StderrTapTest, AnEarHearsAllThatComes) {
  std::string heard;
  auto writer = tap_->add(false, {nullptr, [&heard](std::string_view bytes) { heard += bytes; }});
  ASSERT_TRUE(writer && tap_->begin());
  say(*writer, "\r 10%");
  say(*writer, "\r 20%\n");
  writer->reset();
  drain();
  EXPECT_EQ("\r 10%\r 20%\n", heard);
}

}  // namespace launch::stderr_tap_test
