#include "launch/core/store/etcd_operation.hpp"

#include "launch/core/base/base64.hpp"
#include "launch/core/store/keys.hpp"

#include "fake_etcd.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::etcd_operation_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Method = EtcdRequest::Method;

const std::string state = state_key("job 7");

std::string place(std::string_view key) { return fmt::format("/torch/elastic/store/{}", encode_base64(key)); }

EtcdRequest request_of(const EtcdStep& step) {
  const auto* const request = std::get_if<EtcdRequest>(&step);
  EXPECT_NE(request, nullptr);
  return request == nullptr ? EtcdRequest{} : *request;
}

// What comes of an operation; a wait that would go on has expired.
EtcdStep end_of(FakeEtcd& etcd, Operation operation, const EtcdLayout& layout = EtcdLayout("job 7")) {
  EtcdOperation steps(std::move(operation), layout);
  EtcdStep step = steps.start();
  for (int count = 0; count < 100; ++count) {
    const auto* const request = std::get_if<EtcdRequest>(&step);
    if (request == nullptr) return step;
    const auto answer = etcd.ask(*request);
    step = answer ? steps.on(*answer) : steps.expire();
  }
  ADD_FAILURE() << "the operation does not end";
  return step;
}

template <class Kind>
Kind outcome_of(FakeEtcd& etcd, Operation operation) {
  const EtcdStep step = end_of(etcd, std::move(operation));
  const auto* const error = std::get_if<Error>(&step);
  EXPECT_EQ(error, nullptr) << error->message;
  const auto* const outcome = std::get_if<Outcome>(&step);
  return outcome == nullptr ? Kind{} : std::get<Kind>(*outcome);
}

std::string message_of(const EtcdStep& step) {
  const auto* const error = std::get_if<Error>(&step);
  return error == nullptr ? "no error" : error->message;
}

// As python-etcd 0.4.5 asks for torchrun 2.13.
TEST(EtcdOperation, KeysAndValuesAreWhereTorchrunHasThem) {
  EtcdOperation set(SetKeys{{{"/torch.rendezvous.job 7.0/MASTER_ADDR", "n1"}}}, EtcdLayout("job 7"));
  EXPECT_EQ(request_of(set.start()),
            (EtcdRequest{Method::put, "/v2/keys/torch/elastic/store/dG9yY2gucmVuZGV6dm91cy5qb2IgNy4wL01BU1RFUl9BRERS",
                         "value=bjE%3D&ttl=7200"}));  // which torchrun does not ask for
  EtcdOperation without_slash(GetKeys{{"init/"}}, EtcdLayout("job 7"));
  EXPECT_EQ(request_of(without_slash.start()).target, "/v2/keys/torch/elastic/store/aW5pdC8=");
  EtcdOperation read(GetKeys{{state}}, EtcdLayout("job 7"));
  EXPECT_EQ(request_of(read.start()), (EtcdRequest{Method::get, "/v2/keys/torch/elastic/rendezvous/job%207"}));
  EtcdOperation first(CompareSet{state, std::string(no_state), "YQ=="}, EtcdLayout("job 7"));
  EXPECT_EQ(request_of(first.start()), (EtcdRequest{Method::put, "/v2/keys/torch/elastic/rendezvous/job%207",
                                                    "value=YQ%3D%3D&prevExist=false&ttl=7200"}));
  EtcdOperation next(CompareSet{state, "YQ==", "Yg=="}, EtcdLayout("job 7"));
  EXPECT_EQ(request_of(next.start()).body, "value=Yg%3D%3D&prevValue=YQ%3D%3D&ttl=7200");
}

TEST(EtcdOperation, EachHasTheOutcomeThatATcpStoreGives) {
  FakeEtcd etcd;
  outcome_of<Done>(etcd, SetKeys{{{"/a", "1"}, {"/b", std::string("\0?>", 3)}}});
  EXPECT_EQ(etcd.nodes.at(place("a")), "MQ==");
  EXPECT_THAT(outcome_of<Values>(etcd, GetKeys{{"/b", "/z", "/a"}}).values,
              ElementsAre(std::string("\0?>", 3), "", "1"));
  EXPECT_EQ(outcome_of<Number>(etcd, AddNumber{"/a", 4}).value, 5);
  EXPECT_EQ(outcome_of<Number>(etcd, AddNumber{"/n", 3}).value, 3);
  EXPECT_THAT(outcome_of<Presence>(etcd, CheckKeys{{"/a", "/z"}}).present, ElementsAre(true, false));
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{"/c", "", "mine"}).values, ElementsAre("mine"));
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{"/c", "", "theirs"}).values, ElementsAre("mine"));
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{"/c", "mine", "ours"}).values, ElementsAre("ours"));
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{"/z", "x", "y"}).values, ElementsAre("x"));
  EXPECT_EQ(outcome_of<Number>(etcd, DeleteKeys{{"/c", "/z"}}).value, 1);
  outcome_of<Done>(etcd, AwaitKeys{{"/a", "/b"}});
  outcome_of<WaitExpired>(etcd, AwaitKeys{{"/a", "/z"}});
  EXPECT_THAT(outcome_of<Values>(etcd, ListKeys{}).values, testing::IsEmpty());
}

// The rendezvous takes an absent state for one that nobody has begun, which other stores hold as a text.
TEST(EtcdOperation, AnAbsentStateIsTheTextOfNone) {
  FakeEtcd etcd;
  const std::string none(no_state);
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{state, "", none}).values, ElementsAre(none));
  EXPECT_TRUE(etcd.nodes.empty());
  EXPECT_THAT(outcome_of<Values>(etcd, GetKeys{{state}}).values, ElementsAre(none));
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{state, none, "YQ=="}).values, ElementsAre("YQ=="));
  EXPECT_EQ(etcd.lasts.at("/torch/elastic/rendezvous/job 7"), "7200");
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{state, none, "Yg=="}).values, ElementsAre("YQ=="));
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{state, "", none}).values, ElementsAre("YQ=="));
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{state, "YQ==", "Yg=="}).values, ElementsAre("Yg=="));
  etcd.nodes.clear();  // nobody has written it for two hours
  EXPECT_THAT(outcome_of<Values>(etcd, CompareSet{state, "Yg==", "Yw=="}).values, ElementsAre(none));
}

// In the older rendezvous.
TEST(EtcdOperation, AValueIsComparedAndRemoved) {
  const EtcdLayout layout("j", "/p");
  const std::string active = active_version_key(versions_root("/p", "j"));
  EtcdOperation remove(CompareSet{active, "{\"a\": 1}", ""}, layout);
  EXPECT_EQ(request_of(remove.start()),
            (EtcdRequest{Method::remove, "/v2/keys/p/run_j/rdzv/active_version?prevValue=%7B%22a%22%3A%201%7D"}));
  FakeEtcd etcd;
  const auto value_after = [&](const std::string& expected, const std::string& desired) {
    const EtcdStep step = end_of(etcd, CompareSet{active, expected, desired}, layout);
    return std::get<Values>(std::get<Outcome>(step)).values.at(0);
  };
  EXPECT_EQ(value_after("", "one"), "one");
  EXPECT_EQ(etcd.nodes.at("/p/run_j/rdzv/active_version"), "one");
  EXPECT_EQ(value_after("two", ""), "one");
  EXPECT_EQ(value_after("one", ""), "");
  EXPECT_TRUE(etcd.nodes.empty());
  EXPECT_EQ(value_after("one", ""), "");  // as when the answer to the first was lost
  EXPECT_EQ(value_after("", ""), "");
  EXPECT_EQ(value_after("one", "two"), "");
}

TEST(EtcdOperation, TheJobsFolderIsMadeOrLastsLonger) {
  const EtcdLayout layout("j", "/p");
  const std::string root = versions_root("/p", "j");
  FakeEtcd etcd;
  for (const Duration lasts : {Duration(7200s), Duration(100s)}) {
    const EtcdStep step = end_of(etcd, SetKeys{{{root, ""}}, lasts}, layout);
    EXPECT_TRUE(std::holds_alternative<Done>(std::get<Outcome>(step)));
  }
  EXPECT_EQ(etcd.lasts.at("/p/run_j"), "100");
  EXPECT_TRUE(etcd.folders.contains("/p/run_j"));
  // torchrun's agent has found it missing, and this one has made it, which has gone since.
  EtcdOperation keep(SetKeys{{{root, ""}}, 7200s}, layout);
  EXPECT_EQ(request_of(keep.start()),
            (EtcdRequest{Method::put, "/v2/keys/p/run_j", "dir=true&prevExist=false&ttl=7200"}));
  EXPECT_EQ(request_of(keep.on({412, R"({"errorCode":105,"index":4})"})).body, "dir=true&prevExist=true&ttl=7200");
  EXPECT_EQ(request_of(keep.on({404, R"({"errorCode":100,"index":4})"})).body, "dir=true&prevExist=false&ttl=7200");
}

TEST(EtcdOperation, AKeyLastsForAsLongAsItIsTold) {
  FakeEtcd etcd;
  const EtcdLayout layout("j", "/p");
  const std::string lease = lease_key(versions_root("/p", "j"), 1, 0);
  (void)end_of(etcd, SetKeys{{{lease, ""}}, 10s}, layout);
  EXPECT_EQ(etcd.nodes.at("/p/run_j/rdzv/v_1/rank_0"), "");
  EXPECT_EQ(etcd.lasts.at("/p/run_j/rdzv/v_1/rank_0"), "10");
  const auto present = [&]() -> bool {
    return std::get<Presence>(std::get<Outcome>(end_of(etcd, CheckKeys{{lease}}, layout))).present.at(0);
  };
  etcd.pass(9s);
  EXPECT_TRUE(present());  // although its value is empty
  etcd.pass(1s);
  EXPECT_FALSE(present());
}

TEST(EtcdOperation, TwoThatCountAtOnceAreBothCounted) {
  FakeEtcd etcd;
  EtcdOperation first(AddNumber{"/n", 1}, EtcdLayout("j"));
  EtcdOperation second(AddNumber{"/n", 1}, EtcdLayout("j"));
  const EtcdRequest begin_first = request_of(first.start()), begin_second = request_of(second.start());
  EXPECT_FALSE(begin_first.may_repeat);
  EXPECT_EQ(std::get<Number>(std::get<Outcome>(first.on(*etcd.ask(begin_first)))).value, 1);
  EtcdStep step = second.on(*etcd.ask(begin_second));
  EXPECT_EQ(outcome_of<Number>(etcd, AddNumber{"/n", 1}).value, 2);  // between the look and the write
  while (const auto* const request = std::get_if<EtcdRequest>(&step)) step = second.on(*etcd.ask(*request));
  EXPECT_EQ(std::get<Number>(std::get<Outcome>(step)).value, 3);
}

TEST(EtcdOperation, AWaitIsForAChangeAfterTheLook) {
  FakeEtcd etcd;
  EtcdOperation wait(AwaitKeys{{"/a"}}, EtcdLayout("j"));
  const EtcdRequest watch = request_of(wait.on(*etcd.ask(request_of(wait.start()))));
  EXPECT_TRUE(watch.watches);
  EXPECT_EQ(watch.target, "/v2/keys" + place("a") + "?wait=true&waitIndex=4");
  EXPECT_EQ(etcd.ask(watch), std::nullopt);
  outcome_of<Done>(etcd, SetKeys{{{"/a", "1"}}});
  const EtcdRequest look = request_of(wait.on(*etcd.ask(watch)));
  EXPECT_FALSE(look.watches);
  EXPECT_TRUE(std::holds_alternative<Done>(std::get<Outcome>(wait.on(*etcd.ask(look)))));
}

// etcd answers a watch by nothing when it stops, and by an error when its history does not go back that far.
TEST(EtcdOperation, AWatchThatEndsIsALook) {
  for (const EtcdAnswer& answer :
       {EtcdAnswer{200, ""}, EtcdAnswer{400, R"({"errorCode":401,"message":"The event in requested index is outdated",
                                               "index":9000})"}}) {
    FakeEtcd etcd;
    EtcdOperation wait(AwaitKeys{{"/a"}}, EtcdLayout("j"));
    const EtcdRequest look = request_of(wait.start());
    EXPECT_TRUE(request_of(wait.on(*etcd.ask(look))).watches);
    EXPECT_EQ(std::get<EtcdPause>(wait.on(answer)), EtcdPause{50ms});
    EXPECT_EQ(request_of(wait.resume()), look);
    EXPECT_TRUE(request_of(wait.on(*etcd.ask(look))).watches);
    EXPECT_EQ(std::get<EtcdPause>(wait.on(answer)), EtcdPause{100ms});  // a proxy that ends each at once
  }
}

TEST(EtcdOperation, AWaitWhoseTimeIsOverLooksOnceMore) {
  FakeEtcd etcd;
  EtcdOperation wait(AwaitKeys{{"/a"}}, EtcdLayout("j"));
  (void)wait.on(*etcd.ask(request_of(wait.start())));
  outcome_of<Done>(etcd, SetKeys{{{"/a", "1"}}});
  const EtcdRequest look = request_of(wait.expire());
  EXPECT_TRUE(std::holds_alternative<Done>(std::get<Outcome>(wait.on(*etcd.ask(look)))));
}

TEST(EtcdOperation, ForAKeyThatNobodyWritesNothingIsAsked) {
  EtcdOperation wait(AwaitKeys{{std::string(never_key)}}, EtcdLayout("j"));
  EXPECT_TRUE(std::holds_alternative<EtcdRest>(wait.start()));
  EXPECT_TRUE(std::holds_alternative<WaitExpired>(std::get<Outcome>(wait.expire())));
}

TEST(EtcdOperation, WhatALaterJobMustNotReadGoesWithTheState) {
  FakeEtcd etcd;
  const std::vector<std::string> meeting = meeting_keys("job");
  outcome_of<Done>(etcd, SetKeys{{{abort_key("job"), "why"}, {meeting[0], "n1"}, {meeting[1], "1"}, {"job/x", "y"}}});
  EXPECT_EQ(etcd.lasts.size(), 3U);
  for (const auto& [key, seconds] : etcd.lasts) EXPECT_EQ(seconds, "7200") << key;
}

// As while its members choose a leader.
TEST(EtcdOperation, APassingTroubleIsWaitedOut) {
  const EtcdAnswer trouble{500, R"({"errorCode":300,"message":"Raft Internal Error"})"};
  EtcdOperation read(GetKeys{{"/a"}}, EtcdLayout("j"));
  (void)read.start();
  EXPECT_EQ(std::get<EtcdPause>(read.on(trouble)), EtcdPause{50ms});
  EXPECT_EQ(std::get<EtcdPause>(read.on(trouble)), EtcdPause{100ms});
  EtcdStep step = read.on(trouble);
  for (int count = 3; count < 10; ++count) step = read.on(trouble);
  EXPECT_EQ(std::get<EtcdPause>(step), EtcdPause{1s});
  EXPECT_THAT(message_of(read.on(trouble)), HasSubstr("answers with status 500"));
  EtcdOperation count(AddNumber{"/n", 1}, EtcdLayout("j"));
  (void)count.start();
  EXPECT_THAT(message_of(count.on(trouble)), HasSubstr("answers with status 500"));
}

TEST(EtcdOperation, WhatIsNoAnswerOfAnEtcdIsOneSentence) {
  const std::string no_json = "answers with what is no JSON of its API v2";
  const std::vector<std::pair<EtcdAnswer, std::string>> table{
      {{404, "404 page not found\n"}, "does not serve the API v2, which torchrun's etcd rendezvous uses"},
      {{200, "<html>"}, no_json},
      {{200, ""}, no_json},
      {{200, R"({"node":7})"}, no_json},
      {{302, ""}, "answers with status 302"},
      {{401, R"({"errorCode":110,"message":"The request requires\u0007 user authentication"})"},
       "answers: The request requires  user authentication (code 110)"},
      {{200, R"({"node":{"value":"?"}})"}, "holds what is not base64 under the key /a"},
  };
  for (const auto& [answer, message] : table) {
    EtcdOperation read(GetKeys{{"/a"}}, EtcdLayout("j"));
    (void)read.start();
    EXPECT_THAT(message_of(read.on(answer)), HasSubstr(message)) << answer.body;
  }
  FakeEtcd etcd;
  etcd.nodes[place("n")] = "eA==";
  EXPECT_THAT(message_of(end_of(etcd, AddNumber{"/n", 1})), HasSubstr("no number"));
  EXPECT_THAT(message_of(end_of(etcd, Attend{"/a", "{}"})), HasSubstr("attendance"));
  EXPECT_THAT(message_of(end_of(etcd, LeaveWill{})), HasSubstr("wills"));
}

}  // namespace launch::etcd_operation_test
