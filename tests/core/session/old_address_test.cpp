#include "launch/core/session/old_address.hpp"

#include "launch/core/c10d/attendance.hpp"
#include "launch/core/session/store_link.hpp"
#include "launch/core/store/keys.hpp"

#include "talker.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace launch::old_address_test {

using namespace std::chrono_literals;

// n1 hosts the job that was at n0.
struct Place {
  Place() {
    OldAddress old{{"n0", 29400},
                   {},
                   "job",
                   {1, 4},
                   {{"program", "a"}},
                   {{"n1", 101, launch_local_id}, {{"n1", 40000}, "of n1"}, 1}};
    scope.start(watch_old_address(talker.stage(), std::move(old)));
    talker.act();
  }
  // n0 hosts a store there in which it waits for others.
  std::shared_ptr<play::Store> found(const std::string& run_id, const std::string& name,
                                     const std::string& program = "a") {
    const auto store = *network.listen("n0", 29400);
    store->agents().table().preset(store_name_key(name), "1");
    Attendance said;
    said.node = {"n0", 200, launch_local_id};
    said.nodes = {1, 4};
    said.last_call = 3s;
    said.common = {{"program", program}};
    said.member.local_world_size = 1;
    heard = client.run(join(state_key(run_id), to_json(said)), 1s).value_or("");
    return store;
  }
  Talk<std::string> join(std::string key, std::string text) {
    Endpoint own{"n0", 29400};
    auto link = co_await connect_quietly(client.stage(), std::move(own), later(events.now(), 1s));
    if (!link) co_return link.error().message;
    Operation attend = Attend{std::move(key), std::move(text)};
    auto told = co_await link->perform(std::move(attend), never);
    co_return told&& std::holds_alternative<Told>(*told) ? std::get<Told>(*told).text : "no news";
  }

  play::Events events{1};
  play::Network network{events};
  play::Talker talker{network, "n1"};
  play::Talker client{network, "n0"};
  Scope scope{talker.stage()};
  std::string heard;
};

TEST(OldAddress, AJobThatIsFoundedThereIsToldWhereTheElderOneLives) {
  Place place;
  place.events.run_until(later(place.events.now(), 60s));
  const auto store = place.found("job", "of n0");
  EXPECT_NE(place.heard.find("\"moved\""), std::string::npos) << place.heard;
  EXPECT_NE(place.heard.find("of n1"), std::string::npos) << place.heard;
}

TEST(OldAddress, OtherJobsAreToldNothing) {
  Place place;
  const auto store = place.found("other", "of n0");
  EXPECT_EQ(place.heard, "");
}

TEST(OldAddress, TheStoreOfThisJobIsToldNothing) {
  Place place;
  const auto store = place.found("job", "of n1");
  EXPECT_EQ(place.heard, "");
}

// Many jobs have the id that is given to those without one.
TEST(OldAddress, AJobOfTheSameIdWithAnotherProgramTakesNoNotice) {
  Place place;
  const auto store = place.found("job", "of n0", "b");
  EXPECT_EQ(place.heard.find("\"moved\""), std::string::npos) << place.heard;
}

// It is of a version that does not know what it is told.
TEST(OldAddress, WhoDoesNotUnderstandIsToldLessAndLessOften) {
  Place place;
  const auto store = *place.network.listen("n0", 29400, false);
  store->agents().table().preset(host_key, "1");
  store->agents().table().preset(state_key("job"), "1");
  place.events.run_until(later(place.events.now(), 1h));
  EXPECT_GT(store->requests(), 10);
  EXPECT_LT(store->requests(), 200);
}

}  // namespace launch::old_address_test
