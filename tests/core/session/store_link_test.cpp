#include "launch/core/session/store_link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::store_link_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);

struct Caller {
  Talk<void> connect(Time deadline) {
    const std::function<void(const Error&)> on_retry = [this](const Error& error) { retries.push_back(error.message); };
    const Endpoint endpoint{"n0", 29500};
    auto connected = co_await connect_to_store(stage, endpoint, deadline, on_retry);
    if (connected) {
      link.emplace(*std::move(connected));
    } else {
      failed = connected.error();
    }
  }
  // The question that waits for an answer.
  Ask asked() {
    for (const SessionAction& action : stage.take_actions())
      if (const auto* ask = std::get_if<Ask>(&action)) return *ask;
    ADD_FAILURE() << "nothing is asked";
    return {};
  }
  void refuse() {
    const Ask ask = asked();
    stage.answer({ask.id, Opened{0, Error{ErrorCode::system, "Connection refused"}, {}, {}}});
  }
  void at(Time time) {
    stage.begin({{time, WallTime()}, 30s});
    stage.run();
  }

  Stage stage{1};
  Scope scope{stage};
  std::optional<StoreLink> link;
  std::optional<Error> failed;
  std::vector<std::string> retries;
};

TEST(StoreLink, TriesAgainUntilSomebodyListens) {
  Caller caller;
  caller.at(start_time);
  caller.scope.start(caller.connect(start_time + 60s));
  for (int i = 0; i < 3; ++i) {
    caller.refuse();
    const Time next = caller.stage.deadline();
    EXPECT_GE(next - caller.stage.moment(), 5ms * (1 << i));
    EXPECT_LE(next - caller.stage.moment(), 15ms * (1 << i));
    caller.at(next);
  }
  EXPECT_EQ(caller.retries.size(), 3U);
  const Ask ask = caller.asked();
  const LinkId id = std::get<OpenLink>(ask.question).link;
  caller.stage.answer({ask.id, Opened{id, {}, {"10.0.0.1", 29500}, "10.0.0.2"}});
  ASSERT_TRUE(caller.link);
  EXPECT_EQ(caller.link->peer().host, "10.0.0.1");
}

TEST(StoreLink, GivesUpWhenItSaidAndNotBefore) {
  Caller caller;
  caller.at(start_time);
  caller.scope.start(caller.connect(start_time + 5ms));
  caller.refuse();
  caller.at(start_time + 4ms);
  EXPECT_FALSE(caller.failed);
  caller.at(start_time + 5ms);
  ASSERT_TRUE(caller.failed);
  EXPECT_EQ(caller.failed->code, ErrorCode::timeout);
  EXPECT_EQ(caller.failed->message, "Connection refused");
}

TEST(StoreLink, IsClosedOnceAndTellsNothingAfterwards) {
  Caller caller;
  {
    StoreLink first(caller.stage, 7, Opened());
    StoreLink second(std::move(first));
    second.close();
    second.wake();
    second.part();
  }
  const SessionActions actions = caller.stage.take_actions();
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(std::get<CloseLink>(actions[0]).link, 7U);
}

}  // namespace launch::store_link_test
