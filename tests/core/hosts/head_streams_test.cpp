// What Head does with the streams of a running job: equal lines that are folded, and standard input.
#include "head_driver.hpp"
#include "launch/core/hosts/head.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::head_streams_test {

using heads::Driver;
using heads::plan_of;
using heads::ready_with;
using testing::ElementsAre;
using testing::IsEmpty;
using Readers = HeadInput::Readers;

// On each host run so many workers.
Driver running(HeadPlan plan, int workers = 2) {
  const int nodes = static_cast<int>(plan.nodes.size());
  Driver d(std::move(plan));
  d.greet_all();
  for (int i = 0; i < nodes; ++i) {
    NodeReady ready = ready_with({"10.0.0.1"}, "boot" + std::to_string(i));
    ready.workers = workers;
    d.say(i, ready);
  }
  for (int i = 1; i < nodes; ++i) d.say(i, ReachAnswer{{""}});
  return d;
}

HeadPlan folding(int nodes) {
  HeadPlan plan = plan_of(nodes);
  plan.folds = true;
  return plan;
}

NodeOutput line_of(const std::string& ranks, const std::string& line, bool errors = false) {
  return {errors, "\x1e" + ranks + "\x1f" + line + "\n"};
}

// ---- folded output

TEST(HeadStreams, EqualLinesOfHostsAreShownOnce) {
  Driver d = running(folding(2));
  EXPECT_THAT(d.say(0, line_of("0-1", "loss 2.3")).last, IsEmpty());
  EXPECT_EQ(d.say(1, line_of("2-3", "loss 2.3")).shown(), "[0-3]:loss 2.3\n");
  d.say(0, line_of("0-1", "loss 2.2")).say(0, line_of("1", "bad", true));
  EXPECT_EQ(d.head.deadline(), d.now + fold_window);
  d.wait(fold_window);
  EXPECT_EQ(d.shown(), "[0-1]:loss 2.2\n");
  EXPECT_EQ(d.shown(true), "[1]:bad\n");
}

TEST(HeadStreams, MessagesOfLaunchPassAndAreSaidOnce) {
  Driver d = running(folding(2));
  EXPECT_EQ(d.say(0, NodeOutput{true, "launch: warning: x\n"}).shown(true), "launch: warning: x\n");
  EXPECT_EQ(d.say(1, NodeOutput{true, "launch: warning: x\n"}).shown(true), "");
}

TEST(HeadStreams, NothingIsHeldBackWhenANodeGoes) {
  HeadPlan plan = folding(2);
  plan.keeps_output = true;
  Driver ended = running(plan);
  ended.say(0, line_of("0-1", "last"))
      .say(0, NodeOutput{false,
                         "\x1e"
                         "0\x1fhalf"})
      .say(0, NodeEnd{});
  ASSERT_EQ(ended.last.size(), 2U) << "the output, and then it may be confirmed";
  EXPECT_EQ(ended.shown(), "[0-1]:last\n[0]:half\n");
  EXPECT_TRUE(std::holds_alternative<ConfirmHost>(ended.last.back()));
  Driver lost = running(folding(2));
  lost.say(0, line_of("0-1", "last"));
  EXPECT_EQ(lost.lose(0).shown(), "[0-1]:last\n");
  Driver impatient = running(folding(2));
  impatient.say(1, line_of("2", "last"));
  EXPECT_EQ(impatient.signal(2).signal(2).signal(2).shown(), "[2]:last\n");
}

// ---- standard input

HeadPlan fed(int nodes, HeadInput input) {
  HeadPlan plan = plan_of(nodes);
  plan.input = input;
  return plan;
}

TEST(HeadStreams, InputGoesToTheNodeOfTheRank) {
  EXPECT_FALSE(Driver(fed(3, {Readers::one, 3})).head.wants_input()) << "no node runs yet";
  Driver d = running(fed(3, {Readers::one, 3}));
  for (const int node : {0, 1, 2}) EXPECT_EQ(d.told<NodeGo>(node)->input, node == 1) << node;
  EXPECT_TRUE(d.head.wants_input());
  const auto told = heads::all_of<TellHost>(d.head.on_input("words"));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].node, 1);
  EXPECT_EQ(told[0].message, HostMessage(NodeInput{"words"}));
  EXPECT_EQ(heads::all_of<TellHost>(d.head.on_input("")).at(0).message, HostMessage(NodeInput{}));
  EXPECT_FALSE(d.head.wants_input()) << "it has ended";
}

TEST(HeadStreams, NobodyGetsItUnlessItIsWanted) {
  Driver d = running(plan_of(2));
  EXPECT_FALSE(d.head.wants_input());
  EXPECT_FALSE(d.told<NodeGo>(0)->input);
  EXPECT_THAT(d.head.on_input("x"), IsEmpty());
}

TEST(HeadStreams, AWorkerThatDoesNotReadHoldsUpNothingElse) {
  Driver d = running(fed(2, {Readers::one, 0}));
  d.head.on_input(std::string(most_untaken, 'x'));
  EXPECT_FALSE(d.head.wants_input());
  EXPECT_EQ(d.say(0, NodeOutput{false, "a\n"}).shown(), "a\n");
  d.say(0, NodeTook{1000});
  EXPECT_TRUE(d.head.wants_input());
  d.say(0, NodeEnd{}).say(1, NodeEnd{});
  EXPECT_EQ(d.code(), 0);
  EXPECT_THAT(d.head.on_input("late"), IsEmpty());
}

TEST(HeadStreams, ANodeThatHasEndedIsNotWaitedFor) {
  Driver d = running(fed(2, {Readers::each, 0}));
  d.head.on_input(std::string(most_untaken, 'x'));
  d.say(1, NodeTook{most_untaken});
  EXPECT_FALSE(d.head.wants_input());
  d.say(0, NodeEnd{});
  EXPECT_TRUE(d.head.wants_input());
  EXPECT_THAT(heads::all_of<TellHost>(d.head.on_input("x")), testing::SizeIs(1));
  d.say(1, NodeEnd{});
  EXPECT_FALSE(d.head.wants_input());
}

}  // namespace launch::head_streams_test
