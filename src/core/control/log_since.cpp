#include "launch/core/control/log_since.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr double longest_s = 100.0 * 366 * 86'400;
constexpr int first_year = 1970;
constexpr int last_year = 9999;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the beginning of a text apart; a step that does not fit says so, and the rest stays.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool skip(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_[0]) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A number of so many digits, within bounds.
  std::optional<int> number(std::size_t digits, int least, int most) {
    const std::string_view word = rest_.substr(0, digits);
    if (word.size() < digits || !std::all_of(word.begin(), word.end(), is_digit)) return std::nullopt;
    const int value = parse_int(word).value_or(-1);
    if (value < least || value > most) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }
  // "1.5".
  std::optional<double> decimal() {
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789."), rest_.size());
    const auto value = parse_decimal(rest_.substr(0, end));
    if (value) rest_.remove_prefix(end);
    return value;
  }
  void skip_fraction() {
    if (!skip(".,")) return;
    rest_.remove_prefix(std::min(rest_.find_first_not_of("0123456789"), rest_.size()));
  }
  std::string_view word() {
    const std::size_t end = std::min(rest_.find_first_of("0123456789. "), rest_.size());
    return std::exchange(rest_, rest_.substr(end)).substr(0, end);
  }

 private:
  std::string_view rest_;
};

std::optional<double> seconds_of_unit(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 6> units = {
      {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86'400}}};
  for (const auto& [name, seconds] : units)
    if (unit == name) return seconds;
  return std::nullopt;
}

std::optional<double> duration_in(std::string_view text) {
  Cursor cursor(text);
  double sum = 0;
  bool any = false;
  while (!cursor.at_end()) {
    const auto number = cursor.decimal();
    const auto unit = number ? seconds_of_unit(cursor.word()) : std::nullopt;
    if (!unit) return std::nullopt;
    sum += *number * *unit;
    any = true;
  }
  if (!any || sum > longest_s) return std::nullopt;
  return sum;
}

// Of "14:05", "14:05:30" or "14:05:30.250", whose fraction does not count.
bool read_time(Cursor& cursor, CivilTime& moment) {
  const auto hour = cursor.number(2, 0, 23);
  if (!hour || !cursor.skip(":")) return false;
  const auto minute = cursor.number(2, 0, 59);
  if (!minute) return false;
  moment.hour = *hour;
  moment.minute = *minute;
  if (!cursor.skip(":")) return true;
  const auto second = cursor.number(2, 0, 60);
  cursor.skip_fraction();
  moment.second = second.value_or(0);
  return second.has_value();
}

int days_of(int year, int month) {
  constexpr std::array<int, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : days.at(static_cast<std::size_t>(month - 1));
}

bool read_date(Cursor& cursor, CivilTime& moment) {
  const auto year = cursor.number(4, first_year, last_year);
  if (!year || !cursor.skip("-")) return false;
  const auto month = cursor.number(2, 1, 12);
  if (!month || !cursor.skip("-")) return false;
  const auto day = cursor.number(2, 1, days_of(*year, *month));
  moment.year = *year;
  moment.month = *month;
  moment.day = day.value_or(0);
  return day.has_value();
}

// "Z", "+01:00", "+0100", "+01".
bool read_zone(Cursor& cursor, CivilTime& moment) {
  if (cursor.skip("Zz")) {
    moment.zone_minutes = 0;
    return true;
  }
  const bool east = cursor.skip("+");
  if (!east && !cursor.skip("-")) return false;
  const auto hours = cursor.number(2, 0, 23);
  if (!hours) return false;
  const bool minutes_follow = cursor.skip(":") || !cursor.at_end();
  const auto minutes = minutes_follow ? cursor.number(2, 0, 59) : std::optional(0);
  if (!minutes) return false;
  moment.zone_minutes = (*hours * 60 + *minutes) * (east ? 1 : -1);
  return true;
}

std::optional<CivilTime> moment_in(std::string_view text) {
  CivilTime moment;
  Cursor cursor(text);
  const bool dated = text.find('-') == 4;
  if (dated && !read_date(cursor, moment)) return std::nullopt;
  if (dated && cursor.at_end()) return moment;
  if (dated && !cursor.skip("Tt ")) return std::nullopt;
  if (!read_time(cursor, moment)) return std::nullopt;
  if (!cursor.at_end() && (!dated || !read_zone(cursor, moment))) return std::nullopt;
  return cursor.at_end() ? std::optional(moment) : std::nullopt;
}

std::optional<double> last_before_now(const LocalClock& clock, const CivilTime& moment) {
  std::optional<double> last;
  for (const double seconds : clock.seconds_of(moment))
    if (seconds <= clock.now) last = seconds;
  return last;
}

Error bad_since(std::string_view text) {
  return usage_error(fmt::format(
      "--since {}: a duration such as 90s, 10m or 2h would be right, or a moment such as 14:05 or 2026-11-27T14:05",
      shown(text)));
}

}  // namespace

Result<LogSince> parse_since(std::string_view text) {
  const std::string_view word = trim(text);
  if (const auto moment = moment_in(word)) return LogSince(*moment);
  if (const auto duration = duration_in(word)) return LogSince(*duration);
  return bad_since(text);
}

Result<double> age_of(const LogSince& since, const LocalClock& clock) {
  if (const auto* const age = std::get_if<double>(&since)) return *age;
  CivilTime moment = std::get<CivilTime>(since);
  const bool dated = moment.year != 0;
  if (!dated) {
    moment.year = clock.today.year;
    moment.month = clock.today.month;
    moment.day = clock.today.day;
  }
  auto at = last_before_now(clock, moment);
  if (!dated && !at) {
    --moment.day;  // the day before the first is the last of the month before
    at = last_before_now(clock, moment);
  }
  if (at) return clock.now - *at;
  return usage_error("the moment of --since is still to come; by the clock of this host it is earlier than that");
}

}  // namespace launch
