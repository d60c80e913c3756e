#include "launch/io/clock.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/format.h>

namespace launch {

Time now() { return Time(std::chrono::steady_clock::now().time_since_epoch()); }

// Both count from the start of the host without the corrections of NTP, which may come to seconds in a day.
Time kernel_log_time() {
  std::timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return Time(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

Instant instant() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {now(), WallTime(std::chrono::duration_cast<WallClock::duration>(wall))};
}

double unix_time() { return seconds_of(std::chrono::system_clock::now().time_since_epoch()); }

CivilTime local_time() {
  const std::time_t seconds = std::time(nullptr);
  std::tm local{};
  localtime_r(&seconds, &local);
  return {local.tm_year + 1900, local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, {}};
}

std::vector<double> unix_times_of(const CivilTime& time) {
  std::tm parts{};
  parts.tm_year = time.year - 1900;
  parts.tm_mon = time.month - 1;
  parts.tm_mday = time.day;
  parts.tm_hour = time.hour;
  parts.tm_min = time.minute;
  parts.tm_sec = time.second;
  if (time.zone_minutes) return {static_cast<double>(timegm(&parts)) - *time.zone_minutes * 60.0};
  std::vector<double> times;
  for (const int summer : {1, 0}) {  // the hour that comes twice is one of summer at first
    std::tm tried = parts;
    tried.tm_isdst = summer;
    const std::time_t seconds = std::mktime(&tried);
    if (tried.tm_isdst == summer) times.push_back(static_cast<double>(seconds));  // otherwise it was not so then
  }
  parts.tm_isdst = -1;
  if (times.empty()) times.push_back(static_cast<double>(std::mktime(&parts)));  // the hour that is left out
  std::sort(times.begin(), times.end());
  return times;
}

std::chrono::steady_clock::time_point to_steady(Time time) {
  if (time == never) return std::chrono::steady_clock::time_point::max();
  return std::chrono::steady_clock::time_point(time.time_since_epoch());
}

namespace {

std::string local_text(std::time_t seconds) {
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return {text.data(), length};
}

}  // namespace

std::string wall_time_text() { return local_text(std::time(nullptr)); }

std::string log_time_text() {
  std::timespec time{};
  std::timespec_get(&time, TIME_UTC);
  return fmt::format("{}.{:03}", local_text(time.tv_sec), time.tv_nsec / 1'000'000);
}

}  // namespace launch
