#include "launch/core/options/options.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/options/completion.hpp"
#include "launch/core/options/help.hpp"
#include "launch/core/options/option_line.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
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
  return usage_error(
      fmt::format("{} is set but empty, which counts as a value; unset it or give it one", given.origin));
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

std::string as_text(const std::string& value) { return value; }
std::string as_text(bool value) { return value ? "on" : "off"; }
std::string as_text(const std::optional<int>& value) { return value ? std::to_string(*value) : std::string(); }
template <class T>
std::string as_text(const T& value) {
  return fmt::format("{}", value);
}

// What an empty value says.
enum class Empty {
  wrong,  // nothing: one is needed
  none,   // the same as leaving the option out
  value,  // itself
};

// How one option of the table becomes a member of Options, and text again.
struct Slot {
  std::string_view name;
  Status (*store)(Options&, const Given&);
  ShownSetting (*show)(const Options&);
};

template <auto member, Empty empty>
Status store(Options& options, const Given& given) {
  auto& setting = options.*member;
  if constexpr (empty != Empty::wrong) {
    if (trim(given.text).empty()) {
      if (empty == Empty::value) setting = {given.text, given.origin};
      return {};
    }
  }
  return read(setting, given);
}

template <auto member>
ShownSetting show(const Options& options) {
  return {{}, as_text((options.*member).value), (options.*member).origin};
}

template <auto member, Empty empty = Empty::wrong>
constexpr Slot slot(std::string_view name) {
  return {name, store<member, empty>, show<member>};
}

constexpr Slot slots[] = {
    slot<&Options::nnodes>("--nnodes"),
    slot<&Options::nproc_per_node>("--nproc-per-node"),
    slot<&Options::node_rank>("--node-rank"),
    slot<&Options::master_addr, Empty::value>("--master-addr"),
    slot<&Options::master_port>("--master-port"),
    slot<&Options::local_addr, Empty::none>("--local-addr"),
    slot<&Options::standalone>("--standalone"),
    slot<&Options::rdzv_backend>("--rdzv-backend"),
    slot<&Options::rdzv_endpoint, Empty::none>("--rdzv-endpoint"),
    slot<&Options::rdzv_id, Empty::value>("--rdzv-id"),
    slot<&Options::rdzv_conf, Empty::none>("--rdzv-conf"),
    slot<&Options::join>("--join"),
    slot<&Options::module>("--module"),
    slot<&Options::no_python>("--no-python"),
    slot<&Options::run_path>("--run-path"),
    slot<&Options::role, Empty::value>("--role"),
    slot<&Options::virtual_local_rank>("--virtual-local-rank"),
    slot<&Options::numa_binding>("--numa-binding"),
    slot<&Options::omp_threads>("--omp-threads"),
    slot<&Options::stdin_rank>("--stdin"),
    slot<&Options::start_method>("--start-method"),
    slot<&Options::max_restarts>("--max-restarts"),
    slot<&Options::restart_on>("--restart-on"),
    slot<&Options::fail_on>("--fail-on"),
    slot<&Options::restart_window>("--restart-window"),
    slot<&Options::repeat_errors>("--repeat-errors"),
    slot<&Options::max_membership_restarts>("--max-membership-restarts"),
    slot<&Options::monitor_interval>("--monitor-interval"),
    slot<&Options::heartbeat_timeout>("--heartbeat-timeout"),
    slot<&Options::shutdown_timeout>("--shutdown-timeout"),
    slot<&Options::kill_grace>("--kill-grace"),
    slot<&Options::verdict>("--verdict"),
    slot<&Options::evidence>("--evidence"),
    slot<&Options::signals_to_handle>("--signals-to-handle"),
    slot<&Options::preempt_signal>("--preempt-signal"),
    slot<&Options::log_dir, Empty::none>("--log-dir"),
    slot<&Options::redirects>("--redirects"),
    slot<&Options::tee>("--tee"),
    slot<&Options::local_ranks_filter, Empty::none>("--local-ranks-filter"),
    slot<&Options::log_line_prefix_template, Empty::none>("--log-line-prefix-template"),
    slot<&Options::duplicate_stdout_filters, Empty::value>("--duplicate-stdout-filters"),
    slot<&Options::duplicate_stderr_filters, Empty::value>("--duplicate-stderr-filters"),
    slot<&Options::fold>("--fold"),
    slot<&Options::color>("--color"),
    slot<&Options::log_writer>("--log-writer"),
    slot<&Options::log_max_size>("--log-max-size"),
    slot<&Options::log_max_files>("--log-max-files"),
    slot<&Options::logs_specs>("--logs-specs"),
    slot<&Options::event_log_handler>("--event-log-handler"),
    slot<&Options::events>("--events"),
    slot<&Options::explain>("--explain"),
};

void declare_options(CLI::App& app) {
  app.set_help_flag();
  for (const OptionRow& row : option_table()) {
    const std::string name(row.name);
    CLI::Option* option = row.takes == OptionValue::none ? app.add_flag(name) : app.add_option(name);
    option->take_last();
  }
}

// Each value is a token of its own behind its option: CLI11 takes an empty value after '=' for none and would eat the
// next token instead. An optional value that was left out is the first that the option knows.
Status run_parser(CLI::App& app, const std::vector<GivenOption>& options) {
  std::vector<std::string> tokens;
  for (const GivenOption& given : options) {
    tokens.emplace_back(given.row->name);
    if (given.row->takes == OptionValue::none) continue;
    tokens.push_back(given.value ? *given.value : std::string(given.row->choices.front()));
  }
  std::reverse(tokens.begin(), tokens.end());  // CLI11 wants them from the last to the first
  try {
    app.parse(std::move(tokens));
  } catch (const CLI::Error& error) {
    return usage_error(fmt::format("the command line cannot be read: {}", shown(error.what())));
  }
  return {};
}

const OptionRow& row_of(std::string_view name) {
  const auto table = option_table();
  return *std::find_if(table.begin(), table.end(), [&](const OptionRow& row) { return row.name == name; });
}

std::optional<Given> find_given(const OptionRow& row, const CLI::App& app, const Environment& env) {
  const CLI::Option* option = app.get_option(std::string(row.name));
  if (option->count() > 0) return Given{option->results().back(), std::string(row.name)};
  for (const std::string_view variable : row.variables) {
    if (auto text = env.get(variable)) return Given{std::move(*text), std::string(variable)};
  }
  return std::nullopt;
}

// Only a flag is held to the choices: torchrun, too, takes any text from a variable.
Status check_choice(const OptionRow& row, const Given& given) {
  constexpr std::string_view closed[] = {"--start-method", "--numa-binding", "--explain"};
  const bool is_closed = std::find(std::begin(closed), std::end(closed), row.name) != std::end(closed);
  if (!is_closed || !given.origin.starts_with('-')) return {};
  if (std::find(row.choices.begin(), row.choices.end(), given.text) != row.choices.end()) return {};
  return usage_error(fmt::format("{}: expected {}", as_typed(given.origin, given.text), fmt::join(row.choices, ", ")));
}

Result<Options> gather(const CLI::App& app, const Environment& env) {
  Options options;
  for (const Slot& slot : slots) {
    const OptionRow& row = row_of(slot.name);
    const auto given = find_given(row, app, env);
    if (!given) continue;
    if (Status fits = check_choice(row, *given); !fits) return fits.error();
    if (Status stored = slot.store(options, *given); !stored) return stored.error();
  }
  return options;
}

// --help and its like win over whatever else is wrong.
std::optional<Result<Command>> text_command(const CLI::App& app) {
  if (app.count("--help") > 0) return TextCommand{help_text()};
  if (app.count("--version") > 0) return TextCommand{version_text()};
  if (app.count("--print-completion") == 0) return std::nullopt;
  auto text = completion_text(app.get_option("--print-completion")->results().back());
  if (!text) return text.error();
  return TextCommand{*std::move(text)};
}

}  // namespace

std::string as_typed(const Setting<std::string>& setting) { return as_typed(setting.origin, setting.value); }
std::string as_typed(const Setting<int>& setting) { return as_typed(setting.origin, as_text(setting.value)); }
std::string as_typed(const Setting<double>& setting) { return as_typed(setting.origin, as_text(setting.value)); }

Result<Command> parse_command(const std::vector<std::string>& args, const Environment& env) {
  auto line = read_option_line(args);
  if (!line) return line.error();
  CLI::App app;
  declare_options(app);
  if (Status parsed = run_parser(app, line->options); !parsed) return parsed.error();
  if (auto text = text_command(app)) return *std::move(text);
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

std::vector<ShownSetting> shown_settings(const Options& options) {
  std::vector<ShownSetting> result;
  for (const Slot& slot : slots) {
    if (slot.name == "--explain") continue;
    result.push_back(slot.show(options));
    result.back().name = slot.name;
  }
  return result;
}

}  // namespace launch
