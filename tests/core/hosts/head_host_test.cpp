#include "launch/core/hosts/head_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::head_host_test {

using testing::HasSubstr;
using testing::IsEmpty;
using State = HeadHost::State;

HeadHost host_in(State state, bool connected = true) {
  HeadHost host;
  host.state = state;
  host.connected = connected;
  return host;
}

TEST(HeadHost, WhateverHasALimitHasASentenceThatSaysIt) {
  for (const State state : {State::waiting, State::connecting, State::asked, State::reaching}) {
    const HeadHost host = host_in(state);
    ASSERT_GT(limit_of(host), Duration::zero());
    EXPECT_THAT(why_late(host), HasSubstr(" " + to_text(limit_of(host))));
  }
  for (const State state : {State::ready, State::ended, State::lost}) {
    EXPECT_EQ(limit_of(host_in(state)), Duration::zero());
    EXPECT_THAT(why_late(host_in(state)), IsEmpty());
  }
}

TEST(HeadHost, OneThatIsNotConnectedToYetIsNotLate) {
  EXPECT_EQ(limit_of(host_in(State::waiting, false)), Duration::zero());
  EXPECT_THAT(why_late(host_in(State::waiting, false)), IsEmpty());
}

TEST(HeadHost, ACopyMayTakeLonger) {
  HeadHost host = host_in(State::connecting);
  const Duration without = limit_of(host);
  host.copies = true;
  EXPECT_GT(limit_of(host), without);
}

TEST(HeadHost, WhatALoginHasSaidIsNamed) {
  HeadHost host = host_in(State::connecting);
  EXPECT_THAT(why_late(host), HasSubstr("did not answer"));
  host.noise = "which project?";
  EXPECT_THAT(why_late(host), HasSubstr("the login said \"which project?\" and launch did not start"));
}

TEST(HeadHost, ARunningOneIsSilent) {
  EXPECT_THAT(why_late(host_in(State::running)), IsEmpty());
  EXPECT_THAT(why_silent(std::chrono::seconds(15)), HasSubstr("no sign of life for 15 s"));
}

}  // namespace launch::head_host_test
