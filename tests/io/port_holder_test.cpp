#include "launch/io/port_holder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace launch::port_holder_test {

using boost::asio::ip::tcp;

TEST(PortHolder, NamesTheProcessThatListens) {
  boost::asio::io_context io(1);
  for (const tcp::endpoint& any : {tcp::endpoint(tcp::v4(), 0), tcp::endpoint(tcp::v6(), 0)}) {
    const tcp::acceptor acceptor(io, any);
    const std::string holder = find_port_holder(acceptor.local_endpoint().port());
    EXPECT_THAT(holder, testing::HasSubstr("pid " + std::to_string(::getpid()) + " ("));
    EXPECT_THAT(holder, testing::HasSubstr("io_tests"));
  }
}

TEST(PortHolder, KnowsAPortThatAnEndedConnectionKeeps) {
  boost::asio::io_context io(1);
  const tcp::endpoint any(boost::asio::ip::address_v4::loopback(), 0);
  tcp::acceptor acceptor(io, any);
  tcp::socket client(io, any);
  const std::uint16_t port = client.local_endpoint().port();
  client.connect(acceptor.local_endpoint());
  tcp::socket server = acceptor.accept();
  EXPECT_FALSE(is_port_cooling(port));
  client.close();  // the side that closes first keeps its port
  server.close();
  EXPECT_TRUE(is_port_cooling(port));
  EXPECT_FALSE(is_port_cooling(acceptor.local_endpoint().port()));
  boost::system::error_code error;
  tcp::acceptor late(io);
  late.open(tcp::v4());
  late.set_option(tcp::acceptor::reuse_address(true));
  late.bind(tcp::endpoint(tcp::v4(), port), error);
  EXPECT_EQ(error, boost::asio::error::address_in_use);
}

TEST(PortHolder, SaysNothingOfAFreePort) {
  boost::asio::io_context io(1);
  std::uint16_t port = 0;
  {
    const tcp::acceptor acceptor(io, tcp::endpoint(tcp::v4(), 0));
    port = acceptor.local_endpoint().port();
  }
  EXPECT_EQ(find_port_holder(port), "");
}

}  // namespace launch::port_holder_test
