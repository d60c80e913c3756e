#include "launch/core/control/log_screen.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::log_screen_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LogScreen, NamesTheRankOfEachLine) {
  NodeReport node;
  node.world_size = 2000;
  node.workers.resize(2);
  node.workers[0].rank = 8;
  node.workers[1].rank = 9;
  Screen screen;
  screen.nodes = {node};
  screen.nodes[0].workers[0].log = {{"stdout", "one\n\ntwo\n"}, {"stderr", " 1%\r 2%\r\n"}};
  screen.nodes[0].workers[1].log = {{"stdout", "\x1b[2Jcleared"}};
  const std::string text = log_screen(screen);
  EXPECT_THAT(text, testing::StartsWith("[   8] one\n[   8] \n[   8] two\n[   8]  2%\n[   9] "));
  EXPECT_THAT(text, HasSubstr("cleared\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(LogScreen, WhatNodesSayBesideIsToldOfEachOnce) {
  std::vector<NodeReport> nodes(4);
  for (int rank = 0; rank < 4; ++rank) nodes[static_cast<std::size_t>(rank)].node_rank = rank;
  nodes[0].host = "n0";
  nodes[0].fault = "it does not answer";
  nodes[1].note = nodes[2].note = "so and so";
  WordsTold told;
  EXPECT_EQ("launch-ctl: node 0 n0: it does not answer\nlaunch-ctl: nodes 1-2: so and so\n",
            words_beside_logs(nodes, told));
  nodes[3].note = "so and so";
  EXPECT_EQ("launch-ctl: node 3: so and so\n", words_beside_logs(nodes, told));
  EXPECT_EQ("", words_beside_logs(nodes, told));
}

}  // namespace
}  // namespace launch::log_screen_test
