#include "launch/core/rendezvous/static_guests.hpp"
#include "launch/core/store/keys.hpp"

#include "launch/core/rendezvous/static_rendezvous.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <gtest/gtest.h>

namespace launch::static_guests_test {

using namespace std::chrono_literals;

constexpr Time start = Time(1h);
const std::string role_info = "/job/torchelastic/role_info/";
const std::string barrier = "/job/torchelastic/agent/terminal_state/num_members";

struct Job {
  void set(ConnectionId from, const std::string& key) { guests.saw(from, SetRequest{key, "value"}, table); }
  void form() {
    const std::string key = ranks_key("job", 0);
    guests.saw(9, MultiSetRequest{{{key, "[0, 2, 0, 2]"}}}, table);
  }
  std::vector<NodeRank> lost(Time now) { return guests.take_lost(now); }

  StaticGuests guests{"job", 3};
  StoreTable table;
};

TEST(StaticGuests, WhoseConnectionEndsIsLostASecondLater) {
  Job job;
  job.set(4, role_info + "1");
  job.form();
  job.guests.drop(5, start);
  EXPECT_EQ(job.guests.deadline(), never);
  job.guests.drop(4, start);
  EXPECT_EQ(job.guests.deadline(), start + 1s);
  EXPECT_TRUE(job.lost(start + 999ms).empty());
  EXPECT_EQ(job.lost(start + 1s), std::vector<NodeRank>{NodeRank(1)});
  EXPECT_TRUE(job.lost(start + 2s).empty());
  EXPECT_EQ(job.guests.deadline(), never);
}

TEST(StaticGuests, WhoHasCountedItselfInTheBarrierMayGo) {
  Job job;
  job.set(4, role_info + "1");
  job.set(5, role_info + "2");
  job.form();
  job.guests.saw(4, AddRequest{barrier, 1}, job.table);
  job.guests.saw(5, AddRequest{barrier, 0}, job.table);  // it only looks
  job.guests.drop(4, start);
  job.guests.drop(5, start);
  EXPECT_EQ(job.lost(start + 1h), std::vector<NodeRank>{NodeRank(2)});
}

TEST(StaticGuests, ALaunchAgentIsNone) {
  Job job;
  job.table.preset(claim_key("job", 1), "host n1");
  job.set(4, role_info + "1");
  job.form();
  job.guests.drop(4, start);
  EXPECT_EQ(job.guests.deadline(), never);
}

TEST(StaticGuests, WhoComesBackIsNotLost) {
  Job job;
  job.set(4, role_info + "1");
  job.form();
  job.guests.drop(4, start);
  job.set(5, role_info + "1");
  EXPECT_EQ(job.guests.deadline(), never);
  job.guests.drop(5, start + 1min);
  EXPECT_EQ(job.guests.deadline(), start + 1min + 1s);
}

TEST(StaticGuests, TheNewConnectionOfANodeCounts) {
  Job job;
  job.set(4, role_info + "1");
  job.set(5, role_info + "1");
  job.form();
  job.guests.drop(4, start);
  EXPECT_EQ(job.guests.deadline(), never);
}

TEST(StaticGuests, ALaunchAgentMayComeInItsPlace) {
  Job job;
  job.set(4, role_info + "1");
  job.guests.drop(4, start);
  job.table.preset(claim_key("job", 1), "host n1");
  job.set(5, role_info + "1");
  job.form();
  EXPECT_EQ(job.guests.deadline(), never);
}

TEST(StaticGuests, BeforeTheJobHasFormedItMayBeStartedAgain) {
  Job job;
  job.set(4, role_info + "1");
  job.guests.drop(4, start);
  EXPECT_EQ(job.guests.deadline(), never);
  EXPECT_TRUE(job.lost(start + 1h).empty());
  job.form();
  EXPECT_EQ(job.guests.deadline(), start + 1s);
  EXPECT_EQ(job.lost(start + 1h), std::vector<NodeRank>{NodeRank(1)});
}

TEST(StaticGuests, OtherKeysMakeNobodyANode) {
  Job job;
  for (const char* key :
       {"role_info/1", "/job/torchelastic/role_info/3", "/job/torchelastic/role_info/-1",
        "/job/torchelastic/role_info/", "/job/torchelastic/role_info/1x", "/other/torchelastic/role_info/1"})
    job.set(4, key);
  job.form();
  job.guests.drop(4, start);
  EXPECT_EQ(job.guests.deadline(), never);
}

TEST(StaticGuests, TheOthersAreToldWhichNodeItIs) {
  const auto failure = parse_failure(loss_of_guest(NodeRank(2)));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::lost);
  EXPECT_EQ(describe(*failure), "node 2: its torchrun ended before its workers had succeeded");
}

}  // namespace launch::static_guests_test
