#include "launch/core/session/session.hpp"

#include "../../support/meeting.hpp"

#include <gtest/gtest.h>

namespace launch::session_test {

using namespace play;
using namespace std::chrono_literals;

TEST(Session, TheSameEventsGiveTheSameActions) {
  std::vector<std::uint64_t> steps;
  for (int i = 0; i < 2; ++i) {
    Meeting meeting(7);
    for (const int rank : {0, 1}) {
      Meeting::Node& node = meeting.add(static_config(rank, 2));
      EXPECT_TRUE(node.session->open());
      node.session->feed(JoinRound{});
      meeting.take<RendezvousDone>(node, 20s);
    }
    steps.push_back(meeting.events().steps());
  }
  EXPECT_EQ(steps[0], steps[1]);
}

// With whatever is under way, at any moment.
TEST(Session, MayBeDestroyedAtAnyStep) {
  for (std::uint64_t cut = 0; cut < 120; ++cut) {
    Meeting meeting(7);
    for (const int rank : {0, 1}) {
      Meeting::Node& node = meeting.add(static_config(rank, 2));
      EXPECT_TRUE(node.session->open());
      node.session->feed(JoinRound{});
    }
    meeting.events().run_until([&] { return meeting.events().steps() >= cut; }, 10s);
  }
}

}  // namespace launch::session_test
