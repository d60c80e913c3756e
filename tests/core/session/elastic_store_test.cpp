#include "launch/core/session/elastic_store.hpp"

#include "launch/core/session/round_watch.hpp"
#include "launch/core/store/keys.hpp"

#include "../../support/configs.hpp"
#include "../../support/talker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::elastic_store_test {

using namespace play;
using namespace std::chrono_literals;

struct Owner : ElasticStore::Owner {
  void on_news(ElasticNews news) override {
    if (std::holds_alternative<RoundFormed>(news)) heard.push_back("formed");
    if (std::holds_alternative<RoundBroken>(news)) heard.push_back("broken");
  }
  void on_other_store() override { heard.push_back("other store"); }
  void on_no_store(Error error) override { heard.push_back("no store: " + error.message); }
  void on_doubt(bool silent) override { heard.push_back(silent ? "silent" : "closed"); }
  void on_lost(Error /*error*/) override { heard.push_back("lost"); }
  void on_expelled() override { heard.push_back("expelled"); }
  void on_host_gone(const LastRound& /*last*/, std::optional<Duration> workers, bool ended) override {
    heard.push_back(std::string(ended ? "gone" : "silent host") + (workers ? ", workers" : ""));
  }
  void on_elder(const MovedJob& job, bool waits) override {
    heard.push_back("gives way to " + job.host.addr + (waits ? ", waits" : ""));
  }
  bool goes_on() const override { return true; }
  Talk<bool> still_goes_on() override { co_return true; }

  std::vector<std::string> heard;
};

struct Nodes : TwoTalkers {
  Nodes() {
    c10d_of(config).store = endpoint;
    store->set_silence_limit(plan_heartbeat(config.heartbeat_timeout, 2).silence);
    part.emplace(first.stage(), config, *config.c10d(), owner);
  }
  void join() {
    part->join(true, 0);
    first.act();
  }
  bool hears(const std::string& what, Duration limit = 10s) {
    return events.run_until(
        [&] { return std::find(owner.heard.begin(), owner.heard.end(), what) != owner.heard.end(); }, limit);
  }

  Config config = elastic_config("n1", 100, {1, 2});
  Owner owner;
  std::optional<ElasticStore> part;
};

TEST(ElasticStore, JoinsAndHearsThatItsRoundHasFormed) {
  Nodes nodes;
  nodes.join();
  EXPECT_TRUE(nodes.hears("formed"));
  EXPECT_TRUE(nodes.part->is_by_launch());
  EXPECT_EQ(nodes.part->address(), "n1");
}

TEST(ElasticStore, WithoutAStoreItGivesUpAtTheTimeOut) {
  Nodes nodes;
  nodes.network.end_store(nodes.store);
  nodes.join();
  nodes.events.run_until(nodes.events.now() + 599s);
  EXPECT_TRUE(nodes.owner.heard.empty());
  nodes.events.run_until(nodes.events.now() + 2s);
  EXPECT_THAT(nodes.owner.heard, testing::ElementsAre(testing::StartsWith("no store: the rendezvous timed out")));
}

TEST(ElasticStore, AStoreThatIsGoneBeforeARoundIsLookedForAgain) {
  Nodes nodes;
  c10d_of(nodes.config).settings.nodes = {2, 2};
  nodes.part.emplace(nodes.first.stage(), nodes.config, *nodes.config.c10d(), nodes.owner);
  nodes.join();
  nodes.events.run_until(nodes.events.now() + 5s);
  nodes.network.end_store(nodes.store);
  EXPECT_TRUE(nodes.hears("other store"));
  nodes.store = *nodes.network.listen("n0", 29500);
  nodes.events.run_until(nodes.events.now() + 5s);
  EXPECT_TRUE(nodes.part->is_by_launch());
  EXPECT_THAT(nodes.owner.heard, testing::ElementsAre("other store"));
}

TEST(ElasticStore, AStoreThatIsGoneAfterARoundIsLost) {
  Nodes nodes;
  nodes.join();
  EXPECT_TRUE(nodes.hears("formed"));
  nodes.network.end_store(nodes.store);
  EXPECT_TRUE(nodes.hears("lost"));
  EXPECT_THAT(nodes.owner.heard, testing::ElementsAre("formed", "closed", "lost"));
  nodes.store = *nodes.network.listen("n0", 29500);
  nodes.join();
  nodes.events.run_until(nodes.events.now() + 10s);
  EXPECT_EQ(nodes.owner.heard.size(), 3U) << "another store is another job";
}

TEST(ElasticStore, AShortCutExpelsNobodyAndALongOneDoes) {
  Nodes nodes;
  nodes.join();
  EXPECT_TRUE(nodes.hears("formed"));
  nodes.network.cut("*", "*", nodes.events.now() + 10s);
  nodes.events.run_until(nodes.events.now() + 100s);
  EXPECT_THAT(nodes.owner.heard, testing::ElementsAre("formed"));
  nodes.network.cut("*", "*", nodes.events.now() + 40s);
  EXPECT_TRUE(nodes.hears("expelled", 60s));
  EXPECT_THAT(nodes.owner.heard, testing::ElementsAre("formed", "silent", "expelled"));
}

TEST(ElasticStore, AtTheEndItsWishIsDoneFirst) {
  Nodes nodes;
  nodes.join();
  EXPECT_TRUE(nodes.hears("formed"));
  nodes.part->close();
  const auto end = [](ElasticStore& part, Time deadline) -> Talk<bool> {
    co_await part.end(deadline);
    co_return true;
  };
  const Time start = nodes.events.now();
  EXPECT_TRUE(nodes.first.run(end(*nodes.part, later(start, 2s))));
  EXPECT_LT(nodes.events.now() - start, 1s);
}

// A failure of the round before could not be told. It is known by now, or the next will could not have been left.
TEST(ElasticStore, OnlyTheWillOfTheRoundThatCouldNotBeToldStands) {
  for (const bool next_round : {false, true}) {
    Nodes nodes;
    nodes.join();
    EXPECT_TRUE(nodes.hears("formed"));
    const auto leave_will = [&](const std::string& round) {
      const RoundWatch::Place place{.prefix = round, .node_rank = NodeRank(0), .nnodes = 1, .silence_limit = 30s};
      nodes.first.begin();
      EXPECT_TRUE(nodes.part->pledge({last_will(place, "n1", true)}));
      nodes.first.act();
      nodes.events.run_until(nodes.events.now() + 1s);
    };
    leave_will("first");
    nodes.part->let_will_stand();
    if (next_round) leave_will("second");
    nodes.part->part();
    nodes.first.act();
    nodes.events.run_until(nodes.events.now() + 1s);
    EXPECT_EQ(nodes.store->has(abort_key("first")), !next_round);
    EXPECT_FALSE(nodes.store->has(abort_key("second")));
  }
}

}  // namespace launch::elastic_store_test
