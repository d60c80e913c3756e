#include "launch/core/progress/progress_pattern.hpp"

#include "launch/core/base/arithmetic.hpp"
#include "launch/core/base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

struct ReadyMade {
  std::string_view name;
  std::array<const char*, 2> forms;  // the best one first; null: there is none
};

// tqdm's bar has "| 50/1000 [" or, if the end is not known, "50it [". Steps may be scaled: "1.20k/5.00k".
constexpr const char* bar = R"(\| *([0-9][0-9.]*[kMGT]?)/[0-9.?]+[kMGT]? \[)";
constexpr const char* endless_bar = R"((?:^|: )([0-9][0-9.]*[kMGT]?)[A-Za-z]+ \[[0-9:]+, )";

constexpr ReadyMade all_ready_made[] = {
    {"tqdm", {bar, endless_bar}},
    {"lightning", {R"(^Epoch [0-9]+:.*\| *([0-9]+)/[0-9?]+ \[)", R"(^Epoch [0-9]+: +([0-9]+)it \[)"}},
    {"hf", {bar, R"(^\{'.*'epoch': '?([0-9][0-9.]*))"}},
    {"megatron", {R"(^ *(?:\[[^\]]*\] *)?iteration +([0-9]+)/ *[0-9]+ \|)", nullptr}},
    {"nanogpt", {R"(^iter ([0-9]+): loss )", nullptr}},
};

constexpr auto grammar = std::regex::ECMAScript | std::regex::optimize
#ifdef __GLIBCXX__
                         | std::regex_constants::__polynomial
#endif
    ;

// Walks over an expression that std::regex has taken, outside its groups and classes.
class PlainTexts {
 public:
  explicit PlainTexts(std::string_view expression) : rest_(expression) {}

  std::vector<std::string> runs() {
    while (!rest_.empty() && known_) take(next());
    end_run();
    return known_ ? runs_ : std::vector<std::string>();
  }

 private:
  char next() {
    const char one = rest_.front();
    rest_.remove_prefix(1);
    return one;
  }

  void take(char one) {
    constexpr std::string_view breaks = ".^$+";
    constexpr std::string_view repeats = "*?{";  // what stands before may be missing
    constexpr std::string_view repeats_again = "*?+{";
    if (one == '|') known_ = false;
    if (one == '\\') return take_escape();
    if (one == '[' || one == '(') return skip(one);
    if (repeats.find(one) != std::string_view::npos) {
      if (!run_.empty()) run_.pop_back();
      if (one == '{') rest_.remove_prefix(std::min(rest_.find('}'), rest_.size() - 1) + 1);
      return end_run();
    }
    const bool repeated_again = !rest_.empty() && repeats_again.find(rest_.front()) != std::string_view::npos;
    if (one == '+' && repeated_again && !run_.empty()) run_.pop_back();  // "b+*" may be missing
    if (breaks.find(one) != std::string_view::npos) return end_run();
    run_ += one;
  }

  void take_escape() {
    constexpr std::string_view one_letter = "dDwWsSbBtnrfv";
    if (rest_.empty()) return;
    const char one = next();
    const bool word = (one >= '0' && one <= '9') || (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z');
    if (!word) run_ += one;
    if (word) end_run();
    if (word && one_letter.find(one) == std::string_view::npos) known_ = false;  // what follows belongs to it
  }

  // To the end of the class or group that has begun.
  void skip(char opened) {
    end_run();
    int groups = opened == '(' ? 1 : 0;
    bool in_class = opened == '[';
    while (!rest_.empty() && (groups > 0 || in_class)) {
      const char one = next();
      const char escaped = one == '\\' && !rest_.empty() ? next() : '\0';
      if (escaped == 'c') known_ = false;          // it takes whatever follows, also the end of the class
      if (in_class && one == '[') known_ = false;  // such as [:alpha:]
      if (in_class) {
        in_class = one != ']';
      } else {
        in_class = one == '[';
        groups += (one == '(' ? 1 : 0) - (one == ')' ? 1 : 0);
      }
    }
  }

  void end_run() {
    if (!run_.empty()) runs_.push_back(std::exchange(run_, {}));
  }

  std::string_view rest_;
  std::string run_;
  std::vector<std::string> runs_;
  bool known_ = true;
};

bool has_in_order(std::string_view line, const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(), [&line](const std::string& text) {
    const auto at = line.find(text);
    line.remove_prefix(at == std::string_view::npos ? line.size() : at + text.size());
    return at != std::string_view::npos;
  });
}

using Match = std::match_results<std::string_view::const_iterator>;

// libc++, which is in the portable programs, gives up on an expression that would run away.
bool has_match(std::string_view line, const std::regex& expression, Match& match) {
  try {
    return std::regex_search(line.begin(), line.end(), match, expression);
  } catch (const std::regex_error&) {
    return false;
  }
}

Error fault(const std::string& text, std::string_view what) {
  return usage_error(
      fmt::format("--progress {}: {}; expected a regular expression whose first group is the step, as in "
                  "'step ([0-9]+)', or one of {}",
                  shown(text), what, fmt::join(ProgressPattern::ready_made(), ", ")));
}

}  // namespace

std::vector<std::string_view> ProgressPattern::ready_made() {
  std::vector<std::string_view> names;
  for (const ReadyMade& one : all_ready_made) names.push_back(one.name);
  return names;
}

Result<ProgressPattern> ProgressPattern::compile(const std::string& text) {
  ProgressPattern pattern;
  const auto add = [&pattern](const std::string& form) {
    pattern.forms_.push_back({std::regex(form, grammar), required_texts(form)});
  };
  try {
    for (const ReadyMade& one : all_ready_made)
      if (one.name == text)
        for (const char* form : one.forms)
          if (form != nullptr) add(form);
    if (pattern.forms_.empty()) add(text);
  } catch (const std::regex_error&) {
    return fault(text, "that is no regular expression that launch can use");
  }
  if (pattern.forms_.front().expression.mark_count() == 0) return fault(text, "it has no group");
  return pattern;
}

std::optional<ProgressPattern::Found> ProgressPattern::find(std::string_view line) const {
  line = line.substr(0, longest);
  for (std::size_t form = 0; form < forms_.size(); ++form) {
    const auto& [expression, needed] = forms_[form];
    if (!has_in_order(line, needed)) continue;
    Match match;
    if (!has_match(line, expression, match) || !match[1].matched) continue;
    const auto at = static_cast<std::size_t>(match.position(1));
    if (at + static_cast<std::size_t>(match.length(1)) == longest) continue;  // the number may go on
    const auto step = parse_step(line.substr(at, static_cast<std::size_t>(match.length(1))));
    if (step) return Found{*step, static_cast<int>(form)};
  }
  return std::nullopt;
}

std::vector<std::string> required_texts(std::string_view expression) { return PlainTexts(expression).runs(); }

std::optional<double> parse_step(std::string_view text) {
  constexpr std::string_view units = "kMGT";
  std::string digits;
  for (const char one : trim(text))
    if (one != ',' && one != '_') digits += one;
  double scale = 1;
  if (const auto unit = digits.empty() ? std::string_view::npos : units.find(digits.back());
      unit != std::string_view::npos) {
    scale = power_of_ten(3 * (static_cast<int>(unit) + 1));
    digits.pop_back();
  }
  const auto number = parse_decimal(digits);
  if (!number) return std::nullopt;
  return *number * scale;
}

}  // namespace launch
