#include "launch/core/session/host_search.hpp"

#include "launch/core/store/keys.hpp"

#include "configs.hpp"
#include "talker.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace launch::host_search_test {

using namespace std::chrono_literals;

NodeDesc node(int rank) { return {"n" + std::to_string(rank), 100 + rank, launch_local_id}; }

struct Ears final : StoreOwner {
  void on_news(ElasticNews /*news*/) override {}
  void on_other_store() override {}
  void on_no_store(Error /*error*/) override {}
  void on_doubt(bool silent) override { heard.emplace_back(silent ? "doubt, silent" : "doubt"); }
  void on_lost(Error /*error*/) override {}
  void on_expelled() override { heard.emplace_back("expelled"); }
  void on_host_gone(const LastRound& /*last*/, std::optional<Duration> /*workers*/, bool ended) override {
    heard.emplace_back(ended ? "ended" : "leaves it");
  }
  void on_elder(const MovedJob& job, bool /*waits*/) override { heard.push_back("elder at " + job.host.addr); }
  bool goes_on() const override { return true; }
  Talk<bool> still_goes_on() override { co_return true; }

  std::vector<std::string> heard;
};

// n0 hosts the store of n1 to n3, which are its line; this is n3, and n0 has lost power. Of the others each hosts a
// store, too, if the test opens it.
struct Node {
  explicit Node(bool by_majority = true) {
    play::c10d_of(config).by_majority = by_majority;
    search.emplace(talker.stage(), config, place, ears);
    const auto store = open(0, 29400);
    place.by_launch = place.wants.formed = true;
    place.link.emplace(talker.link_to({"n0", 29400}));
    place.reached = place.link->peer();
    RoundFormed formed;
    formed.succession = {2, 7, 4, NodeRank(3), NodeRank(0), node(0), name(0), 4, 0, {}};
    for (int rank = 1; rank < 4; ++rank) formed.succession.line.push_back({NodeRank(rank), node(rank), door(rank)});
    talker.begin();
    search->hear(formed);
    network.power_off("n0");
  }
  static std::string name(int rank) { return "of n" + std::to_string(rank); }
  static StoreDoor door(int rank) {
    return {{"n" + std::to_string(rank), static_cast<std::uint16_t>(29400 + rank)}, name(rank)};
  }
  std::shared_ptr<play::Store> open(int rank, std::uint16_t port) {
    const auto store = *network.listen("n" + std::to_string(rank), port);
    store->agents().table().preset(store_name_key(name(rank)), "1");
    return store;
  }
  std::shared_ptr<play::Store> open(int rank) { return open(rank, door(rank).at.port); }
  HostSearch::Way go_on(ErrorCode code) {
    return talker.run(search->go_on(Error{code, "lost"}, true), 2000s).value_or(HostSearch::Way::as_ever);
  }
  bool is_refused(bool few = true) {
    talker.begin();
    return search->hear(RoundRefused{{ErrorCode::timeout, "too few"}, false, false, few});
  }

  Config config = play::elastic_config("n3", 103, {1, 4}, true);
  play::Events events{1};
  play::Network network{events};
  play::Talker talker{network, "n3"};
  StorePlace place{.store = {"n0", 29400}};
  Ears ears;
  std::optional<HostSearch> search;
};

using Heard = std::vector<std::string>;

TEST(HostSearch, LeavesAHostThatIsOnlySilentIfAMajorityDecides) {
  Node one;
  const auto next = one.open(1);
  EXPECT_EQ(one.go_on(ErrorCode::silent), HostSearch::Way::followed);
  EXPECT_EQ(one.ears.heard, (Heard{"doubt, silent", "leaves it"}));
  EXPECT_EQ(one.place.reached->host, "n1");
  const auto seat = one.search->line().seat(false);
  ASSERT_TRUE(seat.comeback.has_value());
  EXPECT_FALSE(seat.comeback->host_ended);
  EXPECT_GT(seat.comeback->wait, 0s);
  EXPECT_LT(seat.comeback->wait, seat.comeback->limit) << "it counts from what it heard last";
}

TEST(HostSearch, StaysWithASilentHostOtherwise) {
  Node one(false);
  const auto next = one.open(1);
  EXPECT_EQ(one.go_on(ErrorCode::silent), HostSearch::Way::as_ever);
  EXPECT_EQ(one.ears.heard, Heard{"doubt, silent"});
}

TEST(HostSearch, OneOfAPartThatIsTooSmallComesToTheOthersAsANewNode) {
  Node one;
  const auto next = one.open(1);
  ASSERT_EQ(one.go_on(ErrorCode::silent), HostSearch::Way::followed);
  EXPECT_TRUE(one.is_refused());
  ASSERT_TRUE(one.search->leaves().has_value());
  one.network.end_store(next);
  const auto other = one.open(2);
  EXPECT_EQ(one.go_on(ErrorCode::timeout), HostSearch::Way::followed);
  EXPECT_EQ(one.place.reached->host, "n2");
  const auto seat = one.search->line().seat(false);
  EXPECT_TRUE(seat.anew);
  EXPECT_FALSE(seat.comeback.has_value());
}

TEST(HostSearch, SaysWhereItLooksAndEndsAtTheJoinTimeOut) {
  Node one;
  const auto next = one.open(1);
  ASSERT_EQ(one.go_on(ErrorCode::silent), HostSearch::Way::followed);
  EXPECT_TRUE(one.is_refused());
  one.network.end_store(next);
  const Time began = one.events.now();
  EXPECT_EQ(one.go_on(ErrorCode::timeout), HostSearch::Way::in_vain);
  EXPECT_GE(one.events.now(), later(began, one.config.c10d()->settings.join_timeout - 3s));
  ASSERT_FALSE(one.talker.said.empty());
  EXPECT_NE(one.talker.said.back().find("looking for the job at n0:29400, n1:29401, n2:29402"), std::string::npos)
      << one.talker.said.back();
}

TEST(HostSearch, AnyOtherRefusalIsTheOwners) {
  Node one;
  EXPECT_FALSE(one.is_refused(false));
  EXPECT_FALSE(one.search->leaves().has_value());
}

}  // namespace launch::host_search_test
