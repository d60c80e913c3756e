#include "launch/io/store_server.hpp"

#include "launch/core/c10d/attendance.hpp"
#include "launch/core/store/store_wire.hpp"
#include "launch/io/clock.hpp"

#include "run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <unistd.h>

namespace launch::store_server_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

asio::awaitable<bool> write_bytes(tcp::socket& socket, std::string bytes) {
  auto [error, length] = co_await asio::async_write(socket, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
  co_return !error;
}

asio::awaitable<std::string> read_bytes(tcp::socket& socket, std::size_t count) {
  std::string bytes(count, '\0');
  auto [error, length] = co_await asio::async_read(socket, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
  co_return bytes.substr(0, length);
}

std::string encoded(const Request& request) {
  std::string bytes;
  encode(request, bytes);
  return bytes;
}

class StoreServerTest : public testing::Test {
 protected:
  StoreServerTest() { EXPECT_TRUE(server_.listen("127.0.0.1", 0, true)); }

  tcp::socket open(bool greet = true) {
    tcp::socket socket(io_);
    socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), server_.port()));
    if (greet) send(socket, encoded(ValidateRequest{validate_magic}));
    return socket;
  }
  void send(tcp::socket& socket, std::string bytes) { run(io_, write_bytes(socket, std::move(bytes))); }
  std::string receive(tcp::socket& socket, std::size_t count) { return run(io_, read_bytes(socket, count)); }
  // Two payloads, for an end and for silence.
  void leave_will(tcp::socket& socket) {
    send(socket, encoded(LeaveWillRequest{to_json(Will{{{"why", "closed", "silent"}}, {}, {}})}));
    ASSERT_EQ(receive(socket, 1), std::string(1, '\0'));
  }
  // Whoever waits for the will hears of it; what it has left.
  std::string will_heard(tcp::socket& waiter) {
    EXPECT_EQ(receive(waiter, 1), std::string(1, '\0'));
    send(waiter, encoded(GetRequest{"why"}));
    return receive(waiter, 8 + 6).substr(8);
  }
  // Proves that the server serves this connection.
  void expect_served(tcp::socket& socket) {
    send(socket, encoded(PingRequest{77}));
    ASSERT_EQ(read_u32(receive(socket, 4).data()), 77U);
  }

  asio::io_context io_{1};
  std::vector<std::string> refusals_;
  StoreServer server_{io_.get_executor(), [this](const std::string& reason) { refusals_.push_back(reason); }};
};

TEST_F(StoreServerTest, RequestsAreCounted) {
  const auto tally = std::make_shared<StoreTally>();
  server_.count_into(tally);
  tcp::socket socket = open();
  send(socket, encoded(SetRequest{"/k", "v"}) + encoded(SetRequest{"/l", "v"}));
  expect_served(socket);
  EXPECT_EQ(1U, tally->requests[Request(ValidateRequest{}).index()]);
  EXPECT_EQ(2U, tally->requests[Request(SetRequest{}).index()]);
  EXPECT_EQ(1U, tally->requests[Request(PingRequest{}).index()]);
  EXPECT_EQ(4U, tally->took.count());
}

TEST_F(StoreServerTest, ProcessesOfWorkersAreNoted) {
  const auto arrivals = std::make_shared<ClientArrivals>();
  const Time before = now();
  server_.note_into(arrivals);
  server_.set_agent_keys({"agent/"});
  tcp::socket agent = open(), worker = open(), silent = open(), again = open();
  send(agent, encoded(PingRequest{70}) + encoded(SetRequest{"agent/a", "1"}) + encoded(PingRequest{77}));
  receive(agent, 4);
  ASSERT_EQ(read_u32(receive(agent, 4).data()), 77U);
  expect_served(silent);
  EXPECT_TRUE(arrivals->all().empty()) << "neither is known to be a worker's";
  tcp::socket greeted = open();
  send(greeted, encoded(PingRequest{greeting_nonce}) + encoded(PingRequest{beat_nonce}) +
                    encoded(SetRequest{"of launch", "1"}) + encoded(PingRequest{greeting_nonce}));
  receive(greeted, 12);
  EXPECT_TRUE(arrivals->all().empty()) << "an agent of launch is no worker";
  send(worker, encoded(PingRequest{4711}) + encoded(SetRequest{"key", "1"}));
  ASSERT_EQ(read_u32(receive(worker, 4).data()), 4711U);
  expect_served(worker);
  send(again, encoded(PingRequest{4711}) + encoded(SetRequest{"key", "1"}));
  receive(again, 4);
  expect_served(again);
  ASSERT_EQ(1U, arrivals->all().size());
  const ClientArrival& one = arrivals->all()[0];
  EXPECT_EQ("127.0.0.1", one.address);
  EXPECT_EQ(4711U, one.pid);
  EXPECT_TRUE(one.here);
  EXPECT_GE(one.at, before);
  EXPECT_LE(one.at, now());
  server_.fence();
  EXPECT_TRUE(arrivals->all().empty());
  send(silent, encoded(SetRequest{"key", "1"}));  // it is older than the fence
  run(io_, read_bytes(silent, 1));
  EXPECT_TRUE(arrivals->all().empty());
}

TEST_F(StoreServerTest, EverySplitOfEveryFrameIsServed) {
  std::string conversation = encoded(ValidateRequest{validate_magic}) + encoded(PingRequest{5}) +
                             encoded(SetRequest{"/k", "value"}) + encoded(GetRequest{"/k"}) +
                             encoded(AddRequest{"/n", 2}) + encoded(WaitRequest{{"/k", "/n"}}) +
                             encoded(DeleteKeyRequest{"/k"}) + encoded(DeleteKeyRequest{"/n"});
  const std::size_t reply = 4 + 8 + 5 + 8 + 1 + 8 + 8;
  std::string whole;
  for (std::size_t cut = 0; cut <= conversation.size(); ++cut) {
    tcp::socket socket = open(false);
    send(socket, conversation.substr(0, cut));
    tcp::socket other = open();  // a round trip of another connection: the first piece has been read
    expect_served(other);
    send(socket, conversation.substr(cut));
    const std::string got = receive(socket, reply);
    if (cut == 0) whole = got;
    ASSERT_EQ(got, whole) << "cut at " << cut;
  }
  EXPECT_EQ(whole.size(), reply);
  EXPECT_TRUE(refusals_.empty());
}

// What a dead worker's kernel still sends must not open a barrier of the next round.
TEST_F(StoreServerTest, NothingOfTheLastRoundPassesTheFence) {
  server_.set_agent_keys({"/job/"});
  tcp::socket worker = open(), half = open(), quiet = open(), agent = open(), unasked(io_);
  for (tcp::socket* socket : {&worker, &half, &quiet, &agent}) expect_served(*socket);
  send(worker, encoded(AddRequest{"/barrier", 1}));
  EXPECT_EQ(receive(worker, 8).size(), 8U);
  send(half, encoded(AddRequest{"/barrier", 1}).substr(0, 10));
  send(agent, encoded(SetRequest{"/job/member", "1"}) + encoded(LeaveWillRequest{""}));
  tcp::socket other = open();
  expect_served(other);  // a round trip: all that was sent before has been read
  unasked.connect(tcp::endpoint(asio::ip::address_v4::loopback(), server_.port()));  // the kernel has accepted it

  server_.fence();
  send(half, encoded(AddRequest{"/barrier", 1}).substr(10));
  for (tcp::socket* socket : {&quiet, &unasked}) {
    if (socket == &unasked) send(*socket, encoded(ValidateRequest{validate_magic}));
    send(*socket, encoded(AddRequest{"/barrier", 1}));
  }
  for (tcp::socket* socket : {&worker, &half, &quiet, &unasked}) EXPECT_EQ(receive(*socket, 1), "");
  EXPECT_THAT(refusals_, testing::Each(testing::HasSubstr("its round is over")));

  tcp::socket next = open();
  send(next, encoded(GetRequest{"/barrier"}));
  EXPECT_EQ(receive(next, 8), std::string(8, '\0'));  // nobody has touched it
  send(agent, encoded(GetRequest{"/job/member"}));
  EXPECT_EQ(receive(agent, 1 + 8 + 1), std::string("\0\1\0\0\0\0\0\0\0001", 10));
}

TEST_F(StoreServerTest, AStoreForWorkersAloneIsEmptyBehindTheFence) {
  tcp::socket worker = open(), waits = open();
  send(worker, encoded(SetRequest{"/k", "value"}));
  send(waits, encoded(WaitRequest{{"/later"}}));
  expect_served(worker);
  server_.fence();
  EXPECT_EQ(receive(worker, 1), "");
  EXPECT_EQ(receive(waits, 1), "");
  tcp::socket next = open();
  send(next, encoded(GetRequest{"/k"}));
  EXPECT_EQ(receive(next, 8), std::string(8, '\0'));
}

TEST_F(StoreServerTest, HalfARequestStallsOnlyItsOwnConnection) {
  tcp::socket slow = open();
  send(slow, encoded(SetRequest{"/k", "value"}).substr(0, 12));
  tcp::socket other = open();
  expect_served(other);
}

TEST_F(StoreServerTest, GarbageIsClosedWithAReason) {
  tcp::socket socket = open(false);
  send(socket, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(receive(socket, 1), "");
  ASSERT_EQ(refusals_.size(), 1U);
  EXPECT_THAT(refusals_[0], testing::HasSubstr("closed the connection of 127.0.0.1 port"));
  tcp::socket other = open();
  expect_served(other);
}

TEST_F(StoreServerTest, AnOversizedKeyIsClosed) {
  tcp::socket socket = open();
  send(socket, encoded(GetRequest{std::string(max_key_bytes + 1, 'k')}));
  EXPECT_EQ(receive(socket, 1), "");
}

TEST_F(StoreServerTest, WhoDoesNotReadItsAnswersStopsBeingServedAndLosesNothing) {
  tcp::socket deaf = open(), other = open();
  const std::string value(std::size_t{4} << 20, 'v');
  send(deaf, encoded(SetRequest{"/v", value}));
  std::string many;
  for (int i = 0; i < 50; ++i) many += encoded(GetRequest{"/v"});
  send(deaf, many);
  expect_served(other);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(receive(deaf, 8 + value.size()).size(), 8 + value.size()) << i;
}

class CrowdedStoreTest : public StoreServerTest {
 protected:
  static constexpr std::size_t limit = std::size_t{64} << 20;
  CrowdedStoreTest() { server_.set_buffer_limit(limit); }

  // Watches a key, in the old dialect, and is not heard of again.
  tcp::socket watcher() {
    tcp::socket socket = open(false);
    send(socket, std::string(1, '\7') + encoded(GetRequest{"/k"}).substr(1));
    EXPECT_EQ(receive(socket, 1), "\3");
    return socket;
  }
  void set(tcp::socket& socket, std::size_t size) {
    send(socket, encoded(SetRequest{"/k", std::string(size, 'v')}));
    expect_served(socket);
  }
};

TEST_F(CrowdedStoreTest, WhatWatchersDoNotReadCounts) {
  std::vector<tcp::socket> watchers;
  for (int i = 0; i < 4; ++i) watchers.push_back(watcher());
  tcp::socket writer = open();
  for (int i = 0; i < 12; ++i) set(writer, std::size_t{2} << 20);
  EXPECT_FALSE(refusals_.empty());
  EXPECT_THAT(refusals_, testing::Each(testing::HasSubstr("all connections together hold more than 64 MiB")));
}

TEST_F(CrowdedStoreTest, TheLargestHolderIsClosedAndNotTheOneThatAsksLast) {
  server_.set_buffer_limit(std::size_t{46} << 20);
  tcp::socket writer = open();
  set(writer, std::size_t{4} << 20);
  tcp::socket deaf = open();
  send(deaf, encoded(MultiGetRequest{std::vector<std::string_view>(7, "/k")}));
  expect_served(writer);
  EXPECT_TRUE(refusals_.empty());
  tcp::socket small = open();
  send(small, encoded(MultiGetRequest{{"/k", "/k", "/k", "/k"}}));
  expect_served(writer);
  EXPECT_EQ(refusals_.size(), 1U);
  EXPECT_EQ(receive(small, 4 * (8 + (std::size_t{4} << 20))).size(), 4 * (8 + (std::size_t{4} << 20)));
}

TEST_F(CrowdedStoreTest, LongWaitsCount) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back(std::to_string(i) + std::string(8000, 'k'));
  const std::string wait = encoded(WaitRequest{{names.begin(), names.end()}});
  std::vector<tcp::socket> waiters;
  for (int i = 0; i < 6; ++i) {
    waiters.push_back(open());
    send(waiters.back(), wait + encoded(PingRequest{1}));
  }
  tcp::socket other = open();
  expect_served(other);
  EXPECT_FALSE(refusals_.empty());
}

// Both families have connections to accept, and there is no descriptor for them.
TEST_F(StoreServerTest, TalkersAreThoseWhoSaidSomething) {
  tcp::socket silent = open(false);
  tcp::socket talker = open();
  expect_served(talker);
  EXPECT_EQ(server_.talkers(), 1U);
  const std::string where = fmt::format("127.0.0.1 port {}", talker.local_endpoint().port());
  EXPECT_EQ(server_.talker_addresses(8), std::vector<std::string>(1, where));
  talker.close();
  io_.restart();
  asio::co_spawn(io_, server_.until_none(StoreServer::Talkers::all, later(now(), 10s)),
                 [this](const std::exception_ptr&) { io_.stop(); });
  io_.run();
  EXPECT_EQ(server_.talkers(), 0U);
}

TEST_F(StoreServerTest, ThousandsOfSilentConnectionsDoNotMatter) {
  std::vector<tcp::socket> silent;
  for (int i = 0; i < 400; ++i) silent.push_back(open(false));
  tcp::socket talker = open();
  expect_served(talker);
}

TEST_F(StoreServerTest, ABusyPortNamesItsHolder) {
  StoreServer second(io_.get_executor(), [](const std::string&) {});
  const Status opened = second.listen("127.0.0.1", server_.port(), true);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::system);
  EXPECT_THAT(opened.error().message, testing::HasSubstr("cannot listen on port " + std::to_string(server_.port())));
  EXPECT_THAT(opened.error().message, testing::HasSubstr("held by pid"));
}

TEST_F(StoreServerTest, TheWildcardServesBothFamilies) {
  StoreServer wide(io_.get_executor(), [](const std::string&) {});
  ASSERT_TRUE(wide.listen("any", 0, false));
  for (const auto& address : {asio::ip::make_address("127.0.0.1"), asio::ip::make_address("::1")}) {
    tcp::socket socket(io_);
    boost::system::error_code error;
    socket.connect(tcp::endpoint(address, wide.port()), error);
    EXPECT_FALSE(error) << address;
  }
}

TEST_F(StoreServerTest, ItsEndEndsItsConnections) {
  auto server = std::make_unique<StoreServer>(io_.get_executor(), [](const std::string&) {});
  ASSERT_TRUE(server->listen("localhost", 0, true));
  tcp::socket socket(io_);
  socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), server->port()));
  send(socket, encoded(ValidateRequest{validate_magic}) + encoded(PingRequest{1}));
  receive(socket, 4);
  server.reset();
  EXPECT_EQ(receive(socket, 1), "");
}

TEST_F(StoreServerTest, TheWillOfAClosedConnectionWakesWhoWaits) {
  tcp::socket waiter = open();
  send(waiter, encoded(WaitRequest{{"why"}}));
  {
    tcp::socket mortal = open();
    leave_will(mortal);
  }
  EXPECT_EQ(will_heard(waiter), "closed");
}

TEST_F(StoreServerTest, WhoHasAWillAndSaysNothingIsTakenForDead) {
  server_.set_silence_limit(300ms);
  tcp::socket waiter = open();
  send(waiter, encoded(WaitRequest{{"why"}}));
  tcp::socket mortal = open();
  leave_will(mortal);
  EXPECT_EQ(will_heard(waiter), "silent");
  EXPECT_EQ(receive(mortal, 1), "");
  expect_served(waiter);
}

std::string attendance(Attendance::Wish wish, const std::string& name) {
  return to_json(Attendance{.wish = wish,
                            .node = {name, 1, launch_local_id},
                            .member = {.role = "default", .local_world_size = 1},
                            .nodes = {1, 2},
                            .last_call = 100ms,
                            .silence = 15s});
}

TEST_F(StoreServerTest, WhoAttendsIsToldWhenTheLastCallIsOver) {
  tcp::socket socket = open();
  send(socket, encoded(AttendRequest{"/state", attendance(Attendance::Wish::join, "n1")}));
  const std::string head = receive(socket, 9);
  const auto news = parse_news(receive(socket, static_cast<std::size_t>(read_i64(head.data() + 1))));
  ASSERT_TRUE(news);
  EXPECT_EQ(std::get<RoundFormed>(*news).nnodes, 1);
}

TEST_F(StoreServerTest, WhoAttendsAndSaysNothingIsTakenForDead) {
  server_.set_silence_limit(300ms);
  tcp::socket mortal = open();
  send(mortal, encoded(AttendRequest{"/state", attendance(Attendance::Wish::join, "n1")}));
  EXPECT_GT(receive(mortal, 9).size(), 0U) << "its round";
  while (!receive(mortal, 1).empty()) continue;
  tcp::socket other = open();
  expect_served(other);
  send(other, encoded(AttendRequest{"/state", attendance(Attendance::Wish::stay, "n1")}));
  const std::string head = receive(other, 9);
  const auto news = parse_news(receive(other, static_cast<std::size_t>(read_i64(head.data() + 1))));
  ASSERT_TRUE(news);
  EXPECT_TRUE(std::holds_alternative<RoundBroken>(*news));
  EXPECT_TRUE(refusals_.empty());
}

}  // namespace launch::store_server_test
