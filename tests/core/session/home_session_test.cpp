#include "launch/core/session/home_session.hpp"

#include "../../support/meeting.hpp"

#include <gtest/gtest.h>

namespace launch::home_session_test {

using namespace play;
using namespace std::chrono_literals;

Config config_at(std::uint16_t port) {
  Config config = static_config(0, 1, 3);
  config.meeting = AloneChoice{{"127.0.0.1", port}};
  return config;
}

TEST(HomeSession, TakesAFreePortAndSaysWhereItIs) {
  Meeting meeting;
  Meeting::Node& node = meeting.add(config_at(0));
  EXPECT_TRUE(node.session->open());
  node.session->feed(JoinRound{});
  const auto done = meeting.take<RendezvousDone>(node);
  ASSERT_TRUE(done && done->round.master);
  EXPECT_NE(done->round.master->port, 0);
  EXPECT_EQ(done->round.assignment.world_size, 3);
  EXPECT_TRUE(done->round.can_restart);
}

TEST(HomeSession, LeavesNothingOfTheLastWorkersInItsStore) {
  Meeting meeting;
  Meeting::Node& node = meeting.add(config_at(29500));
  EXPECT_TRUE(node.session->open());
  node.session->feed(JoinRound{});
  const auto store = node.session->job_store();
  std::string reply;
  std::vector<Push> pushes;
  EXPECT_TRUE(store->agents().table().apply(9, SetRequest{"of the workers", "1"}, reply, pushes));
  ASSERT_TRUE(store->has("of the workers"));
  node.session->feed(JoinRound{true, 1});
  EXPECT_FALSE(store->has("of the workers"));
  EXPECT_TRUE(meeting.take<RendezvousDone>(node));
  EXPECT_EQ(meeting.take<RendezvousDone>(node)->round.restarts, 1);
}

TEST(HomeSession, WaitsForNobody) {
  Meeting meeting;
  Meeting::Node& node = meeting.add(config_at(0));
  EXPECT_TRUE(node.session->open());
  node.session->feed(JoinRound{});
  node.session->feed(EnterExitBarrier{});
  EXPECT_TRUE(meeting.take<BarrierDone>(node, 0s));
  node.session->feed(TellOthers{});
  EXPECT_EQ(node.others_told, 1);
  node.session->feed(EndSession{true});
  EXPECT_TRUE(node.ended);
}

TEST(HomeSession, ListensForOthersOnlyWhereTheyCouldFindIt) {
  for (const auto& [host, only_here] :
       {std::pair("127.0.0.1", true), {"::1", true}, {"localhost", true}, {"node7", false}}) {
    const Config config = static_config(0, 1);
    const AloneChoice choice{{host, 29500}};
    HomeSession session(config, choice, {});
    const SessionActions actions = session.on(OpenSession{}, {});
    ASSERT_EQ(actions.size(), 1U);
    EXPECT_EQ(std::get<Listen>(std::get<Ask>(actions.front()).question).loopback_only, only_here) << host;
  }
}

TEST(HomeSession, APortThatIsTakenIsAnError) {
  Meeting meeting;
  const auto taken = meeting.network().listen("n0", 29500);
  Meeting::Node& node = meeting.add(config_at(29500));
  EXPECT_FALSE(node.session->open());
}

}  // namespace launch::home_session_test
