#include "launch/io/pmi_exchange.hpp"

#include "launch/io/fd.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

namespace launch::pmi_exchange_test {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
    rank = ends[0];
    server = Fd(ends[1]);
  }
  int rank = -1;  // closed by what is tested
  Fd server;
};

PmiQuestion question(int descriptor, bool first) {
  PmiQuestion one;
  one.descriptor = descriptor;
  one.first = first;
  one.hostname = "no-such-host.invalid";
  one.limit = 10s;
  return one;
}

// Answers each line; a second part of an answer comes later.
void serve(int socket, const std::vector<std::string>& answers) {
  for (const std::string& answer : answers) {
    std::array<char, 4096> asked{};
    if (::recv(socket, asked.data(), asked.size(), 0) <= 0) return;
    const std::size_t half = answer.size() / 2;
    for (const std::string_view part :
         {std::string_view(answer).substr(0, half), std::string_view(answer).substr(half)})
      ::send(socket, part.data(), part.size(), MSG_NOSIGNAL);
  }
}

TEST(PmiExchange, AnotherRankLearnsWhereRank0Is) {
  Pair pair;
  std::thread server(
      serve, pair.server.get(),
      std::vector<std::string>{"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                               "cmd=my_kvsname kvsname=kvs_1\n", "cmd=get_result rc=-1\n", "cmd=barrier_out\n",
                               "cmd=get_result rc=0 value=61003/n1/203.0.113.7\n", "cmd=finalize_ack\n"});
  const auto answer = exchange_by_pmi(question(pair.rank, false));
  server.join();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->host, "203.0.113.7");
  EXPECT_EQ(answer->port, 61'003);
  EXPECT_EQ(answer->id, "kvs_1");
}

TEST(PmiExchange, AServerThatGoesOrLiesOrSaysNothingIsAnError) {
  {
    Pair pair;
    pair.server.reset();
    EXPECT_FALSE(exchange_by_pmi(question(pair.rank, true)));
  }
  {
    Pair pair;
    std::thread server(serve, pair.server.get(), std::vector<std::string>{"HTTP/1.1 400 Bad Request\n"});
    EXPECT_THAT(exchange_by_pmi(question(pair.rank, true)).error().message,
                HasSubstr(R"(the PMI server answered "HTTP/1.1)"));
    server.join();
  }
  {
    Pair pair;
    std::thread server(serve, pair.server.get(), std::vector<std::string>{std::string(100'000, 'x')});
    EXPECT_THAT(exchange_by_pmi(question(pair.rank, true)).error().message, HasSubstr("a line without an end"));
    server.join();
  }
  Pair pair;
  PmiQuestion asked = question(pair.rank, true);
  asked.limit = 50ms;
  const auto late = exchange_by_pmi(asked);
  EXPECT_EQ(late.error().code, ErrorCode::timeout);
  EXPECT_THAT(late.error().message, HasSubstr("not all ranks have come"));
}

}  // namespace launch::pmi_exchange_test
