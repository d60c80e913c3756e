#include "launch/io/reach_door.hpp"

#include "launch/io/connect.hpp"
#include "run.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace launch::reach_door_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto long_enough = 20s;
constexpr const char* not_it = "another process answers there";

class ReachDoors : public testing::Test {
 protected:
  ReachDoors() : port_(free_port()) {}

  void open(const std::string& token) {
    door_.emplace(io_.get_executor(), token);
    const Status opened = door_->open(port_);
    ASSERT_TRUE(opened) << opened.error().message;
  }
  std::vector<std::string> try_them(std::vector<std::string> addresses, const std::string& token,
                                    Duration each = long_enough) {
    return run(io_, try_to_reach({std::move(addresses), port_, token}, each)).faults;
  }
  // Somebody else on this port; what it does with who connects.
  void listen(const std::string& address, std::function<void(tcp::socket)> on_connection) {
    others_.push_back(std::make_unique<PortListener>(io_.get_executor(), std::move(on_connection)));
    const Status opened = others_.back()->listen(address, port_, true);
    ASSERT_TRUE(opened) << opened.error().message;
  }
  void listen_in_silence(const std::string& address) {
    listen(address, [this](tcp::socket socket) { silent_.push_back(std::move(socket)); });
  }
  void listen_and_say(const std::string& address, const std::string& words) {
    listen(address, [this, words](tcp::socket socket) {
      asio::write(socket, asio::buffer(words));
      silent_.push_back(std::move(socket));
    });
  }
  tcp::socket visit() {
    tcp::socket visitor(io_);
    visitor.connect({asio::ip::address_v4::loopback(), port_});
    return visitor;
  }
  // False when it never does.
  bool until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + long_enough;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io_.restart();
      io_.run_one_for(10ms);
    }
    return true;
  }

  asio::io_context io_{1};
  std::uint16_t port_;
  std::optional<ReachDoor> door_;
  std::vector<std::unique_ptr<PortListener>> others_;
  std::vector<tcp::socket> silent_;
};

bool has_ipv6(asio::io_context& io) {
  tcp::acceptor acceptor(io);
  boost::system::error_code error;
  acceptor.open(tcp::v6(), error);
  if (!error) acceptor.bind({asio::ip::address_v6::loopback(), 0}, error);
  return !error;
}

TEST_F(ReachDoors, WhoIsToldTheTokenHasReachedIt) {
  open("job 7");
  EXPECT_THAT(try_them({"127.0.0.1"}, "job 7"), ElementsAre(""));
  EXPECT_THAT(try_them({"localhost"}, "job 7"), ElementsAre(""));
  EXPECT_THAT(try_them({"127.0.0.1", "127.0.0.2", "127.1.2.3"}, "job 7"), ElementsAre("", "", ""));
}

TEST_F(ReachDoors, TargetsHavePortsAndTokensOfTheirOwn) {
  open("job 7");
  const ReachQuestion question{{"127.0.0.1"},
                               port_,
                               "job 7",
                               {{"127.0.0.1", port_, "job 7"}, {"127.0.0.1", port_, "job 8"}, {"127.0.0.1", 1, ""}}};
  const auto faults = run(io_, try_to_reach(question, long_enough)).faults;
  EXPECT_THAT(faults, ElementsAre("", "", not_it, HasSubstr("refused")));
}

TEST_F(ReachDoors, AreOpenToBothKindsOfAddresses) {
  if (!has_ipv6(io_)) GTEST_SKIP() << "no IPv6 here";
  open("job 7");
  EXPECT_THAT(try_them({"::1", "127.0.0.1"}, "job 7"), ElementsAre("", ""));
}

TEST_F(ReachDoors, AnotherJobsDoorIsNotTakenForIt) {
  open("job 7");
  EXPECT_THAT(try_them({"127.0.0.1"}, "job 8"), ElementsAre(not_it));
}

TEST_F(ReachDoors, ATokenThatBeginsAsAnotherIsAnother) {
  open("job 77");
  EXPECT_THAT(try_them({"127.0.0.1"}, "job 7"), ElementsAre(not_it));
  EXPECT_THAT(try_them({"127.0.0.1"}, "job 777", 300ms), ElementsAre(not_it));
}

TEST_F(ReachDoors, WhereNobodyListensNobodyIsReached) {
  EXPECT_THAT(try_them({"127.0.0.1"}, "job 7"), ElementsAre("Connection refused"));
}

TEST_F(ReachDoors, WhoSaysNothingIsGivenUpAllAtTheSameTime) {
  const std::vector<std::string> addresses{"127.0.0.1", "127.0.0.2", "127.0.0.3",
                                           "127.0.0.4", "127.0.0.5", "127.0.0.6"};
  for (const std::string& address : addresses) listen_in_silence(address);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(try_them(addresses, "job 7", 1s), Each(not_it));
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, 1s);
  EXPECT_LT(took, 5s) << "one after the other";
  EXPECT_THAT(silent_, SizeIs(6));
}

TEST_F(ReachDoors, WhoHangsUpIsNotIt) {
  listen("127.0.0.1", [](tcp::socket) {});
  EXPECT_THAT(try_them({"127.0.0.1"}, "job 7"), ElementsAre(not_it));
}

// Only the second is the door, as where two addresses lead to other machines.
TEST_F(ReachDoors, OfSeveralAddressesEachIsJudgedByItself) {
  listen_and_say("127.0.0.1", "HTTP/1.1 400 Bad Request\r\n\r\n");
  listen_in_silence("127.0.0.4");
  {
    asio::io_context other(1);
    ReachDoor door(other.get_executor(), "job 7");
    const std::uint16_t port = std::exchange(port_, free_port());
    ASSERT_TRUE(door.open(port_));
    tcp::socket visitor = visit();
    while (visitor.available() == 0 && other.run_one_for(long_enough) > 0) continue;
    std::array<char, 64> said{};
    const std::size_t size = visitor.read_some(asio::buffer(said));
    port_ = port;
    listen_and_say("127.0.0.2", std::string(said.data(), size));
  }
  EXPECT_THAT(try_them({"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}, "job 7", 1s),
              ElementsAre(not_it, "", "Connection refused", not_it));
}

// As where the system answers for it, and forgets the visitor until it says something.
TEST_F(ReachDoors, WhoHearsNothingSaysSomething) {
  listen("127.0.0.1", [this](tcp::socket socket) {
    silent_.push_back(std::move(socket));
    static char said = 0;
    asio::async_read(silent_.back(), asio::buffer(&said, 1), [this](const boost::system::error_code&, std::size_t) {
      asio::write(silent_.back(), asio::buffer(std::string("job 7\n")));
    });
  });
  EXPECT_THAT(try_them({"127.0.0.1"}, "job 7"), ElementsAre(""));
}

TEST_F(ReachDoors, NoAddressIsAnAnswerToo) { EXPECT_THAT(try_them({}, "job 7"), IsEmpty()); }

TEST_F(ReachDoors, AnAddressThatCannotBeTriedIsAFault) {
  open("job 7");
  EXPECT_THAT(try_them({"255.255.255.255", "127.0.0.1"}, "job 7"), ElementsAre(testing::Not(""), ""));
}

TEST_F(ReachDoors, StayOpenWhateverVisitorsDo) {
  open("job 7");
  for (int i = 0; i < 3; ++i) {
    tcp::socket hangs_up = visit(), resets = visit(), talks = visit(), stays = visit();
    hangs_up.close();
    resets.set_option(tcp::socket::linger(true, 0));
    resets.close();
    asio::write(talks, asio::buffer(std::string(100'000, 'x')));
    EXPECT_THAT(try_them(std::vector<std::string>(50, "127.0.0.1"), "job 7"), Each(""));
    silent_.push_back(std::move(stays));
  }
}

// The port of whoever closes first is taken for another minute, and then only who does not mind that may listen there.
TEST_F(ReachDoors, LeaveThePortFreeForEverybody) {
  open("job 7");
  EXPECT_THAT(try_them({"127.0.0.1", "127.0.0.2"}, "job 7"), Each(""));
  door_.reset();
  EXPECT_TRUE(until([this] {
    tcp::acceptor acceptor(io_);
    boost::system::error_code error;
    acceptor.open(tcp::v6(), error);
    if (error) acceptor.open(tcp::v4(), error);
    acceptor.bind({acceptor.local_endpoint(error).protocol(), port_}, error);
    if (!error) acceptor.listen(1, error);
    return !error;
  }));
}

TEST_F(ReachDoors, ThePortCanBeListenedOnAtOnceThoughAVisitorIsStillThere) {
  open("job 7");
  tcp::socket visitor = visit();
  std::array<char, 5> said{};
  bool told = false;
  asio::async_read(visitor, asio::buffer(said),
                   [&](const boost::system::error_code& error, std::size_t) { told = !error; });
  ASSERT_TRUE(until([&] { return told; }));
  EXPECT_EQ(std::string(said.data(), said.size()), "job 7");
  tcp::socket waits = visit();  // and nobody has taken it in yet
  door_.reset();
  PortListener store(io_.get_executor(), [](tcp::socket) {});
  const Status listening = store.listen("", port_, false);
  EXPECT_TRUE(listening) << listening.error().message;
}

TEST_F(ReachDoors, ABusyPortIsAnErrorThatNamesIt) {
  listen_in_silence("127.0.0.1");
  ReachDoor door(io_.get_executor(), "job 7");
  const Status opened = door.open(port_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("port " + std::to_string(port_)));
}

}  // namespace launch::reach_door_test
