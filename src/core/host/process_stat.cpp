#include "launch/core/host/process_stat.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::size_t most_kernel_frames = 6;

std::string_view state_in_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "uninterruptible sleep";
    case 'T':
      return "stopped";
    case 't':
      return "stopped by a debugger";
    case 'Z':
      return "ended, but not collected";
    default:
      return "state";
  }
}

// Function names of lines like "[<0>] do_wait+0x5f/0x130", the innermost first.
std::vector<std::string_view> frames_of(std::string_view kernel_stack) {
  std::vector<std::string_view> frames;
  for (std::string_view line : split(kernel_stack, '\n')) {
    line.remove_prefix(std::min(line.size(), line.find("] ") + 2));
    const std::string_view name = line.substr(0, line.find('+'));
    if (!name.empty() && frames.size() < most_kernel_frames) frames.push_back(name);
  }
  return frames;
}

// 0 if it is none.
std::uint64_t number_in(std::string_view field) {
  std::uint64_t value = 0;
  std::from_chars(field.data(), field.data() + field.size(), value);
  return value;
}

// The kernel's PF_EXITING, which is set before the children of a thread get another parent.
bool is_exiting(std::string_view flags) {
  constexpr std::uint64_t exiting = 0x4;
  return (number_in(flags) & exiting) != 0;
}

std::string pid_and_name(const ProcessLook& look) {
  return look.name.empty() ? fmt::format("{}", look.pid) : fmt::format("{} ({})", look.pid, shown(look.name));
}

std::string joined(const std::vector<std::string>& texts, const char* separator, std::size_t total) {
  std::string all = fmt::format("{}", fmt::join(texts, separator));
  if (total <= texts.size()) return all;
  return fmt::format("{} and {} more", all, total - texts.size());
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t begin = text.find('(');
  const std::size_t end = text.rfind(')');
  if (begin == text.npos || end == text.npos || end < begin) return std::nullopt;
  // State, parent, process group, session, terminal, its foreground group.
  const auto fields = split(trim(text.substr(end + 1)), ' ');
  if (fields.size() < 4 || fields[0].size() != 1) return std::nullopt;
  const auto parent = parse_int(fields[1]);
  const auto session = parse_int(fields[3]);
  if (!parent || !session) return std::nullopt;
  ProcessStat stat{std::string(text.substr(begin + 1, end - begin - 1)), fields[0][0], *parent, *session};
  stat.group = parse_int(fields[2]).value_or(0);
  stat.ending = stat.state == 'Z' || stat.state == 'X';
  if (fields.size() < 6) return stat;
  stat.terminal = static_cast<unsigned>(parse_int(fields[4]).value_or(0));
  if (stat.terminal != 0) stat.foreground_group = parse_int(fields[5]).value_or(0);
  if (fields.size() >= 7) stat.ending = stat.ending || is_exiting(fields[6]);
  if (fields.size() < 22) return stat;
  stat.faults = number_in(fields[7]) + number_in(fields[9]);
  stat.cpu_ticks = number_in(fields[11]) + number_in(fields[12]);
  stat.resident_pages = number_in(fields[21]);
  return stat;
}

std::optional<ProcessStatus> parse_process_status(std::string_view text) {
  ProcessStatus status;
  bool known = false;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split(line, '\t');
    if (words[0] == "TracerPid:" && words.size() == 2) status.tracer = parse_int(words[1]).value_or(0);
    if (words[0] != "Uid:" || words.size() != 5) continue;
    known = true;
    status.real_uid = static_cast<unsigned>(parse_int(words[1]).value_or(0));
    status.saved_uid = static_cast<unsigned>(parse_int(words[3]).value_or(0));
  }
  return known ? std::optional(status) : std::nullopt;
}

bool stands_still(const ProcessLook& look) {
  if (look.state == 'T' || look.state == 't') return true;
  const bool in_vfork = look.wait_channel == "kernel_clone" || look.kernel_stack.find("vfork") != std::string::npos;
  return look.state == 'D' && !in_vfork;
}

bool is_exiting(const ProcessLook& look) { return look.kernel_stack.find(" do_exit+") != std::string::npos; }

std::string to_text(const ProcessLook& look) {
  const std::string text = "pid " + pid_and_name(look);
  return look.state == '?' ? text : text + ", " + activity(look);
}

std::string activity(const ProcessLook& look) {
  std::string text = fmt::format("{} ({})", state_in_words(look.state), look.state);
  if (!look.wait_channel.empty()) text += " in " + shown(look.wait_channel);
  const auto frames = look.state == 'D' ? frames_of(look.kernel_stack) : std::vector<std::string_view>();
  if (!frames.empty()) text += fmt::format(" [{}]", fmt::join(frames, " < "));
  if (look.tracer != 0) text += fmt::format(", held by its debugger, pid {}", look.tracer);
  if (look.protected_by_uid) text += fmt::format(", may not be signalled (it runs as uid {})", *look.protected_by_uid);
  return text;
}

std::string describe_all(const std::vector<ProcessLook>& looks, std::size_t total) {
  std::vector<std::string> texts;
  texts.reserve(looks.size());
  for (const ProcessLook& look : looks) texts.push_back(to_text(look));
  return joined(texts, "; ", total);
}

std::string name_all(const std::vector<ProcessLook>& looks, std::size_t total) {
  std::vector<std::string> texts;
  texts.reserve(looks.size());
  for (const ProcessLook& look : looks) texts.push_back(pid_and_name(look));
  return "pid " + joined(texts, ", ", total);
}

}  // namespace launch
