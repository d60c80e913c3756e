#include "launch/core/control/control_completion.hpp"

#include "launch/core/control/control_line.hpp"

#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::control_completion_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string script(const std::string& shell) {
  const auto parsed = parse_control_line({"--print-completion", shell});
  EXPECT_TRUE(parsed && std::holds_alternative<ControlText>(*parsed));
  return parsed ? std::get<ControlText>(*parsed).text : "";
}

TEST(ControlCompletion, HasTheCommandsOfTheParser) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string text = script(shell);
    for (const char* word :
         {"ps", "status", "top", "logs", "stacks", "signal", "kill-rank", "restart", "drain", "filter", "stop"})
      EXPECT_THAT(text, HasSubstr(word)) << shell;
    EXPECT_THAT(text, HasSubstr("launch-ctl names nodes")) << shell;
    EXPECT_THAT(text, HasSubstr(std::string(shell) == "fish" ? "-l follow" : "--follow")) << shell;
  }
  EXPECT_EQ("--print-completion csh: bash, zsh or fish would be right",
            parse_control_line({"--print-completion", "csh"}).error().message);
}

TEST(ControlCompletion, NamesAreWordsForAShell) {
  std::vector<NodeReport> nodes(3);
  nodes[0].run_id = "job-7";
  nodes[1].run_id = "$(reboot)";
  nodes[2].run_id = "job-7";
  nodes[0].host = "n0";
  nodes[0].node_rank = 0;
  nodes[1].host = "n 1; ls";
  nodes[1].node_rank = 1;
  EXPECT_EQ("job-7\n", completed_jobs(nodes));
  EXPECT_EQ("0\n1\nn0\n", completed_nodes(nodes));
  EXPECT_EQ("jobs", std::get<ControlCommand>(*parse_control_line({"names", "jobs"})).names);
}

}  // namespace
}  // namespace launch::control_completion_test
