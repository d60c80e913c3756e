#include "launch/io/store_client.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/store_server.hpp"

#include "run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace launch {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

class StoreClientTest : public testing::Test {
 protected:
  StoreClientTest() { EXPECT_TRUE(server_.listen("127.0.0.1", 0, true)); }

  StoreClient connected() {
    Endpoint endpoint{"127.0.0.1", server_.port()};
    auto client = run(io_, connect_to_store(endpoint, later(now(), 10s), random_, [](const Error&) {}));
    EXPECT_TRUE(client);
    return std::move(*client);
  }

  Outcome perform(StoreClient& client, Operation operation, Duration patience = 10s) {
    auto outcome = run(io_, client.perform(std::move(operation), later(now(), patience)));
    EXPECT_TRUE(outcome) << outcome.error().message;
    return *outcome;
  }

  asio::io_context io_{1};
  Random random_{1};
  StoreServer server_{io_.get_executor(), [](const std::string&) {}};
};

TEST_F(StoreClientTest, EveryOperationHasItsOutcome) {
  StoreClient client = connected();
  EXPECT_TRUE(std::holds_alternative<Done>(perform(client, SetKeys{{{"/a", "1"}, {"/b", "2"}}})));
  EXPECT_EQ(std::get<Number>(perform(client, AddNumber{"/a", 4})).value, 5);
  EXPECT_EQ(std::get<Values>(perform(client, GetKeys{{"/a", "/b"}})).values, (std::vector<std::string>{"5", "2"}));
  EXPECT_EQ(std::get<Values>(perform(client, CompareSet{"/c", "", "mine"})).values.at(0), "mine");
  EXPECT_EQ(std::get<Values>(perform(client, CompareSet{"/c", "", "theirs"})).values.at(0), "mine");
  EXPECT_EQ(std::get<Presence>(perform(client, CheckKeys{{"/a", "/z"}})).present, (std::vector<bool>{true, false}));
  EXPECT_TRUE(std::holds_alternative<Done>(perform(client, AwaitKeys{{"/a", "/b"}})));
}

TEST_F(StoreClientTest, AWaitThatExpiresLeavesTheConnectionUsable) {
  StoreClient client = connected();
  EXPECT_TRUE(std::holds_alternative<WaitExpired>(perform(client, AwaitKeys{{"/never"}}, 20ms)));
  EXPECT_EQ(std::get<Number>(perform(client, AddNumber{"/n", 3})).value, 3);
}

asio::awaitable<void> set_later(StoreClient& client, std::string key) {
  asio::steady_timer pause(co_await asio::this_coro::executor, 20ms);
  co_await pause.async_wait(asio::use_awaitable);
  Operation set = SetKeys{{{key, "here"}}};
  (void)co_await client.perform(std::move(set), never);
}

TEST_F(StoreClientTest, AWaitIsEndedByAnotherClientsSet) {
  StoreClient waiter = connected(), setter = connected();
  run_in_background(io_.get_executor(), set_later(setter, "/key"));
  EXPECT_TRUE(std::holds_alternative<Done>(perform(waiter, AwaitKeys{{"/key"}})));
}

TEST_F(StoreClientTest, LargeValuesComeWhole) {
  StoreClient client = connected();
  const std::string large(std::size_t{5} << 20, 'x');
  perform(client, SetKeys{{{"/large", large}}});
  EXPECT_EQ(std::get<Values>(perform(client, GetKeys{{"/large", "/large"}})).values[1], large);
}

asio::awaitable<void> answer(tcp::acceptor& acceptor, std::string bytes) {
  auto [error, socket] = co_await acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
  (void)co_await asio::async_write(socket, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
  std::string nothing(4096, '\0');
  while (!error) {
    auto [ended, length] = co_await socket.async_read_some(asio::buffer(nothing), asio::as_tuple(asio::use_awaitable));
    if (ended) break;
  }
}

TEST_F(StoreClientTest, AStrangerOnThePortIsNamedForWhatItIs) {
  tcp::acceptor acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  run_in_background(io_.get_executor(), answer(acceptor, "HTTP/1.1 400 Bad Request\r\n\r\n"));
  Endpoint endpoint{"127.0.0.1", acceptor.local_endpoint().port()};
  const auto client = run(io_, connect_to_store(endpoint, later(now(), 5ms), random_, [](const Error&) {}));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::timeout);
}

TEST_F(StoreClientTest, RetriesUntilTheStoreIsThere) {
  auto late = std::make_unique<StoreServer>(io_.get_executor(), [](const std::string&) {});
  ASSERT_TRUE(late->listen("127.0.0.1", 0, true));
  Endpoint endpoint{"127.0.0.1", late->port()};
  late.reset();
  int retries = 0;
  auto client = run(io_, connect_to_store(endpoint, later(now(), 10s), random_, [&](const Error& error) {
                      EXPECT_THAT(error.message, testing::HasSubstr("Connection refused"));
                      if (++retries != 3) return;
                      late = std::make_unique<StoreServer>(io_.get_executor(), [](const std::string&) {});
                      EXPECT_TRUE(late->listen("127.0.0.1", endpoint.port, true));
                    }));
  EXPECT_TRUE(client);
  EXPECT_GE(retries, 3);
}

TEST_F(StoreClientTest, AServerThatGoesAwayIsAnErrorOfTheWait) {
  auto server = std::make_unique<StoreServer>(io_.get_executor(), [](const std::string&) {});
  ASSERT_TRUE(server->listen("127.0.0.1", 0, true));
  Endpoint endpoint{"127.0.0.1", server->port()};
  auto client = run(io_, connect_to_store(endpoint, later(now(), 10s), random_, [](const Error&) {}));
  ASSERT_TRUE(client);
  asio::steady_timer soon(io_, 20ms);
  soon.async_wait([&](const boost::system::error_code&) { server.reset(); });
  const auto outcome = run(io_, client->perform(AwaitKeys{{"/never"}}, never));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::closed);
}

}  // namespace
}  // namespace launch
