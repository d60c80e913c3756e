#include "launch/io/deadline.hpp"

#include "launch/io/clock.hpp"

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

namespace launch::deadline_test {

using boost::asio::ip::tcp;
using namespace std::chrono_literals;

struct Pair {
  explicit Pair(boost::asio::io_context& io) : near(io), far(io) {
    tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    near.connect(acceptor.local_endpoint());
    far = acceptor.accept();
  }
  tcp::socket near, far;
};

TEST(Deadline, CancelsWhatTheSocketIsDoing) {
  boost::asio::io_context io(1);
  Pair pair(io);
  const Deadline deadline(pair.near, later(now(), 5ms));
  boost::system::error_code result;
  pair.near.async_wait(tcp::socket::wait_read, [&](const boost::system::error_code& error) { result = error; });
  io.run();
  EXPECT_EQ(result, boost::asio::error::operation_aborted);
  EXPECT_TRUE(deadline.passed());
}

TEST(Deadline, LeavesTheSocketAloneOnceItIsGone) {
  boost::asio::io_context io(1);
  Pair pair(io);
  { const Deadline deadline(pair.near, now()); }
  boost::system::error_code result = boost::asio::error::fault;
  pair.near.async_wait(tcp::socket::wait_write, [&](const boost::system::error_code& error) { result = error; });
  io.run();
  EXPECT_FALSE(result);
}

TEST(Deadline, NeverSetsNoTimer) {
  boost::asio::io_context io(1);
  Pair pair(io);
  const Deadline deadline(pair.near, never);
  io.run();  // would not return with a timer under way
  EXPECT_FALSE(deadline.passed());
}

}  // namespace launch::deadline_test
