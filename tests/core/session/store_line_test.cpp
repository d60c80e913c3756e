#include "launch/core/session/store_line.hpp"

#include "launch/core/store/keys.hpp"

#include "configs.hpp"
#include "talker.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace launch::store_line_test {

using namespace std::chrono_literals;

NodeDesc node(int rank) { return {"n" + std::to_string(rank), 100 + rank, launch_local_id}; }

// n0 has hosted the store; n1 to n3 are the line, and have doors at port 1 to 3. This is n3.
struct Line {
  explicit Line(const Config& its_config = play::elastic_config("n3", 103, {1, 4}, true)) : config(its_config) {
    RoundFormed formed;
    formed.succession = {2, 7, 4, NodeRank(3), NodeRank(0), node(0), "of n0", 4, 0, {}};
    for (int rank = 1; rank < 4; ++rank)
      formed.succession.line.push_back({NodeRank(rank), node(rank), {door(rank), name(rank)}});
    line.learn(formed, Endpoint{"n0", 29400});
  }
  static Endpoint door(int rank) { return {"n" + std::to_string(rank), static_cast<std::uint16_t>(rank)}; }
  static std::string name(int rank) { return "of n" + std::to_string(rank); }
  std::shared_ptr<play::Store> open(int rank) { return open(rank, name(rank)); }
  std::shared_ptr<play::Store> open(int rank, const std::string& its_name) {
    const auto store = *network.listen(door(rank).host, door(rank).port);
    store->agents().table().preset(store_name_key(its_name), "1");
    return store;
  }
  std::optional<Result<StoreLine::Next>> find(Duration within = 30s) {
    return talker.run(line.find_next({node(3), true}, later(events.now(), within)), 600s);
  }

  Config config;
  play::Events events{1};
  play::Network network{events};
  play::Talker talker{network, "n3"};
  StoreLine line{talker.stage(), config};
};

TEST(StoreLine, LeadsToTheFirstWhoseDoorIsOpen) {
  Line those;
  const auto first = those.open(1);
  const auto second = those.open(2);
  const auto next = those.find();
  ASSERT_TRUE(next && *next);
  EXPECT_EQ((*next)->heir.node, node(1));
  EXPECT_FALSE((*next)->here);
  EXPECT_EQ(those.line.term(), 3);
}

TEST(StoreLine, PassesThoseThatHaveEndedAndEndsAtThisNode) {
  Line those;
  const auto next = those.find();
  ASSERT_TRUE(next && *next);
  EXPECT_TRUE((*next)->here);
  EXPECT_EQ(those.line.term(), 5);
  const auto seat = those.line.seat(true);
  ASSERT_TRUE(seat.comeback.has_value());
  EXPECT_TRUE(seat.comeback->ended.empty()) << "a refused connection proves nothing";
  EXPECT_EQ(seat.comeback->term, 5);
  EXPECT_EQ(seat.comeback->left, 2);
  EXPECT_GT(seat.comeback->wait, 30s);
}

TEST(StoreLine, PassesOneThatIsSilentAfterAWhileAndDoesNotTakeItForDead) {
  Line those;
  those.network.power_off("n1");
  const auto second = those.open(2);
  const Time began = those.events.now();
  const auto next = those.find();
  ASSERT_TRUE(next && *next);
  EXPECT_EQ((*next)->heir.node, node(2));
  EXPECT_GE(those.events.now(), began + 3s);
  EXPECT_TRUE(those.line.seat(false).comeback->ended.empty());
}

TEST(StoreLine, PassesAnotherStoreAtTheSameAddress) {
  Line those;
  const auto stranger = those.open(1, "of another job");
  const auto second = those.open(2);
  const auto next = those.find();
  ASSERT_TRUE(next && *next);
  EXPECT_EQ((*next)->heir.node, node(2));
}

TEST(StoreLine, KnowsThatAHostHasEndedIfItWasAtItsStore) {
  Line those;
  const auto first = those.open(1);
  ASSERT_TRUE(those.find().has_value());
  those.network.end_store(first);
  const auto next = those.find();
  ASSERT_TRUE(next && *next);
  const auto seat = those.line.seat(true);
  EXPECT_EQ(seat.comeback->ended, std::vector<NodeRank>{NodeRank(1)});
  EXPECT_EQ(seat.comeback->left, 3);
}

TEST(StoreLine, GivesUpInTimeIfNobodyAnswers) {
  Line those(play::elastic_config("n4", 104, {1, 4}, true));
  for (const char* const host : {"n1", "n2", "n3"}) those.network.power_off(host);
  const Time began = those.events.now();
  const auto next = those.talker.run(those.line.find_next({node(4), true}, later(began, 30s)), 600s);
  ASSERT_TRUE(next.has_value());
  EXPECT_FALSE(*next);
  EXPECT_LE(those.events.now(), began + 31s);
}

TEST(StoreLine, KnowsAHostThatHasEndedFromOneThatLivesOrIsSilent) {
  Line those;
  const auto is_gone = [&](const Endpoint& store) {
    return *those.talker.run(those.line.is_gone(store, later(those.events.now(), 1s)));
  };
  EXPECT_TRUE(is_gone({"n0", 29500}));
  const auto store = *those.network.listen("n0", 29500);
  EXPECT_TRUE(is_gone({"n0", 29500})) << "another one is there";
  store->agents().table().preset(store_name_key("of n0"), "1");
  EXPECT_FALSE(is_gone({"n0", 29500}));
  those.network.power_off("n0");
  EXPECT_FALSE(is_gone({"n0", 29500}));
}

// As that of a service that has no endpoints for a moment.
TEST(StoreLine, OneRefusalProvesNothing) {
  Line those;
  std::shared_ptr<play::Store> store;
  those.events.in(10ms, [&] {
    store = *those.network.listen("n0", 29500);
    store->agents().table().preset(store_name_key("of n0"), "1");
  });
  EXPECT_FALSE(*those.talker.run(those.line.is_gone({"n0", 29500}, later(those.events.now(), 1s))));
}

TEST(StoreLine, TheDoorIsAtAListedPortIfThatIsFree) {
  const auto port_of = [](Line& those, std::vector<Endpoint> listed) {
    const auto open = [&]() -> Talk<bool> {
      co_await those.line.open_door(node(3), "n3", listed);
      co_return true;
    };
    EXPECT_TRUE(those.talker.run(open()));
    return those.line.door_port();
  };
  Line free;
  EXPECT_EQ(port_of(free, {{"n3", 29400}}), 29400);
  EXPECT_TRUE(free.talker.said.empty());
  Line taken;
  const auto other = *taken.network.listen("n3", 29400);
  EXPECT_NE(port_of(taken, {{"n3", 29400}}), 29400);
  ASSERT_EQ(taken.talker.said.size(), 1U);
  EXPECT_NE(taken.talker.said.back().find("port 29400 is taken"), std::string::npos);
  Line unlisted;
  EXPECT_NE(port_of(unlisted, {}), 0);
  EXPECT_TRUE(unlisted.talker.said.empty());
}

TEST(StoreLine, PointsOthersToTheStoreByItsName) {
  Line those;
  const MovedJob job = those.line.there({"n0", 29400});
  EXPECT_EQ(job, (MovedJob{node(0), {{"n0", 29400}, "of n0"}, 2}));
  const auto first = those.open(1);
  ASSERT_TRUE(those.find().has_value());
  EXPECT_EQ(those.line.there({"n1", 1}), (MovedJob{node(1), {{"n1", 1}, "of n1"}, 3}));
}

TEST(StoreLine, ANodeThatWasGivenUpForgetsTheLine) {
  Line those;
  those.line.forget();
  EXPECT_FALSE(those.line.leads_on());
  EXPECT_FALSE(those.line.seat(false).comeback.has_value());
}

TEST(StoreLine, LearnsNothingWithoutItsOption) {
  EXPECT_TRUE(Line().line.leads_on());
  EXPECT_FALSE(Line(play::elastic_config("n3", 103, {1, 4}, false)).line.leads_on());
}

TEST(StoreLine, HasADoorOnlyWhereTheJobGoesOnWithoutANode) {
  for (const auto& [fewest, moves] : {std::pair(1, true), std::pair(1, false), std::pair(4, true)}) {
    Line those(play::elastic_config("n3", 103, {fewest, 4}, moves));
    const auto opened = those.talker.run([](StoreLine& line) -> Talk<bool> {
      std::string address = "n3";
      std::vector<Endpoint> listed;
      co_await line.open_door(node(3), address, listed);
      co_return true;
    }(those.line));
    ASSERT_TRUE(opened.has_value());
    const auto seat = those.line.seat(false);
    EXPECT_EQ(seat.door.at.port != 0, fewest < 4 && moves);
    EXPECT_FALSE(seat.comeback.has_value());
  }
}

TEST(StoreLine, ASpareLearnsTheLineOfALaterRoundOnly) {
  Line those;
  RoundWaits waits;
  waits.succession = {2, 6, 1, NodeRank::none(), NodeRank(0), node(0), "of n0", 1, 0, {}};
  those.line.learn(waits, std::nullopt);
  EXPECT_EQ(those.line.last().round, 7);
  waits.succession.round = 8;
  those.line.learn(waits, std::nullopt);
  EXPECT_EQ(those.line.last().round, 8);
}

}  // namespace launch::store_line_test
