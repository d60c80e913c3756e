#include "launch/io/etcd_client.hpp"

#include "launch/core/store/keys.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"

#include "fake_etcd.hpp"
#include "run.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace launch::etcd_client_test {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using testing::HasSubstr;
using namespace std::chrono_literals;

// A FakeEtcd behind a socket, with the manners of real ones.
class Server {
 public:
  explicit Server(asio::io_context& io) : io_(io), acceptor_(io, {asio::ip::address_v4::loopback(), 0}), changed_(io) {
    run_in_background(io_.get_executor(), accept());
  }

  Endpoint endpoint() const { return {"127.0.0.1", port_, StoreKind::etcd}; }

  // As it does when it is told to stop: connections end, and nobody listens.
  void stop() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (tcp::socket* const one : sockets_) one->close(ignored);
    changed_.cancel();
  }
  void drop_connections() {
    boost::system::error_code ignored;
    for (tcp::socket* const one : sockets_) one->shutdown(tcp::socket::shutdown_both, ignored);
    changed_.cancel();
  }

  FakeEtcd etcd;
  std::string says;           // in place of any answer; empty: the etcd's
  bool closes_after = false;  // one answer
  bool silent = false;        // answers nothing more
  int connections = 0;
  int watches = 0;  // under way

 private:
  asio::awaitable<void> accept() {
    while (acceptor_.is_open()) {
      auto [error, socket] = co_await acceptor_.async_accept(as_values);
      if (error) co_return;
      ++connections;
      run_in_background(io_.get_executor(), serve(std::move(socket)));
    }
  }

  asio::awaitable<void> serve(tcp::socket socket) {
    sockets_.insert(&socket);
    boost::beast::flat_buffer buffer;
    bool goes_on = true;
    while (goes_on) {
      http::request<http::string_body> request;
      auto [error, length] = co_await http::async_read(socket, buffer, request, as_values);
      goes_on = !error;
      if (goes_on) goes_on = co_await reply(socket, request);
    }
    sockets_.erase(&socket);
  }

  asio::awaitable<bool> reply(tcp::socket& socket, const http::request<http::string_body>& request) {
    if (!says.empty()) {
      (void)co_await asio::async_write(socket, asio::buffer(says), as_values);
      co_return false;
    }
    EtcdRequest asked{EtcdRequest::Method::get, std::string(request.target()), request.body()};
    if (request.method() == http::verb::put) asked.method = EtcdRequest::Method::put;
    if (request.method() == http::verb::delete_) asked.method = EtcdRequest::Method::remove;
    auto answer = etcd.ask(asked);
    if (asked.method == EtcdRequest::Method::put) changed_.cancel();
    if (!answer) ++watches;
    const bool watched = !answer;
    while ((!answer || silent) && socket.is_open()) {
      changed_.expires_at(asio::steady_timer::time_point::max());
      (void)co_await changed_.async_wait(as_values);
      if (!silent) answer = etcd.ask(asked);
      if (!answer && watched) break;
    }
    if (watched) --watches;
    if (!answer) co_return false;
    http::response<http::string_body> response(static_cast<http::status>(answer->status), 11);
    response.chunked(watched);
    response.keep_alive(!closes_after);
    response.body() = answer->body;
    if (!watched) response.prepare_payload();
    (void)co_await http::async_write(socket, response, as_values);
    co_return !closes_after;
  }

  asio::io_context& io_;
  tcp::acceptor acceptor_;
  std::uint16_t port_ = acceptor_.local_endpoint().port();
  asio::steady_timer changed_;
  std::set<tcp::socket*> sockets_;
};

class EtcdClientTest : public testing::Test {
 protected:
  Result<EtcdClient> connect() { return run(io_, connect_to_etcd(server_.endpoint(), "j", later(now(), 10s))); }

  EtcdClient connected() {
    auto client = connect();
    EXPECT_TRUE(client) << client.error().message;
    return std::move(*client);
  }

  Result<Outcome> ask(EtcdClient& client, Operation operation, Duration patience = 10s) {
    return run(io_, client.perform(std::move(operation), later(now(), patience)));
  }
  template <class Kind>
  Kind outcome(EtcdClient& client, Operation operation, Duration patience = 10s) {
    auto got = ask(client, std::move(operation), patience);
    EXPECT_TRUE(got) << got.error().message;
    return got ? std::get<Kind>(*got) : Kind{};
  }

  asio::io_context io_{1};
  Server server_{io_};
};

TEST_F(EtcdClientTest, OperationsHaveTheirOutcomesOnOneConnection) {
  EtcdClient client = connected();
  outcome<Done>(client, SetKeys{{{"/a", "1"}, {"/b", "2"}}});
  EXPECT_EQ(outcome<Values>(client, GetKeys{{"/a", "/b", "/z"}}).values, (KeyList{"1", "2", ""}));
  EXPECT_EQ(outcome<Values>(client, CompareSet{"/a", "", "3"}).values, KeyList{"1"});
  EXPECT_EQ(server_.connections, 1);
  EXPECT_EQ(outcome<Number>(client, AddNumber{"/n", 3}).value, 3);
  EXPECT_EQ(client.peer(), server_.endpoint());
  EXPECT_EQ(client.own_address(), "127.0.0.1");
}

// One of torchrun's agents that looks for a key while the folder is not there, misses what is set before it watches.
TEST_F(EtcdClientTest, WhoConnectsFirstMakesTheFolderOfTheKeys) {
  (void)connected();
  EXPECT_EQ(server_.etcd.nodes.size(), 1U);
  const std::int64_t index = server_.etcd.index;
  (void)connected();
  EXPECT_EQ(server_.etcd.index, index);
}

TEST_F(EtcdClientTest, AConnectionThatTheEtcdClosesBetweenTwoRequestsIsMadeAgain) {
  server_.closes_after = true;
  EtcdClient client = connected();
  EXPECT_EQ(outcome<Number>(client, AddNumber{"/n", 1}).value, 1);
  EXPECT_EQ(outcome<Number>(client, AddNumber{"/n", 1}).value, 2);
  server_.closes_after = false;
  outcome<Done>(client, SetKeys{{{"/a", "1"}}});
  server_.drop_connections();
  EXPECT_EQ(outcome<Values>(client, GetKeys{{"/a"}}).values, KeyList{"1"});
}

// Does so once a client watches a key.
template <class Deed>
asio::awaitable<void> once_watched(Server& server, Deed deed) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  while (server.watches == 0) {
    pause.expires_after(1ms);
    (void)co_await pause.async_wait(as_values);
  }
  deed();
}

asio::awaitable<void> set(EtcdClient& client, std::string key) {
  Operation set = SetKeys{{{key, "here"}}};
  (void)co_await client.perform(std::move(set), never);
}

TEST_F(EtcdClientTest, AWaitIsEndedByAnotherClientsSet) {
  EtcdClient waiter = connected(), setter = connected();
  run_in_background(io_.get_executor(),
                    once_watched(server_, [&] { run_in_background(io_.get_executor(), set(setter, "/key")); }));
  outcome<Done>(waiter, AwaitKeys{{"/key"}});
}

TEST_F(EtcdClientTest, AWaitGoesOnWhenItsConnectionEnds) {
  EtcdClient waiter = connected();
  run_in_background(io_.get_executor(), once_watched(server_, [&] {
                      server_.drop_connections();
                      server_.etcd.nodes["/torch/elastic/store/a2V5"] = "aGVyZQ==";
                    }));
  outcome<Done>(waiter, AwaitKeys{{"/key"}});
}

TEST_F(EtcdClientTest, AWaitThatExpiresLeavesTheClientUsable) {
  EtcdClient client = connected();
  outcome<WaitExpired>(client, AwaitKeys{{"/z"}}, 20ms);
  outcome<WaitExpired>(client, AwaitKeys{{"/z"}}, 0ms);
  outcome<WaitExpired>(client, AwaitKeys{{std::string(never_key)}}, 20ms);
  outcome<Done>(client, SetKeys{{{"/z", "1"}}});
  outcome<Done>(client, AwaitKeys{{"/z"}}, 0ms);
}

TEST_F(EtcdClientTest, AWaitMayBeWoken) {
  EtcdClient client = connected();
  client.wake();  // there is none yet
  run_in_background(io_.get_executor(), once_watched(server_, [&] { client.wake(); }));
  outcome<WaitExpired>(client, AwaitKeys{{"/z"}}, 600s);
}

// Its machine has lost power, so that nothing ends the connection.
TEST_F(EtcdClientTest, AnEtcdThatSaysNothingIsNoticedWhenAWaitExpires) {
  EtcdClient client = connected();
  client.set_patience(50ms);
  run_in_background(io_.get_executor(), once_watched(server_, [&] { server_.silent = true; }));
  const auto waited = ask(client, AwaitKeys{{"/z"}}, 100ms);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::timeout);
  EXPECT_THAT(waited.error().message, HasSubstr(to_text(server_.endpoint()) + " does not answer"));
}

TEST_F(EtcdClientTest, AnEtcdThatStopsEndsAWaitWithItsAddress) {
  EtcdClient client = connected();
  run_in_background(io_.get_executor(), once_watched(server_, [&] { server_.stop(); }));
  const auto waited = ask(client, AwaitKeys{{"/z"}}, 600s);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::closed);
  EXPECT_THAT(waited.error().message, HasSubstr("cannot reach " + to_text(server_.endpoint())));
}

TEST_F(EtcdClientTest, CloseEndsWhatIsUnderWay) {
  EtcdClient client = connected();
  run_in_background(io_.get_executor(), once_watched(server_, [&] { client.close(); }));
  const auto waited = ask(client, AwaitKeys{{"/z"}}, 600s);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::closed);
  EXPECT_EQ(ask(client, GetKeys{{"/z"}}).error().code, ErrorCode::closed);
}

TEST_F(EtcdClientTest, KeepsTheFolderOfTheOlderRendezvous) {
  Endpoint there = server_.endpoint();
  there.folder = "/p";
  auto client = run(io_, connect_to_etcd(there, "j", later(now(), 10s)));
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->peer(), there);
  outcome<Done>(*client, SetKeys{{{lease_key(versions_root("/p", "j"), 1, 0), ""}}, 10s});
  EXPECT_EQ(server_.etcd.lasts.at("/p/run_j/rdzv/v_1/rank_0"), "10");
  for (const auto& [key, value] : server_.etcd.nodes) EXPECT_THAT(key, testing::StartsWith("/p/run_j/"));
}

TEST_F(EtcdClientTest, WhatIsNoEtcdIsNamedForWhatItIs) {
  const std::string where = "the etcd at " + to_text(server_.endpoint());
  server_.says = "HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n404 page not found\n";
  EXPECT_THAT(connect().error().message, HasSubstr(where + " does not serve the API v2"));
  server_.says = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  EXPECT_THAT(connect().error().message, HasSubstr(where + " answers with what is no JSON"));
  server_.says = "SSH-2.0-OpenSSH_9.2\r\n";
  EXPECT_THAT(connect().error().message, HasSubstr("ended: bad version"));
  server_.says = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n";
  EXPECT_THAT(connect().error().message, HasSubstr("ended: body limit exceeded"));
  server_.stop();
  EXPECT_THAT(connect().error().message, HasSubstr("Connection refused"));
}

}  // namespace launch::etcd_client_test
