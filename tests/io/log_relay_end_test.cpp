// What LogRelay does at the end of an attempt whose console has not taken all yet.
#include "launch/io/files.hpp"
#include "launch/io/log_relay.hpp"
#include "listener.hpp"
#include "run.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>
#include <boost/asio/steady_timer.hpp>

namespace launch::log_relay_end_test {

using namespace std::chrono_literals;

TEST(LogRelayEnd, FilesHaveAllOfItThoughTheConsoleIsNotWaitedFor) {
  ::signal(SIGPIPE, SIG_IGN);  // as launch does
  const std::string path = testing::TempDir() + "log_relay_end_" + std::to_string(::getpid());
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "line " + std::to_string(i) + " of a worker that writes a lot\n";
  const Listener console;
  boost::asio::io_context io(1);
  std::optional<LogRelay> relay;
  relay.emplace(io.get_executor(), FileRules{});
  const LinePrefix prefix({"", false, false}, {}, "stdout");
  const auto number = relay->add_console({console.out.get(), prefix, false, {}, prefix}, path + ".filtered");
  ASSERT_TRUE(number);
  auto added = relay->add_stream(0, path, *number);
  ASSERT_TRUE(added && relay->begin());
  ASSERT_TRUE(write_all(added->writer.get(), text));
  added->writer.reset();
  const auto expect_all_in_the_file = [&](const LogRelay::Outcome& outcome) {
    EXPECT_FALSE(outcome.shown);
    EXPECT_FALSE(outcome.stalled);
    EXPECT_TRUE(outcome.written);
    EXPECT_TRUE(read_file(path, 2 * text.size()) == text);
  };
  expect_all_in_the_file(run(io, relay->drain(20s, Duration(0))));
  boost::asio::steady_timer soon(io, 20ms);
  soon.async_wait([&relay](const boost::system::error_code&) { relay->hurry(); });
  expect_all_in_the_file(run(io, relay->drain(20s)));
  EXPECT_TRUE(console.hear(text.size()) == text);
  EXPECT_TRUE(run(io, relay->drain(20s)).shown);
  std::filesystem::remove(path);
}

}  // namespace launch::log_relay_end_test
