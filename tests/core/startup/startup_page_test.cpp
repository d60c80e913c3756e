#include "launch/core/startup/startup_page.hpp"

#include "startups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace launch::startup_page_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(StartupPage, ThePageNeedsNothingElse) {
  const std::string page = startup_html(startup_table(slow_node(2, 32)), {"job", "train.py", "now"});
  EXPECT_THAT(page, testing::StartsWith("<!doctype html>"));
  for (const char* outside : {"http", "src=", "href", "url(", "@import", "<script"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_EQ(64U, count(page, "<g><title>rank "));
  EXPECT_EQ(64U, count(page, "<rect class=\"o\""));
  EXPECT_EQ(64U, count(page, "<rect class=\"s\""));
  EXPECT_EQ(63U, count(page, "<rect class=\"w\"")) << "the last one waits for nobody";
  EXPECT_EQ(count(page, "<g>"), count(page, "</g>"));
  EXPECT_THAT(page, HasSubstr("All 64 ranks had come 14.3 s after the first exec"));
}

TEST(StartupPage, TheSlowestNodeIsAtTheTop) {
  const std::string page = startup_html(startup_table(slow_node(3, 2)), {});
  EXPECT_LT(page.find(">node 2 (n2)</text>"), page.find(">node 0 (n0)</text>"));
  EXPECT_LT(page.find("<td>node 2 (n2)</td>"), page.find("<td>node 1 (n1)</td>"));
}

TEST(StartupPage, NamesAreEscaped) {
  StartupFacts facts = slow_node(2, 2);
  facts.nodes[1].host = "<b>&\"x\x01\x80";
  const StartupTable table = startup_table(facts);
  const std::string page = startup_html(table, {"<script>alert(1)</script>", "a&b", ""});
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<b>")), Not(HasSubstr("<script>")), HasSubstr("a&amp;b"),
                          HasSubstr("&lt;b&gt;&amp;&quot;x ")));
  EXPECT_FALSE(json::parse(startup_trace(table)).empty());
}

TEST(StartupPage, ThousandsOfRanksAreRowsOfFewPixels) {
  const std::string page = startup_html(startup_table(slow_node(250, 8)), {"job", "train.py", ""});
  EXPECT_EQ(2000U, count(page, "<g><title>rank "));
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_THAT(page, HasSubstr("viewBox=\"0 0 1000 7530\""));
}

TEST(StartupPage, WhoHasNotComeIsShown) {
  StartupFacts facts = slow_node(1, 2);
  facts.clients.pop_back();
  const std::string page = startup_html(startup_table(facts), {});
  EXPECT_THAT(page, AllOf(HasSubstr("rank 1 on node 0 (n0): has not come"), HasSubstr("<rect class=\"m\"")));
  EXPECT_FALSE(startup_html(StartupTable(), {}).empty());
}

TEST(StartupPage, TheTraceHasASliceForEachPhase) {
  StartupFacts facts = slow_node(2, 2);
  facts.nodes[0].workers[0].step_age_s = 4;
  const json trace = json::parse(startup_trace(startup_table(facts)));
  std::vector<std::string> of_rank_0, of_rank_3, names;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") {
      EXPECT_GE(event.at("dur").get<int>(), 0);
      const std::string slice =
          event.at("name").get<std::string>() + " " + event.at("ts").dump() + "+" + event.at("dur").dump();
      if (event.at("tid") == 0) of_rank_0.push_back(slice);
      if (event.at("tid") == 3) of_rank_3.push_back(slice);
      EXPECT_EQ(event.at("tid").get<int>() / 2, event.at("pid").get<int>());
    } else if (event.at("name") == "process_name") {
      names.push_back(event.at("args").at("name"));
    }
  }
  EXPECT_THAT(of_rank_0,
              testing::ElementsAre("exec to first output 0+800000", "first output to store 800000+500000",
                                   "waits for the others 1300000+12710000", "group to first step 14010000+1990000"));
  EXPECT_THAT(of_rank_3,
              testing::ElementsAre("exec to first output 500000+12000000", "first output to store 12500000+1510000"));
  EXPECT_THAT(names, testing::ElementsAre("node 1 (n1)", "node 0 (n0)"));
}

}  // namespace launch::startup_page_test
