#include "launch/io/spawn.hpp"

#include "launch/io/files.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::spawn_test {

using testing::HasSubstr;

SpawnRequest shell(const std::string& script) {
  SpawnRequest request;
  request.executable = "/bin/sh";
  request.argv = {"sh", "-c", script};
  request.env = {"PATH=/usr/bin:/bin", "MARK=of the test"};
  return request;
}

int exit_of(const SpawnRequest& request) {
  auto spawned = spawn(request);
  if (!spawned) return -1;
  int status = 0;
  ::waitpid(spawned->pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

std::string temp_file(const std::string& name, const std::string& text, mode_t mode) {
  std::string path = testing::TempDir() + "spawn_test_" + std::to_string(::getpid()) + "_" + name;
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}

TEST(Spawn, All256ExitCodesComeThrough) {
  for (int code = 0; code < 256; ++code) ASSERT_EQ(exit_of(shell("exit " + std::to_string(code))), code);
}

TEST(Spawn, PassesArgumentsAndEnvironmentUntouched) {
  SpawnRequest request = shell(R"([ "$MARK" = "of the test" ] && [ "$1" = "a  b" ] && [ "$2" = "" ] && [ $# = 2 ])");
  request.argv.insert(request.argv.end(), {"sh", "a  b", ""});
  EXPECT_EQ(exit_of(request), 0);
}

TEST(Spawn, TheChildLeadsItsOwnSession) {
  EXPECT_EQ(exit_of(shell("set -- $(cat /proc/$$/stat); [ $1 = $5 ] && [ $1 = $6 ]")), 0);
}

TEST(Spawn, ThroughSlotsTheChildHasItsStreamsAndNothingElse) {
  SpawnRequest request = shell("read line; echo out $line; echo err >&2; ls /proc/$$/fd; true");  // no pipe of its own
  request.slots = std::make_shared<StreamSlots>();
  std::array<int, 2> input{}, output{};
  ASSERT_EQ(::pipe2(input.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(output.data(), O_CLOEXEC), 0);
  const Fd in(input[0]), out(output[0]);
  Fd feed(input[1]), write_end(output[1]);
  const Fd others_too(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  request.in = in.get();
  request.out = request.err = write_end.get();
  write_all(feed.get(), "line\n");
  EXPECT_EQ(exit_of(request), 0);
  write_end.reset();
  std::array<char, 100> said{};
  std::string all;
  for (ssize_t size = 1; size > 0; all.append(said.data(), static_cast<std::size_t>(size)))
    size = ::read(out.get(), said.data(), said.size());  // ends, since no slot holds it
  EXPECT_EQ(all, "out line\nerr\n0\n1\n2\n");
  EXPECT_NE(request.slots->end(), 0U) << "they were not given up";
  request.in = request.out = request.err = -1;
  request.argv = {"sh", "-c", "exit 7"};
  EXPECT_EQ(exit_of(request), 7) << "with our own streams";
}

TEST(Spawn, OneThatIsTakenBackIsGoneWithItsGroup) {
  std::array<int, 2> output{};
  ASSERT_EQ(::pipe2(output.data(), O_CLOEXEC), 0);
  const Fd out(output[0]);
  Fd write_end(output[1]);
  SpawnRequest request = shell("/bin/sleep 1000 & echo; wait");
  request.out = write_end.get();
  auto spawned = spawn(request);
  ASSERT_TRUE(spawned);
  write_end.reset();
  std::array<char, 2> said{};
  ASSERT_EQ(::read(out.get(), said.data(), said.size()), 1);
  take_back(*spawned);
  EXPECT_EQ(::read(out.get(), said.data(), said.size()), 0) << "somebody still holds the pipe";
  EXPECT_EQ(::waitpid(spawned->pid, nullptr, WNOHANG), -1);
}

TEST(Spawn, ThroughSlotsAFailureIsTold) {
  SpawnRequest request;
  request.executable = "/no/such/program";
  request.argv = {"program"};
  request.slots = std::make_shared<StreamSlots>();
  auto spawned = spawn(request);
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().stage, SpawnStage::execute);
  EXPECT_EQ(spawned.error().error, ENOENT);
  EXPECT_NE(request.slots->end(), 0U);
}

TEST(Spawn, TheChildHasNoDescriptorAbove2AndAnEmptyMask) {
  const Fd leak(::open("/dev/null", O_RDONLY));
  ASSERT_TRUE(leak.valid());
  EXPECT_EQ(exit_of(shell("[ ! -e /proc/$$/fd/" + std::to_string(leak.get()) + " ]")), 0);
  sigset_t block, before;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &block, &before);
  EXPECT_EQ(exit_of(shell("grep -q 'SigBlk:.0000000000000000' /proc/self/status")), 0);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST(Spawn, IgnoredSignalsAreResetWhereAsked) {
  struct sigaction before {};
  ::sigaction(SIGUSR1, nullptr, &before);
  ::signal(SIGUSR1, SIG_IGN);
  SpawnRequest request = shell("kill -USR1 $$; exit 0");
  EXPECT_EQ(exit_of(request), 0);
  request.reset_signals = {SIGUSR1};
  EXPECT_EQ(exit_of(request), 1000 + SIGUSR1);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(Spawn, TheLimitOfOpenFilesIsRestored) {
  SpawnRequest request = shell("[ $(ulimit -n) = 123 ]");
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  request.open_files = rlimit{123, limit.rlim_max};
  EXPECT_EQ(exit_of(request), 0);
}

struct Failing {
  const char* what;
  SpawnRequest request;
  SpawnStage stage;
  int error;
  int exit_code;
  const char* words;
};

TEST(Spawn, TellsStageAndReasonOfEachFailure) {
  SpawnRequest missing;
  missing.executable = "/nowhere/train";
  SpawnRequest no_permission;
  no_permission.executable = temp_file("plain", "#!/bin/sh\n", 0644);
  SpawnRequest folder;
  folder.executable = "/tmp";
  SpawnRequest bad_format;
  bad_format.executable = temp_file("bad", "neither script nor program", 0755);
  SpawnRequest no_interpreter;
  no_interpreter.executable = temp_file("lost", "#!/nowhere/sh\n", 0755);
  SpawnRequest from_windows;
  from_windows.executable = temp_file("crlf", "#!/bin/sh\r\ntrue\r\n", 0755);
  SpawnRequest too_long = shell("true");
  too_long.argv.insert(too_long.argv.end(), 200, std::string(100'000, 'x'));
  SpawnRequest no_script = shell("true");
  no_script.script = "/nowhere/train.py";
  const std::vector<Failing> cases = {
      {"missing", missing, SpawnStage::execute, ENOENT, 127, "No such file"},
      {"permission", no_permission, SpawnStage::execute, EACCES, 126, "chmod +x"},
      {"folder", folder, SpawnStage::execute, EACCES, 126, "it is a folder"},
      {"format", bad_format, SpawnStage::execute, ENOEXEC, 126, "#!/bin/sh"},
      {"interpreter", no_interpreter, SpawnStage::execute, ENOENT, 127, "interpreter"},
      {"CRLF", from_windows, SpawnStage::execute, ENOENT, 127, "carriage return"},
      {"too long", too_long, SpawnStage::execute, E2BIG, 126, "too long"},
      {"script", no_script, SpawnStage::script, ENOENT, 127, "/nowhere/train.py"},
  };
  for (const Failing& c : cases) {
    const auto result = spawn(c.request);
    ASSERT_FALSE(result) << c.what;
    EXPECT_EQ(result.error().stage, c.stage) << c.what;
    EXPECT_EQ(result.error().error, c.error) << c.what;
    EXPECT_EQ(exit_code(result.error()), c.exit_code) << c.what;
    EXPECT_THAT(explain(result.error(), c.request), HasSubstr(c.words)) << c.what;
  }
}

TEST(Spawn, AFailedStartLeavesNoChild) {
  SpawnRequest missing;
  missing.executable = "/nowhere/train";
  EXPECT_FALSE(spawn(missing));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Spawn, OutputGoesWhereItIsSent) {
  SpawnRequest request = shell("echo out; echo err >&2; [ ! -e /proc/self/fd/3 ]");
  const std::string out = temp_file("out", "old text that is longer", 0644), err = temp_file("err", "", 0644);
  const auto out_fd = open_output(out), err_fd = open_output(err);
  ASSERT_TRUE(out_fd && err_fd);
  request.out = out_fd->get();
  request.err = err_fd->get();
  EXPECT_EQ(exit_of(request), 0);
  EXPECT_EQ(read_file(out, 100), "out\n");
  EXPECT_EQ(read_file(err, 100), "err\n");
}

TEST(Spawn, InputComesFromWhereItIsSent) {
  SpawnRequest request = shell("read line && [ \"$line\" = given ] && [ ! -e /proc/self/fd/3 ]");
  const auto file = open_input(temp_file("in", "given\n", 0644));
  ASSERT_TRUE(file);
  request.in = file->get();
  EXPECT_EQ(exit_of(request), 0);
  const auto nothing = open_input("/dev/null");
  ASSERT_TRUE(nothing);
  request.in = nothing->get();
  EXPECT_EQ(exit_of(request), 1) << "nothing to read";
}

}  // namespace launch::spawn_test
