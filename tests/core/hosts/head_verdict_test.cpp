#include "launch/core/hosts/head_verdict.hpp"

#include "head_driver.hpp"
#include "launch/core/base/json_reader.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::head_verdict_test {

using heads::Driver;
using heads::lost_to;
using heads::plan_of;
using heads::ready_with;
using testing::ElementsAre;
using testing::HasSubstr;

// "HOST: REASON (CODE)" of each host.
std::vector<std::string> problems_of(const JsonValue& verdict) {
  std::vector<std::string> all;
  for (const JsonValue& one : verdict["problems"].list().value_or(std::vector<JsonValue>()))
    all.push_back(*one["host"].text() + ": " + *one["reason"].text() + " (" +
                  std::to_string(*one["exit_code"].whole(0, 255)) + ")");
  return all;
}

// That of the end, which is the last action.
JsonValue verdict_of(const Driver& d) {
  const auto ends = d.all<FinishHead>();
  EXPECT_EQ(ends.size(), 1U);
  const JsonValue verdict = read_json(ends.empty() ? "" : ends[0].json);
  EXPECT_TRUE(verdict.is_object());
  for (const FinishHead& end : ends) EXPECT_EQ(verdict["exit_code"].whole(0, 255), end.exit_code);
  EXPECT_EQ(verdict["root_cause"]["exit_code"].whole(0, 255), verdict["exit_code"].whole(0, 255));
  return verdict;
}

std::string kind_of_end(const JsonValue& verdict) { return verdict["root_cause"]["kind"].text().value_or(""); }

TEST(HeadVerdict, HasTheMembersOfAnyVerdict) {
  const JsonValue verdict = read_json(
      head_verdict(plan_of(3), {Failure::Kind::start, 2, "2 of 3 hosts \xff", {{"n1", "a", 2}, {"n3", "b", 2}}}));
  EXPECT_EQ(verdict["program"].text(), "train.py");
  EXPECT_EQ(verdict["run_id"].text(), "run");
  EXPECT_EQ(verdict["nnodes"].whole(0, 9), 3);
  EXPECT_EQ(verdict["no_account"].text(), "0-2");
  EXPECT_THAT(problems_of(verdict), ElementsAre("n1: a (2)", "n3: b (2)"));
  for (const char* name : {"restarts", "followers", "logs", "stopped", "left"})
    EXPECT_TRUE(verdict[name].present()) << name;
  EXPECT_EQ(verdict["root_cause"]["node_rank"].whole(-1, 9), -1) << "it is not about one node";
}

TEST(HeadVerdict, AHostThatIsTheOnlyProblemIsThePlace) {
  const JsonValue verdict = read_json(head_verdict(plan_of(3), {Failure::Kind::lost, 1, "", {{"n2", "gone", 1}}}));
  EXPECT_EQ(verdict["root_cause"]["node_rank"].whole(-1, 9), 1);
  EXPECT_EQ(verdict["root_cause"]["host"].text(), "n2");
  EXPECT_TRUE(read_json(head_verdict(HeadPlan(), {Failure::Kind::lost, 1, "", {{"x", "gone", 1}}})).is_object());
}

TEST(HeadVerdict, HostsThatCannotTakePart) {
  Driver d(plan_of(3));
  d.greet_all().say(0, NodeCannot{"no folder", 2}).say(1, ready_with({"10.0.0.1"}, "a"));
  const JsonValue verdict = verdict_of(d.say(2, NodeCannot{"no folder", 2}));
  EXPECT_EQ(kind_of_end(verdict), "start");
  EXPECT_EQ(verdict["root_cause"]["what"].text(), "2 of 3 hosts cannot take part");
  EXPECT_THAT(problems_of(verdict), ElementsAre("n1: no folder (2)", "n3: no folder (2)"));
}

TEST(HeadVerdict, NoWayToNode0) {
  Driver d(plan_of(3));
  d.ready_all().say(1, ReachAnswer{{""}});
  const JsonValue verdict = verdict_of(d.say(2, ReachAnswer{{"refused"}}));
  EXPECT_EQ(kind_of_end(verdict), "rendezvous");
  EXPECT_THAT(problems_of(verdict), ElementsAre("n3: cannot reach node 0 (n1) at 10.0.0.1:43211 (refused) (1)"));
  HeadPlan plan = plan_of(2);
  plan.network = "ib0";
  Driver without(plan);
  without.ready_all();
  EXPECT_THAT(problems_of(verdict_of(without)), ElementsAre(HasSubstr("n1: nothing there is on the network ib0")));
}

TEST(HeadVerdict, ASignalBeforeTheStart) {
  Driver d(plan_of(3));
  d.greet_all().say(0, ready_with({"10.0.0.1"}, "a")).say(1, NodeCannot{"no folder", 2});
  const JsonValue verdict = verdict_of(d.signal(SIGINT));
  EXPECT_EQ(kind_of_end(verdict), "signal");
  EXPECT_EQ(verdict["root_cause"]["what"].text(), "launch was told to stop by SIGINT; nothing was started");
  EXPECT_THAT(problems_of(verdict), ElementsAre("n2: no folder (2)", "n3: had not answered yet (130)"));
}

TEST(HeadVerdict, ASignalThatDoesNotWaitForTheNodes) {
  Driver d(plan_of(2));
  d.run_all().lose(1).signal(SIGTERM).signal(SIGTERM);
  const JsonValue verdict = verdict_of(d.signal(SIGTERM));
  EXPECT_EQ(kind_of_end(verdict), "signal");
  EXPECT_THAT(problems_of(verdict), ElementsAre(HasSubstr("n2: the connection has ended")));
}

TEST(HeadVerdict, AllConnectionsAreLost) {
  Driver d(plan_of(2));
  d.run_all().lose(0, lost_to("Connection reset by peer\n"));
  const JsonValue verdict = verdict_of(d.lose(1));
  EXPECT_EQ(kind_of_end(verdict), "lost");
  EXPECT_THAT(problems_of(verdict), ElementsAre(HasSubstr("n1: the connection has ended"), HasSubstr("n2: ")));
}

TEST(HeadVerdict, NodesThatEndWithoutAReport) {
  Driver d(plan_of(2));
  d.run_all().say(0, NodeEnd{0, "", ""});
  const JsonValue verdict = verdict_of(d.say(1, NodeEnd{7, "", ""}));
  EXPECT_EQ(kind_of_end(verdict), "lost");
  EXPECT_EQ(verdict["root_cause"]["host"].text(), "n2");
  EXPECT_THAT(problems_of(verdict), ElementsAre("n2: launch there has ended with exit code 7 (7)"));
}

TEST(HeadVerdict, ThereIsNoneIfAJobThatEndedWellAsksForAnotherStart) {
  HeadPlan plan = plan_of(2);
  for (const int code : {75, 140}) {
    plan.requeue_exit = code;
    Driver d(plan);
    d.run_all().say(0, NodeEnd{code, "", ""}).say(1, NodeEnd{code, "", ""});
    const FinishHead end = d.all<FinishHead>().at(0);
    EXPECT_EQ(end.exit_code, code);
    EXPECT_EQ(end.report + end.json, "");
  }
  Driver failed(plan);
  failed.run_all().say(0, NodeEnd{140, "", ""}).say(1, NodeEnd{140, "rank 1 failed\n", R"({"exit_code":140})"});
  EXPECT_EQ(failed.all<FinishHead>().at(0).report, "rank 1 failed\n");
  Driver untold(plan);
  untold.run_all().say(0, NodeEnd{140, "rank 0 failed\n", ""}).say(1, NodeEnd{140, "", ""});
  EXPECT_EQ(kind_of_end(verdict_of(untold)), "lost") << "what the node has sent was too long";
}

TEST(HeadVerdict, ThereIsNoneIfAJobThatAsksForAnotherStartHasGoneOnWithoutAHost) {
  HeadPlan plan = plan_of(3);
  plan.c10d = true;
  plan.requeue_exit = 75;
  Driver d(plan);
  d.run_all().say(1, NodeEnd{137, "", "", 9}).say(0, NodeEnd{75, "", ""}).say(2, NodeEnd{75, "", ""});
  const FinishHead end = d.all<FinishHead>().at(0);
  EXPECT_EQ(end.exit_code, 75);
  EXPECT_EQ(end.report + end.json, "");
}

TEST(HeadVerdict, OnlyTheEndOfAJobThatHadBegunCountsForTheScheduler) {
  Driver d(plan_of(2));
  d.greet_all().say(0, NodeCannot{"no folder", 2}).say(1, NodeCannot{"no folder", 2});
  EXPECT_FALSE(d.all<FinishHead>().at(0).began);
  Driver early(plan_of(2));
  EXPECT_FALSE(early.greet_all().signal(SIGTERM).all<FinishHead>().at(0).began);
  Driver ran(plan_of(2));
  ran.run_all().say(0, NodeEnd{0, "", ""});
  EXPECT_TRUE(ran.say(1, NodeEnd{7, "", ""}).all<FinishHead>().at(0).began);
  Driver told(plan_of(2));
  told.run_all().signal(SIGTERM).signal(SIGTERM);
  EXPECT_TRUE(told.signal(SIGTERM).all<FinishHead>().at(0).began);
}

TEST(HeadVerdict, ALaunchThatWasKilledIsALostNode) {
  for (const NodeEnd& end : {NodeEnd{137, "", "", 9}, NodeEnd{137, "", ""}}) {
    Driver d(plan_of(2));
    d.run_all().say(0, NodeEnd{0, "", ""});
    const JsonValue verdict = verdict_of(d.say(1, end));
    EXPECT_EQ(verdict["exit_code"].whole(0, 255), 1);
    EXPECT_EQ(verdict["root_cause"]["host"].text(), "n2");
    const char* how = end.signal == 9 ? "was killed by SIGKILL" : "has ended with exit code 137 and no report";
    EXPECT_THAT(problems_of(verdict),
                ElementsAre(std::string("n2: launch there ") + how + ", so its node is lost (1)"));
  }
}

TEST(HeadVerdict, TheReportOfANodeNamesTheHostsThatWereLostBefore) {
  HeadPlan plan = plan_of(3);
  plan.c10d = true;
  Driver d(plan);
  d.run_all().say(1, NodeEnd{137, "", "", 9}).say(0, NodeEnd{3, "rank 0 failed\n", "{\"exit_code\":3}\n"});
  d.say(2, NodeEnd{3, "", ""});
  const FinishHead end = d.all<FinishHead>().at(0);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.report,
            "rank 0 failed\n  lost           n2: launch there was killed by SIGKILL, so its node is lost\n");
  EXPECT_THAT(problems_of(read_json(end.json)), ElementsAre(HasSubstr("n2: launch there was killed")));
  EXPECT_EQ(read_json(end.json)["exit_code"].whole(0, 9), 3);
}

TEST(HeadVerdict, AKilledLaunchCountsAsTheLossOfANodeWhicheverHostItIs) {
  for (const int victim : {0, 1}) {
    Driver d(plan_of(2));
    d.run_all().say(victim, NodeEnd{137, "its launch process was killed\n", "{\"exit_code\":1}\n", 9});
    d.say(1 - victim, NodeEnd{1, "", ""});
    EXPECT_EQ(d.all<FinishHead>().at(0).exit_code, 1) << victim;
  }
}

TEST(HeadVerdict, ANodeThatHasOnlyLostTheStoreIsToldWhichHostWasLost) {
  Driver d(plan_of(2));
  d.run_all().say(0, NodeEnd{137, "", "", 9});
  d.say(1, NodeEnd{1, "lost the store\n", R"({"exit_code":1,"root_cause":{"kind":"store"}})"});
  EXPECT_THAT(d.all<FinishHead>().at(0).report, HasSubstr("lost           n1: launch there was killed"));
}

TEST(HeadVerdict, AReportWithoutJsonOrWithHalfOfItGetsOne) {
  for (const char* json : {"", "{\"exit_code\":3,\"root", "[]", "no"}) {
    Driver d(plan_of(2));
    d.run_all().say(0, NodeEnd{3, "rank 0 failed", json}).say(1, NodeEnd{3, "", ""});
    EXPECT_EQ(d.all<FinishHead>().at(0).report, "rank 0 failed");
    EXPECT_EQ(verdict_of(d)["root_cause"]["what"].text(), "no host has sent its report as JSON; the text has more");
    Driver other(plan_of(2));
    other.run_all().say(0, NodeEnd{3, "rank 0 failed", json}).say(1, NodeEnd{3, "", "{\"of\":\"n2\"}"});
    EXPECT_EQ(other.all<FinishHead>().at(0).json, "{\"of\":\"n2\"}") << "each node's is about the whole job";
  }
}

TEST(HeadVerdict, ThereIsNoneOfAJobThatHasEndedWellOrHasAReport) {
  Driver well(plan_of(1));
  well.ready_all().say(0, NodeEnd{0, "", ""});
  EXPECT_EQ(well.all<FinishHead>().at(0).json, "");
  Driver told(plan_of(1));
  told.ready_all().say(0, NodeEnd{3, "rank 0 failed", "{}"});
  EXPECT_EQ(told.all<FinishHead>().at(0).json, "{}");
}

TEST(HeadVerdict, TheCauseOfAVerdict) {
  const auto cause = cause_of(R"({"root_cause":{"kind":"worker","exit_code":3,"host":"n2","what":"exit code 3"}})");
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->exit_code, 3);
  EXPECT_EQ(cause->host, "n2");
  for (const char* wrong : {"", "{}", "{\"root_cause\":{}}", "{\"root_cause\":3}"})
    EXPECT_FALSE(cause_of(wrong)) << wrong;
}

}  // namespace launch::head_verdict_test
