#include "launch/core/config/timeline_settings.hpp"

#include "settling.hpp"

namespace launch::timeline_settings_test {

using ::testing::HasSubstr;

TEST(TimelineSettings, AreOffByDefault) {
  EXPECT_FALSE(config_of({}).timeline.wanted());
  EXPECT_FALSE(config_of({}).logs.taps_out);
}

TEST(TimelineSettings, APageATraceOrBoth) {
  for (const auto& [text, html, json] :
       std::vector<std::tuple<std::string, std::string, std::string>>{{"a.html", "a.html", ""},
                                                                      {"/x y/a.json", "", "/x y/a.json"},
                                                                      {"a.html,b.json", "a.html", "b.json"},
                                                                      {"b.json,a.html", "a.html", "b.json"}}) {
    const TimelineChoice choice = config_of({"--timeline=" + text}).timeline;
    EXPECT_EQ(html, choice.html) << text;
    EXPECT_EQ(json, choice.json) << text;
    EXPECT_TRUE(choice.wanted()) << text;
  }
}

TEST(TimelineSettings, AFaultSaysWhatWouldBeRight) {
  for (const char* text : {"a", "a.txt", ".html", "a.html,", "a.html,b.html", "a.json,b.json", "a.html,b.json,c.html"})
    EXPECT_THAT(fault_of({std::string("--timeline=") + text}),
                HasSubstr(std::string("--timeline ") + text +
                          ": expected FILE.html, FILE.json, or one of each as in start.html,start.json"));
  EXPECT_THAT(fault_of({"--timeline="}), HasSubstr("the value is empty"));
}

TEST(TimelineSettings, AllOutputPassesLaunchUnlessTheUserWantsItOtherwise) {
  EXPECT_TRUE(config_of({"--timeline=a.html"}).logs.taps_out);
  EXPECT_TRUE(config_of({"--timeline=a.html"}).logs.through_launch);
  EXPECT_FALSE(config_of({"--timeline=a.html"}).logs.listens);
  EXPECT_FALSE(config_of({"--timeline=a.html", "--log-writer=workers"}).logs.through_launch);
  EXPECT_EQ("", fault_of({"--timeline=a.html", "--stderr=inherit"}));
}

}  // namespace launch::timeline_settings_test
