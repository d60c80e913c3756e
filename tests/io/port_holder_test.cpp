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
