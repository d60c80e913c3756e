// --check in core/config/hosts_settings: what the plan of a check is.
#include "launch/core/config/hosts_settings.hpp"

#include "settling.hpp"

namespace launch::hosts_check_test {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

Result<HostsPlan> plan_line(Args args, bool program = true) {
  if (program) args.insert(args.end(), {"train.py", "--lr", "3"});
  const auto line = read_option_line(args);
  const auto command = parse_command(args, {});
  if (!line || !command) return usage_error("it is no line");
  HeadFacts facts;
  facts.folder = "/work";
  return plan_hosts(std::get<Options>(*command), *line, facts);
}

HostsPlan plan_of(const Args& args) { return plan_line(args).value(); }
std::string refusal(const Args& args) { return plan_line(args).error().message; }

TEST(HostsCheck, ThePlanOfACheckIsThatOfTheJobAndWhatItNeeds) {
  EXPECT_FALSE(plan_of({"--hosts=n1"}).head.check);
  const HostsPlan plan = plan_of({"--check", "--json", "--hosts=n1,n2:3", "--nproc-per-node=gpu"});
  ASSERT_TRUE(plan.head.check);
  EXPECT_TRUE(plan.head.check->json);
  ASSERT_EQ(plan.head.check->needs.size(), 2U);
  EXPECT_TRUE(plan.head.check->needs[0].program);
  EXPECT_TRUE(plan.head.check->needs[0].gpus);
  EXPECT_EQ(plan.head.check->needs[0].workers, 0);
  EXPECT_FALSE(plan.head.check->needs[1].gpus) << "its number is given";
  EXPECT_EQ(plan.head.check->needs[1].workers, 3);
  EXPECT_THAT(plan.head.options, Not(Contains(StartsWith("--check"))));
  EXPECT_THAT(plan.head.options, Not(Contains(StartsWith("--json"))));
  EXPECT_EQ(plan_of({"--check", "--hosts=n1", "--nproc-per-node=8"}).head.check->needs[0].workers, 8);
}

TEST(HostsCheck, ACheckOfThisHostNamesNone) {
  const HostsPlan plan = plan_of({"--check"});
  ASSERT_EQ(plan.head.nodes.size(), 1U);
  EXPECT_EQ(plan.head.nodes[0].host, "localhost");
}

TEST(HostsCheck, ACheckNeedsNoProgram) {
  const auto plan = plan_line({"--check", "--hosts=n1"}, false);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->head.check->needs[0].program);
  EXPECT_FALSE(plan_line({"--hosts=n1"}, false));
}

TEST(HostsCheck, WhatACheckRefuses) {
  EXPECT_EQ(refusal({"--json", "--hosts=n1"}),
            "--json: it is for --check; a report of a failed job is JSON with --verdict=json");
  EXPECT_EQ(refusal({"--json"}), refusal({"--json", "--hosts=n1"}));
  EXPECT_EQ(refusal({"--check", "--node-rank=1"}),
            "--node-rank: with --check, launch counts the nodes itself; leave it out");
}

}  // namespace launch::hosts_check_test
