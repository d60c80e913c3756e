#include "launch/io/connect.hpp"

#include "launch/io/clock.hpp"

#include "run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::connect_test {

using boost::asio::ip::tcp;
using namespace std::chrono_literals;

TEST(Connect, AnAddressIsTakenAsItIs) {
  boost::asio::io_context io(1);
  const auto addresses = run(io, resolve(Endpoint{"::1", 7}, later(now(), 5s)));
  ASSERT_TRUE(addresses);
  EXPECT_EQ(addresses->at(0), tcp::endpoint(boost::asio::ip::address_v6::loopback(), 7));
}

TEST(Connect, ANameThatLeadsNowhereIsAnErrorWithTheResolversWords) {
  boost::asio::io_context io(1);
  const auto addresses = run(io, resolve(Endpoint{"no.such.host.invalid", 7}, later(now(), 20s)));
  ASSERT_FALSE(addresses);
  EXPECT_EQ(addresses.error().code, ErrorCode::timeout);
  EXPECT_THAT(addresses.error().message, testing::HasSubstr("the name no.such.host.invalid cannot be resolved: "));
}

TEST(Connect, ReachesAListener) {
  boost::asio::io_context io(1);
  tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  const auto socket = run(io, connect(Endpoint{"127.0.0.1", acceptor.local_endpoint().port()}, later(now(), 5s)));
  ASSERT_TRUE(socket);
  tcp::no_delay no_delay;
  socket->get_option(no_delay);
  EXPECT_TRUE(no_delay.value());
}

TEST(Connect, ARefusalNamesTheEndpoint) {
  boost::asio::io_context io(1);
  std::uint16_t port = 0;
  {
    const tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    port = acceptor.local_endpoint().port();
  }
  const auto socket = run(io, connect(Endpoint{"127.0.0.1", port}, later(now(), 5s)));
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, testing::HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_THAT(socket.error().message, testing::HasSubstr("Connection refused"));
}

}  // namespace launch::connect_test
