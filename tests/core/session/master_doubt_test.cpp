#include "launch/core/session/master_doubt.hpp"

#include "../../support/meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::master_doubt_test {

using namespace play;
using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// What node `rank` of two says within `limit`, if the user has named `master` as the address of node 0.
std::vector<std::string> said(int rank, const std::string& master, Duration limit, bool other_comes = false) {
  Meeting meeting;
  Config config = static_config(rank, 2);
  std::get<StaticChoice>(config.meeting).store.host = master;
  Meeting::Node& node = meeting.add(std::move(config));
  EXPECT_TRUE(node.session->open());
  node.session->feed(JoinRound{});
  if (other_comes) {
    Meeting::Node& other = meeting.add(static_config(1 - rank, 2));
    EXPECT_TRUE(other.session->open());
    other.session->feed(JoinRound{});
  }
  meeting.events().run_until(later(meeting.events().now(), limit));
  return node.session->lines();
}

TEST(MasterDoubt, Node0SaysWithinThreeSecondsThatItsAddressIsAnotherMachines) {
  EXPECT_THAT(said(0, "n1", 3s), Contains(HasSubstr("is another machine's, though this is node 0")));
  EXPECT_THAT(said(0, "n1", 1900ms), Not(Contains(HasSubstr("(--master-addr)")))) << "the others may just be coming";
  EXPECT_THAT(said(0, "n0", 100s), Not(Contains(HasSubstr("(--master-addr)"))));
}

TEST(MasterDoubt, AnotherNodeSaysWithinThreeSecondsThatTheAddressIsItsOwn) {
  for (const char* master : {"n1", "localhost"})
    EXPECT_THAT(said(1, master, 3s), Contains(HasSubstr("is this machine, where node 0 does not answer")));
  EXPECT_THAT(said(1, "n0", 100s), Not(Contains(HasSubstr("(--master-addr)")))) << "it may be slow";
}

TEST(MasterDoubt, IsOverOnceTheNodesHaveMet) {
  for (const int rank : {0, 1}) EXPECT_THAT(said(rank, "n0", 100s, true), Not(Contains(HasSubstr("(--master-addr)"))));
}

// As behind a load balancer, or a service of Kubernetes.
TEST(MasterDoubt, AnAddressThatIsTranslatedOnItsWayIsNoReason) {
  const MasterDoubt host{{"service", 29500}, "n0", NodeRank(0)};
  EXPECT_TRUE(why_doubt(host, {false, true}));
  EXPECT_FALSE(why_doubt(host, {true, true}));
  EXPECT_FALSE(why_doubt(host, {false, false})) << "the name cannot be resolved here";
  const MasterDoubt other{{"service", 29500}, "n1", NodeRank(1)};
  EXPECT_FALSE(why_doubt(other, {false, true}));
  EXPECT_FALSE(why_doubt(other, {true, true}));
}

}  // namespace launch::master_doubt_test
