#include "launch/core/options/options.hpp"

#include "launch/core/options/help.hpp"
#include "launch/core/options/option_table.hpp"

#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::options_test {

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
  if (!command) return "";
  if (const auto* help = std::get_if<HelpCommand>(&*command)) return text_of(*help, 0);
  return std::holds_alternative<TextCommand>(*command) ? std::get<TextCommand>(*command).text : "";
}

TEST(Options, WithoutAnyTheDefaultsHoldAndAreNotGiven) {
  const Options options = parse({"train.py"});
  EXPECT_EQ(options.program, "train.py");
  EXPECT_THAT(options.program_args, IsEmpty());
  EXPECT_EQ(options.nnodes.value, "1");
  EXPECT_EQ(options.nproc_per_node.value, "1");
  EXPECT_EQ(options.node_rank.value, 0);
  EXPECT_EQ(options.master_addr.value, "127.0.0.1");
  EXPECT_EQ(options.master_port.value, 29'500);
  EXPECT_EQ(options.rdzv_backend.value, "static");
  EXPECT_EQ(options.rdzv_id.value, "none");
  EXPECT_EQ(options.role.value, "default");
  EXPECT_EQ(options.monitor_interval.value, 0.1);
  EXPECT_EQ(options.shutdown_timeout.value, 30);
  EXPECT_FALSE(options.nnodes.given() || options.standalone.given() || options.master_port.given());
}

// What the two tests below give, by flags and by variables.
void expect_all_given(const Options& options) {
  EXPECT_EQ(options.nnodes.value, "2");
  EXPECT_EQ(options.nproc_per_node.value, "3");
  EXPECT_EQ(options.node_rank.value, 1);
  EXPECT_EQ(options.master_addr.value, "a");
  EXPECT_EQ(options.master_port.value, 5);
  EXPECT_EQ(options.local_addr.value, "l");
  EXPECT_EQ(options.rdzv_backend.value, "b");
  EXPECT_EQ(options.rdzv_endpoint.value, "h:1");
  EXPECT_EQ(options.rdzv_id.value, "i");
  EXPECT_EQ(options.rdzv_conf.value, "k=v");
  EXPECT_EQ(options.role.value, "r");
  EXPECT_EQ(options.start_method.value, "fork");
  EXPECT_EQ(options.max_restarts.value, 4);
  EXPECT_EQ(options.monitor_interval.value, 2.0);
  EXPECT_EQ(options.shutdown_timeout.value, 7);
  EXPECT_EQ(options.signals_to_handle.value, "SIGUSR1");
  EXPECT_EQ(options.log_dir.value, "d");
  EXPECT_EQ(options.redirects.value, "1");
  EXPECT_EQ(options.tee.value, "2");
  EXPECT_EQ(options.local_ranks_filter.value, "0,1");
  EXPECT_EQ(options.log_line_prefix_template.value, "p");
  EXPECT_EQ(options.duplicate_stdout_filters.value, "x,,y");
  EXPECT_EQ(options.duplicate_stderr_filters.value, "z");
  EXPECT_EQ(options.event_log_handler.value, "console");
  EXPECT_TRUE(options.standalone.value && options.no_python.value && options.module.value);
  EXPECT_TRUE(options.run_path.value && options.virtual_local_rank.value);
}

const std::pair<const char*, const char*> all_values[] = {
    {"nnodes", "2"},
    {"nproc-per-node", "3"},
    {"node-rank", "1"},
    {"master-addr", "a"},
    {"master-port", "5"},
    {"local-addr", "l"},
    {"rdzv-backend", "b"},
    {"rdzv-endpoint", "h:1"},
    {"rdzv-id", "i"},
    {"rdzv-conf", "k=v"},
    {"role", "r"},
    {"start-method", "fork"},
    {"max-restarts", "4"},
    {"monitor-interval", "2"},
    {"shutdown-timeout", "7"},
    {"signals-to-handle", "SIGUSR1"},
    {"log-dir", "d"},
    {"redirects", "1"},
    {"tee", "2"},
    {"local-ranks-filter", "0,1"},
    {"log-line-prefix-template", "p"},
    {"duplicate-stdout-filters", "x,,y"},
    {"duplicate-stderr-filters", "z"},
    {"event-log-handler", "console"},
};
constexpr const char* all_switches[] = {"standalone", "no-python", "module", "run-path", "virtual-local-rank"};

std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string variable_of(std::string name) {
  name = with_underscores(std::move(name));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c == '_' ? c : char(c - 'a' + 'A'); });
  return "PET_" + name;
}

TEST(Options, EveryOptionArrivesInBothSpellingsAndBothForms) {
  for (const bool underscores : {false, true}) {
    for (const bool joined : {false, true}) {
      const auto spelled = [&](const char* name) { return "--" + (underscores ? with_underscores(name) : name); };
      Args args;
      for (const auto& [name, value] : all_values) {
        args.push_back(spelled(name) + (joined ? std::string("=") + value : ""));
        if (!joined) args.emplace_back(value);
      }
      for (const char* name : all_switches) args.push_back(spelled(name));
      args.emplace_back("pkg.mod");
      const Options options = parse(args);
      expect_all_given(options);
      EXPECT_EQ(options.program, "pkg.mod");
      EXPECT_EQ(options.nproc_per_node.origin, "--nproc-per-node");
    }
  }
}

TEST(Options, TheOptionsWithoutAVariableArriveToo) {
  const Options options = parse({"--numa-binding=node", "--omp_threads", "auto", "--logs-specs=mine", "--explain=json",
                                 "--join=any", "--max_membership_restarts", "2", "a"});
  EXPECT_EQ(options.numa_binding.value, "node");
  EXPECT_EQ(options.omp_threads.value, "auto");
  EXPECT_EQ(options.logs_specs.value, "mine");
  EXPECT_EQ(options.explain.value, "json");
  EXPECT_EQ(options.join.origin, "--join");
  EXPECT_EQ(options.max_membership_restarts.value, 2);
  EXPECT_EQ(parse({"--explain", "a"}).explain.value, "text");
  EXPECT_EQ(parse({"a"}, {{"PET_NUMA_BINDING", "node"}}).numa_binding.value, "");
}

TEST(Options, EverySettingOfTheTableIsShown) {
  const auto shown = shown_settings(Options());
  std::vector<std::string> names{"--explain", "--print-completion", "--help", "--version"};
  for (const ShownSetting& setting : shown) names.push_back(setting.name);
  std::vector<std::string> table;
  for (const OptionRow& row : option_table()) {
    table.emplace_back(row.name);
    EXPECT_FALSE(row.text.empty()) << row.name;
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(table));
}

TEST(Options, OnlyWhatTheUserSaysIsGiven) {
  const Options options = parse({"--nnodes=1", "a"}, {{"PET_ROLE", "default"}});
  EXPECT_EQ(options.nnodes.source, Source::flag);
  EXPECT_EQ(options.role.source, Source::variable);
  EXPECT_EQ(options.rdzv_id.source, Source::initial);
  EXPECT_TRUE(options.nnodes.given() && options.role.given());
  EXPECT_FALSE(options.rdzv_id.given());
}

TEST(Options, ClosedChoicesAreAllThatAFlagMayBe) {
  for (const OptionRow& row : option_table()) {
    if (row.choices.empty() || row.closed != Closed::for_flags) continue;
    const std::string said = fault({std::string(row.name) + "=other", "a"});
    for (const std::string_view choice : row.choices) {
      EXPECT_THAT(said, HasSubstr(choice));
      EXPECT_EQ(fault({std::string(row.name) + "=" + std::string(choice), "a"}), "");
    }
  }
  EXPECT_EQ(parse({"a"}, {{"PET_START_METHOD", "other"}}).start_method.value, "other");
}

TEST(Options, ARuleNamesTheChoicesOfTheTable) {
  Options options = parse({"--color=never", "a"});
  EXPECT_TRUE(check_choice(options, &Options::color));
  options.color.value = "red";
  EXPECT_EQ(check_choice(options, &Options::color).error().message, "--color red: expected auto, always or never");
  options.join.value = "Any";
  EXPECT_THAT(check_choice(options, &Options::join).error().message, HasSubstr("expected any or between-restarts"));
}

TEST(Options, SettingsAreShownWithTheirOrigin) {
  const auto shown = shown_settings(parse({"--nnodes=2", "a"}, {{"PET_NODE_RANK", "1"}, {"PET_STANDALONE", "1"}}));
  EXPECT_EQ(shown[0].name, "--nnodes");
  EXPECT_EQ(shown[0].value, "2");
  EXPECT_EQ(shown[0].origin, "--nnodes");
  EXPECT_EQ(shown[2].value, "1");
  EXPECT_EQ(shown[2].origin, "PET_NODE_RANK");
  EXPECT_EQ(shown[6].value, "on");
  EXPECT_EQ(shown[3].origin, "");
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

TEST(Options, VariablesStandInForEveryOption) {
  Environment env;
  for (const auto& [name, value] : all_values) env.set(variable_of(name), value);
  for (const char* name : all_switches) env.set(variable_of(name), "yes");
  env.set("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "8");
  env.set("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "q");
  const Options options = parse({"a"}, env);
  expect_all_given(options);
  EXPECT_EQ(options.nnodes.origin, "PET_NNODES");
  EXPECT_EQ(options.shutdown_timeout.origin, "PET_SHUTDOWN_TIMEOUT");
  EXPECT_EQ(parse({"a"}, {{"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "q"}}).log_line_prefix_template.value, "q");
  EXPECT_EQ(parse({"a"}, {{"PET_NODE_RANK", " 1 "}, {"PET_NO_PYTHON", "True"}, {"PET_MODULE", "2"}}).node_rank.value,
            1);
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

TEST(Options, EmptyTextsThatTorchrunTakesAreTaken) {
  const Options empty = parse({"--role=", "--local-addr=", "--master-addr=", "--log-dir=", "a"});
  EXPECT_EQ(empty.role.value, "");
  EXPECT_EQ(empty.role.origin, "--role");
  EXPECT_EQ(empty.master_addr.value, "");
  EXPECT_FALSE(empty.local_addr.given() || empty.log_dir.given());
  EXPECT_EQ(parse({"a"}, {{"PET_ROLE", ""}}).role.value, "");
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
      {{"--standalon3", "a"}, "did you mean --standalone?"},
      {{"--log", "x", "a"}, "ambiguous option --log: it could be --log-dir or --logs-specs"},
      {{"--use-env", "a"}, "--use-env: leave it out"},
      {{"--bogus", "a"}, "unknown option --bogus; see launch --help"},
      {{"--bogus\n=1", "a"}, "unknown option \"--bogus\\x0a\""},
      {{"-x", "a"}, "unknown option -x"},
      {{"-mx", "a"}, "unknown option -mx"},
      {{"-t"}, "-t needs a value"},
      {{"--explain=xml", "a"}, "--explain xml: expected text, json"},
      {{"--print-completion=ksh", "a"}, "--print-completion ksh: expected bash, zsh, tcsh or fish"},
      {{"--max-restarts=x", "a"}, "--max-restarts x: expected a whole number"},
      {{"--max-membership-restarts=x", "a"}, "--max-membership-restarts x: expected a whole number"},
      {{"--join=", "a"}, "--join: the value is empty"},
      {{"-1", "a"}, "unknown option -1"},
      {{"-np", "4", "a"}, "unknown option -np; for the number of workers on each node give --nproc-per-node"},
      {{"--num_machines=2", "a"}, "unknown option --num_machines; for the number of nodes give --nnodes"},
      {{"---nnodes=1", "a"}, "did you mean --nnodes?"},
      {{"--nnodes"}, "--nnodes needs a value"},
      {{"--role", "--standalone", "a"}, "--role needs a value, but --standalone follows; write --role=--standalone"},
      {{"--role", "--", "a"}, "--role needs a value"},
      {{"--standalone=1", "a"}, "--standalone takes no value"},
      {{"--help=", "a"}, "--help takes no value"},
      {{"--numa-binding=x", "a"}, "--numa-binding x: expected node, socket, exclusive, core-complex"},
      {{"--node-rank", "abc", "a"}, "--node-rank abc: expected a whole number"},
      {{"--node-rank=1.5", "a"}, "--node-rank 1.5: expected a whole number"},
      {{"--master-port=http", "a"}, "--master-port http: expected a whole number"},
      {{"--shutdown-timeout=1s", "a"}, "--shutdown-timeout 1s: expected a whole number"},
      {{"--monitor-interval=fast", "a"}, "--monitor-interval fast: expected a number of seconds"},
  };
  for (const auto& c : cases) EXPECT_THAT(fault(c.args), HasSubstr(c.words));
}

TEST(Options, EmptyValuesOfFlagsNameTheFlagAndEatNothing) {
  for (const char* name :
       {"--nnodes", "--nproc-per-node", "--node-rank", "--master-port", "--rdzv-backend", "--monitor-interval",
        "--shutdown-timeout", "--max-restarts", "--redirects", "--tee", "--signals-to-handle", "--event-log-handler"}) {
    EXPECT_THAT(fault({std::string(name) + "=", "1"}), HasSubstr(std::string(name) + ": the value is empty"));
    EXPECT_THAT(fault({name, "", "1"}), HasSubstr(std::string(name) + ": the value is empty"));
  }
}

TEST(Options, BadVariablesAreNamed) {
  for (const char* name : {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_PORT", "PET_RDZV_BACKEND",
                           "PET_STANDALONE", "PET_MODULE", "PET_NO_PYTHON", "PET_MONITOR_INTERVAL",
                           "PET_SHUTDOWN_TIMEOUT", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "PET_MAX_RESTARTS"}) {
    EXPECT_THAT(fault({"a"}, {{name, ""}}),
                HasSubstr(std::string(name) + " is set but empty, which counts as a value"));
  }
  EXPECT_THAT(fault({"a"}, {{"PET_NODE_RANK", "abc"}}), HasSubstr("PET_NODE_RANK=abc: expected a whole number"));
  EXPECT_THAT(fault({"a"}, {{"PET_STANDALONE", "maybe"}}), HasSubstr("PET_STANDALONE=maybe: expected"));
}

TEST(Options, HelpAndVersionWinOverMissingProgramsAndBadVariables) {
  EXPECT_THAT(text({"--help"}), HasSubstr("Usage: launch"));
  EXPECT_EQ(text({"--help"}), help_text());
  EXPECT_EQ(text({"-h"}), short_help_text());
  EXPECT_EQ(text({"-mh"}), short_help_text());
  EXPECT_EQ(text({"-h", "--help"}), help_text());
  EXPECT_THAT(text({"--print-completion", "bash"}), HasSubstr("complete"));
  EXPECT_EQ(text({"--nnodes=x", "-h", "train.py"}), short_help_text());
  EXPECT_THAT(text({"--version"}), HasSubstr("launch " LAUNCH_VERSION));
  const auto despite_variable = parse_command({"--help"}, {{"PET_NODE_RANK", "x"}});
  ASSERT_TRUE(despite_variable);
  EXPECT_TRUE(std::holds_alternative<HelpCommand>(*despite_variable));
}

TEST(Options, TheProcessEnvironmentIsNeverRead) {
  ASSERT_EQ(setenv("PET_NNODES", "9", 1), 0);
  EXPECT_EQ(parse({"a"}).nnodes.value, "1");
  ASSERT_EQ(unsetenv("PET_NNODES"), 0);
}

}  // namespace launch::options_test
