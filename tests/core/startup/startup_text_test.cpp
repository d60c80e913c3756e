#include "launch/core/startup/startup_text.hpp"

#include "launch/core/base/text.hpp"

#include "startups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::startup_text_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(StartupText, TheSlowNodeIsTheFirstLine) {
  EXPECT_THAT(
      startup_lines(startup_table(slow_node(2, 32))),
      ElementsAre("all 64 ranks had come 14.3 s after the first exec (median 1.6 s)",
                  "slowest node: node 1 (n1), median 14.2 s; the median of the others is 1.4 s",
                  "rank 63 on node 1 (n1) came after 14.3 s: it was started after 0.5 s, 12.0 s to its first output, "
                  "1.8 s from there to the store",
                  testing::StartsWith("rank 62 on node 1 (n1) came after"), testing::StartsWith("rank 61 on node 1"),
                  testing::StartsWith("rank 60 on node 1"), testing::StartsWith("rank 59 on node 1")));
}

TEST(StartupText, NodesThatAreAboutAsFastAreNotTold) {
  StartupFacts facts = slow_node(2, 2);
  for (StartupClient& client : facts.clients) client.age_s = 10;
  EXPECT_THAT(startup_lines(startup_table(facts)), testing::Each(Not(HasSubstr("slowest node"))));
  EXPECT_THAT(startup_lines(startup_table(slow_node(1, 2))),
              ElementsAre("all 2 ranks had come 1.3 s after the first exec (median 1.3 s)",
                          "rank 1 on node 0 (n0) came after 1.3 s: 0.8 s to its first output, 0.5 s from there to the "
                          "store",
                          testing::StartsWith("rank 0 on node 0 (n0)")));
}

TEST(StartupText, ARankMayBeSilentUntilItHasCome) {
  EXPECT_EQ("3.0 s to the store, without output", phases_in_words({0, 0, 0.0, {}, 3.0, {}}));
  EXPECT_EQ("it was started after 1.0 s, 2.0 s to the store, without output",
            phases_in_words({0, 0, 1.0, 4.0, 3.0, {}}));
}

TEST(StartupText, TheScreenHasABarForEachNodeAndEachSlowRank) {
  StartupFacts facts = slow_node(2, 2);
  facts.nodes[0].workers[0].step_age_s = 4;
  EXPECT_EQ(R"(all 4 ranks had come 14.0 s after the first exec (median 1.3 s)
slowest node: node 1 (n1), median 14.0 s; the median of the others is 1.3 s

 ranks   node host    output     store  0                             16.0 s
     2      1 n1      12.5 s    14.0 s   ===========================---.::::
     2      0 n0       0.8 s     1.3 s  ==-.............................::::

  rank   node host    output     store  0                             16.0 s
     3      1 n1      12.5 s    14.0 s   ===========================----::::
     2      1 n1      12.5 s    14.0 s   ===========================---.::::
     1      0 n0       0.8 s     1.3 s  ==-.............................::::
     0      0 n0       0.8 s     1.3 s  ==-.............................::::

until = first output, - the store, . the last rank, : its first step; > steps
)",
            startup_screen(startup_table(facts), 80));
}

TEST(StartupText, TheScreenFitsItsColumns) {
  for (const std::size_t columns : {80U, 120U}) {
    const std::string screen = startup_screen(startup_table(slow_node(200, 8)), columns);
    EXPECT_THAT(screen, HasSubstr("and 168 nodes that were faster\n"));
    std::size_t rows = 0;
    for (const std::string_view line : split(screen, '\n')) {
      EXPECT_LE(line.size(), columns) << line;
      ++rows;
    }
    EXPECT_LT(rows, 60U);
  }
}

TEST(StartupText, WhoIsMissingIsFirst) {
  StartupFacts facts = slow_node(2, 8);
  facts.clients.erase(facts.clients.begin() + 6, facts.clients.end());
  facts.nodes[1].workers[0].output_age_s.reset();
  const std::string screen = startup_screen(startup_table(facts), 80);
  EXPECT_THAT(screen, testing::StartsWith("10 of 16 ranks have not come; the others wait for them\n"
                                          "rank 6 on node 0 (n0) has not come: 20.0 s since its exec, its first output "
                                          "was after 0.8 s\n"));
  EXPECT_THAT(screen, AllOf(HasSubstr("rank 8 on node 1 (n1) has not come: 19.5 s since its exec, no output that "
                                      "launch has seen\n"),
                            HasSubstr("nor have ranks 14-15\n"), HasSubstr("=======")));
}

TEST(StartupText, WhatIsNotKnownIsSaid) {
  EXPECT_EQ("no worker has been started\n", startup_screen(startup_table({}), 80));
  StartupFacts facts = slow_node(1, 2);
  facts.clients[0].address = "10.9.9.9";
  facts.clients[0].here = false;
  EXPECT_THAT(startup_screen(startup_table(facts), 80),
              AllOf(HasSubstr("all 2 ranks had come"), HasSubstr("1 connection to the store: it is not known whose "
                                                                 "it is\n")));
  facts.nodes[0].workers[0].started_age_s.reset();
  facts.clients.clear();
  EXPECT_THAT(startup_screen(startup_table(facts), 80), HasSubstr("rank 0 on node 0 (n0) has not come: it has not been "
                                                                  "started\n"));
}

TEST(StartupText, AHostNameCannotMoveTheCursor) {
  StartupFacts facts = slow_node(2, 2);
  facts.nodes[1].host = "n1\x1b[2J\n";
  const StartupTable table = startup_table(facts);
  EXPECT_THAT(startup_screen(table, 80), Not(HasSubstr("\x1b")));
  for (const std::string& line : startup_lines(table))
    EXPECT_THAT(line, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
}

}  // namespace launch::startup_text_test
