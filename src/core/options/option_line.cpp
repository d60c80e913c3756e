#include "launch/core/options/option_line.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/options/foreign_names.hpp"
#include "launch/core/options/nearest_name.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::string_view help_option = "--help";

bool spelled(const OptionRow& row, std::string_view name) { return row.name == name || underscored(row.name) == name; }

bool begins(const OptionRow& row, std::string_view name) {
  return !row.ours && (row.name.starts_with(name) || underscored(row.name).starts_with(name));
}

Error unknown_option(std::string_view name) {
  if (name == "--use-env" || name == "--use_env") {
    return usage_error(fmt::format("{}: leave it out; workers always get their ranks by the environment", name));
  }
  if (const auto hint = hint_for_foreign(name)) return usage_error(fmt::format("unknown option {}; {}", name, *hint));
  std::vector<std::string> known;
  for (const OptionRow& row : option_table()) known.emplace_back(row.name);
  if (const auto nearest = nearest_name(name, known)) {
    return usage_error(fmt::format("unknown option {}; did you mean {}?", shown(name), *nearest));
  }
  return usage_error(fmt::format("unknown option {}; see launch --help", shown(name)));
}

Result<const OptionRow*> find_long(std::string_view name) {
  std::vector<const OptionRow*> fitting;
  for (const OptionRow& row : option_table()) {
    if (spelled(row, name)) return &row;
    if (name.size() > 2 && begins(row, name)) fitting.push_back(&row);
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) return unknown_option(name);
  std::vector<std::string> names;
  names.reserve(fitting.size());
  for (const OptionRow* row : fitting) names.emplace_back(row->name);
  return usage_error(fmt::format("ambiguous option {}: it could be {}", shown(name), fmt::join(names, " or ")));
}

const OptionRow* find_short(char letter) {
  for (const OptionRow& row : option_table())
    if (row.short_name.size() == 2 && row.short_name[1] == letter) return &row;
  return nullptr;
}

bool is_option(std::string_view token) { return token.size() > 1 && token[0] == '-'; }

// -5, -.5, -0.5: what argparse takes for a negative number.
bool is_negative_number(std::string_view token) {
  return token.size() > 1 && token.substr(1).find_first_not_of("0123456789.") == std::string_view::npos &&
         parse_decimal(token) && token.back() != '.';
}

// Whether the token may be the value of an option: a negative number may, and so may a text with a blank in it.
bool may_be_value(std::string_view token) {
  return !is_option(token) || is_negative_number(token) || token.find(' ') != std::string_view::npos;
}

// Reads `args` from the front; `at_` is the first token that was not read yet.
class LineReader {
 public:
  explicit LineReader(const std::vector<std::string>& args) : args_(args) {}

  Result<OptionLine> read() {
    while (at_ < args_.size() && is_option(args_[at_]) && args_[at_] != "--") {
      const std::string_view token = args_[at_++];
      Status taken = token.starts_with("--") ? take_long(token) : take_short(token.substr(1));
      if (!taken) return taken.error();
    }
    line_.program = program_tokens();
    return std::move(line_);
  }

 private:
  Status take_long(std::string_view token) {
    const auto equals = token.find('=');
    const auto row = find_long(token.substr(0, equals));
    if (!row) return row.error();
    if ((*row)->name == help_option) line_.short_help = false;
    if (equals == std::string_view::npos) return take_value(**row, (*row)->name);
    if ((*row)->takes == OptionValue::none) return usage_error(fmt::format("{} takes no value", (*row)->name));
    line_.options.push_back({*row, std::string(token.substr(equals + 1))});
    return {};
  }

  // `letters` is what follows the dash: switches, and perhaps one option with its value at the end.
  Status take_short(std::string_view letters) {
    const std::string_view whole = letters;
    while (!letters.empty()) {
      const OptionRow* row = find_short(letters[0]);
      if (row == nullptr) return unknown_option(fmt::format("-{}", whole));
      letters.remove_prefix(1);
      if (row->takes == OptionValue::none) {
        if (row->name == help_option) line_.short_help = true;
        line_.options.push_back({row, std::nullopt});
        continue;
      }
      if (letters.empty()) return take_value(*row, row->short_name);
      if (letters[0] == '=') letters.remove_prefix(1);
      line_.options.push_back({row, std::string(letters)});
      return {};
    }
    return {};
  }

  // Takes the next token as the value, if the option needs one.
  Status take_value(const OptionRow& row, std::string_view name) {
    if (row.takes != OptionValue::required) {
      line_.options.push_back({&row, std::nullopt});
      return {};
    }
    if (at_ == args_.size()) return usage_error(fmt::format("{} needs a value", name));
    if (!may_be_value(args_[at_])) {
      return usage_error(fmt::format("{0} needs a value, but {1} follows; write {0}={1} if that is the value", name,
                                     shown(args_[at_])));
    }
    line_.options.push_back({&row, args_[at_++]});
    return {};
  }

  // As torchrun does: drops one "--" before the program, or otherwise one directly after it.
  std::vector<std::string> program_tokens() const {
    std::vector<std::string> rest(args_.begin() + static_cast<std::ptrdiff_t>(at_), args_.end());
    const auto marker = std::find(rest.begin(), rest.end(), "--");
    if (marker != rest.end() && marker - rest.begin() < 2) rest.erase(marker);
    return rest;
  }

  const std::vector<std::string>& args_;
  std::size_t at_ = 0;
  OptionLine line_;
};

}  // namespace

Result<OptionLine> read_option_line(const std::vector<std::string>& args) { return LineReader(args).read(); }

}  // namespace launch
