#include "launch/io/store_client.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/store_server.hpp"

#include "run.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace launch::store_client_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

class StoreClientTest : public testing::Test {
 protected:
  StoreClientTest() { EXPECT_TRUE(server_.listen("127.0.0.1", 0, true)); }

  StoreClient connected() {
    Endpoint endpoint{"127.0.0.1", server_.port()};
    auto client = run(io_, connect_once(endpoint, later(now(), 10s)));
    EXPECT_TRUE(client);
    return std::move(*client);
  }

  Outcome perform(StoreClient& client, Operation operation, Duration patience = 10s) {
    auto outcome = run(io_, client.perform(std::move(operation), later(now(), patience)));
    EXPECT_TRUE(outcome) << outcome.error().message;
    return *outcome;
  }

  asio::io_context io_{1};
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
  const auto client = run(io_, connect_once(endpoint, later(now(), 10s)));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::protocol);
  EXPECT_THAT(client.error().message, testing::HasSubstr("what listens there is not a store"));
}

// Unlike a machine to which there is no way.
TEST_F(StoreClientTest, WhoClosesDuringTheGreetingIsThereAndIsNoStore) {
  tcp::acceptor acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const auto close_one = [](tcp::acceptor& at) -> asio::awaitable<void> {
    const auto socket = co_await at.async_accept(asio::use_awaitable);
  };
  run_in_background(io_.get_executor(), close_one(acceptor));
  Endpoint endpoint{"127.0.0.1", acceptor.local_endpoint().port()};
  const auto client = run(io_, connect_once(endpoint, later(now(), 10s)));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::protocol);
}

TEST_F(StoreClientTest, OneTrySaysWhyItFailed) {
  auto gone = std::make_unique<StoreServer>(io_.get_executor(), [](const std::string&) {});
  ASSERT_TRUE(gone->listen("127.0.0.1", 0, true));
  const Endpoint endpoint{"127.0.0.1", gone->port()};
  gone.reset();
  const auto client = run(io_, connect_once(endpoint, later(now(), 10s)));
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, testing::HasSubstr("Connection refused"));
}

TEST_F(StoreClientTest, WhoBeatsIsNotTakenForDeadWhileItWaits) {
  server_.set_silence_limit(400ms);
  StoreClient client = connected();
  client.set_beats(50ms, 280ms);
  EXPECT_TRUE(std::holds_alternative<Done>(perform(client, LeaveWill{Will{{{"why", "closed", "silent"}}, {}, {}}})));
  EXPECT_TRUE(std::holds_alternative<WaitExpired>(perform(client, AwaitKeys{{"/never"}}, 1s)));
  EXPECT_EQ(std::get<Presence>(perform(client, CheckKeys{{"why"}})).present, std::vector<bool>(1, false));
}

// A client, and a store played by hand.
struct ByHand {
  explicit ByHand(asio::io_context& io) : peer(io), client(tcp::socket(io)) {
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    tcp::socket socket(io);
    socket.connect(acceptor.local_endpoint());
    acceptor.accept(peer);
    client = StoreClient(std::move(socket));
    peer.set_option(tcp::no_delay(true));
  }
  void say(std::string_view bytes) { asio::write(peer, asio::buffer(bytes)); }
  // Until the client has said as much.
  asio::awaitable<void> hear(std::size_t bytes) {
    std::string said(bytes, '\0');
    co_await asio::async_read(peer, asio::buffer(said), asio::use_awaitable);
  }

  tcp::socket peer;
  StoreClient client;
};

std::size_t size_of(const Operation& operation) {
  std::string bytes;
  encode_operation(operation, bytes);
  return bytes.size();
}

const Operation awaits = AwaitKeys{{"/key"}};
constexpr std::size_t ping_bytes = 5, cancel_bytes = 1;

// Three beats are answered, then the wait.
asio::awaitable<void> answer_beats(ByHand& store) {
  co_await store.hear(size_of(awaits));
  for (int i = 0; i < 3; ++i) {
    co_await store.hear(ping_bytes);
    store.say("\2\2\2\2");
  }
  store.say(std::string(1, '\0'));
}

TEST_F(StoreClientTest, ItBeatsUntilTheWaitIsAnswered) {
  ByHand store(io_);
  store.client.set_beats(20ms, 5s);
  run_in_background(io_.get_executor(), answer_beats(store));
  const Time begin = now();
  EXPECT_TRUE(std::holds_alternative<Done>(perform(store.client, awaits)));
  EXPECT_GE(now() - begin, 60ms);
}

TEST_F(StoreClientTest, AStoreThatAnswersNoBeatIsAnErrorAndNoCancelledWait) {
  ByHand store(io_);
  store.client.set_beats(20ms, 100ms);
  const Time begin = now();
  const auto outcome = run(io_, store.client.perform(awaits, never));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::timeout);
  EXPECT_EQ(outcome.error().message, "no answer for 100 ms");
  EXPECT_GE(now() - begin, 100ms);
  EXPECT_EQ(store.peer.available(), size_of(awaits) + ping_bytes) << "one beat, and no CANCEL_WAIT";
}

// All that the store ever says, in two pieces, the first as soon as there is a beat to answer.
asio::awaitable<void> say_split(ByHand& store, std::string stream, std::size_t cut) {
  co_await store.hear(size_of(awaits) + ping_bytes);
  store.client.set_beats(1h, 2h);  // there is no answer to another one in it
  store.say(stream.substr(0, cut));
  asio::steady_timer pause(co_await asio::this_coro::executor, 2ms);
  co_await pause.async_wait(asio::use_awaitable);
  store.say(stream.substr(cut));
}

TEST_F(StoreClientTest, BeatsAndAnswersAreToldApartAtEverySplit) {
  const std::string done(1, '\0'), beat = "\2\2\2\2", value = std::string("\2\0\0\0\0\0\0\0", 8) + "ab";
  for (const std::string& stream : {done + beat + value, beat + done + value})
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
      ByHand store(io_);
      store.client.set_beats(3ms, 5s);
      run_in_background(io_.get_executor(), say_split(store, stream, cut));
      ASSERT_TRUE(std::holds_alternative<Done>(perform(store.client, awaits))) << cut;
      ASSERT_EQ(std::get<Values>(perform(store.client, GetKeys{{"/k"}})).values, std::vector<std::string>(1, "ab"))
          << cut;
    }
}

// Woken, and once more while the wait is being given up; the next wait is another matter.
asio::awaitable<void> wake_twice(ByHand& store) {
  co_await store.hear(size_of(awaits));
  store.client.wake();
  co_await store.hear(cancel_bytes);
  store.client.wake();
  store.say("\1");
  co_await store.hear(size_of(awaits));
  store.say(std::string(1, '\0'));
}

TEST_F(StoreClientTest, WhoIsWokenWhileItGivesUpDoesSoOnce) {
  ByHand store(io_);
  run_in_background(io_.get_executor(), wake_twice(store));
  EXPECT_TRUE(std::holds_alternative<WaitExpired>(perform(store.client, awaits)));
  EXPECT_TRUE(std::holds_alternative<Done>(perform(store.client, awaits)));
}

// The answer to the beat, and to the wait, come after the wait was given up.
asio::awaitable<void> answer_late(ByHand& store) {
  co_await store.hear(size_of(awaits) + ping_bytes);
  store.client.wake();
  co_await store.hear(cancel_bytes);
  store.say(std::string("\0\2\2\2\2\1", 6));
}

TEST_F(StoreClientTest, AnAnswerThatCrossesTheEndOfTheWaitCounts) {
  ByHand store(io_);
  store.client.set_beats(3ms, 5s);
  run_in_background(io_.get_executor(), answer_late(store));
  EXPECT_TRUE(std::holds_alternative<Done>(perform(store.client, awaits)));
  EXPECT_EQ(store.peer.available(), 0U);
}

std::string number(std::int64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

// A store that stood still answers what it was asked before, too.
TEST_F(StoreClientTest, AnAnswerThatNobodyWaitsForAnyMoreIsNotTheNextOne) {
  ByHand store(io_);
  const Operation add = AddNumber{"/n", 1};
  store.say(number(1).substr(0, 3));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(run(io_, store.client.perform(add, later(now(), 10ms))));
  store.say(number(1).substr(3) + number(2) + number(3) + number(4));
  EXPECT_EQ(std::get<Number>(perform(store.client, add)).value, 3);
  EXPECT_EQ(std::get<Number>(perform(store.client, add)).value, 4);
}

asio::awaitable<void> wake_after_beat(ByHand& store) {
  co_await store.hear(size_of(awaits) + ping_bytes);
  store.client.wake();
}

// Nodes must not wait longer for a host that is gone because they had something else to ask.
TEST_F(StoreClientTest, AStoreThatAnswersNeitherBeatNorTheEndOfTheWaitIsSilent) {
  ByHand store(io_);
  store.client.set_beats(3ms, 100ms);
  run_in_background(io_.get_executor(), wake_after_beat(store));
  const auto outcome = run(io_, store.client.perform(awaits, never));
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(store.client.silent());
}

TEST_F(StoreClientTest, AServerThatGoesAwayIsAnErrorOfTheWait) {
  auto server = std::make_unique<StoreServer>(io_.get_executor(), [](const std::string&) {});
  ASSERT_TRUE(server->listen("127.0.0.1", 0, true));
  Endpoint endpoint{"127.0.0.1", server->port()};
  auto client = run(io_, connect_once(endpoint, later(now(), 10s)));
  ASSERT_TRUE(client);
  asio::steady_timer soon(io_, 20ms);
  soon.async_wait([&](const boost::system::error_code&) { server.reset(); });
  const auto outcome = run(io_, client->perform(AwaitKeys{{"/never"}}, never));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::closed);
}

enum class Ending {
  in_order,
  reset
};

// What a client says whose other side ends, before it asks or while it waits for the answer.
bool hung_up_after(asio::io_context& io, Ending ending, bool while_it_waits) {
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  tcp::socket socket(io), other(io);
  socket.connect(acceptor.local_endpoint());
  acceptor.accept(other);
  StoreClient client(std::move(socket));
  const auto end = [&] {
    if (ending == Ending::reset) other.set_option(asio::socket_base::linger(true, 0));
    other.close();
  };
  const auto end_after_question = [&]() -> asio::awaitable<void> {
    std::array<char, 1> first{};
    (void)co_await asio::async_read(other, asio::buffer(first), asio::use_awaitable);
    other.non_blocking(true);
    std::array<char, 4096> rest{};
    boost::system::error_code none_left;
    while (!none_left) other.read_some(asio::buffer(rest), none_left);
    end();
  };
  if (while_it_waits) {
    run_in_background(io.get_executor(), end_after_question());
  } else {
    end();
  }
  // What is sent first after an end in order is only answered by a reset, so that the second one fails.
  for (int tries = 0; tries < 2; ++tries)
    if (!run(io, client.perform(AwaitKeys{{"/key"}}, later(now(), 10s)))) break;
  return client.hung_up();
}

TEST_F(StoreClientTest, OnlyAnEndInOrderIsTheEndOfTheOtherSide) {
  for (const bool while_it_waits : {false, true}) {
    EXPECT_TRUE(hung_up_after(io_, Ending::in_order, while_it_waits)) << while_it_waits;
    EXPECT_FALSE(hung_up_after(io_, Ending::reset, while_it_waits)) << while_it_waits;
  }
}

}  // namespace launch::store_client_test
