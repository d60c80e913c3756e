#include "launch/core/session/listed_places.hpp"

#include "launch/core/c10d/attendance.hpp"
#include "launch/core/store/keys.hpp"

#include "configs.hpp"
#include "talker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace launch::listed_places_test {

using namespace std::chrono_literals;

// The list is n0, n1, n2; this is n3, or the host that a test says.
struct Listed {
  explicit Listed(const std::string& host = "n3") : config(play::elastic_config(host, 103, {1, 4}, true)) {
    C10dChoice& choice = play::c10d_of(config);
    choice.is_host.reset();
    choice.store = {"n0", 29400};
    choice.places = {{"n0", 29400}, {"n1", 29400}, {"n2", 29400}};
    talker = std::make_unique<play::Talker>(network, host);
    places.emplace(talker->stage(), config);
  }
  std::shared_ptr<play::Store> open(const std::string& host, std::uint16_t port = 29400) {
    return *network.listen(host, port);
  }
  // A node waits for others there.
  std::shared_ptr<play::Store> host(const std::string& at, std::uint16_t port = 29400, const std::string& name = "") {
    const auto store = open(at, port);
    if (!name.empty()) store->agents().table().preset(store_name_key(name), "1");
    StoreLink link = talker->link_to({at, port});
    Attendance said = visit(Attendance::Wish::join, {at, 7, launch_local_id});
    said.nodes = {2, 4};
    Operation attend = Attend{state_key("job"), to_json(said)};
    (void)talker->run(link.perform(std::move(attend), later(events.now(), 10ms)), 20ms);
    return store;
  }
  // A node of the job that does not host it.
  std::shared_ptr<play::Store> door(const std::string& at, std::optional<MovedJob> job) {
    const auto store = open(at);
    store->agents().close_to_strangers({NodeRank::none(), {at, 7, launch_local_id}, {{}, "of " + at}});
    store->agents().point_to(state_key("job"), std::move(job));
    return store;
  }
  static MovedJob at(const std::string& host, std::uint16_t port, const std::string& name = "") {
    return {{host, 7, launch_local_id}, {{host, port}, name}, 1};
  }
  std::optional<Endpoint> ask(bool waited = false) {
    auto found = talker->run(places->ask(later(events.now(), 1s), waited), 10s);
    EXPECT_TRUE(found.has_value()) << "it did not end in time";
    return found && *found ? std::optional((*found)->at) : std::nullopt;
  }
  void locate() { EXPECT_TRUE(talker->run(located(), 10s)); }
  Talk<bool> located() {
    co_await places->locate(later(events.now(), 1s));
    co_return true;
  }

  Config config;
  play::Events events{1};
  play::Network network{events};
  std::unique_ptr<play::Talker> talker;
  std::optional<ListedPlaces> places;
};

// By the first of the list.
struct ByFirst : Listed {
  ByFirst() : Listed("n0") { locate(); }
};

TEST(ListedPlaces, AreThereOnlyIfSeveralHostsAreNamed) {
  EXPECT_TRUE(Listed().places->exist());
  Listed one;
  play::c10d_of(one.config).places.clear();
  EXPECT_FALSE(ListedPlaces(one.talker->stage(), one.config).exist());
}

TEST(ListedPlaces, TheFirstFoundsAndEachKnowsItsOwn) {
  Listed first("n0");
  first.locate();
  EXPECT_TRUE(first.places->founds());
  EXPECT_EQ(first.places->own(), (std::vector<Endpoint>{{"n0", 29400}}));
  Listed second("n1");
  second.locate();
  EXPECT_FALSE(second.places->founds());
  EXPECT_EQ(second.places->own(), (std::vector<Endpoint>{{"n1", 29400}}));
  Listed other("n3");
  other.locate();
  EXPECT_FALSE(other.places->founds());
  EXPECT_TRUE(other.places->own().empty());
}

// Several agents of one machine, each with an address of its own.
TEST(ListedPlaces, AnAddressThatTheUserGivesSaysWhichIsItsOwn) {
  Listed node("n0");
  play::c10d_of(node.config).address = "n2";
  node.locate();
  EXPECT_FALSE(node.places->founds());
  EXPECT_EQ(node.places->own(), (std::vector<Endpoint>{{"n2", 29400}}));
}

TEST(ListedPlaces, NobodyIsThere) {
  ByFirst node;
  EXPECT_FALSE(node.ask());
  EXPECT_TRUE(node.places->may_found(false));
  EXPECT_EQ(node.places->findings(), "no job is there yet");
}

TEST(ListedPlaces, TheJobIsFoundWhereverItIsHosted) {
  for (const char* host : {"n0", "n1", "n2"}) {
    Listed node;
    const auto store = node.host(host);
    EXPECT_EQ(node.ask(), (Endpoint{host, 29400}));
  }
}

TEST(ListedPlaces, WhoIsSilentHidesNoJobButIsNoProofThatThereIsNone) {
  ByFirst node;
  node.network.power_off("n1");
  EXPECT_FALSE(node.ask());
  EXPECT_FALSE(node.places->may_found(false));
  EXPECT_TRUE(node.places->may_found(true));
  EXPECT_EQ(node.places->findings(), "n1:29400 does not answer");
  const auto store = node.host("n2");
  const Time began = node.events.now();
  EXPECT_EQ(node.ask(), (Endpoint{"n2", 29400}));
  EXPECT_LT(node.events.now(), began + 1s) << "nobody waits for the silent one";
}

TEST(ListedPlaces, OnlyTheFirstMayFound) {
  Listed node;
  EXPECT_FALSE(node.ask());
  EXPECT_FALSE(node.places->may_found(true));
}

// As by an address that leads back to its own machine on no way.
TEST(ListedPlaces, TheFirstNeedNotHearFromItself) {
  ByFirst node;
  node.network.cut("n0", "n0", never);
  EXPECT_FALSE(node.ask());
  EXPECT_TRUE(node.places->may_found(false));
}

TEST(ListedPlaces, ANodeOfTheJobSaysWhereThatIs) {
  Listed node;
  const auto door = node.door("n1", Listed::at("n7", 40000, "of n7"));
  const auto store = node.host("n7", 40000, "of n7");
  EXPECT_EQ(node.ask(), (Endpoint{"n7", 40000}));
}

TEST(ListedPlaces, AnotherStoreAtThatPlaceIsNotTheJob) {
  ByFirst node;
  const auto door = node.door("n1", Listed::at("n7", 40000, "of n7"));
  const auto store = node.host("n7", 40000, "of n8");
  EXPECT_FALSE(node.ask());
  EXPECT_FALSE(node.places->may_found(true)) << "the job lives somewhere";
}

// The node that it points to has just ended, or the next host is not found yet.
TEST(ListedPlaces, AJobThatIsKnownButCannotBeReachedIsNotFoundedAnew) {
  ByFirst node;
  const auto door = node.door("n1", Listed::at("n0", 29400));
  EXPECT_FALSE(node.ask());
  EXPECT_FALSE(node.places->may_found(true));
  EXPECT_EQ(node.places->findings(), "n1:29400 says that the job is at n0:29400");
}

// It ends all connections, also that of the question, and opens its door again.
TEST(ListedPlaces, AHostThatGivesUpItsStoreKnowsOfTheJobAllTheSame) {
  ByFirst node;
  const auto store = node.host("n1");
  node.network.freeze("n1", later(node.events.now(), 100ms));
  std::shared_ptr<play::Store> door;
  node.events.in(100ms, [&] {
    node.network.end_store(store, true);
    door = node.door("n1", Listed::at("n1", 29400, "of the last store"));
  });
  EXPECT_FALSE(node.ask());
  EXPECT_FALSE(node.places->may_found(true));
}

TEST(ListedPlaces, OneThatPointsToAnotherThatPointsOnIsFollowed) {
  Listed node;
  const auto late = node.door("n1", Listed::at("n2", 29400));
  const auto door = node.door("n2", Listed::at("n7", 40000));
  const auto store = node.host("n7", 40000);
  EXPECT_EQ(node.ask(), (Endpoint{"n7", 40000}));
}

TEST(ListedPlaces, TwoThatPointToEachOtherAreLeft) {
  ByFirst node;
  const auto one = node.door("n1", Listed::at("n2", 29400));
  const auto other = node.door("n2", Listed::at("n1", 29400));
  EXPECT_FALSE(node.ask());
  EXPECT_FALSE(node.places->may_found(true));
}

TEST(ListedPlaces, ANodeThatLooksForTheJobItselfKnowsOfNone) {
  ByFirst node;
  const auto door = node.door("n1", std::nullopt);
  EXPECT_FALSE(node.ask());
  EXPECT_TRUE(node.places->may_found(false));
}

TEST(ListedPlaces, AStoreWithoutThisJobCountsAtTheFirstPlaceOnly) {
  ByFirst node;
  const auto other = node.open("n1");
  EXPECT_FALSE(node.ask());
  EXPECT_TRUE(node.places->may_found(false));
  const auto first = node.open("n0");
  EXPECT_EQ(node.ask(), (Endpoint{"n0", 29400}));
}

TEST(ListedPlaces, AStoreOfTorchrunCountsAtTheFirstPlaceOnly) {
  Listed node;
  node.locate();
  const auto other = *node.network.listen("n1", 29400, false);
  EXPECT_FALSE(node.ask());
  const auto first = *node.network.listen("n0", 29400, false);
  EXPECT_EQ(node.ask(), (Endpoint{"n0", 29400}));
}

TEST(ListedPlaces, AStoreWithoutThisJobNeverWinsOverOneThatHasIt) {
  for (const char* const self : {"n0", "n3"})
    for (const bool by_launch : {false, true}) {
      Listed node(self);
      node.locate();
      const auto first = *node.network.listen("n0", 29400, by_launch);
      const auto job = node.host("n1");
      EXPECT_EQ(node.ask(), (Endpoint{"n1", 29400}));
    }
}

TEST(ListedPlaces, AStoreWithoutThisJobIsLeftIfAnotherKnowsOfTheJob) {
  for (const char* const self : {"n0", "n3"}) {
    Listed node(self);
    node.locate();
    const auto first = node.open("n0");
    const auto door = node.door("n1", Listed::at("n7", 40000));
    EXPECT_FALSE(node.ask(true));
  }
}

TEST(ListedPlaces, TheFirstUsesAStoreOfItsMachineOnlyIfItCouldFoundTheJob) {
  ByFirst node;
  const auto first = *node.network.listen("n0", 29400, false);
  node.network.power_off("n1");
  EXPECT_FALSE(node.ask());
  EXPECT_EQ(node.ask(true), (Endpoint{"n0", 29400}));
  node.network.power_off("n2");
  EXPECT_FALSE(node.ask(true));
}

// The wish `where` is not answered by what is there.
TEST(ListedPlaces, AStoreWithTheStateOfTheJobHasIt) {
  for (const bool by_launch : {false, true}) {
    ByFirst node;
    const auto store = *node.network.listen("n1", 29400, by_launch);
    store->agents().table().preset(state_key("job"), "1");
    if (by_launch) store->agents().close_to_strangers({NodeRank::none(), {"n1", 7, launch_local_id}, {{}, "of n1"}});
    EXPECT_EQ(node.ask(), (Endpoint{"n1", 29400}));
    EXPECT_FALSE(node.places->may_found(true));
  }
}

TEST(ListedPlaces, AnotherPlaceOfItsOwnMachineIsNoOther) {
  ByFirst node;
  play::c10d_of(node.config).places = {{"n0", 29400}, {"n0", 29500}, {"n1", 29400}};
  node.locate();
  node.network.power_off("n1");
  EXPECT_FALSE(node.ask(true));
  EXPECT_FALSE(node.places->may_found(true)) << "half of the machines do not answer";
}

}  // namespace launch::listed_places_test
