#include "launch/core/options/options.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/options/completion.hpp"
#include "launch/core/options/help.hpp"
#include "launch/core/options/option_line.hpp"
#include "launch/core/options/option_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace launch {
namespace {

// One value as text, and where it comes from.
struct Given {
  std::string text;
  std::string origin;
  Source source = Source::initial;
};

Error empty_value(const Given& given) {
  if (given.source == Source::flag) {
    return usage_error(fmt::format("{}: the value is empty; give one or leave the option out", given.origin));
  }
  return usage_error(
      fmt::format("{} is set but empty, which counts as a value; unset it or give it one", given.origin));
}

template <class T>
Status accept(Setting<T>& setting, std::optional<T> value, const Given& given, std::string_view expected) {
  if (!value) return usage_error(fmt::format("{}: expected {}", as_typed(given.origin, given.text), expected));
  setting = {std::move(*value), given.origin, given.source};
  return {};
}

Status read(Setting<int>& setting, const Given& given) {
  return accept(setting, parse_int(given.text), given, "a whole number");
}

Status read(Setting<std::optional<int>>& setting, const Given& given) {
  Setting<int> number;
  if (Status done = read(number, given); !done) return done;
  setting = {number.value, given.origin, given.source};
  return {};
}

Status read(Setting<double>& setting, const Given& given) {
  return accept(setting, parse_decimal(given.text), given, "a number of seconds");
}

Status read(Setting<bool>& setting, const Given& given) {
  return accept(setting, parse_bool(given.text), given, "a whole number (0 is off), true, false, yes or no");
}

Status read(Setting<std::string>& setting, const Given& given) {
  setting = {given.text, given.origin, given.source};
  return {};
}

// Calls `visit` with the setting in `options`, which may be const, that belongs to the row, if it has one.
template <class AnyOptions, class Visit>
void visit_setting(const OptionRow& row, AnyOptions& options, Visit visit) {
  std::visit(
      [&](auto member) {
        if constexpr (!std::is_same_v<decltype(member), std::monostate>) visit(options.*member);
      },
      row.member);
}

Status store(const OptionRow& row, const Given& given, Options& options) {
  Status done;
  visit_setting(row, options, [&](auto& setting) { done = read(setting, given); });
  return done;
}

std::string as_text(const std::string& value) { return value; }
std::string as_text(bool value) { return value ? "on" : "off"; }
std::string as_text(const std::optional<int>& value) { return value ? std::to_string(*value) : std::string(); }
template <class T>
std::string as_text(const T& value) {
  return fmt::format("{}", value);
}

// What the command line says: CLI11 holds the values that each option was given, and the last one counts. It knows only
// the options that were given, because it compares each new one with all others.
class Flags {
 public:
  explicit Flags(const std::vector<GivenOption>& line) {
    app_.set_help_flag();
    for (const GivenOption& given : line) option_of(*given.row).add_result(text_of(given));
  }

  std::optional<std::string> value_of(const OptionRow& row) const {
    const auto found = options_.find(&row);
    return found == options_.end() ? std::nullopt : last_value(*found->second);
  }

  std::optional<std::string> value_of(const char* name) const {
    const CLI::Option* option = app_.get_option_no_throw(name);
    return option == nullptr ? std::nullopt : last_value(*option);
  }

 private:
  static std::string text_of(const GivenOption& given) {
    if (given.row->takes == OptionValue::none) return "true";
    return given.value ? *given.value : std::string(given.row->choices.front());
  }

  static std::optional<std::string> last_value(const CLI::Option& option) {
    if (option.empty()) return std::nullopt;
    return option.as<std::string>();
  }

  CLI::Option& option_of(const OptionRow& row) {
    const auto [entry, is_new] = options_.try_emplace(&row);
    if (is_new) entry->second = app_.add_option(std::string(row.name))->take_last();
    return *entry->second;
  }

  CLI::App app_;
  std::map<const OptionRow*, CLI::Option*> options_;  // of app_
};

std::optional<Given> ask_flag(const OptionRow& row, const Flags& flags, const Environment&) {
  auto text = flags.value_of(row);
  if (!text) return std::nullopt;
  return Given{*std::move(text), std::string(row.name), Source::flag};
}

std::optional<Given> ask_variable(const OptionRow& row, const Flags&, const Environment& env) {
  for (const std::string_view variable : row.variables)
    if (auto text = env.get(variable)) return Given{*std::move(text), std::string(variable), Source::variable};
  return std::nullopt;
}

// In the order of Source, without the default: that is used if none of these gives a value.
constexpr std::array sources{ask_flag, ask_variable};

std::optional<Given> find_given(const OptionRow& row, const Flags& flags, const Environment& env) {
  for (const auto ask : sources)
    if (auto given = ask(row, flags, env)) return given;
  return std::nullopt;
}

bool is_choice(const OptionRow& row, std::string_view text) {
  return std::find(row.choices.begin(), row.choices.end(), text) != row.choices.end();
}

Status check_flag(const OptionRow& row, const Given& given) {
  if (row.closed != Closed::for_flags || given.source != Source::flag || is_choice(row, given.text)) return {};
  return usage_error(fmt::format("{}: expected {}", as_typed(given.origin, given.text), fmt::join(row.choices, ", ")));
}

Status take(const OptionRow& row, const Given& given, Options& options) {
  if (Status fits = check_flag(row, given); !fits) return fits;
  if (trim(given.text).empty()) {
    if (row.empty == EmptyText::wrong) return empty_value(given);
    if (row.empty == EmptyText::left_out) return {};
  }
  return store(row, given, options);
}

Result<Options> gather(const Flags& flags, const Environment& env) {
  Options options;
  for (const OptionRow& row : option_table()) {
    if (!row.initial.empty())
      if (Status done = store(row, {std::string(row.initial), {}, Source::initial}, options); !done)
        return done.error();
    if (const auto given = find_given(row, flags, env))
      if (Status done = take(row, *given, options); !done) return done.error();
  }
  return options;
}

// --help, --version and --print-completion are answered even if values of options are wrong or missing.
std::optional<Result<Command>> text_command(const Flags& flags, bool short_help) {
  if (flags.value_of("--help")) return HelpCommand{short_help};
  if (flags.value_of("--version")) return TextCommand{version_text()};
  const auto shell = flags.value_of("--print-completion");
  if (!shell) return std::nullopt;
  auto text = completion_text(*shell);
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
  const Flags flags(line->options);
  if (auto text = text_command(flags, line->short_help)) return *std::move(text);
  if (const auto protocol = flags.value_of("--remote")) return RemoteCommand{*protocol};
  auto options = gather(flags, env);
  if (!options) return options.error();
  if (options->check.value && line->program.empty()) return *std::move(options);
  if (line->program.empty() || line->program.front().empty()) {
    return usage_error(
        "no script or program given; write it after the options: launch [OPTION...] PROGRAM [ARGUMENT...]");
  }
  options->program = std::move(line->program.front());
  options->program_args.assign(std::make_move_iterator(line->program.begin() + 1),
                               std::make_move_iterator(line->program.end()));
  return *std::move(options);
}

Status check_choice(const Options& options, Setting<std::string> Options::*member) {
  const OptionRow& row = row_of(member);
  const Setting<std::string>& setting = options.*member;
  if (is_choice(row, setting.value)) return {};
  const std::string most = fmt::format("{}", fmt::join(row.choices.begin(), row.choices.end() - 1, ", "));
  return usage_error(fmt::format("{}: expected {} or {}", as_typed(setting), most, row.choices.back()));
}

std::vector<ShownSetting> shown_settings(const Options& options) {
  std::vector<ShownSetting> result;
  for (const OptionRow& row : option_table()) {
    if (row.member == OptionMember(&Options::explain)) continue;
    visit_setting(row, options, [&](const auto& setting) {
      const bool hidden = row.hides_default && setting.source == Source::initial;
      result.push_back({std::string(row.name), hidden ? "" : as_text(setting.value), setting.origin, setting.source});
    });
  }
  return result;
}

}  // namespace launch
