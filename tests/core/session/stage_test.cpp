#include "launch/core/session/stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::stage_test {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr Time start_time = Time(1h);

struct Room {
  void at(Time time) {
    stage.begin({{time, WallTime()}, 30s});
    stage.run();
  }
  Talk<void> say_at(Time time, std::string what) {
    auto moment = stage.until(time);
    co_await moment;
    said.push_back(what);
  }
  Talk<void> ask_for_port() {
    Question question = FindFreePort{};
    auto asking = stage.ask<std::uint16_t>(std::move(question));
    const std::uint16_t port = co_await asking;
    said.push_back(std::to_string(port));
  }
  Talk<void> wait_for(Bell& bell, Time deadline) {
    auto rung = bell.rung(deadline);
    co_await rung;
    said.push_back("rung");
  }
  Talk<void> give_up_itself(Scope& scope) {
    scope.give_up();
    said.push_back("still runs");
    co_await say_at(Time(2h), "never");
  }

  Stage stage{1};
  std::vector<std::string> said;
};

TEST(Stage, MomentsComeInTheirOrderAndNotBefore) {
  Room room;
  Scope scope(room.stage);
  room.at(start_time);
  scope.start(room.say_at(start_time + 2s, "second"));
  scope.start(room.say_at(start_time + 1s, "first"));
  scope.start(room.say_at(start_time + 2s, "third"));
  EXPECT_EQ(room.stage.deadline(), start_time + 1s);
  room.at(start_time + 999ms);
  EXPECT_TRUE(room.said.empty());
  room.at(start_time + 3s);
  EXPECT_THAT(room.said, ElementsAre("first", "second", "third"));
  EXPECT_EQ(room.stage.deadline(), never);
}

TEST(Stage, AnAnswerGoesToTheOneThatAsked) {
  Room room;
  Scope scope(room.stage);
  scope.start(room.ask_for_port());
  scope.start(room.ask_for_port());
  const SessionActions actions = room.stage.take_actions();
  ASSERT_EQ(actions.size(), 2U);
  room.stage.answer({std::get<Ask>(actions[1]).id, std::uint16_t{2}});
  room.stage.answer({std::get<Ask>(actions[0]).id, std::uint16_t{1}});
  EXPECT_THAT(room.said, ElementsAre("2", "1"));
  room.stage.answer({std::get<Ask>(actions[0]).id, std::uint16_t{1}});
  EXPECT_EQ(room.said.size(), 2U);
}

TEST(Stage, WhatIsGivenUpHearsNothing) {
  Room room;
  Scope first(room.stage), second(room.stage);
  first.start(room.ask_for_port());
  second.start(room.ask_for_port());
  const SessionActions actions = room.stage.take_actions();
  first.give_up();
  room.stage.answer({std::get<Ask>(actions[0]).id, std::uint16_t{1}});
  room.stage.answer({std::get<Ask>(actions[1]).id, std::uint16_t{2}});
  EXPECT_THAT(room.said, ElementsAre("2"));
}

TEST(Stage, ALinkThatOpensForNobodyIsClosed) {
  Room room;
  room.stage.answer({17, Opened{4, {}, {}, {}}});
  const SessionActions actions = room.stage.take_actions();
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(std::get<CloseLink>(actions[0]).link, 4U);
}

TEST(Stage, ABellWakesBeforeTheDeadlineAndOnlyOnce) {
  Room room;
  Bell bell(room.stage);
  Scope scope(room.stage);
  room.at(start_time);
  scope.start(room.wait_for(bell, start_time + 5s));
  bell.ring();
  EXPECT_TRUE(room.said.empty()) << "not before what rings is done";
  room.at(start_time);
  EXPECT_THAT(room.said, ElementsAre("rung"));
  bell.ring();
  room.at(start_time + 9s);
  EXPECT_EQ(room.said.size(), 1U);
}

TEST(Stage, ATalkMayGiveItselfUp) {
  Room room;
  Scope scope(room.stage);
  room.at(start_time);
  scope.start(room.give_up_itself(scope));
  EXPECT_THAT(room.said, ElementsAre("still runs"));
  EXPECT_EQ(room.stage.deadline(), never);
}

}  // namespace launch::stage_test
