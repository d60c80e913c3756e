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

// The list is n1, n0; this is n1, which founds the job unless n0 knows of one.
struct Founder : Nodes {
  explicit Founder(Duration heartbeat = 30s) {
    config.heartbeat_timeout = heartbeat;
    C10dChoice& choice = c10d_of(config);
    choice.host_moves = true;
    choice.is_host.reset();
    choice.places = {{"n1", 29400}, {"n0", 29500}, {"n2", 29400}};
    choice.store = choice.places.front();
    part.emplace(first.stage(), config, *config.c10d(), owner);
  }
  bool says(const std::string& words) const {
    return std::any_of(first.said.begin(), first.said.end(),
                       [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }
};

TEST(ElasticStore, TheFirstOfAListFoundsTheJobAtOnceIfNobodyKnowsOfOne) {
  Founder node;
  node.network.end_store(node.store);
  const Time began = node.events.now();
  node.join();
  EXPECT_TRUE(node.events.run_until([&] { return node.part->hosts() && node.part->is_by_launch(); }, 10s));
  EXPECT_LT(node.events.now(), began + 100ms);
  EXPECT_EQ(node.part->address(), "n1");
}

TEST(ElasticStore, TheFirstOfAListJoinsTheJobThatLivesAtAnother) {
  Founder node;
  Config other = elastic_config("n2", 300, {2, 3}, true);
  c10d_of(other).store = node.endpoint;
  Owner its_owner;
  ElasticStore its_part(node.second.stage(), other, *other.c10d(), its_owner);
  its_part.join(true, 0);
  node.second.act();
  node.events.run_until(node.events.now() + 1s);
  c10d_of(node.config).settings.nodes = {2, 3};
  node.part.emplace(node.first.stage(), node.config, *node.config.c10d(), node.owner);
  node.join();
  EXPECT_TRUE(node.hears("formed"));
  EXPECT_FALSE(node.part->hosts());
  EXPECT_EQ(node.part->reached(), node.endpoint);
  EXPECT_TRUE(node.says("the job job lives at n0:29500; this node joins it there"));
}

TEST(ElasticStore, TheFirstOfAListWaitsForWhoDoesNotAnswerButNotForEver) {
  Founder node;
  node.network.power_off("n2");
  node.network.end_store(node.store);
  node.join();
  node.events.run_until(node.events.now() + 29s);
  EXPECT_FALSE(node.part->hosts());
  EXPECT_TRUE(
      node.says("n2:29400 does not answer; looking for the job job at n1:29400, n0:29500, n2:29400; this node "
                "founds it in"));
  node.events.run_until(node.events.now() + 21s);  // the last time that it is asked, and the one before
  EXPECT_TRUE(node.part->hosts());
}

TEST(ElasticStore, TheFirstOfAListThatMayBeCutOffFoundsNothing) {
  Founder node;
  node.network.power_off("n0");
  node.network.power_off("n2");
  node.join();
  node.events.run_until(node.events.now() + 601s);
  EXPECT_FALSE(node.part->hosts());
  EXPECT_TRUE(node.says("n0:29500 and n2:29400 do not answer"));
  ASSERT_EQ(node.owner.heard.size(), 1U);
  EXPECT_THAT(node.owner.heard.front(), testing::StartsWith("no store: the rendezvous timed out after 10 min"));
  EXPECT_THAT(node.owner.heard.front(), testing::HasSubstr("n0:29500 and n2:29400 do not answer"));
}

TEST(ElasticStore, AnotherOfAListFoundsNothing) {
  Founder node;
  c10d_of(node.config).places = {{"n0", 29500}, {"n1", 29400}};
  c10d_of(node.config).store = {"n0", 29500};
  node.part.emplace(node.first.stage(), node.config, *node.config.c10d(), node.owner);
  node.network.end_store(node.store);
  node.join();
  node.events.run_until(node.events.now() + 100s);
  EXPECT_FALSE(node.part->hosts());
  EXPECT_TRUE(node.says("no job is there yet; looking for the job job at n0:29500, n1:29400; giving up in"));
  const auto store = *node.network.listen("n0", 29500);
  EXPECT_TRUE(node.hears("formed"));
}

TEST(ElasticStore, TheFirstOfAListEndsIfItsPortIsTaken) {
  Founder node;
  node.network.end_store(node.store);
  const auto taken = *node.network.listen("n1", 29400, false);
  taken->agents().close_to_strangers({});
  node.network.reject("n1", "n1");
  node.join();
  node.events.run_until(node.events.now() + 20s);
  ASSERT_EQ(node.owner.heard.size(), 1U);
  EXPECT_THAT(node.owner.heard.front(), testing::Not(testing::HasSubstr("timed out")));
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
