#include "launch/core/hosts/doctor.hpp"

#include "head_driver.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::doctor_test {

using namespace std::chrono_literals;
using heads::all_of;
using heads::busy_login;
using heads::lost_to;
using heads::plan_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;

constexpr WallTime noon{std::chrono::seconds(1'790'000'000)};

HeadPlan check_of(int nodes, bool json = false) {
  HeadPlan plan = plan_of(nodes);
  plan.check = CheckPlan{json, std::vector<CheckNeeds>(static_cast<std::size_t>(nodes), CheckNeeds{true, false, 1})};
  return plan;
}

HostSurvey sound_survey(int node) {
  HostSurvey survey;
  survey.machine = "x86_64";
  survey.python = {"/usr/bin/python3", "3.11.2", "", "", ""};
  survey.interfaces = {{"eth0", {"10.0.0." + std::to_string(node)}, 1500}};
  return survey;
}

class Ward {
 public:
  explicit Ward(HeadPlan plan) : nodes_(static_cast<int>(plan.nodes.size())), doctor(std::move(plan), 1, {now, noon}) {
    take(doctor.start(now));
  }

  Ward& greet(int node, const std::string& version = "1.4") {
    return take(doctor.on_greeting(node, {host_protocol, version, 4711, "h"}, now));
  }
  Ward& say(int node, HostMessage message) { return take(doctor.on_message(node, std::move(message), now)); }
  Ward& lose(int node, const LostConnection& lost) { return take(doctor.on_lost(lost, node, now)); }
  Ward& signal(int number) { return take(doctor.on_signal(number, now)); }
  Ward& wait(Duration time) {
    now += time;
    return take(doctor.on_deadline(now));
  }
  // Its clock is so far ahead.
  Ward& answer(int node, HostSurvey survey, std::chrono::microseconds ahead = 0s) {
    const auto wall = std::chrono::duration_cast<std::chrono::microseconds>(now - start);
    survey.asked_us = survey.answered_us = (noon.time_since_epoch() + wall + ahead).count();
    NodeReady ready = heads::ready_with({"10.0.0." + std::to_string(node)}, "boot" + std::to_string(node),
                                        static_cast<std::uint16_t>(4000 + node));
    ready.facts = to_json(survey);
    return say(node, std::move(ready));
  }
  Ward& answer_all() {
    for (int node = 0; node < nodes_; ++node) greet(node);
    for (int node = 0; node < nodes_; ++node) answer(node, sound_survey(node));
    return *this;
  }
  // Whether this host reaches all that it was asked for.
  Ward& reach(int node, const std::string& fault = "") {
    ReachAnswer answer;
    for (const auto& one : all_of<TellHost>(ever))
      if (const auto* question = std::get_if<ReachQuestion>(&one.message); question != nullptr && one.node == node)
        answer.faults.assign(question->targets.size(), fault);
    return say(node, std::move(answer));
  }

  std::string shown() const {
    std::string text;
    for (const auto& one : all_of<ShowLines>(ever)) text += one.lines;
    return text;
  }
  std::optional<int> code() const {
    if (all_of<FinishHead>(ever).size() != 1) return std::nullopt;
    const auto* end = std::get_if<FinishHead>(&ever.back());
    return end == nullptr ? std::nullopt : std::optional(end->exit_code);
  }

 private:
  Ward& take(HeadActions actions) {
    ever.insert(ever.end(), actions.begin(), actions.end());
    last = std::move(actions);
    return *this;
  }

  int nodes_;

 public:
  Time start{std::chrono::hours(1)};
  Time now = start;
  Doctor doctor;
  HeadActions last, ever;
};

TEST(Doctor, HostsThatAreWell) {
  Ward w(check_of(3));
  w.answer_all();
  EXPECT_EQ(w.code(), std::nullopt);
  EXPECT_TRUE(w.doctor.waits());
  for (int node = 0; node < 3; ++node) w.reach(node);
  EXPECT_THAT(w.code(), Optional(0)) << w.shown();
  EXPECT_FALSE(w.doctor.waits());
  EXPECT_EQ(w.doctor.deadline(), never);
  for (const char* line : {"ok       n[1-3]  login      it answers\n", "ok       n[1-3]  python     3.11.2\n",
                           "ok       n[1-3]  clock      within 100 ms of the others\n",
                           "ok       n[1-3]  network    reaches 2 other hosts\n", "ok       n[1-3]  mtu        1500\n"})
    EXPECT_THAT(w.shown(), HasSubstr(line));
  EXPECT_THAT(w.shown(), testing::EndsWith("\nThe job would start on 3 hosts.\n"));
  for (const auto& one : all_of<TellHost>(w.ever)) EXPECT_FALSE(std::holds_alternative<NodeGo>(one.message));
}

TEST(Doctor, EachHostIsAskedForACheckAndHasATokenOfItsOwn) {
  Ward w(check_of(2));
  w.greet(1);
  const auto told = all_of<TellHost>(w.last);
  ASSERT_EQ(told.size(), 1U);
  const auto& job = std::get<NodeJob>(told[0].message);
  EXPECT_TRUE(job.checks);
  EXPECT_EQ(job.token, "run-1");
  w.greet(0).answer(1, sound_survey(1)).answer(0, sound_survey(0));
  std::vector<ReachTarget> targets;
  for (const auto& one : all_of<TellHost>(w.last)) {
    const auto& question = std::get<ReachQuestion>(one.message);
    targets.insert(targets.end(), question.targets.begin(), question.targets.end());
  }
  EXPECT_THAT(targets, ElementsAre(ReachTarget{"10.0.0.1", 4001, "run-1"}, ReachTarget{"10.0.0.0", 4000, "run-0"},
                                   ReachTarget{"h", 4000, "run-0"}));
}

TEST(Doctor, OneHostTriesNobody) {
  Ward w(check_of(1));
  w.answer_all();
  EXPECT_THAT(w.code(), Optional(0));
  EXPECT_THAT(w.shown(), Not(HasSubstr("network")));
}

TEST(Doctor, HostsThatCannotBeReachedAreRowsAndNotTheEnd) {
  Ward w(check_of(6));
  w.lose(0, lost_to("ssh: Could not resolve hostname n1: Name or service not known\n"));
  w.greet(1, "1.3").greet(2).say(2, NodeCannot{"no process can be made", 1});
  w.greet(3).say(3, ReachAnswer{}).say(3, NodeGo{});
  w.greet(4).answer(4, sound_survey(4));
  w.greet(5).answer(5, sound_survey(5)).lose(5, lost_to(""));
  EXPECT_EQ(w.code(), std::nullopt) << "n5 and n6 try each other";
  w.reach(4, "Connection refused");
  EXPECT_THAT(w.code(), Optional(1));
  for (const char* line :
       {"fault    n1      login      ssh does not know the name", "fault    n2      launch     has launch 1.3",
        "fault    n3      job        no process can be made",
        "fault    n4      job        what comes from there is not launch",
        "fault    n6      login      the connection has ended (",
        "fault    n5      network    does not reach n6 at 10.0.0.5 port 4005: Connection refused",
        "ok       n[5-6]  python     3.11.2"})
    EXPECT_THAT(w.shown(), HasSubstr(line));
  EXPECT_THAT(w.shown(), HasSubstr("\nThe job would fail: something is wrong on n[1-6].\n"));
}

TEST(Doctor, WhatADeadHostHoldsUpHasAnEnd) {
  Ward w(check_of(3));
  w.greet(1).greet(2).answer(2, sound_survey(2));
  for (int i = 0; i < 100 && !w.code(); ++i) w.wait(w.doctor.deadline() - w.now);
  EXPECT_LE(w.now - w.start, 61s);
  EXPECT_THAT(w.code(), Optional(1));
  EXPECT_THAT(w.shown(), HasSubstr("fault    n1  login      launch did not answer within 30 s of the login\n"));
  EXPECT_THAT(w.shown(), HasSubstr("fault    n2  job        did not say within 60 s whether it can start\n"));
}

TEST(Doctor, HostsThatAreWaitedForHearThatItLives) {
  Ward w(check_of(2));
  w.greet(0).answer(0, sound_survey(0)).greet(1);
  w.wait(5s);
  std::vector<int> told;
  for (const auto& one : all_of<TellHost>(w.last))
    if (std::holds_alternative<HostBeat>(one.message)) told.push_back(one.node);
  EXPECT_THAT(told, ElementsAre(0, 1));
  EXPECT_THAT(w.doctor.progress(), HasSubstr("waiting for 1 of 2 hosts: looking over n2"));
}

TEST(Doctor, ABusyLoginIsTriedAgain) {
  Ward w(check_of(1));
  w.lose(0, busy_login());
  EXPECT_EQ(w.code(), std::nullopt);
  for (int i = 0; i < 10 && all_of<ConnectHost>(w.last).empty(); ++i) w.wait(w.doctor.deadline() - w.now);
  w.greet(0).answer(0, sound_survey(0));
  EXPECT_THAT(w.code(), Optional(0)) << w.shown();
}

TEST(Doctor, AHostWithoutLaunchGetsThisOne) {
  HeadPlan plan = check_of(1);
  plan.may_copy = true;
  Ward w(plan);
  w.lose(0, lost_to("sh: 1: launch: not found\n", 127));
  EXPECT_TRUE(all_of<ConnectHost>(w.last).at(0).copies);
  w.greet(0).answer(0, sound_survey(0));
  EXPECT_THAT(w.code(), Optional(0));
  EXPECT_THAT(w.shown(), HasSubstr("ok       n1  launch     it was sent there, as a job would do"));
  Ward without(check_of(1));
  without.lose(0, lost_to("sh: 1: launch: not found\n", 127));
  EXPECT_THAT(without.shown(), HasSubstr("fault    n1  launch  launch is not on the PATH"));
}

TEST(Doctor, AClockThatIsWrong) {
  Ward w(check_of(3));
  for (int node = 0; node < 3; ++node) w.greet(node);
  w.now += 2s;
  w.answer(0, sound_survey(0)).answer(1, sound_survey(1), 40s).answer(2, sound_survey(2));
  for (int node = 0; node < 3; ++node) w.reach(node);
  EXPECT_THAT(w.code(), Optional(0)) << "it is no reason not to start";
  EXPECT_THAT(w.shown(), HasSubstr("warning  n2      clock      its clock is 40 s ahead"));
}

TEST(Doctor, ASmallMtu) {
  Ward w(check_of(3));
  for (int node = 0; node < 3; ++node) {
    HostSurvey survey = sound_survey(node);
    survey.interfaces.insert(survey.interfaces.begin(), {"lan", {"192.168.0.1"}, 9000});
    if (node == 1) survey.interfaces[1].mtu = 1280;
    w.greet(node).answer(node, survey);
  }
  for (int node = 0; node < 3; ++node) w.reach(node);
  EXPECT_THAT(w.shown(), HasSubstr("warning  n2      mtu        1280; n[1,3] have 1500\n"));
}

TEST(Doctor, OnlyTheNetworkThatTheUserNamedCounts) {
  HeadPlan plan = check_of(2);
  plan.network = "10.0.0.1/32";
  Ward w(plan);
  w.answer_all();
  EXPECT_THAT(w.code(), Optional(1)) << "the other has nobody to try";
  EXPECT_THAT(w.shown(), HasSubstr("fault    n1      network    "));
}

TEST(Doctor, ASurveyThatMakesNoSense) {
  Ward w(check_of(1));
  NodeReady ready = heads::ready_with({"10.0.0.1"}, "b");
  ready.facts = "[]";
  w.greet(0).say(0, ready);
  EXPECT_THAT(w.code(), Optional(1));
  EXPECT_THAT(w.shown(), HasSubstr("fault    n1  job  what comes from there is not launch: what it says of itself"));
}

TEST(Doctor, ASignalShowsWhatIsKnown) {
  Ward w(check_of(3));
  w.greet(0).answer(0, sound_survey(0)).greet(1);
  w.lose(2, lost_to("ssh: connect to host n3 port 22: Connection refused\n"));
  w.signal(SIGINT);
  EXPECT_THAT(w.code(), Optional(130));
  EXPECT_THAT(w.shown(), HasSubstr("fault    n3  login      nothing listens on port 22"));
  EXPECT_THAT(w.shown(), HasSubstr("warning  n2  login      it has not answered yet\n"));
  EXPECT_THAT(w.shown(), HasSubstr("ok       n1  python     3.11.2\n"));
  EXPECT_THAT(w.shown(), HasSubstr("Received SIGINT before all had answered: this is what is known.\n"));
  EXPECT_THAT(w.signal(SIGINT).last, IsEmpty());
  Ward pairs(check_of(2));
  pairs.answer_all().reach(0).signal(SIGTERM);
  EXPECT_THAT(pairs.code(), Optional(143));
  EXPECT_THAT(pairs.shown(), HasSubstr("warning  n2      network    it has not said yet whom it reaches\n"));
}

TEST(Doctor, JsonForPrograms) {
  Ward w(check_of(2, true));
  w.answer_all().reach(0).reach(1);
  const std::string text = w.shown();
  EXPECT_THAT(text, HasSubstr(R"({"host":"n1","check":"login","ok":true,"level":"ok","detail":"it answers"})"));
  EXPECT_THAT(text, Not(HasSubstr("would")));
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) EXPECT_EQ(text[at], '{');
}

TEST(Doctor, AfterTheEndNothingMatters) {
  Ward w(check_of(1));
  w.answer_all();
  const std::size_t actions = w.ever.size();
  w.greet(0).say(0, NodeEnd{0, ""}).lose(0, lost_to("")).wait(100s);
  EXPECT_EQ(w.ever.size(), actions);
}

TEST(Doctor, ALoginThatHangsBehindAnotherHostIsTriedByTheHead) {
  HeadPlan plan = check_of(2);
  plan.nodes[1].starter = 0;
  Ward w(plan);
  w.greet(0);
  w.answer(0, sound_survey(0));
  w.wait(30s);
  ASSERT_EQ(all_of<LeaveHost>(w.last).size(), 1U);
  EXPECT_EQ(all_of<LeaveHost>(w.last)[0].node, 1);
  w.lose(1, lost_to(""));
  ASSERT_EQ(all_of<ConnectHost>(w.last).size(), 1U);
  EXPECT_EQ(all_of<ConnectHost>(w.last)[0].starter, started_by_head);
}

}  // namespace launch::doctor_test
