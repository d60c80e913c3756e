#include "launch/io/patient_output.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"
#include "no_threads.hpp"

#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

namespace launch::patient_output_test {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr Duration long_enough = 20s;

std::size_t threads() {
  const std::string status = read_file("/proc/self/status", 1 << 16);
  return std::stoul(status.substr(status.find("\nThreads:") + 9));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

std::string numbered(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("line {}\n", i);
  return text;
}

// A reader and a writer; what the reader is given is collected up to a deadline.
struct Channel {
  void put(int reader, int writer) { read_end = Fd(reader), write_end = Fd(writer); }

  std::string hear(std::size_t bytes) {
    std::string heard;
    while (heard.size() < bytes) {
      pollfd ready{read_end.get(), POLLIN, 0};
      if (::poll(&ready, 1, 20'000) != 1) break;
      std::array<char, 65536> chunk;
      const ssize_t got = ::read(read_end.get(), chunk.data(), std::min(chunk.size(), bytes - heard.size()));
      if (got <= 0) break;
      heard.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return heard;
  }

  // With no more than what fits, by a description of its own; how much that was.
  std::size_t fill() const {
    const Fd own(::open(fmt::format("/proc/self/fd/{}", write_end.get()).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    std::size_t filled = 0;
    while (true) {
      const ssize_t written = ::write(own.get(), std::string(4096, '.').data(), 4096);
      if (written <= 0) return filled;
      filled += static_cast<std::size_t>(written);
    }
  }

  Fd read_end, write_end;
};

class PatientOutputs : public testing::Test {
 protected:
  void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }  // as launch does

  static Channel pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    Channel channel;
    channel.put(ends[0], ends[1]);
    return channel;
  }
  static Channel fifo(const std::string& path) {
    ::unlink(path.c_str());
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    Channel channel;
    channel.read_end = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    channel.write_end = Fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return channel;
  }
};

TEST_F(PatientOutputs, WriteAtOnceWhereThatIsPossible) {
  Channel to = pipe();
  PatientOutput output(to.write_end.get());
  const std::size_t before = threads();
  output.write("one\n");
  output.write("two\nthree\n");
  EXPECT_LE(threads(), before);
  EXPECT_TRUE(output.flush(0s));
  EXPECT_EQ(to.hear(14), "one\ntwo\nthree\n");
}

TEST_F(PatientOutputs, KeepTheOrderUntilASleepingReaderWakes) {
  Channel to = pipe();
  const std::size_t before = to.fill();
  PatientOutput output(to.write_end.get());
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = fmt::format("message {}\n", i);
    output.write(line);
    expected += line;
  }
  EXPECT_FALSE(output.flush(1ms));
  EXPECT_EQ(to.hear(before), std::string(before, '.'));
  EXPECT_EQ(to.hear(expected.size()), expected);
  EXPECT_TRUE(output.flush(long_enough));
  EXPECT_EQ(::fcntl(to.write_end.get(), F_GETFL) & O_NONBLOCK, 0);
  output.write("later\n");
  EXPECT_EQ(to.hear(6), "later\n");
}

TEST_F(PatientOutputs, SayHowMuchTheyCouldNotKeep) {
  Channel to = pipe();
  const std::size_t before = to.fill();
  PatientOutput output(to.write_end.get(), 8192);
  for (int i = 0; i < 2000; ++i) output.write(fmt::format("message {:4}\n", i));
  to.hear(before);
  EXPECT_TRUE(output.flush(long_enough));
  output.write("end\n");
  to.write_end.reset();
  output = {};
  std::size_t next = 0, left_out = 0;
  std::string last;
  for (const std::string& line : lines_of(to.hear(1 << 20))) {
    const auto count = line.find(" messages were left out here: nobody was reading");
    if (count != std::string::npos) {
      EXPECT_THAT(line, StartsWith("launch: "));
      left_out += std::stoul(line.substr(8, count));
      next += std::stoul(line.substr(8, count));
    } else if (line != "end") {
      ASSERT_EQ(line, fmt::format("message {:4}", next++));
    }
    last = line;
  }
  EXPECT_EQ(last, "end");
  EXPECT_EQ(next, 2000U);
  EXPECT_GE(left_out, 500U);  // no more than twice the room is kept
}

TEST_F(PatientOutputs, TakeALongMessageThatNothingWaitsBefore) {
  Channel to = pipe();
  PatientOutput output(to.write_end.get(), 100);
  const std::string report = numbered(50'000);
  output.write(report);
  EXPECT_EQ(to.hear(report.size()), report);
  EXPECT_TRUE(output.flush(long_enough));
}

TEST_F(PatientOutputs, GoOnWithoutAReader) {
  Channel to = pipe();
  PatientOutput output(to.write_end.get());
  to.fill();
  for (int i = 0; i < 100; ++i) output.write("kept\n");
  to.read_end.reset();
  EXPECT_TRUE(output.flush(long_enough));
  output.write("at once\n");
  EXPECT_TRUE(output.flush(0s));
}

// Lines of other processes, whose writes are as short, do not come between either.
TEST_F(PatientOutputs, LinesOfManyWritersStayWhole) {
  Channel to = pipe();
  PatientOutput output(to.write_end.get(), std::size_t{1} << 24);
  constexpr int rounds = 500;
  const auto report = [](int writer, int round) {
    std::string text;
    for (int line = 0; line <= round % 60; ++line)
      text += fmt::format("{} {} {}{}\n", writer, round, std::string(100, 'x'), line);
    return text;
  };
  std::size_t expected = 0;
  for (int round = 0; round < rounds; ++round) expected += 2 * report(0, round).size() + 200;
  std::vector<std::thread> writers;
  for (const int writer : {0, 1})
    writers.emplace_back([&, writer] {
      for (int round = 0; round < rounds; ++round) output.write(report(writer, round));
    });
  writers.emplace_back([&] {
    for (int round = 0; round < rounds; ++round) (void)write_all(to.write_end.get(), std::string(199, 'w') + "\n");
  });
  const std::string heard = to.hear(expected);
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(output.flush(long_enough));
  std::map<char, std::string> by_writer;
  for (const std::string& line : lines_of(heard)) by_writer[line[0]] += line + "\n";
  for (const int writer : {0, 1}) {
    std::string all;
    for (int round = 0; round < rounds; ++round) all += report(writer, round);
    EXPECT_TRUE(by_writer[static_cast<char>('0' + writer)] == all) << "torn, or out of order";
  }
  EXPECT_EQ(by_writer.size(), 3U);
  for (const std::string& line : lines_of(by_writer['w'])) ASSERT_EQ(line, std::string(199, 'w'));
}

TEST_F(PatientOutputs, ALineLongerThanAPipeTakesAtOnceArrivesWhole) {
  Channel to = pipe();
  to.fill();
  PatientOutput output(to.write_end.get());
  const std::string line = std::string(200'000, 'x') + "\n";
  output.write("before\n" + line);
  output.write("after\n");
  const std::string heard = to.hear(65536 + 7 + line.size() + 6);
  EXPECT_EQ(heard.substr(heard.find('b')), "before\n" + line + "after\n");
  EXPECT_TRUE(output.flush(long_enough));
}

TEST_F(PatientOutputs, OfferWhatIsStaleALittleLater) {
  Channel to = pipe();
  PatientOutput output(to.write_end.get());
  EXPECT_TRUE(output.offer("a"));
  const std::size_t before = 1 + to.fill();
  EXPECT_FALSE(output.offer("b"));
  output.write("c\n");
  EXPECT_FALSE(output.offer("d"));
  to.hear(before);
  EXPECT_TRUE(output.flush(long_enough));
  EXPECT_TRUE(output.offer("e"));
  EXPECT_EQ(to.hear(3), "c\ne");
}

TEST_F(PatientOutputs, HaveTheOnePositionOfAFile) {
  std::string path = "/tmp/launch_patient_XXXXXX";
  const Fd file(::mkstemp(path.data()));
  PatientOutput output(file.get());
  EXPECT_TRUE(write_all(file.get(), "worker\n"));
  output.write("ours\n");
  EXPECT_TRUE(output.flush(long_enough));
  EXPECT_TRUE(write_all(file.get(), "worker\n"));
  output.write(numbered(20'000));
  EXPECT_TRUE(output.flush(long_enough));
  EXPECT_EQ(read_file(path, 1 << 24), "worker\nours\nworker\n" + numbered(20'000));
  ::unlink(path.c_str());
}

TEST_F(PatientOutputs, WaitForNoSocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  Channel to;
  to.put(ends[0], ends[1]);
  PatientOutput output(to.write_end.get());
  const std::string report = numbered(100'000);
  output.write(report);
  output.write("end\n");
  EXPECT_FALSE(output.flush(0s));
  EXPECT_EQ(to.hear(report.size() + 4), report + "end\n");
  EXPECT_TRUE(output.flush(long_enough));
  to.read_end.reset();
  output.write("nobody\n");
  EXPECT_TRUE(output.flush(0s));
}

TEST_F(PatientOutputs, WaitForNoTerminalThatIsHeld) {
  int ours = -1, theirs = -1;
  ASSERT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, nullptr), 0);
  Channel to;
  to.put(ours, theirs);
  PatientOutput output(theirs);
  EXPECT_TRUE(output.offer("\r1 of 2"));
  ASSERT_EQ(::tcflow(theirs, TCOOFF), 0);  // Ctrl-S
  EXPECT_FALSE(output.offer("\r2 of 2"));
  for (int i = 0; i < 5000; ++i) output.write(fmt::format("message {}\n", i));
  EXPECT_FALSE(output.flush(0s));
  ASSERT_EQ(::tcflow(theirs, TCOON), 0);
  std::string expected = "\r1 of 2";
  for (int i = 0; i < 5000; ++i) expected += fmt::format("message {}\r\n", i);
  EXPECT_EQ(to.hear(expected.size()), expected);
  EXPECT_TRUE(output.flush(long_enough));
}

// As where a file is on a network, or where a pipe of another user cannot be opened anew. This one cannot since nobody
// reads it yet.
TEST_F(PatientOutputs, LeaveToTheThreadWhatMayWait) {
  const std::string path = fmt::format("/tmp/launch_patient_fifo_{}", ::getpid());
  Channel to = fifo(path);
  to.read_end.reset();
  PatientOutput output(to.write_end.get());
  output.write("nobody hears this\n");
  EXPECT_TRUE(output.flush(long_enough));
  to.read_end = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ::unlink(path.c_str());
  EXPECT_TRUE(output.offer("soon\n"));
  EXPECT_TRUE(output.flush(long_enough));
  const std::size_t before = 5 + to.fill();
  for (int i = 0; i < 1000; ++i) output.write(fmt::format("message {:3}\n", i));
  EXPECT_FALSE(output.flush(0s));
  const std::string heard = to.hear(before + 12'000);
  EXPECT_THAT(heard, StartsWith("soon\n."));
  EXPECT_THAT(heard, HasSubstr(".message   0\nmessage   1\n"));
  EXPECT_THAT(heard, EndsWith("\nmessage 999\n"));
  EXPECT_TRUE(output.flush(long_enough));
}

TEST_F(PatientOutputs, WriteByThemselvesWhereNoThreadCanBeHad) {
  Channel to = pipe();
  PatientOutput output(to.write_end.get());
  const std::size_t before = to.fill();
  const NoThreads none;
  const std::string report = numbered(1'000);
  output.write(report);
  EXPECT_FALSE(output.flush(50ms));
  EXPECT_EQ(to.hear(before).size(), before);
  EXPECT_TRUE(output.flush(long_enough));
  EXPECT_EQ(to.hear(report.size()), report);
  output.write("at once\n");
  EXPECT_EQ(to.hear(8), "at once\n");
}

TEST_F(PatientOutputs, WriteByThemselvesToWhatCannotBeOpenedAgain) {
  const std::string path = fmt::format("/tmp/launch_patient_fifo_{}", ::getpid());
  Channel to = fifo(path);
  to.read_end.reset();
  PatientOutput output(to.write_end.get());
  to.read_end = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ::unlink(path.c_str());
  const NoThreads none;
  output.write("at once\n");
  EXPECT_EQ(to.hear(8), "at once\n");
  const std::size_t before = to.fill();
  output.write("later\n");
  EXPECT_FALSE(output.flush(50ms));
  EXPECT_EQ(to.hear(before).size(), before);
  EXPECT_TRUE(output.flush(long_enough));
  EXPECT_EQ(to.hear(6), "later\n");
}

TEST_F(PatientOutputs, WriteNothingWithoutADescriptor) {
  PatientOutput closed(-1), none;
  const std::size_t before = threads();
  for (PatientOutput* output : {&closed, &none}) {
    output->write("a\n");
    EXPECT_TRUE(output->flush(long_enough));
  }
  EXPECT_FALSE(none.offer("a"));
  EXPECT_LE(threads(), before);
}

TEST_F(PatientOutputs, MayGoBeforeTheirReaderWakes) {
  Channel to = pipe();
  const std::size_t before = to.fill();
  PatientOutput(to.write_end.get()).write("last words\n");
  EXPECT_THAT(to.hear(before + 11), EndsWith(".last words\n"));
}

}  // namespace launch::patient_output_test
