#include "launch/core/session/job_asks.hpp"

#include "launch/core/store/keys.hpp"

#include "../../support/meeting.hpp"
#include "../../support/talker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace launch::job_asks_test {

using namespace play;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// "1:yes" for an answer of node 1, "2!no" for a fault.
std::vector<std::string> as_texts(const JobAnswered& answered) {
  std::vector<std::string> texts;
  for (const NodeAnswer& one : answered.answers)
    texts.push_back(std::to_string(one.node.value) + (one.fault.empty() ? ":" + one.text : "!" + one.fault));
  return texts;
}

// ---- whole sessions

// Nodes of a job in their first round, by rank.
struct AskedJob {
  AskedJob(int count, bool c10d, bool answers = true) {
    for (int rank = 0; rank < count; ++rank) {
      const std::string host = "n" + std::to_string(rank);
      Config config = c10d ? elastic_config(host, 100 + rank, {count, count}) : static_config(rank, count);
      config.answers_asks = answers;
      nodes.push_back(&meeting.add(std::move(config)));
      EXPECT_TRUE(nodes.back()->session->open());
    }
    prefix = c10d ? round_prefix("job", 0) : "job";
  }
  void form() {
    for (Meeting::Node* node : nodes) node->session->feed(JoinRound{});
    std::vector<std::pair<int, Meeting::Node*>> ranks;
    for (Meeting::Node* node : nodes) {
      const auto done = meeting.take<RendezvousDone>(*node, 10s);
      ASSERT_TRUE(done);
      ranks.emplace_back(done->round.assignment.group_rank.value, node);
    }
    std::sort(ranks.begin(), ranks.end());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) nodes[rank] = ranks[rank].second;
    let_pass(10ms);
  }
  void let_pass(Duration time) { meeting.events().run_until(meeting.events().now() + time); }
  void ask(int node, std::string text, std::uint64_t id = 1) {
    nodes[node]->session->feed(AskJob{id, std::move(text), 2s});
  }
  // Answers what `node` is asked first.
  void answer(int node, std::string text) {
    auto& asked = nodes[node]->asked;
    ASSERT_TRUE(meeting.events().run_until([&] { return !asked.empty(); }, 1s)) << node;
    nodes[node]->session->feed(AnswerAsk{asked.front().number, std::move(text)});
    asked.erase(asked.begin());
  }
  std::optional<std::vector<std::string>> result(int node, Duration limit = 1s) {
    auto& answered = nodes[node]->answered;
    if (!meeting.events().run_until([&] { return !answered.empty(); }, limit)) return std::nullopt;
    EXPECT_EQ(answered.size(), 1U);
    auto texts = as_texts(answered.front());
    answered.clear();
    return texts;
  }
  std::shared_ptr<Store> store() const { return meeting_place().session->job_store(); }
  bool has(const std::string& key) const { return store()->has(key); }
  const Meeting::Node& meeting_place() const {
    return **std::find_if(nodes.begin(), nodes.end(), [](auto* node) { return node->session->job_store() != nullptr; });
  }
  bool all_end(Duration limit) {
    return meeting.events().run_until(
        [&] { return std::all_of(nodes.begin(), nodes.end(), [](auto* node) { return node->ended; }); }, limit);
  }

  Meeting meeting;
  std::vector<Meeting::Node*> nodes;
  std::string prefix;
};

class JobAsksOfAnyJob : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Kinds, JobAsksOfAnyJob, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "C10d" : "Static"; });

TEST_P(JobAsksOfAnyJob, AllOthersAnswer) {
  for (const int count : {2, 3}) {
    AskedJob job(count, GetParam());
    job.form();
    for (int asker = 0; asker < count; ++asker) {
      job.ask(asker, "how are you?", 7);
      std::vector<std::string> expected;
      for (int node = 0; node < count; ++node) {
        if (node == asker) continue;
        job.answer(node, "well");
        expected.push_back(std::to_string(node) + ":well");
      }
      EXPECT_EQ(job.result(asker), expected);
      EXPECT_THAT(job.nodes[asker]->asked, IsEmpty()) << "no node asks itself";
    }
  }
}

TEST_P(JobAsksOfAnyJob, ANodeThatDoesNotAnswerIsNotWaitedForLongerThanAskedFor) {
  AskedJob job(3, GetParam());
  job.form();
  job.ask(1, "how are you?");
  job.answer(2, "well");
  job.let_pass(1900ms);
  EXPECT_FALSE(job.result(1, 0s));
  EXPECT_THAT(job.result(1, 200ms).value(), ElementsAre("0!no answer in 2 s", "2:well"));
}

TEST_P(JobAsksOfAnyJob, AnAnswerThatComesTooLateLeavesNoKey) {
  AskedJob job(2, GetParam());
  job.form();
  job.ask(0, "how are you?");
  EXPECT_THAT(job.result(0, 3s).value(), ElementsAre("1!no answer in 2 s"));
  job.answer(1, "late");
  job.let_pass(1s);
  EXPECT_TRUE(job.has(ask_key(job.prefix, 1)));
  EXPECT_FALSE(job.has(answer_key(job.prefix, 1, 1)));
  job.ask(0, "and now?");
  job.answer(1, "well");
  EXPECT_THAT(job.result(0).value(), ElementsAre("1:well"));
  EXPECT_FALSE(job.has(answer_key(job.prefix, 2, 1)));
}

TEST_P(JobAsksOfAnyJob, AllMayAskAtTheSameTime) {
  AskedJob job(3, GetParam());
  job.form();
  for (const int asker : {0, 1, 2}) job.ask(asker, "by " + std::to_string(asker));
  for (int i = 0; i < 2; ++i)
    for (const int node : {0, 1, 2}) {
      auto& asked = job.nodes[node]->asked;
      ASSERT_TRUE(job.meeting.events().run_until([&] { return !asked.empty(); }, 1s));
      job.answer(node, std::string(asked.front().text));
    }
  EXPECT_THAT(job.result(0).value(), ElementsAre("1:by 0", "2:by 0"));
  EXPECT_THAT(job.result(1).value(), ElementsAre("0:by 1", "2:by 1"));
  EXPECT_THAT(job.result(2).value(), ElementsAre("0:by 2", "1:by 2"));
}

TEST_P(JobAsksOfAnyJob, WithoutARoundNobodyAnswers) {
  AskedJob job(2, GetParam());
  job.ask(1, "is anybody there?");
  EXPECT_THAT(job.result(1, 0s).value(), IsEmpty());
  job.form();
  job.ask(1, "and now?");
  job.nodes[1]->session->feed(EndSession{true});
  EXPECT_THAT(job.result(1).value(), IsEmpty());
  job.ask(1, "and after the end?");
  EXPECT_THAT(job.result(1, 0s).value(), IsEmpty());
}

TEST_P(JobAsksOfAnyJob, ARoundThatIsOverEndsWhatWasAskedInIt) {
  AskedJob job(2, GetParam());
  job.form();
  job.ask(0, "of the first round");
  ASSERT_TRUE(job.meeting.events().run_until([&] { return !job.nodes[1]->asked.empty(); }, 1s));
  const Asked old = job.nodes[1]->asked.front();
  job.nodes[1]->asked.clear();
  for (Meeting::Node* node : job.nodes) {
    node->config.restarts.max_restarts = 3;
    node->session->feed(JoinRound{true, 1});
  }
  EXPECT_THAT(job.result(0, 0s).value(), IsEmpty());
  for (Meeting::Node* node : job.nodes) ASSERT_TRUE(job.meeting.take<RendezvousDone>(*node, 10s));
  job.let_pass(10ms);
  job.ask(0, "of the second round");
  ASSERT_TRUE(job.meeting.events().run_until([&] { return !job.nodes[1]->asked.empty(); }, 1s));
  job.nodes[1]->session->feed(AnswerAsk{old.number, "to the first"});
  EXPECT_FALSE(job.result(0, 1s));
  job.answer(1, "to the second");
  EXPECT_EQ(job.result(0).value().size(), 1U);
  EXPECT_THAT(job.nodes[0]->answered, IsEmpty());
}

TEST_P(JobAsksOfAnyJob, TheLossOfTheStoreEndsWhatWasAsked) {
  AskedJob job(2, GetParam());
  job.form();
  const int asker = job.nodes[0]->config.hostname == "n0" ? 1 : 0;
  job.ask(asker, "how are you?");
  job.let_pass(100ms);
  job.nodes[1 - asker]->session->end();
  EXPECT_THAT(job.result(asker).value(), IsEmpty());
}

TEST_P(JobAsksOfAnyJob, NobodyWaitsForItAtTheEnd) {
  AskedJob job(3, GetParam());
  job.form();
  for (Meeting::Node* node : job.nodes) node->session->feed(EnterExitBarrier{});
  job.ask(1, "who is here?");
  job.answer(0, "I am, in the barrier");
  for (Meeting::Node* node : job.nodes) EXPECT_TRUE(job.meeting.take<BarrierDone>(*node));
  for (Meeting::Node* node : job.nodes) node->session->feed(EndSession{});
  EXPECT_TRUE(job.all_end(100ms)) << "though node 2 has not answered";
  EXPECT_THAT(job.result(1, 0s).value(), IsEmpty());
}

// As ever, it waits for the link on which the other node's will stands, and which is closed with the others.
TEST_P(JobAsksOfAnyJob, TheHostDoesNotWaitForLinksOnWhichNodesAreAsked) {
  AskedJob job(2, GetParam());
  job.form();
  EXPECT_EQ(job.store()->agent_count(), 2U);
  EXPECT_GT(job.store()->talker_count(), 4U) << "one more for each node";
}

TEST_P(JobAsksOfAnyJob, WithoutItsSettingNothingIsSaidOnTheNetwork) {
  AskedJob job(2, GetParam(), false);
  job.form();
  AskedJob other(2, GetParam(), true);
  other.form();
  EXPECT_EQ(other.store()->agents().table().awaited_keys(), job.store()->agents().table().awaited_keys() + 1);
  const int before = job.store()->requests();
  job.ask(0, "?");
  EXPECT_THAT(job.result(0, 0s).value(), IsEmpty());
  EXPECT_EQ(job.store()->requests(), before);
}

TEST(JobAsks, ANodeThatIsAloneAsksNobody) {
  Meeting meeting;
  Config config = static_config(0, 1);
  config.answers_asks = true;
  Meeting::Node& node = meeting.add(std::move(config));
  EXPECT_TRUE(node.session->open());
  node.session->feed(JoinRound{});
  node.session->feed(AskJob{5, "is anybody there?", 2s});
  ASSERT_EQ(node.answered.size(), 1U);
  EXPECT_EQ(node.answered[0].id, 5U);
  EXPECT_THAT(node.answered[0].answers, IsEmpty());
}

// ---- two nodes out of three, without a session

struct TwoAsk {
  explicit TwoAsk(bool by_launch = true) : store(*network.listen("n0", 29500, by_launch)) {}

  JobAsks::Place place(int own) const { return {{"n0", 29500}, "job", NodeRank(own), 3, launch_nodes}; }
  void begin() {
    first.begin(place(0));
    second.begin(place(1));
    run(10ms);
  }
  void run(Duration time) {
    first_talker.act();
    second_talker.act();
    events.run_until(events.now() + time);
  }
  std::vector<std::string> ask(std::string text) {
    first_talker.begin();
    first.ask({1, std::move(text), 1s});
    run(100ms);
    second_talker.begin();
    for (const Asked& one : std::exchange(second_talker.was_asked, {})) second.answer({one.number, answer});
    run(2s);
    if (first_talker.was_answered.size() != 1) return {"no result"};
    return as_texts(std::exchange(first_talker.was_answered, {}).front());
  }
  void write(const std::string& key, const std::string& value) {
    StoreLink link = first_talker.link_to({"n0", 29500});
    EXPECT_TRUE(*first_talker.run(link.set(key, value, later(events.now(), 1s))));
  }

  Events events{1};
  Network network{events};
  std::shared_ptr<Store> store;
  Talker first_talker{network, "n1"}, second_talker{network, "n2"};
  std::optional<std::vector<NodeRank>> launch_nodes{{NodeRank(0), NodeRank(1)}};
  std::string answer = "yes";
  JobAsks first{first_talker.stage(), true}, second{second_talker.stage(), true};
};

TEST(JobAsks, TorchrunsNodesAreNotAsked) {
  for (const bool by_launch : {true, false}) {
    TwoAsk nodes(by_launch);
    nodes.begin();
    EXPECT_THAT(nodes.ask("?"), ElementsAre("1:yes", "2!torchrun's node: it cannot be asked"));
  }
}

TEST(JobAsks, TheClaimsTellWhichNodesAreTorchruns) {
  TwoAsk nodes;
  nodes.launch_nodes.reset();
  nodes.write(claim_key("job", 0), "the first");
  nodes.begin();
  const std::string torchruns = "!torchrun's node: it cannot be asked";
  EXPECT_THAT(nodes.ask("?"), ElementsAre("1" + torchruns, "2" + torchruns));
  nodes.write(claim_key("job", 1), "the second");
  EXPECT_THAT(nodes.ask("?"), ElementsAre("1:yes", "2" + torchruns));
}

TEST(JobAsks, GarbageIsPassedOver) {
  TwoAsk nodes;
  const std::vector<std::string> garbage = {"",
                                            "{",
                                            "[1]",
                                            R"({"from": 2})",
                                            R"({"from": -1, "text": "?"})",
                                            R"({"from": 2, "text": 3})",
                                            std::string(1'000'000, '7')};
  for (std::size_t i = 0; i < garbage.size(); ++i) nodes.write(ask_key("job", i + 1), garbage[i] + " ");
  nodes.begin();
  EXPECT_THAT(nodes.ask("?"), testing::Contains("1:yes"));
  nodes.write(ask_key("job", garbage.size() + 2), "garbage while they wait");
  EXPECT_THAT(nodes.ask("?"), testing::Contains("1:yes"));
  EXPECT_THAT(nodes.second_talker.was_asked, IsEmpty());
}

TEST(JobAsks, AnAnswerThatCannotBeReadIsAFault) {
  TwoAsk nodes;
  nodes.first.begin(nodes.place(0));
  nodes.run(10ms);
  nodes.write(answer_key("job", 1, 1), "garbage");
  EXPECT_THAT(nodes.ask("?"), testing::Contains("1!its answer cannot be read"));
  EXPECT_FALSE(nodes.store->has(answer_key("job", 1, 1)));
}

TEST(JobAsks, TextsHaveABound) {
  TwoAsk nodes;
  nodes.begin();
  nodes.answer = std::string(most_asked_bytes, '\x01');
  EXPECT_EQ(nodes.ask(nodes.answer).front(), "1:" + nodes.answer);
  nodes.answer += '\x01';
  EXPECT_EQ(nodes.ask("?").front(), "1!its answer is longer than 64 KiB");
  const std::string not_asked = "!it was not asked: the text is longer than 64 KiB";
  EXPECT_THAT(nodes.ask(nodes.answer), ElementsAre("1" + not_asked, "2" + not_asked));
}

TEST(JobAsks, WhatWasAskedStaysWithoutItsText) {
  TwoAsk nodes;
  nodes.begin();
  nodes.ask(std::string(1000, '?'));
  EXPECT_EQ(nodes.store->agents().table().get(ask_key("job", 1)), R"({"over": true})");
  nodes.second_talker.begin();
  nodes.second.begin(nodes.place(1));
  nodes.run(1s);
  EXPECT_THAT(nodes.second_talker.was_asked, IsEmpty()) << "nobody waits for that any more";
  EXPECT_THAT(nodes.ask("?"), testing::Contains("1:yes"));
}

TEST(JobAsks, NobodyIsWokenWhileNobodyAsks) {
  TwoAsk nodes;
  nodes.begin();
  const int before = nodes.store->requests();
  nodes.run(1000s);
  EXPECT_EQ(nodes.store->requests(), before);
}

}  // namespace launch::job_asks_test
