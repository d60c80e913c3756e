#include "launch/io/connect.hpp"

#include "launch/io/clock.hpp"

#include "no_threads.hpp"
#include "run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

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

TEST(Connect, ANameForWhichNoThreadCanBeHadIsAnError) {
  boost::asio::io_context io(1);
  std::optional<NoThreads> none(std::in_place);
  const auto addresses = run(io, resolve(Endpoint{"no.such.host.invalid", 7}, later(now(), 20s)));
  ASSERT_FALSE(addresses);
  EXPECT_THAT(addresses.error().message, testing::HasSubstr("cannot be resolved: cannot start a thread for it"));
  none.reset();
  EXPECT_TRUE(run(io, resolve(Endpoint{"localhost", 7}, later(now(), 20s))));
}

TEST(Connect, LocalhostIsKnownThoughNothingCanBeLookedUp) {
  boost::asio::io_context io(1);
  const NoThreads none;
  const auto addresses = run(io, resolve(Endpoint{"localhost", 7}, later(now(), 20s)));
  ASSERT_TRUE(addresses);
  EXPECT_EQ(addresses->at(0), tcp::endpoint(boost::asio::ip::address_v4::loopback(), 7));
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

TEST(Connect, ASocketThatReachedItselfIsKnown) {
  boost::asio::io_context io(1);
  tcp::socket own(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  own.connect(own.local_endpoint());
  EXPECT_TRUE(is_own_peer(own));
  tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  tcp::socket other(io);
  EXPECT_FALSE(is_own_peer(other));
  other.connect(acceptor.local_endpoint());
  EXPECT_FALSE(is_own_peer(other));
}

// This thread is in a network of its own for as long as the object lives.
class OwnNetwork {
 public:
  OwnNetwork()
      : before_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)),
        is_there_(before_ >= 0 && unshare(CLONE_NEWNET) == 0 && std::system("ip link set lo up") == 0) {}
  ~OwnNetwork() {
    if (before_ < 0) return;
    setns(before_, CLONE_NEWNET);
    close(before_);
  }
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;
  bool is_there() const { return is_there_; }

 private:
  int before_;
  bool is_there_;
};

// Of a range of one port the kernel can choose no other.
TEST(Connect, NobodyListensWhereOnlyTheSocketItselfAnswers) {
  const OwnNetwork network;
  if (!network.is_there()) GTEST_SKIP() << "it takes root to make a network";
  std::ofstream("/proc/sys/net/ipv4/ip_local_port_range") << "40001 40001";
  boost::asio::io_context io(1);
  const auto socket = run(io, connect(Endpoint{"127.0.0.1", 40'001}, later(now(), 5s)));
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, testing::HasSubstr("Connection refused"));
  const tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 40'001));
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
