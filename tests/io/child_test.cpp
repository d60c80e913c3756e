#include "launch/io/child.hpp"

#include "refusal.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::child_test {

Spawned shell(const std::string& script) {
  SpawnRequest request;
  request.executable = "/bin/sh";
  request.argv = {"sh", "-c", script};
  return *spawn(request);
}

ExitStatus end_of(Spawned spawned) {
  boost::asio::io_context io(1);
  Child child(io.get_executor(), std::move(spawned));
  ExitStatus result{ExitStatus::Kind::exited, -1};
  child.on_exit([&](ExitStatus status) { result = status; });
  EXPECT_FALSE(child.ended());
  io.run();
  EXPECT_TRUE(child.ended());
  return result;
}

ExitStatus end_of(const std::string& script) { return end_of(shell(script)); }

TEST(Child, ToldItsExitCode) {
  EXPECT_EQ(end_of("exit 0"), (ExitStatus{ExitStatus::Kind::exited, 0}));
  EXPECT_EQ(end_of("exit 255"), (ExitStatus{ExitStatus::Kind::exited, 255}));
}

TEST(Child, ToldItsSignal) {
  EXPECT_EQ(end_of("kill -KILL $$"), (ExitStatus{ExitStatus::Kind::signalled, SIGKILL}));
  EXPECT_EQ(end_of("ulimit -c unlimited; cd /tmp; ulimit -c 0; kill -SEGV $$"),
            (ExitStatus{ExitStatus::Kind::signalled, SIGSEGV}));
}

// Before Linux 5.4 waitid knows no pidfd.
TEST(Child, ToldItsExitCodeThoughWaitidIsRefused) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!refuse(SYS_waitid, EINVAL)) ::_exit(2);
    ::_exit(end_of("exit 7") == ExitStatus{ExitStatus::Kind::exited, 7} ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Before Linux 5.2 there is none.
TEST(Child, ToldItsExitCodeWithoutAPidfd) {
  Spawned spawned = shell("sleep 0.1; exit 7");
  spawned.pidfd = Fd();
  EXPECT_EQ(end_of(std::move(spawned)), (ExitStatus{ExitStatus::Kind::exited, 7}));
}

// Linux 5.2 refuses to wait for it, and poll() says that there is something, as for a file.
TEST(Child, ToldItsExitCodeThoughNothingWaitsForItsPidfd) {
  Spawned spawned = shell("sleep 0.1; exit 7");
  spawned.pidfd = Fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(end_of(std::move(spawned)), (ExitStatus{ExitStatus::Kind::exited, 7}));
}

TEST(Child, ThatWasCollectedElsewhereHasEnded) {
  SpawnRequest request;
  request.executable = "/bin/true";
  request.argv = {"true"};
  boost::asio::io_context io(1);
  Child child(io.get_executor(), *spawn(request));
  std::optional<ExitStatus> result;
  child.on_exit([&](ExitStatus status) { result = status; });
  ASSERT_EQ(::waitpid(child.pid(), nullptr, 0), child.pid());
  io.run_for(std::chrono::seconds(10));
  EXPECT_EQ(result, (ExitStatus{ExitStatus::Kind::exited, 255}));
}

// Traces a process, kills it, and keeps it until `release` is closed. False on `ready` when it may not trace.
pid_t keep_dead(pid_t pid, int ready, int release) {
  const pid_t tracer = ::fork();
  if (tracer != 0) return tracer;
  const bool traced = ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0;
  if (traced) ::kill(pid, SIGKILL);
  if (::write(ready, traced ? "y" : "n", 1) != 1) ::_exit(1);
  char byte = 0;
  if (::read(release, &byte, 1) != 1) ::_exit(1);
  ::_exit(0);
}

TEST(Child, ThatADebuggerKeepsCostsNoProcessorTime) {
  using namespace std::chrono_literals;
  SpawnRequest request;
  request.executable = "/bin/sleep";
  request.argv = {"sleep", "300"};
  boost::asio::io_context io(1);
  Child child(io.get_executor(), *spawn(request));
  std::optional<ExitStatus> result;
  child.on_exit([&](ExitStatus status) { result = status; });
  std::array<int, 2> ready{}, release{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::pipe(release.data()), 0);
  const pid_t tracer = keep_dead(child.pid(), ready[1], release[0]);
  char traced = 0;
  ASSERT_EQ(::read(ready[0], &traced, 1), 1);
  if (traced == 'y') {
    EXPECT_LT(io.run_for(500ms), 20U);  // what woke us
    EXPECT_FALSE(result);
  } else {
    ::kill(child.pid(), SIGKILL);
  }
  ASSERT_EQ(::write(release[1], "x", 1), 1);
  io.run();
  EXPECT_EQ(result, (ExitStatus{ExitStatus::Kind::signalled, SIGKILL}));
  ::waitpid(tracer, nullptr, 0);
  for (const int fd : {ready[0], ready[1], release[0], release[1]}) ::close(fd);
  if (traced != 'y') GTEST_SKIP() << "tracing is not allowed here";
}

// The news of a descriptor that is closed before it was looked at comes to the one that is opened next.
TEST(Child, AWakeForNothingIsNotItsEnd) {
  using Stream = boost::asio::posix::stream_descriptor;
  boost::asio::io_context io(1);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  Fd reader(ends[0]), writer(ends[1]), again(::dup(ends[0]));
  std::array<Stream, 2> streams{Stream(io, reader.release()), Stream(io, again.release())};
  std::optional<Child> child;
  std::optional<ExitStatus> result;
  SpawnRequest request;
  request.executable = "/bin/sh";
  request.argv = {"sh", "-c", "exec sleep 300"};
  for (std::size_t i = 0; i < streams.size(); ++i)
    streams[i].async_wait(Stream::wait_read, [&, i](const boost::system::error_code& error) {
      if (error || child) return;
      streams[i].close();
      streams[1 - i].close();
      child.emplace(io.get_executor(), *spawn(request));
      child->on_exit([&](ExitStatus status) { result = status; });
    });
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  for (int i = 0; i < 10; ++i) io.poll();
  ASSERT_TRUE(child);
  EXPECT_FALSE(result);
  ::kill(child->pid(), SIGKILL);
  io.restart();
  io.run();
  EXPECT_EQ(result, (ExitStatus{ExitStatus::Kind::signalled, SIGKILL}));
}

}  // namespace launch::child_test
