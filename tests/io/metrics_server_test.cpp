#include "launch/io/metrics_server.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace launch::metrics_server_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// Says what it was asked.
ScrapeReply echo(const ScrapeRequest& request) {
  return {request.target == "/" ? 405 : 200, "text/plain", request.method + request.target + "|" + request.accept};
}

class Client {
 public:
  explicit Client(std::uint16_t port) { socket_.connect({asio::ip::address_v4::loopback(), port}); }

  // What a server that goes away meanwhile does not take is no matter.
  void say(const std::string& text) {
    error_code ignored;
    asio::write(socket_, asio::buffer(text), ignored);
  }
  void end() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
  // All that comes until the server closes.
  std::string hear_all() {
    std::string text;
    error_code ignored;
    asio::read(socket_, asio::dynamic_buffer(text), ignored);
    return text;
  }
  // One reply, whose body ends with "|".
  std::string hear_one() {
    std::string text;
    error_code ignored;
    asio::read_until(socket_, asio::dynamic_buffer(text), '|', ignored);
    return text;
  }

 private:
  asio::io_context io_;
  tcp::socket socket_{io_};
};

std::string get(std::uint16_t port, const std::string& request = "GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n") {
  Client client(port);
  client.say(request);
  return client.hear_all();
}

class MetricsServerTest : public testing::Test {
 protected:
  // Plays the clients on a thread while the server runs here.
  template <class Play>
  void serve(Play play) {
    asio::io_context io{1};
    MetricsServer server(io.get_executor(), echo);
    ASSERT_TRUE(server.listen({"127.0.0.1", 0}));
    std::thread clients([&] {
      play(server.port());
      io.stop();
    });
    io.run();
    clients.join();
  }
};

TEST_F(MetricsServerTest, SendsWhatTheHandlerReturns) {
  serve([](std::uint16_t port) {
    const std::string reply = get(port, "GET /x?y HTTP/1.1\r\nAccept: a\r\nAccept: b;q=1\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(reply, HasSubstr("Content-Type: text/plain\r\n"));
    EXPECT_THAT(reply, HasSubstr("Content-Length: 15\r\n"));
    EXPECT_THAT(reply, EndsWith("\r\n\r\nGET/x?y|a,b;q=1"));
  });
}

TEST_F(MetricsServerTest, AHeadHasNoBody) {
  serve([](std::uint16_t port) {
    const std::string reply = get(port, "HEAD /x HTTP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(reply, HasSubstr("Content-Length: 7\r\n"));
    EXPECT_THAT(reply, EndsWith("\r\n\r\n"));
  });
}

TEST_F(MetricsServerTest, SaysWhichMethodsAreAllowed) {
  serve([](std::uint16_t port) {
    EXPECT_THAT(get(port, "PUT / HTTP/1.0\r\n\r\n"), HasSubstr("Allow: GET, HEAD\r\n"));
    EXPECT_THAT(get(port), Not(HasSubstr("Allow")));
  });
}

TEST_F(MetricsServerTest, AConnectionServesManyRequests) {
  serve([](std::uint16_t port) {
    Client client(port);
    for (int i = 0; i < 3; ++i) {
      client.say("GET /a HTTP/1.1\r\n\r\n");
      EXPECT_THAT(client.hear_one(), EndsWith("GET/a|"));
    }
    client.say("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nConnection: close\r\n\r\n");  // before the first reply
    EXPECT_THAT(client.hear_all(), testing::AllOf(HasSubstr("GET/a|"), EndsWith("GET/b|")));
  });
}

TEST_F(MetricsServerTest, WhatIsNoRequestIsDropped) {
  serve([](std::uint16_t port) {
    const std::vector<std::string> all = {
        "\n\n\n\x01\x02\r\n\r\n",
        std::string(1000, '\0'),
        "GET\r\n\r\n",
        "GET /metrics HTTP/9.9\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde",
        "GET /metrics HTTP/1.1\r\nX: " + std::string(9'000, 'x') + "\r\n\r\n",
        "GET /" + std::string(100'000, 'x'),
        "\x16\x03\x01\x02",  // TLS
    };
    for (const std::string& garbage : all) {
      Client client(port);
      client.say(garbage);
      client.end();
      EXPECT_THAT(client.hear_all(), Not(HasSubstr("200 OK"))) << garbage.substr(0, 40);
    }
    EXPECT_THAT(get(port), HasSubstr("200 OK"));
  });
}

TEST_F(MetricsServerTest, HalfARequestHoldsUpNobody) {
  serve([](std::uint16_t port) {
    std::vector<std::unique_ptr<Client>> halves;
    for (int i = 0; i < 20; ++i) {
      halves.push_back(std::make_unique<Client>(port));
      halves.back()->say("GET /metrics HT");
    }
    EXPECT_THAT(get(port), HasSubstr("200 OK"));
    halves.front()->say("TP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(halves.front()->hear_all(), HasSubstr("200 OK"));
  });
}

TEST_F(MetricsServerTest, OfAHundredClientsThoseThatAreTooManyAreDropped) {
  serve([](std::uint16_t port) {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 100; ++i) {
      clients.push_back(std::make_unique<Client>(port));
      clients.back()->say("GET /metrics HTTP/1.1\r\n\r\n");
    }
    std::size_t served = 0;
    for (const auto& client : clients)
      if (!client->hear_one().empty()) ++served;
    EXPECT_EQ(MetricsServer::most_clients, served);
    clients.clear();
    std::string reply;
    for (int i = 0; i < 1000 && reply.empty(); ++i) reply = get(port);  // until it has seen that they went
    EXPECT_THAT(reply, HasSubstr("200 OK"));
  });
}

TEST_F(MetricsServerTest, APortInUseIsAnError) {
  asio::io_context io{1};
  MetricsServer first(io.get_executor(), echo);
  ASSERT_TRUE(first.listen({"localhost", 0}));
  MetricsServer second(io.get_executor(), echo);
  const Status refused = second.listen({"127.0.0.1", first.port()});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, StartsWith(std::strerror(EADDRINUSE)));
}

TEST_F(MetricsServerTest, AnAddressOfAnotherHostIsAnError) {
  asio::io_context io{1};
  MetricsServer server(io.get_executor(), echo);
  const Status refused = server.listen({"192.0.2.1", 0});
  ASSERT_FALSE(refused);
  EXPECT_EQ(std::strerror(EADDRNOTAVAIL), refused.error().message);
}

TEST_F(MetricsServerTest, WhoAsksAfterItsEndGetsNoReply) {
  asio::io_context io{1};
  auto server = std::make_unique<MetricsServer>(io.get_executor(), echo);
  ASSERT_TRUE(server->listen({"127.0.0.1", 0}));
  Client client(server->port());
  while (io.poll_one() > 0) {
  }
  client.say("GET / HTTP/1.1\r\n\r\n");
  server.reset();
  io.run();
  EXPECT_THAT(client.hear_all(), IsEmpty());
}

}  // namespace launch::metrics_server_test
