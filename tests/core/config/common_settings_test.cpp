#include "launch/core/config/common_settings.hpp"

#include "launch/core/config/config.hpp"

#include <gtest/gtest.h>

namespace launch::common_settings_test {

using namespace std::chrono_literals;

const CommonSettings example = {{"--heartbeat-timeout", "5 s"}, {"TORCH_ELASTIC_WORKER_IDENTICAL", "0"}};

TEST(CommonSettings, HaveTheNamesThatTheUserKnows) {
  Config config;
  config.heartbeat_timeout = 5s;
  config.restarts.max_restarts = 3;
  config.role = "eval";
  config.program.name = "jobs/eval.py";
  CommonSettings expected = example;
  expected.insert(expected.begin(), {"protocol of launch", "1"});
  expected.insert(expected.end(), {{"--max-restarts", "3"}, {"program (role eval)", "eval.py"}});
  expected.emplace_back("version of launch", LAUNCH_VERSION);
  EXPECT_EQ(common_settings(config), expected);
}

TEST(CommonSettings, AreReadAsTheyWereWritten) {
  EXPECT_EQ(parse_common_settings(to_text(example)), example);
  EXPECT_EQ(parse_common_settings(""), CommonSettings());
  EXPECT_EQ(parse_common_settings("\nodd\na=b=c"), (CommonSettings{{"a", "b=c"}}));
}

TEST(CommonSettings, OnlyAnotherValueIsADisagreement) {
  EXPECT_FALSE(find_disagreement("node 1", example, example));
  EXPECT_FALSE(find_disagreement("node 1", example, {}));
  EXPECT_FALSE(find_disagreement("node 1", example, {{"--new-option", "1"}}));
  const auto found = find_disagreement("node 1", example, {{"--heartbeat-timeout", "60 s"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, ErrorCode::conflict);
  EXPECT_EQ(found->message,
            "conflicting --heartbeat-timeout: node 1 has \"5 s\", the job has \"60 s\"; give the same "
            "--heartbeat-timeout on every node");
}

TEST(CommonSettings, AVersionMayDifferIfTheProtocolDoesNot) {
  const CommonSettings own = {{"protocol of launch", "1"}, {"version of launch", "0.2.0"}};
  EXPECT_FALSE(find_disagreement("node 1", own, {{"protocol of launch", "1"}, {"version of launch", "0.3.0"}}));
  EXPECT_EQ(find_differences(own, {{"version of launch", "0.3.0"}}),
            std::vector<std::string>{"the nodes differ in version of launch: this one has 0.2.0, another one 0.3.0"});
  const auto found = find_disagreement("node 1", own, {{"protocol of launch", "2"}, {"version of launch", "0.3.0"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, ErrorCode::conflict);
  EXPECT_EQ(found->message,
            "node 1 speaks protocol of launch 1, the job 2; run the same version of launch on every node (this is " +
                std::string(LAUNCH_VERSION) + ")");
}

TEST(CommonSettings, WhatMayDifferIsSaidAndNoDisagreement) {
  const CommonSettings own = {{"--max-restarts", "3"}, {"program (role a)", "x.py"}, {"program (role b)", "z.py"}};
  const CommonSettings job = {{"--max-restarts", "0"}, {"program (role a)", "y.py"}, {"--heartbeat-timeout", "1 s"}};
  EXPECT_FALSE(find_disagreement("node 1", own, job));
  EXPECT_EQ(
      find_differences(own, job),
      (std::vector<std::string>{
          "the nodes differ in --max-restarts: this one has 3, another one 0; the node whose worker fails decides",
          "the nodes differ in program (role a): this one has x.py, another one y.py"}));
  EXPECT_TRUE(find_differences(own, own).empty());
  EXPECT_TRUE(find_differences(example, {{"--heartbeat-timeout", "60 s"}}).empty());
}

}  // namespace launch::common_settings_test
