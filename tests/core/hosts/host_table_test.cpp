#include "launch/core/hosts/host_table.hpp"

#include "head_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_table_test {

using namespace std::chrono_literals;
using heads::plan_of;
using testing::ElementsAre;
using testing::IsEmpty;
using State = HostTable::State;

constexpr Time start{1h};

TEST(HostTable, HostsAreCountedByWhatTheyDo) {
  HostTable table(plan_of(3));
  EXPECT_EQ(table.count(State::waiting), 3);
  table.move(1, State::connecting, start);
  table.move(1, State::asked, start);
  table.move(2, State::asked, start);
  EXPECT_EQ(table.count(State::waiting), 1);
  EXPECT_EQ(table.count(State::connecting), 0);
  EXPECT_EQ(table.count(State::asked), 2);
  EXPECT_THAT(table.names({State::asked}), ElementsAre("n2", "n3"));
  EXPECT_EQ(table.at(1).due, start + 60s);
}

TEST(HostTable, AProblemBeforeTheStartIsKeptAndOneOfARunningNodeIsSaidAtOnce) {
  HostTable table(plan_of(2));
  for (const int node : {0, 1}) table.at(node).connected = true;
  table.move(0, State::asked, start);
  table.drop(0, {"n0", "it burns", 1});
  EXPECT_EQ(table.problems().size(), 1U);
  auto actions = table.take();
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(std::get<LeaveHost>(actions[0]).node, 0);

  table.move(1, State::running, start);
  table.at(1).out.feed("half a line", [](std::string_view) {});
  table.drop(1, {"n1", "it burns", 1});
  EXPECT_EQ(table.problems().size(), 1U);
  EXPECT_EQ(table.count(State::lost), 1);
  actions = table.take();
  ASSERT_EQ(actions.size(), 3U);
  EXPECT_EQ(std::get<ShowLines>(actions[0]).lines, "half a line\n") << "what it wrote comes before what happened to it";
  EXPECT_EQ(std::get<SayLine>(actions[1]).text, "n1: it burns");
  EXPECT_EQ(std::get<LeaveHost>(actions[2]).node, 1);
}

TEST(HostTable, NonsenseOfAHostThatTakesNoPartIsNobodysBusiness) {
  HostTable table(plan_of(1));
  table.connect(0, start);
  table.leave(0);
  table.take();
  table.nonsense(0, "no frame");
  EXPECT_THAT(table.take(), IsEmpty()) << "it is left already";
  table.disconnect(0);
  table.connect(0, start);
  table.nonsense(0, "no frame");
  EXPECT_EQ(table.problems().size(), 1U);
}

}  // namespace launch::host_table_test
