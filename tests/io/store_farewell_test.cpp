// How the connections of agents end: in order if the process of the store ends, else by a reset.
#include "launch/core/c10d/attendance.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/store_server.hpp"

#include "run.hpp"

#include <gtest/gtest.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <string>
#include <utility>

namespace launch::store_farewell_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

// Reads until the connection ends, closes it, and returns how it has ended.
asio::awaitable<boost::system::error_code> read_to_end(tcp::socket& socket) {
  boost::system::error_code ended;
  while (!ended) {
    std::array<char, 64> some{};
    ended = std::get<0>(co_await socket.async_read_some(asio::buffer(some), asio::as_tuple(asio::use_awaitable)));
  }
  boost::system::error_code ignored;
  socket.close(ignored);
  co_return ended;
}

asio::awaitable<void> watch(tcp::socket& socket, boost::system::error_code& how) { how = co_await read_to_end(socket); }

asio::awaitable<bool> part(StoreServer& server, Duration patience) {
  co_await server.part(later(now(), patience));
  co_return true;
}

class StoreFarewell : public testing::Test {
 protected:
  StoreFarewell() {
    server_.reset_agents();
    EXPECT_TRUE(server_.listen("127.0.0.1", 0, true));
  }

  tcp::endpoint address() const { return {asio::ip::address_v4::loopback(), server_.port()}; }
  // An agent: it has left a will.
  tcp::socket agent() {
    tcp::socket socket(io_);
    socket.connect(address());
    send(socket, ValidateRequest{validate_magic});
    send(socket, LeaveWillRequest{to_json(Will{{{"why", "closed", "silent"}}, {}, {}})});
    io_.restart();
    while (server_.agents() == 0) io_.run_one();
    return socket;
  }
  static void send(tcp::socket& socket, const Request& request) {
    std::string bytes;
    encode(request, bytes);
    asio::write(socket, asio::buffer(bytes));
  }

  asio::io_context io_{1};
  StoreServer server_{io_.get_executor(), [](const std::string&) {}};
};

// Or it would take that for the end of this process, which lives.
TEST_F(StoreFarewell, AnAgentThatIsGivenUpIsReset) {
  server_.set_silence_limit(100ms);
  tcp::socket socket = agent();
  EXPECT_EQ(run(io_, read_to_end(socket)), asio::error::connection_reset);
}

// It would take that for the end of this process, too, if it was a witness.
TEST_F(StoreFarewell, AnAgentThatIsRefusedIsReset) {
  tcp::socket socket(io_);
  socket.connect(address());
  send(socket, ValidateRequest{validate_magic});
  send(socket, AttendRequest{"key", "no attendance"});
  EXPECT_EQ(run(io_, read_to_end(socket)), asio::error::connection_reset);
}

TEST_F(StoreFarewell, WhatIsStillSentToAStoreThatPartsDoesNotResetTheConnection) {
  tcp::socket socket = agent();
  const tcp::endpoint there = address();
  for (int i = 0; i < 100; ++i) send(socket, PingRequest{1});
  boost::system::error_code ended;
  run_in_background(io_.get_executor(), watch(socket, ended));
  EXPECT_TRUE(run(io_, part(server_, 10s)));
  EXPECT_EQ(ended, asio::error::eof);
  EXPECT_EQ(server_.agents(), 0U);
  tcp::socket late(io_);
  boost::system::error_code refused;
  late.connect(there, refused);
  EXPECT_EQ(refused, asio::error::connection_refused);
}

TEST_F(StoreFarewell, AStoreThatBeginsAnewResetsAllAndMayListenAgain) {
  tcp::socket socket = agent();
  tcp::socket other(io_);
  other.connect(address());
  send(other, ValidateRequest{validate_magic});
  send(other, SetRequest{"key", "of before"});
  io_.restart();
  while (server_.talkers() < 2) io_.run_one();
  const tcp::endpoint there = address();
  server_.begin_anew();
  EXPECT_EQ(run(io_, read_to_end(socket)), asio::error::connection_reset);
  EXPECT_EQ(run(io_, read_to_end(other)), asio::error::connection_reset);
  EXPECT_EQ(server_.agents(), 0U);
  EXPECT_EQ(server_.talkers(), 0U);
  tcp::socket late(io_);
  boost::system::error_code refused;
  late.connect(there, refused);
  EXPECT_EQ(refused, asio::error::connection_refused);
  EXPECT_TRUE(server_.listen("127.0.0.1", 0, true));
  const tcp::socket again = agent();
  EXPECT_EQ(server_.agents(), 1U);
}

TEST_F(StoreFarewell, AnAgentThatDoesNotCloseIsWaitedForUntilTheDeadline) {
  const tcp::socket socket = agent();
  EXPECT_TRUE(run(io_, part(server_, 50ms)));
  EXPECT_EQ(server_.agents(), 1U);
}

// Or the node would take the end of this process, later, for a proof that it has not been given up before.
TEST_F(StoreFarewell, TheWitnessOfANodeThatIsLostIsReset) {
  for (const bool lost : {true, false}) {
    StoreServer server(io_.get_executor(), [](const std::string&) {});
    server.reset_agents();
    ASSERT_TRUE(server.listen("127.0.0.1", 0, true));
    const auto attend = [&](Attendance::Wish wish) {
      tcp::socket socket(io_);
      socket.connect({asio::ip::address_v4::loopback(), server.port()});
      Attendance said;
      said.wish = wish;
      said.node = {"n1", 1, launch_local_id};
      said.nodes = {2, 4};
      said.member.local_world_size = 1;
      send(socket, ValidateRequest{validate_magic});
      send(socket, AttendRequest{"key", to_json(said)});
      const std::size_t talkers = server.talkers();
      io_.restart();
      while (server.talkers() == talkers) io_.run_one();
      return socket;
    };
    tcp::socket node = attend(Attendance::Wish::join);
    tcp::socket witness = attend(Attendance::Wish::witness);
    EXPECT_EQ(server.agents(), 1U) << "the witness is no agent";
    if (lost) node.close();
    boost::system::error_code ended;
    run_in_background(io_.get_executor(), watch(witness, ended));
    EXPECT_TRUE(lost || run(io_, part(server, 50ms)));
    io_.restart();
    while (!ended) io_.run_one();
    EXPECT_EQ(ended == asio::error::connection_reset, lost);
    EXPECT_EQ(ended == asio::error::eof, !lost);
  }
}

}  // namespace launch::store_farewell_test
