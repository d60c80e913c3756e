// The second half of what Head does before a node runs: an address of node 0 for all, and the line of each node.
#include "head_driver.hpp"
#include "launch/core/hosts/head.hpp"
#include "launch/core/options/option_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::head_reach_test {

using namespace std::chrono_literals;
using heads::Driver;
using heads::lost_to;
using heads::plan_of;
using heads::ready_with;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

// ---- which address of node 0 all reach

TEST(Head, TheOthersAreAskedWhichAddressesOfNode0TheyReach) {
  Driver d(plan_of(3));
  d.greet_all();
  d.say(2, ready_with({"10.0.0.3"}, "c", 3));
  d.say(1, ready_with({"10.0.0.2"}, "b", 2));
  d.say(0, ready_with({"10.0.0.1", "10.1.0.1", "fd00::1"}, "a"));
  EXPECT_THAT(d.told<ReachQuestion>(), ElementsAre(1, 2));
  EXPECT_EQ(d.told<ReachQuestion>(1), (ReachQuestion{{"10.0.0.1", "10.1.0.1", "fd00::1"}, 43211, "run"}));
  EXPECT_THAT(d.say(1, ReachAnswer{{"refused", "", ""}}).last, IsEmpty());
  d.say(2, ReachAnswer{{"", "", "no route"}});
  EXPECT_THAT(d.told<NodeGo>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(d.told<NodeGo>(2)->args, testing::Contains("--master-addr=10.1.0.1"));
  EXPECT_THAT(d.told<NodeGo>(2)->args, testing::Contains("--master-port=43211"));
}

std::vector<std::string> asked_for(const std::vector<std::string>& boot_ids, const std::string& network) {
  HeadPlan plan = plan_of(static_cast<int>(boot_ids.size()));
  plan.network = network;
  Driver d(plan);
  d.greet_all();
  for (std::size_t i = 0; i < boot_ids.size(); ++i)
    d.say(static_cast<int>(i), ready_with({"10.0.0.1", "192.168.0.1"}, boot_ids[i]));
  const auto question = d.told<ReachQuestion>(1);
  return question ? question->addresses : std::vector<std::string>{"no question"};
}

TEST(Head, OneMachineTriesItsLoopbackFirst) {
  EXPECT_THAT(asked_for({"a", "a", "a"}, ""), ElementsAre("127.0.0.1"));
  EXPECT_THAT(asked_for({"a", "a", "b"}, ""), ElementsAre("10.0.0.1", "192.168.0.1"));
  EXPECT_THAT(asked_for({"", "", ""}, ""), ElementsAre("10.0.0.1", "192.168.0.1")) << "nobody knows";
  EXPECT_THAT(asked_for({"a", "a"}, "192.168.0.0/16"), ElementsAre("192.168.0.1"));
  EXPECT_THAT(asked_for({"a", "b"}, "eth1"), ElementsAre("192.168.0.1"));
}

TEST(Head, ContainersOfOneMachineThatDoNotShareItsLoopbackTryTheOtherAddresses) {
  Driver d(plan_of(3));
  d.greet_all();
  for (const int node : {0, 1, 2}) d.say(node, ready_with({"10.0.0.1"}, "a"));
  d.say(1, ReachAnswer{{""}}).say(2, ReachAnswer{{"refused"}});
  EXPECT_FALSE(d.ever_went());
  EXPECT_THAT(d.told<ReachQuestion>(), ElementsAre(1, 2));
  EXPECT_THAT(d.told<ReachQuestion>(2)->addresses, ElementsAre("127.0.0.1", "10.0.0.1"));
  d.say(1, ReachAnswer{{"", ""}}).say(2, ReachAnswer{{"refused", ""}});
  EXPECT_THAT(d.told<NodeGo>(2)->args, testing::Contains("--master-addr=10.0.0.1"));
}

TEST(Head, ContainersWithoutAnAddressThatAllReachAreNamed) {
  Driver d(plan_of(2));
  d.greet_all();
  for (const int node : {0, 1}) d.say(node, ready_with({"10.0.0.1"}, "a"));
  d.say(1, ReachAnswer{{"refused"}}).say(1, ReachAnswer{{"refused", "no answer"}});
  EXPECT_THAT(d.code(), Optional(1));
  EXPECT_FALSE(d.ever_went());
}

TEST(Head, ANetworkOnWhichNode0IsNotIsACommandLinesFault) {
  HeadPlan plan = plan_of(2);
  plan.network = "ib0";
  Driver d(plan);
  d.ready_all();
  EXPECT_THAT(d.code(), Optional(2));
  EXPECT_THAT(d.said(), ElementsAre("n1: nothing there is on the network ib0 (--network); it has eth0 10.0.0.1"));
  EXPECT_THAT(d.told<ReachQuestion>(), IsEmpty());
}

TEST(Head, WhoDoesNotReachNode0IsNamedAndNothingIsStarted) {
  Driver d(plan_of(4));
  d.ready_all();
  d.say(1, ReachAnswer{{"Connection refused"}});
  d.say(2, ReachAnswer{{""}});
  d.say(3, ReachAnswer{{"Connection refused"}});
  EXPECT_THAT(d.code(), Optional(1));
  EXPECT_THAT(d.said(), ElementsAre("n[2,4] cannot reach node 0 (n1) at 10.0.0.1:43211 (Connection refused)",
                                    HasSubstr("a firewall between the hosts?")));
  EXPECT_FALSE(d.ever_went());
}

TEST(Head, ANode0WithoutAddressesIsReachedByNobody) {
  Driver d(plan_of(2));
  d.greet_all();
  d.say(0, ready_with({}, "a"));
  d.say(1, ready_with({}, "b"));
  d.say(1, ReachAnswer{});
  EXPECT_THAT(d.code(), Optional(1));
  EXPECT_THAT(d.said(), ElementsAre(HasSubstr("n1 (node 0) has no network")));
}

TEST(Head, AllWhoAreLateWithTheirAnswerAreNamed) {
  Driver d(plan_of(4));
  d.ready_all();
  d.say(2, ReachAnswer{{""}});
  EXPECT_THAT(d.wait(14s).code(), testing::Eq(std::nullopt));
  d.wait(1s);
  EXPECT_THAT(d.said(), ElementsAre("n[2,4]: did not say within 15 s whether it reaches node 0",
                                    "2 of 4 hosts cannot take part, so nothing was started"));
  EXPECT_THAT(d.code(), Optional(124));
  EXPECT_FALSE(d.ever_went());
}

TEST(Head, AHostThatIsLostMeanwhileEndsIt) {
  for (const int node : {0, 1, 2}) {
    Driver d(plan_of(3));
    d.ready_all();
    d.say(1, ReachAnswer{{""}});
    d.lose(node, lost_to("Connection to it timed out.\n"));
    EXPECT_THAT(d.code(), Optional(1)) << node;
    EXPECT_THAT(d.said().back(), HasSubstr("1 of 3 hosts cannot take part"));
    EXPECT_FALSE(d.ever_went());
  }
}

// ---- the lines of the nodes

TEST(Head, LinesOfAStaticJob) {
  HeadPlan plan = plan_of(2);
  plan.nodes[0].options = {"--nproc-per-node=2"};
  Driver d(plan);
  d.run_all();
  EXPECT_THAT(d.told<NodeGo>(0)->args, ElementsAre("--quiet", "--nproc-per-node=2", "--cluster=none", "--rdzv-id=run",
                                                   "--nnodes=2", "--node-rank=0", "--master-addr=10.0.0.1",
                                                   "--master-port=43211", "--", "train.py", "--lr", "3"));
  EXPECT_THAT(d.told<NodeGo>(1)->args,
              ElementsAre("--quiet", "--cluster=none", "--rdzv-id=run", "--nnodes=2", "--node-rank=1",
                          "--master-addr=10.0.0.1", "--master-port=43211", "--", "train.py", "--lr", "3"));
}

TEST(Head, LinesOfAnElasticJob) {
  HeadPlan plan = plan_of(2);
  plan.c10d = true;
  plan.nnodes = "1:2";
  Driver d(plan);
  d.greet_all();
  d.say(0, ready_with({"fd00::1"}, "a"));
  d.say(1, ready_with({"fd00::2"}, "b"));
  d.say(1, ReachAnswer{{""}});
  for (const int node : {0, 1})
    EXPECT_THAT(d.told<NodeGo>(node)->args,
                ElementsAre("--quiet", "--cluster=none", "--rdzv-id=run", "--nnodes=1:2",
                            "--rdzv-endpoint=[fd00::1]:43211", "--", "train.py", "--lr", "3"));
}

TEST(Head, ASingleHostGoesAtOnceAndNeedsNoAddress) {
  for (const bool c10d : {false, true}) {
    HeadPlan plan = plan_of(1);
    plan.c10d = c10d;
    plan.network = "nowhere";
    Driver d(plan);
    d.greet(0);
    d.say(0, ready_with({}, "a", 0));
    EXPECT_THAT(d.told<NodeGo>(0)->args,
                ElementsAre("--quiet", "--cluster=none", "--rdzv-id=run", "--nnodes=1", "--", "train.py", "--lr", "3"));
  }
}

TEST(Head, TheProgramArrivesAsItWasTyped) {
  for (const std::vector<std::string>& program : std::vector<std::vector<std::string>>{
           {"train.py", "--", "x"}, {"-m"}, {"--", "--"}, {"train.py", "--nnodes=7"}, {"", " "}}) {
    HeadPlan plan = plan_of(1);
    plan.program = program;
    Driver d(plan);
    d.ready_all();
    const auto line = read_option_line(d.told<NodeGo>(0)->args);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(line->program, program);
    EXPECT_EQ(line->options.size(), 4U);
  }
}

}  // namespace launch::head_reach_test
