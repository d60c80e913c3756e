#include "launch/io/line_sink.hpp"

#include "launch/core/base/random.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"

#include <climits>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace launch::line_sink_test {

struct Pipe {
  explicit Pipe(int flags = 0) {
    ::signal(SIGPIPE, SIG_IGN);  // as launch does
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | flags), 0);
    in = Fd(ends[0]);
    out = Fd(ends[1]);
  }
  std::string read() const {
    std::string chunk(std::size_t{1} << 20, '\0');
    const ssize_t got = ::read(in.get(), chunk.data(), chunk.size());
    chunk.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return chunk;
  }
  Fd in, out;
};

void say(LineSink& sink, const std::string& line) {
  sink.take([&](std::string& text) { text += line + "\n"; });
}

TEST(LineSink, WritesAtTheEndOfABatch) {
  const Pipe pipe;
  LineSink sink(pipe.out.get());
  say(sink, "one");
  say(sink, "two");
  sink.write();
  EXPECT_EQ(pipe.read(), "one\ntwo\n");
}

TEST(LineSink, ABatchDoesNotGrowWithoutBound) {
  const Pipe pipe;
  LineSink sink(pipe.out.get());
  for (int i = 0; i < 1000; ++i) say(sink, std::string(99, 'x'));
  EXPECT_GE(pipe.read().size(), 64'000U) << "before anybody asked for it";
}

// On a pipe that is nearly full, each write is whole lines that nobody can come between.
TEST(LineSink, OnAFullPipeEachPieceIsOfWholeLines) {
  const Pipe pipe(O_DIRECT);  // one read gives what one write gave, up to PIPE_BUF bytes
  LineSink sink(pipe.out.get());
  const std::string filling(PIPE_BUF, '.');
  int capacity = ::fcntl(pipe.out.get(), F_GETPIPE_SZ);
  for (int filled = 0; filled <= capacity / 2; filled += PIPE_BUF)
    ASSERT_EQ(::write(pipe.out.get(), filling.data(), filling.size()), PIPE_BUF);
  Random random(7);
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string line = std::to_string(i) + std::string(random.next() % 200, 'x');
    expected += line + "\n";
    say(sink, line);
  }
  sink.write();
  std::string seen;
  while (seen.size() < expected.size()) {
    const std::string piece = pipe.read();
    if (piece == filling) continue;
    EXPECT_TRUE(piece.ends_with('\n')) << piece;
    seen += piece;
  }
  EXPECT_EQ(seen, expected);
}

// Two that share a small pipe, which makes both wait again and again.
TEST(LineSink, TwoOnOnePipeTearNothing) {
  const Pipe pipe;
  constexpr int lines = 20'000;
  const auto speak = [&](char who) {
    LineSink sink(pipe.out.get());
    for (int i = 0; i < lines; ++i) {
      say(sink, std::string(100 + i % 50, who));
      if (i % 100 == 99) sink.write();
    }
    sink.write();
  };
  std::thread a(speak, 'a');
  std::thread b(speak, 'b');
  int seen = 0;
  std::string rest;
  while (seen < 2 * lines) {
    rest += pipe.read();
    std::size_t begin = 0;
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      const std::string line = rest.substr(begin, end - begin);
      ASSERT_FALSE(line.empty());
      ASSERT_EQ(line.find_first_not_of(line[0]), std::string::npos) << line;
      begin = end + 1;
      ++seen;
    }
    rest.erase(0, begin);
  }
  a.join();
  b.join();
}

TEST(LineSink, AReaderThatHasGoneIsNoError) {
  Pipe pipe;
  LineSink sink(pipe.out.get());
  pipe.in.reset();
  say(sink, "one");
  sink.write();
  say(sink, "two");
  sink.write();
  EXPECT_EQ(sink.lost(), 0u) << "nobody would have read it";
}

TEST(LineSink, WhatAFileDoesNotTakeIsCountedAndSaidThere) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  std::string path = testing::TempDir() + "line_sink_XXXXXX";
  const Fd file(::mkstemp(path.data()));
  LineSink sink(file.get());
  const rlimit little{950, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const std::string line(99, 'x');
  for (int i = 0; i < 30; ++i) say(sink, line);
  sink.write();
  EXPECT_EQ(sink.lost(), 3000u - 950u);
  EXPECT_EQ(sink.reason(), "File too large");
  say(sink, line);
  sink.write();
  EXPECT_EQ(sink.lost(), 3100u - 950u);
  ::setrlimit(RLIMIT_FSIZE, &before);
  say(sink, "later");
  sink.write();
  EXPECT_EQ(sink.lost(), 3100u - 950u);
  std::string expected;
  for (int i = 0; i < 10; ++i) expected += line + "\n";
  expected.resize(950);
  expected += "\n[launch: 2150 bytes lost here: File too large]\nlater\n";
  EXPECT_EQ(read_file(path, 1 << 20), expected);
  ::unlink(path.c_str());
}

TEST(LineSink, AGapAtTheEndIsSaidThere) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  std::string path = testing::TempDir() + "line_sink_XXXXXX";
  const Fd file(::mkstemp(path.data()));
  LineSink sink(file.get());
  const rlimit little{4, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  say(sink, "one");
  sink.write();
  say(sink, "two");
  sink.write();
  ::setrlimit(RLIMIT_FSIZE, &before);
  sink.finish();
  EXPECT_EQ(read_file(path, 1000), "one\n[launch: 4 bytes lost here: File too large]\n");
  ::unlink(path.c_str());
}

TEST(LineSink, AFileGetsAll) {
  std::string path = testing::TempDir() + "line_sink_XXXXXX";
  const Fd file(::mkstemp(path.data()));
  LineSink sink(file.get());
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    expected += std::to_string(i) + "\n";
    say(sink, std::to_string(i));
  }
  sink.write();
  EXPECT_EQ(read_file(path, 1 << 20), expected);
  ::unlink(path.c_str());
}

}  // namespace launch::line_sink_test
