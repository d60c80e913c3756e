// For tests of settle() and its parts: a plain host, and command lines settled on it.
#pragma once

#include "launch/core/config/settle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch {

using Args = std::vector<std::string>;

inline HostFacts plain_facts() {
  HostFacts facts;
  facts.hostname = "node7";
  facts.usable_cpus = 6;
  facts.fresh_id = "fresh";
  facts.path_python = "/usr/bin/python3";
  return facts;
}

inline Options options_of(Args args) {
  args.emplace_back("train.py");
  return std::get<Options>(*parse_command(args, {}));
}

// Through the command line, as a user comes: `args` stand before "train.py".
inline Result<Config> settle_line(Args args, const HostFacts& facts) {
  args.emplace_back("train.py");
  const auto command = parse_command(args, facts.env);
  if (!command) return command.error();
  return settle(std::get<Options>(*command), facts);
}

inline Config config_of(const Args& args, const HostFacts& facts = plain_facts()) {
  auto config = settle_line(args, facts);
  if (config) return *std::move(config);
  ADD_FAILURE() << config.error().message;
  return {};
}

inline std::string fault_of(const Args& args, const HostFacts& facts = plain_facts()) {
  const auto config = settle_line(args, facts);
  if (config) return "";
  EXPECT_EQ(config.error().code, ErrorCode::usage);
  EXPECT_THAT(config.error().message, ::testing::Not(::testing::HasSubstr("\n")));
  return config.error().message;
}

// A command line, and what its fault must say.
struct Faulty {
  Args args;
  const char* words;
};

inline void expect_faults(const std::vector<Faulty>& lines) {
  for (const Faulty& line : lines) EXPECT_THAT(fault_of(line.args), ::testing::HasSubstr(line.words));
}

inline HostFacts facts_with(std::initializer_list<std::pair<const char*, const char*>> variables) {
  HostFacts facts = plain_facts();
  for (const auto& [name, value] : variables) facts.env.set(name, value);
  return facts;
}

}  // namespace launch
