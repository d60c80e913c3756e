#include "launch/core/control/control_line.hpp"

#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::control_line_test {
namespace {

using testing::HasSubstr;
using Verb = ControlRequest::Verb;

ControlCommand command_of(const std::vector<std::string>& args) {
  const auto parsed = parse_control_line(args);
  EXPECT_TRUE(parsed) << testing::PrintToString(args);
  if (!parsed || !std::holds_alternative<ControlCommand>(*parsed)) return {};
  return std::get<ControlCommand>(*parsed);
}

std::string error_of(const std::vector<std::string>& args) {
  const auto parsed = parse_control_line(args);
  EXPECT_FALSE(parsed) << testing::PrintToString(args);
  return parsed ? "" : parsed.error().message;
}

TEST(ControlLine, HasACommandAndPerhapsAJob) {
  EXPECT_TRUE(command_of({"ps"}).list);
  EXPECT_EQ(Verb::status, command_of({"status"}).request.verb);
  EXPECT_EQ("job7", command_of({"status", "job7"}).job);
  EXPECT_TRUE(command_of({"status", "--json", "job7"}).json);
  EXPECT_EQ(Verb::stop, command_of({"stop", "job7"}).request.verb);
  EXPECT_EQ(Verb::timeline, command_of({"timeline", "job7"}).request.verb);
  const ControlCommand stacks = command_of({"stacks", "--rank", "3"});
  EXPECT_EQ(Verb::stacks, stacks.request.verb);
  EXPECT_EQ(3, stacks.request.rank);
}

TEST(ControlLine, EmptyWordsAreNeitherASignalNorAFilter) {
  EXPECT_THAT(error_of({"signal", "", "job7"}), HasSubstr("no such signal"));
  EXPECT_THAT(error_of({"filter", "", "job7"}), HasSubstr("all lifts the filter"));
}

TEST(ControlLine, KnowsNodesAndPages) {
  const ControlCommand drain = command_of({"drain", "n7", "job7"});
  EXPECT_EQ(Verb::drain, drain.request.verb);
  EXPECT_EQ("n7", drain.node);
  EXPECT_EQ("job7", drain.job);
  EXPECT_EQ(Verb::restart, command_of({"restart", "job7"}).request.verb);
  EXPECT_TRUE(command_of({"top"}).live);
  EXPECT_EQ(5, command_of({"top", "--interval=5"}).interval_s);
  const ControlCommand logs = command_of({"logs", "-f", "-n", "3", "--node=1", "--rank=5"});
  EXPECT_EQ(Verb::logs, logs.request.verb);
  EXPECT_TRUE(logs.follow);
  EXPECT_EQ(3, logs.request.lines);
  EXPECT_EQ("1", logs.node);
  EXPECT_EQ(5, logs.request.rank);
  EXPECT_EQ(10, command_of({"logs"}).request.lines);
}

TEST(ControlLine, KnowsSinceWhen) {
  const ControlCommand logs = command_of({"logs", "--since", "10m"});
  ASSERT_TRUE(logs.since);
  EXPECT_EQ(600, std::get<double>(*logs.since));
  EXPECT_EQ(-1, logs.request.lines);
  EXPECT_EQ(3, command_of({"logs", "--since=14:05", "-n", "3", "-f"}).request.lines);
  EXPECT_FALSE(command_of({"logs"}).since);
  for (const char* word : {"", "soon"})
    EXPECT_THAT(error_of({"logs", "--since", word}), HasSubstr("90s, 10m or 2h")) << word;
  EXPECT_THAT(error_of({"logs", "-n", "-1"}), HasSubstr("--lines"));
}

TEST(ControlLine, KnowsFilters) {
  EXPECT_EQ((std::vector<int>{0, 2}), command_of({"filter", "0,2"}).request.local_ranks);
  EXPECT_EQ("job7", command_of({"filter", "all", "job7"}).job);
  EXPECT_TRUE(command_of({"filter", "all"}).request.local_ranks.empty());
  for (const char* list : {"x", "-1", "0,,2"}) EXPECT_THAT(error_of({"filter", list}), HasSubstr("as in 0,2")) << list;
}

TEST(ControlLine, KnowsSignalsByNameAndNumber) {
  for (const char* word : {"SIGUSR1", "USR1", "10"}) {
    const ControlCommand command = command_of({"signal", word, "--rank=2", "job"});
    EXPECT_EQ(SIGUSR1, command.request.signal);
    EXPECT_EQ(2, command.request.rank);
    EXPECT_EQ("job", command.job);
  }
  const ControlCommand kill = command_of({"kill-rank", "5"});
  EXPECT_EQ(Verb::signal, kill.request.verb);
  EXPECT_EQ(SIGKILL, kill.request.signal);
  EXPECT_EQ(5, kill.request.rank);
}

TEST(ControlLine, SaysWhatIsWrong) {
  EXPECT_THAT(error_of({}), HasSubstr("launch-ctl --help"));
  EXPECT_THAT(error_of({"dance"}), HasSubstr("launch-ctl --help"));
  EXPECT_THAT(error_of({"signal", "SIGNONSENSE"}), HasSubstr("SIGNONSENSE"));
  EXPECT_THAT(error_of({"signal", "0"}), HasSubstr("no such signal"));
  EXPECT_THAT(error_of({"kill-rank"}), HasSubstr("RANK"));
  EXPECT_THAT(error_of({"drain"}), HasSubstr("NODE"));
  EXPECT_THAT(error_of({"top", "--interval=0"}), HasSubstr("interval"));
  EXPECT_THAT(error_of({"kill-rank", "-1"}), HasSubstr("launch-ctl --help"));
}

TEST(ControlLine, ExplainsItself) {
  for (const char* word : {"--help", "--version"}) {
    const auto parsed = parse_control_line({word});
    ASSERT_TRUE(parsed && std::holds_alternative<ControlText>(*parsed));
    EXPECT_THAT(std::get<ControlText>(*parsed).text, HasSubstr("launch-ctl"));
  }
}

}  // namespace
}  // namespace launch::control_line_test
