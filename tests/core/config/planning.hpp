// For tests of plan_hosts(): command lines of --hosts, and what the head makes of them.
#pragma once

#include "launch/core/config/hosts_settings.hpp"

#include "settling.hpp"

namespace launch::hosts_settings_test {

inline HeadFacts facts_of(std::initializer_list<std::pair<const char*, const char*>> variables = {}) {
  HeadFacts facts;
  for (const auto& [name, value] : variables) facts.env.set(name, value);
  facts.own_names = {"login"};
  facts.folder = "/work";
  facts.umask = 027;
  facts.self = "/opt/launch";
  facts.fresh_id = "fresh";
  return facts;
}

inline Result<HostsPlan> plan_line(Args args, const HeadFacts& facts) {
  args.insert(args.end(), {"train.py", "--lr", "3"});
  const auto line = read_option_line(args);
  if (!line) return line.error();
  const auto command = parse_command(args, facts.env);
  if (!command) return command.error();
  const auto& options = std::get<Options>(*command);
  EXPECT_TRUE(names_hosts(options));
  return plan_hosts(options, *line, facts);
}

inline HostsPlan plan_of(const Args& args, const HeadFacts& facts = facts_of()) {
  auto plan = plan_line(args, facts);
  if (plan) return *std::move(plan);
  ADD_FAILURE() << plan.error().message;
  return {};
}

inline std::string refusal(const Args& args, const HeadFacts& facts = facts_of()) {
  const auto plan = plan_line(args, facts);
  if (plan) return "";
  EXPECT_EQ(plan.error().code, ErrorCode::usage);
  EXPECT_THAT(plan.error().message, ::testing::Not(::testing::HasSubstr("\n")));
  return plan.error().message;
}

}  // namespace launch::hosts_settings_test
