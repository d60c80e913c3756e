#include "launch/io/log_relay.hpp"

#include "launch/core/base/random.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"
#include "listener.hpp"
#include "no_threads.hpp"
#include "run.hpp"

#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

namespace launch::log_relay_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr Duration long_enough = 20s;

class LogRelayTest : public testing::Test {
 protected:
  struct Worker {
    int stream = -1;
    Fd writer;
    std::string path;

    void say(std::string_view text) const { EXPECT_TRUE(write_all(writer.get(), text)); }
  };

  LogRelayTest() : folder_(testing::TempDir() + "log_relay_" + std::to_string(::getpid())) {
    ::signal(SIGPIPE, SIG_IGN);  // as launch does
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    make();
  }
  // The threads must end before what they use.
  void TearDown() override {
    console_.in.reset();
    other_.in.reset();
    if (relay_) drain();
    relay_.reset();
    fs::remove_all(folder_);
  }

  void make(LogBacklog::Limits limits = {}, FileRules rules = {}) { relay_.emplace(io_.get_executor(), rules, limits); }
  static LogBacklog::Limits small() {
    return {.unwritten = std::size_t{64} << 10, .unshown = std::size_t{16} << 10, .patience = long_enough};
  }
  int add_console(const Listener& listener, const std::string& pattern, std::vector<std::string> filters = {}) {
    PrefixFacts facts;
    facts.role = "default";
    facts.nproc = 16;
    const LinePrefix prefix({pattern, false, false}, facts, "stdout");
    const auto number =
        relay_->add_console({listener.out.get(), prefix, false, std::move(filters), prefix}, folder_ + "/filtered");
    EXPECT_TRUE(number);
    return *number;
  }
  Worker add(int rank, std::optional<int> console) {
    const std::string path = folder_ + "/" + std::to_string(names_++);
    auto added = relay_->add_stream(rank, path, console);
    EXPECT_TRUE(added);
    return {added->stream, std::move(added->writer), path};
  }
  // One worker that one console shows.
  Worker begin_one(const std::string& pattern, std::vector<std::string> filters = {}) {
    Worker worker = add(0, add_console(console_, pattern, std::move(filters)));
    EXPECT_TRUE(relay_->begin());
    return worker;
  }
  LogRelay::Outcome drain(Duration patience = long_enough) { return run(io_, relay_->drain(patience)); }
  // Until nobody can read it any more.
  static std::thread write_without_end(const Worker& worker) {
    return std::thread([fd = worker.writer.get(), line = std::string(9'999, 'x') + "\n"] {
      while (write_all(fd, line)) {
      }
    });
  }
  static std::string file(const Worker& worker) { return read_file(worker.path, 64 * mib); }
  static std::string lines(int count, std::size_t size) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      text += number + std::string(size - number.size() - 1, 'x') + "\n";
    }
    return text;
  }

  std::string folder_;
  int names_ = 0;
  Listener console_, other_;
  boost::asio::io_context io_{1};
  std::optional<LogRelay> relay_;
};

TEST_F(LogRelayTest, ShowsLinesAsTheyAreWrittenAndTheRestAtTheEnd) {
  const Worker a = begin_one("[${local_rank}]:");
  a.say("one\ntwo");
  EXPECT_EQ(console_.hear(8), "[0]:one\n");
  a.say("!\n");
  EXPECT_EQ(console_.hear(9), "[0]:two!\n");
  a.say("three");
  const auto outcome = drain();
  EXPECT_TRUE(outcome.shown);
  EXPECT_TRUE(outcome.written);
  EXPECT_TRUE(outcome.losses.empty());
  EXPECT_EQ(console_.hear(10), "[0]:three\n");
  EXPECT_EQ(file(a), "one\ntwo!\nthree");
}

TEST_F(LogRelayTest, AnUnfinishedLineIsShownAfterAMoment) {
  const Worker a = begin_one("");
  a.say("Password:");
  EXPECT_EQ(console_.hear(10), "Password:\n");
}

TEST_F(LogRelayTest, AFileHasWhatWasSaidWithoutWaitingForTheEnd) {
  const Worker a = add(0, std::nullopt);
  ASSERT_TRUE(relay_->begin());
  a.say("one");
  const Time give_up = now() + long_enough;
  while (file(a) != "one" && now() < give_up) ::poll(nullptr, 0, 1);
  EXPECT_EQ(file(a), "one");
}

// Several writers, pieces of any size; nothing is lost, torn or out of order, though memory holds next to nothing.
TEST_F(LogRelayTest, LinesOfManyWritersAreNotMixed) {
  make(small(), {100'000, 1'000});
  const int number = add_console(console_, "${local_rank}:");
  constexpr int count = 8;
  std::vector<Worker> workers;
  workers.reserve(count);
  for (int i = 0; i < count; ++i) workers.push_back(add(i, number));
  ASSERT_TRUE(relay_->begin());
  std::vector<std::string> said(count);
  std::size_t expected = 0;
  Random seeds(3);
  for (std::string& text : said) {
    for (int i = 0; i < 4'000; ++i)
      text += std::to_string(i) + std::string(seeds.next() % (i % 100 == 0 ? 5'000 : 50), 'x') + "\n";
    expected += text.size() + std::size_t{8'000};
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&worker = workers[i], &text = said[i], seed = seeds.next()] {
      Random random(seed);
      for (std::string_view rest = text; !rest.empty();) {
        const auto size = random.next() % std::size_t(random.next() % 8 == 0 ? 20'000 : 200) + 1;
        worker.say(rest.substr(0, size));
        rest.remove_prefix(std::min(rest.size(), size));
      }
      worker.writer.reset();
    });
  }
  const std::string heard = console_.hear(expected);
  for (std::thread& thread : threads) thread.join();
  const auto outcome = drain();
  EXPECT_TRUE(outcome.shown && outcome.written && outcome.losses.empty());
  std::vector<std::string> shown(count);
  std::istringstream stream(heard);
  for (std::string line; std::getline(stream, line);) {
    const auto who = static_cast<std::size_t>(line[0] - '0');
    ASSERT_LT(who, shown.size()) << line;
    shown[who] += line.substr(2) + "\n";
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(shown[i] == said[i]) << i;
    std::string files;
    for (int age = 100; age > 0; --age) files += read_file(workers[i].path + "." + std::to_string(age), mib);
    EXPECT_TRUE(files + file(workers[i]) == said[i]) << i;
  }
}

TEST_F(LogRelayTest, LinesThatHoldAFilterAreCopied) {
  const Worker a = begin_one("[${local_rank}]:", {"loss", "x,y"});
  a.say("loss 1\nnothing\nx,y\n");
  EXPECT_TRUE(drain().shown);
  EXPECT_EQ(read_file(folder_ + "/filtered", 1000), "[0]:loss 1\n[0]:x,y\n");
}

TEST_F(LogRelayTest, AFilterLooksAtTheLineAndNotAtItsPrefix) {
  const Worker a = begin_one("[default0]:", {"default"});
  a.say("one\nby default\n");
  EXPECT_TRUE(drain().shown);
  EXPECT_EQ(read_file(folder_ + "/filtered", 1000), "[default0]:by default\n");
}

TEST_F(LogRelayTest, AConsoleThatTakesNothingHoldsNobodyUp) {
  make(small());
  const Worker a = begin_one("");
  const std::string text = lines(80'000, 100);
  a.say(text);  // returns although nobody reads the console
  auto outcome = drain(50ms);
  EXPECT_FALSE(outcome.shown);
  EXPECT_TRUE(outcome.written);
  EXPECT_TRUE(outcome.losses.empty());
  EXPECT_TRUE(file(a) == text);
  EXPECT_TRUE(console_.hear(text.size()) == text);  // from the file
  EXPECT_TRUE(drain().shown);
}

// A few lines that nobody takes are not shown, either, though they have left our memory.
TEST_F(LogRelayTest, WhatWaitsForRoomInTheConsoleIsNotShown) {
  const Worker a = begin_one("");
  ASSERT_EQ(::fcntl(console_.out.get(), F_SETFL, O_NONBLOCK), 0);
  while (::write(console_.out.get(), std::string(4096, '.').data(), 4096) > 0) {
  }
  a.say("one\n");
  EXPECT_FALSE(drain(50ms).shown);
}

TEST_F(LogRelayTest, AClosedConsoleIsNoError) {
  const Worker a = begin_one("");
  console_.in.reset();
  a.say("one\n");
  EXPECT_TRUE(drain().shown);
}

TEST_F(LogRelayTest, AConsoleThatDoesNotBlockLosesNothing) {
  ASSERT_EQ(::fcntl(console_.out.get(), F_SETFL, O_NONBLOCK), 0);
  const Worker a = begin_one("");
  const std::string text = lines(30'000, 100);
  a.say(text);
  EXPECT_FALSE(drain(50ms).shown);
  EXPECT_TRUE(console_.hear(text.size()) == text);
  EXPECT_TRUE(drain().shown);
}

TEST_F(LogRelayTest, TwoConsolesDoNotHoldEachOtherUp) {
  make(small());
  const Worker a = add(0, add_console(console_, "a:"));
  const Worker b = add(0, add_console(other_, "b:"));
  ASSERT_TRUE(relay_->begin());
  a.say(lines(30'000, 100));  // nobody reads it
  b.say("hello\n");
  EXPECT_EQ(other_.hear(8), "b:hello\n");
  EXPECT_FALSE(drain(50ms).shown);
}

TEST_F(LogRelayTest, AWorkerThatNeverStopsDoesNotSilenceTheOthers) {
  const int number = add_console(console_, "${local_rank}:");
  const Worker busy = add(0, number);
  const Worker quiet = add(1, number);
  ASSERT_TRUE(relay_->begin());
  std::thread writer = write_without_end(busy);
  EXPECT_EQ(console_.hear(2 * mib).size(), 2 * mib);
  quiet.say("hello\n");
  EXPECT_THAT(console_.hear(8 * mib), HasSubstr("1:hello\n"));
  console_.in.reset();
  EXPECT_TRUE(drain().shown);
  relay_.reset();
  writer.join();
}

// By processes that workers left behind.
TEST_F(LogRelayTest, TheEndComesThoughSomebodyGoesOnWriting) {
  std::vector<Worker> workers;
  workers.reserve(8);
  for (int i = 0; i < 8; ++i) workers.push_back(add(i, std::nullopt));
  ASSERT_TRUE(relay_->begin());
  std::vector<std::thread> writers;
  writers.reserve(workers.size());
  for (const Worker& worker : workers) writers.push_back(write_without_end(worker));
  const Time give_up = now() + long_enough;
  while (fs::file_size(workers[0].path) < mib && now() < give_up) ::poll(nullptr, 0, 1);
  const auto outcome = drain();
  EXPECT_TRUE(outcome.written);
  EXPECT_TRUE(outcome.losses.empty());
  relay_.reset();
  for (std::thread& writer : writers) writer.join();
}

TEST_F(LogRelayTest, TheTailHasWhatWasWrittenLast) {
  for (int i = 0; i < 50; ++i) {
    make();
    Worker a = add(0, std::nullopt);
    ASSERT_TRUE(relay_->begin());
    const std::string text = lines(1'000, 100);
    a.say(text);
    a.writer.reset();
    const std::string tail = relay_->tail(a.stream);
    EXPECT_GE(tail.size(), std::size_t{16} << 10);
    EXPECT_TRUE(text.ends_with(tail)) << tail.substr(tail.size() - std::min<std::size_t>(tail.size(), 100));
    drain();
  }
}

TEST_F(LogRelayTest, AFullFileSystemIsTold) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{10'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const Worker a = add(0, std::nullopt);
  const Worker b = add(1, add_console(console_, ""));
  EXPECT_TRUE(relay_->begin());
  a.say("fits\n");
  const std::string text = lines(300, 100);
  b.say(text);
  EXPECT_TRUE(console_.hear(text.size()) == text);  // from memory
  const auto outcome = drain();
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(outcome.shown);
  EXPECT_TRUE(outcome.written);
  ASSERT_EQ(outcome.losses.size(), 1u);
  EXPECT_EQ(outcome.losses[0].stream, b.stream);
  EXPECT_EQ(outcome.losses[0].bytes, text.size() - 10'000);
  EXPECT_EQ(outcome.losses[0].reason, "File too large");
  EXPECT_EQ(file(a), "fits\n");
  EXPECT_TRUE(file(b) == text.substr(0, 10'000)) << file(b).size();  // whole lines
}

TEST_F(LogRelayTest, WhatPassesIsCounted) {
  const auto tally = std::make_shared<StreamTally>();
  auto added = relay_->add_stream(0, folder_ + "/counted", std::nullopt, {tally, {}});
  ASSERT_TRUE(added);
  EXPECT_TRUE(tally->passes());
  ASSERT_TRUE(relay_->begin());
  const Time start = now();
  EXPECT_TRUE(write_all(added->writer.get(), "one\ntwo\nno end"));
  EXPECT_TRUE(drain().losses.empty());
  EXPECT_EQ(2U, tally->lines());
  EXPECT_EQ(14U, tally->bytes());
  EXPECT_EQ(0U, tally->lost());
  EXPECT_GE(tally->last().value(), start);

  make();
  auto next = relay_->add_stream(0, folder_ + "/full", std::nullopt, {tally, {}});
  ASSERT_TRUE(next);
  ASSERT_TRUE(relay_->begin());
  rlimit before{};
  ASSERT_EQ(0, ::getrlimit(RLIMIT_FSIZE, &before));
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(0, ::setrlimit(RLIMIT_FSIZE, &none));
  EXPECT_TRUE(write_all(next->writer.get(), "lost\n"));
  const auto outcome = drain();
  ASSERT_EQ(0, ::setrlimit(RLIMIT_FSIZE, &before));
  EXPECT_EQ(1U, outcome.losses.size());
  EXPECT_EQ(5U, tally->lost());
  EXPECT_EQ(3U, tally->lines());
}

TEST_F(LogRelayTest, FilesAreRotated) {
  make({}, {1'000, 3});
  const Worker a = add(0, std::nullopt);
  ASSERT_TRUE(relay_->begin());
  const std::string text = lines(95, 100);
  a.say(text);
  const auto outcome = drain();
  EXPECT_TRUE(outcome.losses.empty());  // what was deleted is not lost
  EXPECT_EQ(file(a), text.substr(9'000));
  EXPECT_EQ(read_file(a.path + ".1", mib), text.substr(8'000, 1'000));
  EXPECT_EQ(read_file(a.path + ".2", mib), text.substr(7'000, 1'000));
  EXPECT_FALSE(fs::exists(a.path + ".3"));
}

TEST_F(LogRelayTest, WhereNoThreadCanBeHadNothingIsWaitedFor) {
  const Worker a = add(0, add_console(console_, ""));
  {
    const NoThreads none;
    const Status begun = relay_->begin();
    ASSERT_FALSE(begun);
    EXPECT_THAT(begun.error().message, HasSubstr("cannot start a thread"));
  }
  const Time start = now();
  EXPECT_TRUE(drain().shown);
  EXPECT_LT(now(), later(start, long_enough / 2));
}

TEST_F(LogRelayTest, AFileThatCannotBeMadeIsAnError) {
  const auto added = relay_->add_stream(0, folder_ + "/missing/file", std::nullopt);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr("No such file or directory"));
}

TEST_F(LogRelayTest, AnEarThatTakesItsTimeHoldsUpNothingThatCame) {
  std::string kept;
  auto added = relay_->add_stream(0, folder_ + "/0", std::nullopt,
                                  {nullptr, [&](std::string_view) { kept = relay_->tail(0); }, {}});
  ASSERT_TRUE(added && relay_->begin());
  EXPECT_TRUE(write_all(added->writer.get(), "step 1\n"));
  drain();
  EXPECT_EQ(kept, "step 1\n");
}

}  // namespace launch::log_relay_test
