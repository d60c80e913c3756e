#include "launch/core/rendezvous/meeting_place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::meeting_place_test {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MeetingPlace, ItIsLookedForInThisRoundFirstAndFarBack) {
  EXPECT_THAT(rounds_to_look_in(0), ElementsAre(0));
  EXPECT_THAT(rounds_to_look_in(2), ElementsAre(2, 1, 0));
  EXPECT_EQ(rounds_to_look_in(5000).back(), 4000);
}

TEST(MeetingPlace, WhatIsNoAddressIsRefused) {
  EXPECT_EQ(*parse_meeting_place("n0", "29500"), (Endpoint{"n0", 29500}));
  for (const char* port : {"", "0", "-1", "65536", "29500x"}) EXPECT_FALSE(parse_meeting_place("n0", port)) << port;
  EXPECT_FALSE(parse_meeting_place("", "29500"));
}

TEST(MeetingPlace, ThisRoundsIsTriedFirstThenTheNewestOfTheLeadersHost) {
  const std::vector<SaidPlace> said = {{3, "n1", "4"}, {2, "n0", "3"}, {1, "n9", "2"}, {0, "n0", "1"}};
  EXPECT_THAT(places_to_try(said, 3, "n0"), ElementsAre(Endpoint{"n1", 4}, Endpoint{"n0", 3}, Endpoint{"n0", 1}));
  EXPECT_THAT(places_to_try(said, 4, "n0"), ElementsAre(Endpoint{"n0", 3}, Endpoint{"n0", 1}));
  EXPECT_THAT(places_to_try(said, 4, "n7"), IsEmpty());
}

TEST(MeetingPlace, EachIsTriedOnce) {
  const std::vector<SaidPlace> said = {{2, "n0", "3"}, {1, "n0", "no port"}, {0, "n0", "3"}};
  EXPECT_THAT(places_to_try(said, 3, "n0"), ElementsAre(Endpoint{"n0", 3}));
}

}  // namespace launch::meeting_place_test
