#include "launch/io/piped_program.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::piped_program_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto long_enough = 20s;

std::string numbers(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += std::to_string(i) + '\n';
  return text;
}

ExitStatus exited(int code) { return {ExitStatus::Kind::exited, code}; }
ExitStatus killed(int signal) { return {ExitStatus::Kind::signalled, signal}; }

class PipedPrograms : public testing::Test {
 public:
  PipedPrograms() : folder_(testing::TempDir() + "piped_program_" + std::to_string(::getpid())) {
    ::signal(SIGPIPE, SIG_IGN);  // as launch does
    fs::create_directories(folder_);
  }
  ~PipedPrograms() override {
    if (program_) program_->signal(SIGKILL);
    until([&] { return ends_ > 0 || !program_; });
    fs::remove_all(folder_);
  }

 protected:
  ProgramHandlers handlers() {
    ProgramHandlers handlers;
    handlers.on_bytes = [this](std::string_view bytes) {
      if (keeps_bytes_) got_ += bytes;
      if (on_some_) on_some_();
    };
    handlers.on_end = [this](ExitStatus status, const std::string& errors) {
      ++ends_;
      status_ = status;
      errors_ = errors;
      at_end_ = got_.size();
    };
    return handlers;
  }
  ProgramHandlers both_handlers() {
    ProgramHandlers all = handlers();
    all.on_errors = [this](std::string_view bytes) { said_ += bytes; };
    return all;
  }
  void begin(const std::string& script, ProgramHandlers handlers) {
    const ProgramLine line{"/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin", "FOLDER=" + folder_}, {SIGPIPE}};
    auto started = PipedProgram::start(io_.get_executor(), line, std::move(handlers));
    ASSERT_TRUE(started) << started.error().message;
    program_ = *std::move(started);
  }
  void begin(const std::string& script) { begin(script, handlers()); }

  // False when it never does.
  bool until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + long_enough;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io_.restart();
      io_.run_one_for(10ms);
    }
    return true;
  }
  bool ended() {
    return until([this] { return status_.has_value(); });
  }
  // Of all that is to be done without anything new.
  void settle() {
    do io_.restart();
    while (io_.poll() > 0);
  }
  // What is done in this time by itself.
  std::size_t steps_in(std::chrono::milliseconds time) {
    io_.restart();
    return io_.run_for(time);
  }
  std::string file(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  bool has_file(const std::string& name, const std::string& text) {
    return until([&] { return file(name) == text; });
  }

  std::string folder_;
  boost::asio::io_context io_{1};
  std::shared_ptr<PipedProgram> program_;
  std::string got_, said_, errors_;
  std::optional<ExitStatus> status_;
  std::size_t at_end_ = 0;
  int ends_ = 0;
  bool keeps_bytes_ = true;
  std::function<void()> on_some_;
};

TEST_F(PipedPrograms, BytesGoInAndComeOut) {
  begin("exec cat");
  program_->send("one\n");
  EXPECT_TRUE(until([&] { return got_ == "one\n"; })) << got_;
  program_->send("two");
  program_->send(std::string("\0\n", 2));
  program_->close();
  program_->send("too late");
  ASSERT_TRUE(ended());
  EXPECT_EQ(got_, std::string("one\ntwo\0\n", 9));
  EXPECT_EQ(status_, exited(0));
}

TEST_F(PipedPrograms, TenMegabytesPassWholeAndInOrder) {
  const std::string text = numbers(1'400'000);
  ASSERT_GT(text.size(), 10'000'000U);
  begin("exec cat");
  for (std::size_t at = 0; at < text.size(); at += 1'000'000) {
    program_->send(text.substr(at, 1'000'000));
    settle();
  }
  program_->close();
  ASSERT_TRUE(ended());
  EXPECT_TRUE(got_ == text) << got_.size();
}

TEST_F(PipedPrograms, AFileIsSentBeforeWhatIsSentAfterIt) {
  const std::string text = numbers(200'000);
  std::ofstream(folder_ + "/file") << text;
  begin("exec cat");
  program_->send_file(folder_ + "/file");
  program_->send("after\n");
  program_->close();
  ASSERT_TRUE(until([&] { return ends_ > 0; }));
  EXPECT_EQ(got_.size(), text.size() + 6);
  EXPECT_TRUE(got_ == text + "after\n");
}

TEST_F(PipedPrograms, AFileThatCannotBeReadIsTheEndOfTheInput) {
  begin("cat; exit 7");
  program_->send_file(folder_ + "/missing");
  program_->send("not\n");
  ASSERT_TRUE(until([&] { return ends_ > 0; }));
  EXPECT_EQ(status_, exited(7));
  EXPECT_EQ(got_, "");
}

TEST_F(PipedPrograms, WhatIsUnsentIsSentBeforeTheEnd) {
  begin("exec wc -c");
  program_->send(std::string(1'000'000, 'x'));
  program_->close();
  program_->close();
  ASSERT_TRUE(ended());
  EXPECT_EQ(got_, "1000000\n");
}

TEST_F(PipedPrograms, AreGivenTheirEnvironmentAndTheirSignals) {
  begin("echo $FOLDER; kill -PIPE $$");
  ASSERT_TRUE(ended());
  EXPECT_EQ(got_, folder_ + "\n");
  EXPECT_EQ(status_, killed(SIGPIPE));
}

TEST_F(PipedPrograms, TheLastOfStandardErrorIsKeptForTheEnd) {
  begin("echo out; seq 1 5000 >&2");
  ASSERT_TRUE(ended());
  const std::string all = numbers(5000);
  EXPECT_EQ(errors_, all.substr(all.size() - 4096));
  EXPECT_EQ(got_, "out\n");
}

TEST_F(PipedPrograms, StandardErrorIsHandedOnIfSomebodyWantsIt) {
  begin("echo right; seq 1 5000 >&2", both_handlers());
  ASSERT_TRUE(ended());
  EXPECT_EQ(said_, numbers(5000));
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(got_, "right\n");
}

TEST_F(PipedPrograms, TellTheirExitCodeAndTheirSignal) {
  for (const auto& [script, end] : {std::pair("exit 0", exited(0)), std::pair("exit 255", exited(255)),
                                    std::pair("kill -KILL $$", killed(SIGKILL))}) {
    status_.reset();
    begin(script);
    ASSERT_TRUE(ended()) << script;
    EXPECT_EQ(status_, end) << script;
  }
}

TEST_F(PipedPrograms, TheEndIsToldOnceAndLastAndThenNothingIsLeft) {
  begin("seq 1 100000; seq 1 100000 >&2; exit 4", both_handlers());
  program_->send("nobody reads this");
  ASSERT_TRUE(ended());
  EXPECT_EQ(at_end_, numbers(100'000).size());
  const std::weak_ptr<PipedProgram> watched = program_;
  program_->send("nor this");
  program_->hold(true);
  program_->hold(false);
  program_->signal(SIGKILL);
  program_->close();
  program_.reset();
  io_.restart();
  io_.run_for(long_enough);
  EXPECT_TRUE(io_.stopped()) << "something still waits";
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(got_, numbers(100'000));
  EXPECT_EQ(said_, numbers(100'000));
}

TEST_F(PipedPrograms, LiveOnThoughNobodyKeepsThemButTheirPipes) {
  begin("read line; echo $line; exit 3");
  program_->send("word\n");
  program_.reset();
  ASSERT_TRUE(ended());
  EXPECT_EQ(got_, "word\n");
  EXPECT_EQ(status_, exited(3));
}

TEST_F(PipedPrograms, OneThatClosesItsOutputHasNotEnded) {
  begin("exec >/dev/null 2>&1; echo closed >$FOLDER/state; read line; exit 6");
  ASSERT_TRUE(has_file("state", "closed\n"));
  settle();
  EXPECT_FALSE(status_);
  program_->send("go on\n");
  ASSERT_TRUE(ended());
  EXPECT_EQ(status_, exited(6));
}

TEST_F(PipedPrograms, AGrandchildThatHoldsThePipesDelaysTheEndByNoMoreThanASecond) {
  begin("sleep 300 & echo $!; echo why >&2; exit 3");
  ASSERT_TRUE(until([&] { return !got_.empty(); }));
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(ended());
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s) << "with the slowness of a busy machine";
  EXPECT_EQ(status_, exited(3));
  EXPECT_EQ(errors_, "why\n");
  ::kill(std::stoi(got_), SIGKILL);
}

TEST_F(PipedPrograms, AGrandchildThatNeverStopsWritingDoesNotDelayTheEndEither) {
  keeps_bytes_ = false;
  begin("yes & echo $! >&2; exit 3");
  EXPECT_TRUE(ended());
  EXPECT_EQ(status_, exited(3));
  if (status_) ::kill(std::stoi(errors_), SIGKILL);
}

TEST_F(PipedPrograms, WhileTheyAreHeldNothingIsReadSoThatTheyHaveToWait) {
  begin("echo begun; echo begun >&2; echo begun >$FOLDER/state; head -c 1000000 /dev/zero; echo through >$FOLDER/state",
        both_handlers());
  program_->hold(true);
  ASSERT_TRUE(has_file("state", "begun\n"));
  // Each page that comes into a pipe is news.
  EXPECT_LT(steps_in(200ms), 200U) << "who holds them does not spend processor time on it";
  EXPECT_EQ(got_, "");
  EXPECT_EQ(said_, "");
  EXPECT_EQ(file("state"), "begun\n") << "the pipe has no room for all of it";
  program_->hold(false);
  ASSERT_TRUE(ended());
  EXPECT_EQ(got_.size(), 1'000'006U);
  EXPECT_EQ(said_, "begun\n");
  EXPECT_EQ(file("state"), "through\n");
}

TEST_F(PipedPrograms, WhatComesAfterTheyAreHeldIsNotReadThoughItWasWaitedFor) {
  begin("while read line; do echo $line; echo $line >$FOLDER/state; done");
  program_->send("first\n");
  ASSERT_TRUE(until([&] { return got_ == "first\n"; }));
  for (const std::string line : {"second\n", "third\n"}) {
    settle();
    got_.clear();
    program_->hold(true);
    program_->send(line);
    ASSERT_TRUE(has_file("state", line));
    settle();
    EXPECT_EQ(got_, "");
    program_->hold(false);
    ASSERT_TRUE(until([&] { return got_ == line; })) << got_;
  }
}

TEST_F(PipedPrograms, MayBeHeldByWhoeverIsGivenTheirBytes) {
  on_some_ = [this] { program_->hold(true); };
  begin("seq 1 100000");
  ASSERT_TRUE(until([&] { return !got_.empty(); }));
  const std::size_t first = got_.size();
  EXPECT_LT(steps_in(100ms), 200U);
  EXPECT_EQ(got_.size(), first);
  on_some_ = nullptr;
  program_->hold(false);
  ASSERT_TRUE(ended());
  EXPECT_EQ(got_, numbers(100'000));
}

TEST_F(PipedPrograms, WhatIsLeftOfOneThatHasEndedIsReadThoughItIsHeld) {
  begin("echo word; echo why >&2; exit 5");
  program_->hold(true);
  ASSERT_TRUE(ended());
  EXPECT_EQ(got_, "word\n");
  EXPECT_EQ(errors_, "why\n");
  EXPECT_EQ(status_, exited(5));
}

TEST_F(PipedPrograms, OneThatCannotBeExecutedIsAnErrorAndNobodyIsCalled) {
  const auto none = PipedProgram::start(io_.get_executor(), {folder_ + "/none", {"none"}, {}, {}}, handlers());
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr(folder_ + "/none"));
  EXPECT_THAT(none.error().message, HasSubstr("No such file or directory"));
  io_.run_for(long_enough);
  EXPECT_TRUE(io_.stopped());
  EXPECT_EQ(ends_, 0);
}

TEST_F(PipedPrograms, OneThatClosesItsInputTakesNothingMoreAndLivesOn) {
  begin("exec <&-; echo closed; sleep 300 >/dev/null 2>&1 & echo $!; wait");
  ASSERT_TRUE(until([&] { return got_.ends_with("\n") && got_.size() > 8; })) << got_;
  program_->send(std::string(1'000'000, 'x'));
  program_->send("more");
  settle();
  program_->send("still more");
  settle();
  EXPECT_FALSE(status_);
  program_->signal(SIGTERM);
  ASSERT_TRUE(ended());
  EXPECT_EQ(status_, killed(SIGTERM));
  ::kill(std::stoi(got_.substr(7)), SIGKILL);
}

TEST_F(PipedPrograms, OneThatEndsWithoutReadingIsNoError) {
  begin("exit 9");
  program_->send(std::string(5'000'000, 'x'));
  ASSERT_TRUE(ended());
  EXPECT_EQ(status_, exited(9));
}

TEST_F(PipedPrograms, GetSignals) {
  begin("trap 'kill $!; echo caught; exit 5' USR1; sleep 300 >/dev/null 2>&1 & echo ready; wait");
  ASSERT_TRUE(until([&] { return got_ == "ready\n"; }));
  program_->signal(SIGUSR1);
  ASSERT_TRUE(ended());
  EXPECT_EQ(got_, "ready\ncaught\n");
  EXPECT_EQ(status_, exited(5));
}

TEST_F(PipedPrograms, WhatWasTakenOfItsInputIsTold) {
  std::size_t taken = 0;
  ProgramHandlers all = handlers();
  all.on_taken = [&taken](std::size_t bytes) { taken += bytes; };
  begin("read word; while [ ! -e \"$FOLDER/go\" ]; do sleep 0.01; done; wc -c", all);
  const std::string much(std::size_t{300} << 10, 'x');
  program_->send("word\n" + much);
  program_->close();
  settle();
  EXPECT_EQ(taken, 0U) << "a pipe has no room for all of it";
  std::ofstream(folder_ + "/go") << "";
  ASSERT_TRUE(until([&] { return ends_ > 0; }));
  EXPECT_EQ(taken, much.size() + 5);
  EXPECT_EQ(std::stoul(got_), much.size()) << "all of it, and then its end";
}

TEST_F(PipedPrograms, AScriptWhoseFirstLineNamesNoProgramIsForTheShell) {
  for (const auto& [text, runs] : {std::pair(std::string("echo $# $1 $FOLDER\n"), true),
                                   std::pair(std::string("\x7f"
                                                         "ELF\0",
                                                         5),
                                             false),
                                   std::pair(std::string(), false)}) {
    std::ofstream(folder_ + "/file") << text;
    fs::permissions(folder_ + "/file", fs::perms::owner_all);
    auto started =
        PipedProgram::start(io_.get_executor(), {folder_ + "/file", {"x", "a b"}, {"FOLDER=c"}, {}}, handlers());
    ASSERT_EQ(started.has_value(), runs) << text;
    if (runs) program_ = *std::move(started);
    EXPECT_TRUE(!runs || until([&] { return got_ == "1 a b c\n"; })) << got_;
  }
}

}  // namespace launch::piped_program_test
