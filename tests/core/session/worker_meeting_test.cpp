#include "launch/core/session/worker_meeting.hpp"

#include "launch/core/store/keys.hpp"

#include "../../support/configs.hpp"
#include "../../support/talker.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace launch::worker_meeting_test {

using namespace play;
using namespace std::chrono_literals;

RoundFormed round_of(std::int64_t round, int rank, NodeDesc leader) {
  RoundFormed formed;
  formed.round = round;
  formed.rank = NodeRank(rank);
  formed.nnodes = 2;
  formed.leader = std::move(leader);
  return formed;
}

const NodeDesc ours{"n1", 100, launch_local_id};
const NodeDesc theirs{"n1", 100, 0};

struct Place : TwoTalkers {
  Config config = elastic_config("n1", 100, {1, 2});
  WorkerMeeting leader{first.stage(), config, config.c10d()->settings};
  WorkerMeeting follower{second.stage(), config, config.c10d()->settings};
  StoreLink of_leader = first.link_to(endpoint);
  StoreLink of_follower = second.link_to(endpoint);

  // The one that a node of torchrun at this host has told of in that round, with a key of workers that have ended.
  std::shared_ptr<Store> torchruns_store(const std::string& host, std::int64_t round) {
    auto store = *network.listen(host, 41000, false);
    const KeyList keys = meeting_keys(round_prefix("job", round));
    EXPECT_TRUE(*first.run(of_leader.set(keys[0], host, soon())));
    EXPECT_TRUE(*first.run(of_leader.set(keys[1], "41000", soon())));
    StoreLink workers = first.link_to({host, 41000});
    EXPECT_TRUE(*first.run(workers.set("of the last round", "1", soon())));
    return store;
  }
};

TEST(WorkerMeeting, TheLeaderSaysWhereAndTheOthersReadIt) {
  Place place;
  const auto master = place.first.run(place.leader.agree(place.of_leader, round_of(0, 0, ours), "n1"));
  ASSERT_TRUE(master && *master);
  EXPECT_EQ((*master)->host, "n1");
  EXPECT_TRUE(place.leader.hosts());
  EXPECT_EQ(**place.second.run(place.follower.agree(place.of_follower, round_of(0, 1, ours), "n2")), **master);
  EXPECT_FALSE(place.follower.hosts());
}

TEST(WorkerMeeting, TheLeaderKeepsItsPort) {
  Place place;
  const auto master = place.first.run(place.leader.agree(place.of_leader, round_of(0, 0, ours), "n1"));
  EXPECT_EQ(**place.first.run(place.leader.agree(place.of_leader, round_of(1, 0, ours), "n1")), **master);
}

TEST(WorkerMeeting, ALeaderThatSaysNothingIsWaitedForAsLongAsNodesAre) {
  Place place;
  const auto nothing = place.second.run(place.follower.agree(place.of_follower, round_of(0, 1, ours), "n2"), 601s);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->error().code, ErrorCode::timeout);
}

TEST(WorkerMeeting, TorchrunSaysItOnceAndItsStoreIsEmptied) {
  Place place;
  const auto store = place.torchruns_store("n1", 0);
  const auto master = place.second.run(place.follower.agree(place.of_follower, round_of(1, 1, theirs), "n2"));
  ASSERT_TRUE(master && *master);
  EXPECT_EQ(**master, (Endpoint{"n1", 41000}));
  EXPECT_FALSE(store->has("of the last round"));
}

TEST(WorkerMeeting, TorchrunsStoreMayStandStillAsLongAsItsAgentMay) {
  Place place;
  const auto store = place.torchruns_store("t1", 1);
  place.network.freeze("t1", later(place.network.events().now(), 9s));
  EXPECT_TRUE(place.second.run(place.follower.agree(place.of_follower, round_of(1, 1, theirs), "n2"), 12s));
  EXPECT_FALSE(store->has("of the last round"));
}

}  // namespace launch::worker_meeting_test
