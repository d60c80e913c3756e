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

RankQuestion question(int descriptor, bool first) {
  RankQuestion one;
  one.descriptor = descriptor;
  one.first = first;
  one.hostname = "203.0.113.7";
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
                               "cmd=get_result rc=0 value=61003/203.0.113.7/203.0.113.7\n", "cmd=finalize_ack\n"});
  const auto answer = exchange_by_pmi(question(pair.rank, false));
  server.join();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->host, "203.0.113.7");
  EXPECT_EQ(answer->port, 61'003);
  EXPECT_EQ(answer->id, "kvs_1");
}

const std::string greeting = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";

// As after another launch of the same task.
TEST(PmiExchange, AServerThatHasClosedIsNone) {
  Pair pair;
  pair.server.reset();
  const auto none = exchange_by_pmi(question(pair.rank, true));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::closed);
}

// Other tasks may have a server: this one must not go its own way.
TEST(PmiExchange, WhoDoesNotGreetIsAnError) {
  for (const std::string& answer : {std::string("HTTP/1.1 400 Bad Request\n"), std::string(100'000, 'x')}) {
    Pair pair;
    std::thread server(serve, pair.server.get(), std::vector<std::string>{answer});
    EXPECT_THAT(exchange_by_pmi(question(pair.rank, true)).error().message,
                HasSubstr("does not greet as a PMI server"));
    server.join();
  }
  Pair pair;
  RankQuestion asked = question(pair.rank, true);
  asked.limit = 50ms;
  EXPECT_EQ(exchange_by_pmi(asked).error().code, ErrorCode::timeout);
}

TEST(PmiExchange, AServerThatGoesOrLiesOrSaysNothingLaterIsAnError) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{greeting}, "the PMI server has closed the connection"},
      {{greeting, "HTTP/1.1 400 Bad Request\n"}, R"(the PMI server answered "HTTP/1.1)"},
      {{greeting, std::string(100'000, 'x')}, "a line without an end"}};
  for (const auto& one : cases) {
    Pair pair;
    std::thread server([&one, socket = pair.server.get()] {
      serve(socket, one.first);
      ::shutdown(socket, SHUT_WR);
    });
    EXPECT_THAT(exchange_by_pmi(question(pair.rank, true)).error().message, HasSubstr(one.second));
    server.join();
  }
  Pair pair;
  RankQuestion asked = question(pair.rank, true);
  asked.limit = 200ms;
  std::thread server(serve, pair.server.get(), std::vector<std::string>{greeting});
  const auto late = exchange_by_pmi(asked);
  server.join();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::timeout);
  EXPECT_THAT(late.error().message, HasSubstr("not all ranks have come"));
}

}  // namespace launch::pmi_exchange_test
