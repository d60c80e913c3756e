#include "launch/core/options.hpp"

#include "launch/core/help.hpp"
#include "launch/core/nearest_name.hpp"
#include "launch/core/text.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace launch {
namespace {

// One value as the user wrote it, and where.
struct Given {
  std::string text;
  std::string origin;
};

Error empty_value(const Given& given) {
  if (given.origin.starts_with('-')) {
    return usage_error(fmt::format("{}: the value is empty; give one or leave the option out", given.origin));
  }
  return usage_error(fmt::format("{} is set but empty; unset it or give it a value", given.origin));
}

template <class T>
Status accept(Setting<T>& setting, std::optional<T> value, const Given& given, std::string_view expected) {
  if (trim(given.text).empty()) return empty_value(given);
  if (!value) return usage_error(fmt::format("{}: expected {}", as_typed(given.origin, given.text), expected));
  setting = {std::move(*value), given.origin};
  return {};
}

Status read(Setting<int>& setting, const Given& given) {
  return accept(setting, parse_int(given.text), given, "a whole number");
}

Status read(Setting<std::optional<int>>& setting, const Given& given) {
  Setting<int> number;
  if (Status done = read(number, given); !done) return done;
  setting = {number.value, given.origin};
  return {};
}

Status read(Setting<double>& setting, const Given& given) {
  return accept(setting, parse_decimal(given.text), given, "a number of seconds");
}

Status read(Setting<bool>& setting, const Given& given) {
  return accept(setting, parse_bool(given.text), given, "a whole number (0 is off), true, false, yes or no");
}

Status read(Setting<std::string>& setting, const Given& given) {
  return accept(setting, std::optional(given.text), given, "a text");
}

template <auto member>
Status store(Options& options, const Given& given) {
  return read(options.*member, given);
}

// An empty endpoint or configuration is as good as none.
template <auto member>
Status store_unless_empty(Options& options, const Given& given) {
  return trim(given.text).empty() ? Status{} : read(options.*member, given);
}

// An empty id has a meaning of its own: a fresh one is wanted.
Status store_id(Options& options, const Given& given) {
  options.rdzv_id = {given.text, given.origin};
  return {};
}

struct Row {
  std::string name;
  bool takes_value;
  std::vector<std::string> variables;  // the first that is set counts
  Status (*store)(Options&, const Given&);
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table{
      {"--nnodes", true, {"PET_NNODES"}, store<&Options::nnodes>},
      {"--nproc-per-node", true, {"PET_NPROC_PER_NODE"}, store<&Options::nproc_per_node>},
      {"--node-rank", true, {"PET_NODE_RANK"}, store<&Options::node_rank>},
      {"--master-addr", true, {"PET_MASTER_ADDR"}, store<&Options::master_addr>},
      {"--master-port", true, {"PET_MASTER_PORT"}, store<&Options::master_port>},
      {"--standalone", false, {"PET_STANDALONE"}, store<&Options::standalone>},
      {"--rdzv-backend", true, {"PET_RDZV_BACKEND"}, store<&Options::rdzv_backend>},
      {"--rdzv-endpoint", true, {"PET_RDZV_ENDPOINT"}, store_unless_empty<&Options::rdzv_endpoint>},
      {"--rdzv-id", true, {"PET_RDZV_ID"}, store_id},
      {"--rdzv-conf", true, {"PET_RDZV_CONF"}, store_unless_empty<&Options::rdzv_conf>},
      {"--role", true, {"PET_ROLE"}, store<&Options::role>},
      {"--module", false, {"PET_MODULE"}, store<&Options::module>},
      {"--no-python", false, {"PET_NO_PYTHON"}, store<&Options::no_python>},
      {"--monitor-interval", true, {"PET_MONITOR_INTERVAL"}, store<&Options::monitor_interval>},
      {"--shutdown-timeout",
       true,
       {"PET_SHUTDOWN_TIMEOUT", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"},
       store<&Options::shutdown_timeout>},
  };
  return table;
}

std::string spellings(const std::string& name) {
  std::string underscored = name.substr(2);
  std::replace(underscored.begin(), underscored.end(), '-', '_');
  return fmt::format("{},--{}", name, underscored);
}

void declare_options(CLI::App& app) {
  app.set_help_flag();
  app.add_flag("-h,--help");
  app.add_flag("--version");
  for (const Row& row : rows()) {
    const std::string names = row.name == "--module" ? "-m,--module" : spellings(row.name);
    CLI::Option* option = row.takes_value ? app.add_option(names) : app.add_flag(names);
    option->take_last();
  }
}

Error unknown_option(const std::string& name) {
  std::vector<std::string> known{"--help", "--version"};
  for (const Row& row : rows()) known.push_back(row.name);
  if (const auto nearest = nearest_name(name, known)) {
    return usage_error(fmt::format("unknown option {}; did you mean {}?", shown(name), *nearest));
  }
  return usage_error(fmt::format("unknown option {}; --help lists those that are known", shown(name)));
}

// A command line cut where our options end. In `options` each value is a token of its own behind its option: CLI11
// takes an empty value after '=' for none and would eat the next token instead.
struct CutLine {
  std::vector<std::string> options;
  std::vector<std::string> program;  // and its arguments
};

bool looks_like_option(const std::string& token) { return token.size() > 1 && token[0] == '-'; }

// The value of `name`, which is the token after it.
Result<std::string> next_value(const std::vector<std::string>& args, std::size_t at, const std::string& name) {
  if (at == args.size()) return usage_error(fmt::format("{} needs a value", name));
  if (looks_like_option(args[at]) && !parse_decimal(args[at])) {
    return usage_error(
        fmt::format("{0} needs a value, but {1} follows; write {0}={1} if that is the value", name, shown(args[at])));
  }
  return args[at];
}

// The tokens behind our options. As torchrun has it, one "--" before the program is dropped, or else one directly
// behind it.
std::vector<std::string> program_tokens(std::vector<std::string> rest) {
  const auto marker = std::find(rest.begin(), rest.end(), "--");
  if (marker != rest.end() && marker - rest.begin() < 2) rest.erase(marker);
  return rest;
}

Result<CutLine> cut(const CLI::App& app, const std::vector<std::string>& args) {
  CutLine line;
  std::size_t at = 0;
  while (at < args.size() && looks_like_option(args[at]) && args[at] != "--") {
    const std::string& token = args[at++];
    const auto equals = token.find('=');
    const std::string name = token.substr(0, equals);
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) return unknown_option(name);
    line.options.push_back(name);
    if (option->get_items_expected_max() == 0) {
      if (equals != std::string::npos) return usage_error(fmt::format("{} takes no value", name));
    } else if (equals != std::string::npos) {
      line.options.push_back(token.substr(equals + 1));
    } else {
      auto value = next_value(args, at++, name);
      if (!value) return value.error();
      line.options.push_back(std::move(*value));
    }
  }
  line.program = program_tokens({args.begin() + static_cast<std::ptrdiff_t>(at), args.end()});
  return line;
}

Status run_parser(CLI::App& app, std::vector<std::string> tokens) {
  std::reverse(tokens.begin(), tokens.end());  // CLI11 wants them from the last to the first
  try {
    app.parse(std::move(tokens));
  } catch (const CLI::Error& error) {
    return usage_error(fmt::format("the command line cannot be read: {}", shown(error.what())));
  }
  return {};
}

std::optional<Given> find_given(const Row& row, const CLI::App& app, const Environment& env) {
  const CLI::Option* option = app.get_option(row.name);
  if (option->count() > 0) return Given{option->results().back(), row.name};
  for (const std::string& variable : row.variables) {
    if (auto text = env.get(variable)) return Given{std::move(*text), variable};
  }
  return std::nullopt;
}

Result<Options> gather(const CLI::App& app, const Environment& env) {
  Options options;
  for (const Row& row : rows()) {
    const auto given = find_given(row, app, env);
    if (!given) continue;
    if (Status stored = row.store(options, *given); !stored) return stored.error();
  }
  return options;
}

}  // namespace

Result<Command> parse_command(const std::vector<std::string>& args, const Environment& env) {
  CLI::App app;
  declare_options(app);
  auto line = cut(app, args);
  if (!line) return line.error();
  if (Status parsed = run_parser(app, std::move(line->options)); !parsed) return parsed.error();
  if (app.count("--help") > 0) return TextCommand{help_text()};
  if (app.count("--version") > 0) return TextCommand{version_text()};
  auto options = gather(app, env);
  if (!options) return options.error();
  if (line->program.empty() || line->program.front().empty()) {
    return usage_error(
        "no script or program given; write it after the options: launch [OPTION...] PROGRAM [ARGUMENT...]");
  }
  options->program = std::move(line->program.front());
  options->program_args.assign(std::make_move_iterator(line->program.begin() + 1),
                               std::make_move_iterator(line->program.end()));
  return *std::move(options);
}

}  // namespace launch
