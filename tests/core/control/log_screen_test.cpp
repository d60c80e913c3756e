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

}  // namespace
}  // namespace launch::log_screen_test
