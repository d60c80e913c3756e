#include "launch/io/port_listener.hpp"

#include <chrono>
#include <ctime>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::port_listener_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

tcp::socket connected(asio::io_context& io, std::uint16_t port) {
  tcp::socket socket(io);
  socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port));
  return socket;
}

TEST(PortListener, GivesEachConnection) {
  asio::io_context io(1);
  std::vector<tcp::socket> accepted;
  PortListener listener(io.get_executor(), [&](tcp::socket socket) { accepted.push_back(std::move(socket)); });
  ASSERT_TRUE(listener.listen("127.0.0.1", 0, true));
  ASSERT_NE(listener.port(), 0);
  const tcp::socket one = connected(io, listener.port()), two = connected(io, listener.port());
  while (accepted.size() < 2 && io.run_one_for(10s) > 0) continue;
  ASSERT_EQ(accepted.size(), 2U);
  EXPECT_EQ(accepted[0].remote_endpoint(), one.local_endpoint());
}

TEST(PortListener, TakesAtOnceWhomTheKernelHasAccepted) {
  asio::io_context io(1);
  std::vector<tcp::socket> accepted;
  PortListener listener(io.get_executor(), [&](tcp::socket socket) { accepted.push_back(std::move(socket)); });
  ASSERT_TRUE(listener.listen("127.0.0.1", 0, true));
  const tcp::socket one = connected(io, listener.port()), two = connected(io, listener.port());
  listener.accept_pending();
  EXPECT_EQ(accepted.size(), 2U);
  const tcp::socket later = connected(io, listener.port());
  while (accepted.size() < 3 && io.run_one_for(10s) > 0) continue;  // and goes on listening
  EXPECT_EQ(accepted.size(), 3U);
}

TEST(PortListener, ABusyPortIsAnErrorThatNamesIt) {
  asio::io_context io(1);
  PortListener first(io.get_executor(), [](tcp::socket) {}), second(io.get_executor(), [](tcp::socket) {});
  ASSERT_TRUE(first.listen("127.0.0.1", 0, true));
  const Status busy = second.listen("127.0.0.1", first.port(), true);
  ASSERT_FALSE(busy);
  EXPECT_NE(busy.error().message.find("cannot listen on port " + std::to_string(first.port())), std::string::npos);
}

TEST(PortListener, WhoMakesDoWithAnothersIsToldThatThePortIsBusy) {
  asio::io_context io(1);
  PortListener first(io.get_executor(), [](tcp::socket) {}), second(io.get_executor(), [](tcp::socket) {});
  ASSERT_FALSE(first.try_to_listen("127.0.0.1", 0, true));
  EXPECT_EQ(second.try_to_listen("127.0.0.1", first.port(), true), asio::error::address_in_use);
  EXPECT_EQ(second.port(), 0);
}

TEST(PortListener, PausesOnBothOfItsAddressesWithoutDescriptors) {
  asio::io_context io(1);
  PortListener server(io.get_executor(), [](tcp::socket) {});
  ASSERT_TRUE(server.listen("localhost", 0, true));
  std::vector<tcp::socket> clients;
  for (const char* address : {"127.0.0.1", "::1"}) {
    clients.emplace_back(io);
    boost::system::error_code error;
    clients.back().connect(tcp::endpoint(asio::ip::make_address(address), server.port()), error);
    if (error) GTEST_SKIP() << "no " << address << " here";
  }
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{static_cast<rlim_t>(clients.back().native_handle()) + 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  std::vector<int> fillers;
  for (int fd = dup(0); fd >= 0; fd = dup(0)) fillers.push_back(fd);
  const std::clock_t began = std::clock();
  io.run_for(1s);
  const double busy = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  setrlimit(RLIMIT_NOFILE, &before);
  for (const int fd : fillers) close(fd);
  EXPECT_LT(busy, 0.2);
}

}  // namespace launch::port_listener_test
