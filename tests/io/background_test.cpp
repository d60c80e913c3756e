#include "launch/io/background.hpp"

#include "launch/io/log.hpp"

#include <stdexcept>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

namespace launch::background_test {

boost::asio::awaitable<void> set(bool& flag) {
  flag = true;
  co_return;
}

boost::asio::awaitable<void> throw_something() {
  throw std::runtime_error("the reason");
  co_return;
}

TEST(Background, RunsTheTask) {
  boost::asio::io_context io(1);
  bool ran = false;
  run_in_background(io.get_executor(), set(ran));
  io.run();
  EXPECT_TRUE(ran);
}

TEST(BackgroundDeathTest, AnEscapedExceptionStopsTheProgram) {
  EXPECT_DEATH(
      {
        open_log();
        boost::asio::io_context io(1);
        run_in_background(io.get_executor(), throw_something());
        io.run();
      },
      "internal error: the reason");
}

}  // namespace launch::background_test
