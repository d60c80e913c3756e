#include "launch/io/child.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

namespace launch {
namespace {

ExitStatus end_of(const std::string& script) {
  SpawnRequest request;
  request.executable = "/bin/sh";
  request.argv = {"sh", "-c", script};
  boost::asio::io_context io(1);
  Child child(io.get_executor(), *spawn(request));
  ExitStatus result{ExitStatus::Kind::exited, -1};
  child.on_exit([&](ExitStatus status) { result = status; });
  EXPECT_FALSE(child.ended());
  io.run();
  EXPECT_TRUE(child.ended());
  return result;
}

TEST(Child, ToldItsExitCode) {
  EXPECT_EQ(end_of("exit 0"), (ExitStatus{ExitStatus::Kind::exited, 0}));
  EXPECT_EQ(end_of("exit 255"), (ExitStatus{ExitStatus::Kind::exited, 255}));
}

TEST(Child, ToldItsSignal) {
  EXPECT_EQ(end_of("kill -KILL $$"), (ExitStatus{ExitStatus::Kind::signalled, SIGKILL}));
  EXPECT_EQ(end_of("ulimit -c unlimited; cd /tmp; ulimit -c 0; kill -SEGV $$"),
            (ExitStatus{ExitStatus::Kind::signalled, SIGSEGV}));
}

}  // namespace
}  // namespace launch
