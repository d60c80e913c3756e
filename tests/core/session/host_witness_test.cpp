#include "launch/core/session/host_witness.hpp"

#include "launch/core/c10d/attendance.hpp"
#include "launch/core/store/keys.hpp"

#include "talker.hpp"

#include <gtest/gtest.h>

#include <string>

namespace launch::host_witness_test {

using namespace std::chrono_literals;
using Wish = Attendance::Wish;

// n0 hosts the store of a job that n1 attends, and n2 does not.
struct Place : play::TwoTalkers {
  Place() {
    attend(Wish::join, "n1");
    witness.watch(endpoint, Attend{key, text(Wish::witness, "n1")});
    first.act();
    events.run_until(later(events.now(), 1s));
  }
  static std::string text(Wish wish, const char* node) {
    Attendance said;
    said.wish = wish;
    said.node = {node, 100, launch_local_id};
    said.nodes = {2, 4};
    said.member.local_world_size = 1;
    return to_json(said);
  }
  void attend(Wish wish, const char* node) {
    agent.emplace(first.link_to(endpoint));
    const auto say = [](StoreLink& link, std::string its_key, std::string said, Time by) -> Talk<bool> {
      Operation operation = Attend{std::move(its_key), std::move(said)};
      auto told = co_await link.perform(std::move(operation), by);
      co_return told.has_value();
    };
    (void)first.run(say(*agent, key, text(wish, node), later(events.now(), 10ms)));
  }
  bool has_seen_end(Duration within) {
    return first.run(witness.has_seen_end(later(events.now(), within))).value_or(false);
  }

  std::string key = state_key("job");
  std::optional<StoreLink> agent;
  HostWitness witness{first.stage()};
};

TEST(HostWitness, SeesTheEndOfTheProcess) {
  Place place;
  EXPECT_FALSE(place.has_seen_end(10s)) << "it lives";
  place.network.end_store(place.store);
  EXPECT_TRUE(place.has_seen_end(100ms));
  EXPECT_TRUE(place.has_seen_end(0ms));
  place.witness.forget();
  EXPECT_FALSE(place.has_seen_end(100ms));
}

TEST(HostWitness, OfAHostThatHasGivenItsNodeUpItSeesNoEnd) {
  Place place;
  place.agent.reset();
  place.first.act();
  place.events.run_until(later(place.events.now(), 1s));
  place.network.end_store(place.store);
  EXPECT_FALSE(place.has_seen_end(1s));
}

TEST(HostWitness, ItsOwnConnectionMayBeReset) {
  Place place;
  place.network.end_store(place.store, true);
  EXPECT_FALSE(place.has_seen_end(1s));
}

TEST(HostWitness, WhatItHasSeenProvesNothingAboutAHostThatIsThere) {
  for (const bool knows_the_node : {false, true}) {
    Place place;
    place.network.end_store(place.store);
    EXPECT_TRUE(place.has_seen_end(100ms));
    (void)place.network.listen(place.endpoint.host, place.endpoint.port, true);
    if (knows_the_node) place.attend(Wish::join, "n1");
    place.events.run_until(later(place.events.now(), 3s));
    EXPECT_FALSE(place.has_seen_end(0ms)) << knows_the_node;
  }
}

TEST(HostWitness, AConnectionThatIsLostIsMadeAgain) {
  Place place;
  place.network.end_store(place.store, true);
  const auto again = *place.network.listen(place.endpoint.host, place.endpoint.port, true);
  place.attend(Wish::join, "n1");
  place.events.run_until(later(place.events.now(), 3s));
  place.network.end_store(again);
  EXPECT_TRUE(place.has_seen_end(100ms));
}

TEST(HostWitness, AHostThatDoesNotKnowTheNodeIsAskedAgain) {
  Place place;
  HostWitness stranger(place.second.stage());
  const auto watch = [&] {
    place.second.begin();
    stranger.watch(place.endpoint, Attend{place.key, Place::text(Wish::witness, "n2")});
    place.second.act();
    place.events.run_until(later(place.events.now(), 1s));
  };
  watch();
  place.attend(Wish::join, "n2");
  watch();
  place.network.end_store(place.store);
  EXPECT_TRUE(place.second.run(stranger.has_seen_end(place.soon())).value_or(false));
}

}  // namespace launch::host_witness_test
