#include "launch/core/options.hpp"

#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Args = std::vector<std::string>;

Options parse(const Args& args, const Environment& env = {}) {
  const auto command = parse_command(args, env);
  if (!command) {
    ADD_FAILURE() << command.error().message;
    return {};
  }
  if (!std::holds_alternative<Options>(*command)) {
    ADD_FAILURE() << "a text command";
    return {};
  }
  return std::get<Options>(*command);
}

std::string fault(const Args& args, const Environment& env = {}) {
  const auto command = parse_command(args, env);
  if (command) return "";
  EXPECT_EQ(command.error().code, ErrorCode::usage);
  EXPECT_THAT(command.error().message, Not(HasSubstr("\n")));
  return command.error().message;
}

std::string text(const Args& args) {
  const auto command = parse_command(args, {});
  return command && std::holds_alternative<TextCommand>(*command) ? std::get<TextCommand>(*command).text : "";
}

TEST(Options, WithoutAnyTheDefaultsHoldAndAreNotGiven) {
  const Options options = parse({"train.py"});
  EXPECT_EQ(options.program, "train.py");
  EXPECT_THAT(options.program_args, IsEmpty());
  EXPECT_EQ(options.nnodes.value, "1");
  EXPECT_EQ(options.nproc_per_node.value, "1");
  EXPECT_EQ(options.node_rank.value, 0);
  EXPECT_EQ(options.master_addr.value, "127.0.0.1");
  EXPECT_EQ(options.master_port.value, std::nullopt);
  EXPECT_EQ(options.rdzv_backend.value, "static");
  EXPECT_EQ(options.rdzv_id.value, "none");
  EXPECT_EQ(options.role.value, "default");
  EXPECT_EQ(options.monitor_interval.value, 0.1);
  EXPECT_EQ(options.shutdown_timeout.value, std::nullopt);
  EXPECT_FALSE(options.nnodes.given() || options.standalone.given() || options.master_port.given());
}

TEST(Options, EveryOptionArrivesInBothSpellingsAndBothForms) {
  const std::pair<const char*, const char*> values[] = {
      {"nnodes", "2"},      {"nproc-per-node", "3"}, {"node-rank", "1"},        {"master-addr", "a"},
      {"master-port", "5"}, {"rdzv-backend", "b"},   {"rdzv-endpoint", "h:1"},  {"rdzv-id", "i"},
      {"rdzv-conf", "k=v"}, {"role", "r"},           {"monitor-interval", "2"}, {"shutdown-timeout", "7"},
  };
  for (const bool underscores : {false, true}) {
    for (const bool joined : {false, true}) {
      Args args;
      for (const auto& [name, value] : values) {
        std::string option = name;
        if (underscores) std::replace(option.begin(), option.end(), '-', '_');
        option.insert(0, "--");
        if (joined) {
          args.push_back(option + "=" + value);
        } else {
          args.insert(args.end(), {option, value});
        }
      }
      args.insert(args.end(), {"--standalone", underscores ? "--no_python" : "--no-python", "--module", "pkg.mod"});
      const Options options = parse(args);
      EXPECT_EQ(options.nnodes.value, "2");
      EXPECT_EQ(options.nproc_per_node.value, "3");
      EXPECT_EQ(options.node_rank.value, 1);
      EXPECT_EQ(options.master_addr.value, "a");
      EXPECT_EQ(options.master_port.value, 5);
      EXPECT_EQ(options.rdzv_backend.value, "b");
      EXPECT_EQ(options.rdzv_endpoint.value, "h:1");
      EXPECT_EQ(options.rdzv_id.value, "i");
      EXPECT_EQ(options.rdzv_conf.value, "k=v");
      EXPECT_EQ(options.role.value, "r");
      EXPECT_EQ(options.monitor_interval.value, 2.0);
      EXPECT_EQ(options.shutdown_timeout.value, 7);
      EXPECT_TRUE(options.standalone.value && options.no_python.value && options.module.value);
      EXPECT_EQ(options.program, "pkg.mod");
      EXPECT_EQ(options.nproc_per_node.origin, "--nproc-per-node");
    }
  }
}

TEST(Options, ShortModuleFlagIsKnown) {
  const Options options = parse({"-m", "pkg.mod", "-m"});
  EXPECT_TRUE(options.module.value);
  EXPECT_EQ(options.program, "pkg.mod");
  EXPECT_THAT(options.program_args, ElementsAre("-m"));
}

TEST(Options, TheLastOfRepeatedOptionsWins) {
  EXPECT_EQ(parse({"--nnodes=1", "--nnodes", "2", "--nnodes=3", "a"}).nnodes.value, "3");
  EXPECT_TRUE(parse({"--standalone", "--standalone", "a"}).standalone.value);
}

TEST(Options, NegativeNumbersAndOddTextsAreValues) {
  EXPECT_EQ(parse({"--node-rank", "-1", "a"}).node_rank.value, -1);
  EXPECT_EQ(parse({"--shutdown-timeout=-1", "a"}).shutdown_timeout.value, -1);
  EXPECT_EQ(parse({"--role=-x", "a"}).role.value, "-x");
  EXPECT_EQ(parse({"--role", "[a,b]", "a"}).role.value, "[a,b]");
  EXPECT_EQ(parse({"--role={}", "a"}).role.value, "{}");
  EXPECT_EQ(parse({"--role", "%%", "a"}).role.value, "%%");
  EXPECT_EQ(parse({"--role=\"q\"", "a"}).role.value, "\"q\"");
  EXPECT_EQ(parse({"--rdzv-conf=a=b,c=d", "a"}).rdzv_conf.value, "a=b,c=d");
  EXPECT_EQ(parse({"--role", "a b", "a"}).role.value, "a b");
}

TEST(Options, EverythingBehindTheProgramIsItsOwn) {
  const Args theirs{"--nnodes", "5", "-h", "--standalone", "", "--bogus=", "[a,b]", "x", "--", "--version", "-m"};
  Args args{"--nnodes=2", "train.py"};
  args.insert(args.end(), theirs.begin(), theirs.end());
  const Options options = parse(args);
  EXPECT_EQ(options.nnodes.value, "2");
  EXPECT_FALSE(options.standalone.given());
  EXPECT_EQ(options.program, "train.py");
  EXPECT_THAT(options.program_args, ElementsAreArray(theirs));
}

TEST(Options, OneDoubleDashBeforeOrDirectlyBehindTheProgramIsDropped) {
  struct Case {
    Args args;
    Args program;
  };
  const Case cases[] = {
      {{"--", "s.py", "--x"}, {"s.py", "--x"}},
      {{"s.py", "--", "--x"}, {"s.py", "--x"}},
      {{"--", "s.py", "--", "--x"}, {"s.py", "--", "--x"}},
      {{"s.py", "--", "--"}, {"s.py", "--"}},
      {{"s.py", "a", "--", "b"}, {"s.py", "a", "--", "b"}},
      {{"-m", "--", "pkg.mod"}, {"pkg.mod"}},
      {{"--", "-odd-name", "x"}, {"-odd-name", "x"}},
      {{"-", "x"}, {"-", "x"}},
  };
  for (const auto& c : cases) {
    const Options options = parse(c.args);
    Args program{options.program};
    program.insert(program.end(), options.program_args.begin(), options.program_args.end());
    EXPECT_EQ(program, c.program);
  }
}

TEST(Options, VariablesStandInForEveryOption) {
  const Environment env{{"PET_NNODES", "2"},           {"PET_NPROC_PER_NODE", "3"},
                        {"PET_NODE_RANK", " 1 "},      {"PET_MASTER_ADDR", "a"},
                        {"PET_MASTER_PORT", "5"},      {"PET_RDZV_BACKEND", "b"},
                        {"PET_RDZV_ENDPOINT", "h:1"},  {"PET_RDZV_ID", "i"},
                        {"PET_RDZV_CONF", "k=v"},      {"PET_ROLE", "r"},
                        {"PET_STANDALONE", "yes"},     {"PET_MODULE", "2"},
                        {"PET_NO_PYTHON", "True"},     {"PET_MONITOR_INTERVAL", "0.5"},
                        {"PET_SHUTDOWN_TIMEOUT", "7"}, {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "8"}};
  const Options options = parse({"a"}, env);
  EXPECT_EQ(options.nnodes.value, "2");
  EXPECT_EQ(options.nnodes.origin, "PET_NNODES");
  EXPECT_EQ(options.nproc_per_node.value, "3");
  EXPECT_EQ(options.node_rank.value, 1);
  EXPECT_EQ(options.master_addr.value, "a");
  EXPECT_EQ(options.master_port.value, 5);
  EXPECT_EQ(options.rdzv_backend.value, "b");
  EXPECT_EQ(options.rdzv_endpoint.value, "h:1");
  EXPECT_EQ(options.rdzv_id.value, "i");
  EXPECT_EQ(options.rdzv_conf.value, "k=v");
  EXPECT_EQ(options.role.value, "r");
  EXPECT_TRUE(options.standalone.value && options.module.value && options.no_python.value);
  EXPECT_EQ(options.monitor_interval.value, 0.5);
  EXPECT_EQ(options.shutdown_timeout.value, 7);
  EXPECT_EQ(options.shutdown_timeout.origin, "PET_SHUTDOWN_TIMEOUT");
}

TEST(Options, AFlagWinsOverItsVariableEvenOverABadOne) {
  const Options options =
      parse({"--node-rank=1", "--rdzv-endpoint=", "a"}, {{"PET_NODE_RANK", "x"}, {"PET_RDZV_ENDPOINT", "h:1"}});
  EXPECT_EQ(options.node_rank.value, 1);
  EXPECT_EQ(options.node_rank.origin, "--node-rank");
  EXPECT_FALSE(options.rdzv_endpoint.given());
}

TEST(Options, ShutdownTimeoutHasASecondVariable) {
  const Options options = parse({"a"}, {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "8"}});
  EXPECT_EQ(options.shutdown_timeout.value, 8);
  EXPECT_EQ(options.shutdown_timeout.origin, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
}

TEST(Options, ASwitchCanBeOffByItsVariable) {
  for (const char* off : {"0", "false", "No"}) EXPECT_FALSE(parse({"a"}, {{"PET_STANDALONE", off}}).standalone.value);
}

TEST(Options, EmptyEndpointAndConfigurationMeanNoneAndAnEmptyIdIsKept) {
  const Options options = parse({"--rdzv-endpoint=", "--rdzv-conf", "", "--rdzv-id=", "a"});
  EXPECT_FALSE(options.rdzv_endpoint.given());
  EXPECT_FALSE(options.rdzv_conf.given());
  EXPECT_EQ(options.rdzv_id.value, "");
  EXPECT_EQ(options.rdzv_id.origin, "--rdzv-id");
  EXPECT_EQ(options.program, "a");
  EXPECT_FALSE(parse({"a"}, {{"PET_RDZV_ENDPOINT", ""}, {"PET_RDZV_CONF", " "}}).rdzv_endpoint.given());
}

TEST(Options, BadCommandLinesAreOneClearLine) {
  struct Case {
    Args args;
    const char* words;
  };
  const Case cases[] = {
      {{}, "no script or program given"},
      {{"--nnodes=2"}, "no script or program given"},
      {{"--"}, "no script or program given"},
      {{""}, "no script or program given"},
      {{"--nprocs-per-node=2", "a"}, "unknown option --nprocs-per-node; did you mean --nproc-per-node?"},
      {{"--nproc-per_node=2", "a"}, "did you mean --nproc-per-node?"},
      {{"--stand", "a"}, "did you mean --standalone?"},
      {{"--bogus", "a"}, "unknown option --bogus; --help"},
      {{"--bogus\n=1", "a"}, "unknown option \"--bogus\\x0a\""},
      {{"-x", "a"}, "unknown option -x"},
      {{"-mh", "a"}, "unknown option -mh"},
      {{"-1", "a"}, "unknown option -1"},
      {{"---nnodes=1", "a"}, "did you mean --nnodes?"},
      {{"--nnodes"}, "--nnodes needs a value"},
      {{"--role", "--standalone", "a"}, "--role needs a value, but --standalone follows; write --role=--standalone"},
      {{"--role", "--", "a"}, "--role needs a value"},
      {{"--standalone=1", "a"}, "--standalone takes no value"},
      {{"--help=", "a"}, "--help takes no value"},
      {{"--node-rank", "abc", "a"}, "--node-rank abc: expected a whole number"},
      {{"--node-rank=1.5", "a"}, "--node-rank 1.5: expected a whole number"},
      {{"--master-port=http", "a"}, "--master-port http: expected a whole number"},
      {{"--shutdown-timeout=1s", "a"}, "--shutdown-timeout 1s: expected a whole number"},
      {{"--monitor-interval=fast", "a"}, "--monitor-interval fast: expected a number of seconds"},
  };
  for (const auto& c : cases) EXPECT_THAT(fault(c.args), HasSubstr(c.words));
}

TEST(Options, EmptyValuesOfFlagsNameTheFlagAndEatNothing) {
  for (const char* name : {"--nnodes", "--nproc-per-node", "--node-rank", "--master-addr", "--master-port",
                           "--rdzv-backend", "--role", "--monitor-interval", "--shutdown-timeout"}) {
    EXPECT_THAT(fault({std::string(name) + "=", "1"}), HasSubstr(std::string(name) + ": the value is empty"));
    EXPECT_THAT(fault({name, "", "1"}), HasSubstr(std::string(name) + ": the value is empty"));
  }
}

TEST(Options, BadVariablesAreNamed) {
  for (const char* name : {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT",
                           "PET_RDZV_BACKEND", "PET_ROLE", "PET_STANDALONE", "PET_MODULE", "PET_NO_PYTHON",
                           "PET_MONITOR_INTERVAL", "PET_SHUTDOWN_TIMEOUT", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"}) {
    EXPECT_THAT(fault({"a"}, {{name, ""}}), HasSubstr(std::string(name) + " is set but empty; unset it"));
  }
  EXPECT_THAT(fault({"a"}, {{"PET_NODE_RANK", "abc"}}), HasSubstr("PET_NODE_RANK=abc: expected a whole number"));
  EXPECT_THAT(fault({"a"}, {{"PET_STANDALONE", "maybe"}}), HasSubstr("PET_STANDALONE=maybe: expected"));
}

TEST(Options, HelpAndVersionWinOverMissingProgramsAndBadVariables) {
  EXPECT_THAT(text({"--help"}), HasSubstr("Usage: launch"));
  EXPECT_EQ(text({"-h"}), text({"--help"}));
  EXPECT_EQ(text({"--nnodes=x", "-h", "train.py"}), text({"--help"}));
  EXPECT_THAT(text({"--version"}), HasSubstr("launch " LAUNCH_VERSION));
  const auto despite_variable = parse_command({"--help"}, {{"PET_NODE_RANK", "x"}});
  ASSERT_TRUE(despite_variable);
  EXPECT_TRUE(std::holds_alternative<TextCommand>(*despite_variable));
}

TEST(Options, TheProcessEnvironmentIsNeverRead) {
  ASSERT_EQ(setenv("PET_NNODES", "9", 1), 0);
  EXPECT_EQ(parse({"a"}).nnodes.value, "1");
  ASSERT_EQ(unsetenv("PET_NNODES"), 0);
}

}  // namespace
}  // namespace launch
