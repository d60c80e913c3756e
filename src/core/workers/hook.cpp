#include "launch/core/workers/hook.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/base/time.hpp"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t longest_said = 4096;
constexpr std::size_t longest_quote = 300;  // of the last line, in a message
constexpr std::string_view exit_code_name = "LAUNCH_EXIT_CODE=";

// `folder` empty: there is no file.
HookSpec hook_at(HookMoment moment, const HookChoice& choice, std::vector<std::string> env, const std::string& folder) {
  HookSpec spec;
  spec.moment = moment;
  spec.executable = "/bin/sh";
  spec.argv = hook_command(moment == HookMoment::before_workers ? choice.before : choice.after);
  spec.env = std::move(env);
  spec.times.limit = choice.timeout;
  if (folder.empty()) return spec;
  spec.log_file = folder + (moment == HookMoment::before_workers ? "/before_workers.log" : "/after_workers.log");
  return spec;
}

}  // namespace

std::vector<std::string> hook_command(std::string_view command) { return {"/bin/sh", "-c", std::string(command)}; }

std::optional<HookSpec> hook_before(const HookChoice& choice, std::vector<std::string> env, const std::string& folder) {
  if (choice.before.empty()) return std::nullopt;
  return hook_at(HookMoment::before_workers, choice, std::move(env), folder);
}

std::optional<HookSpec> hook_after(const HookChoice& choice, std::vector<std::string> env, const std::string& folder,
                                   int exit_code) {
  if (choice.after.empty()) return std::nullopt;
  std::erase_if(env, [](const std::string& line) { return line.starts_with(exit_code_name); });
  env.push_back(fmt::format("{}{}", exit_code_name, exit_code));
  return hook_at(HookMoment::after_workers, choice, std::move(env), folder);
}

std::string_view name_of(HookMoment moment) {
  return moment == HookMoment::before_workers ? "before-workers" : "after-workers";
}

std::string fault_of_hook(const HookSpec& spec, const HookEnd& end, std::string_view last_line) {
  const std::string name = fmt::format("the command of --{}", name_of(spec.moment));
  if (!end.not_started.empty()) return fmt::format("{} was not run: {}", name, end.not_started);
  std::string fault;
  if (end.timed_out) {
    fault = fmt::format("{} ran for longer than {} (--hook-timeout) and {}", name, to_text(spec.times.limit),
                        end.outlives ? "outlives SIGKILL" : "was killed");
  } else if (!end.status.ok()) {
    fault = fmt::format("{} failed: {}", name, to_text(end.status));
  }
  if (fault.empty() || last_line.empty()) return fault;
  return fmt::format("{}; its last line: {}", fault, beginning_of(last_line, longest_quote));
}

// ---- HookLines

std::vector<std::string> HookLines::take(std::string_view bytes) {
  std::vector<std::string> lines;
  open_ += bytes;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = open_.find('\n', begin);
    const bool too_long = end == std::string::npos && open_.size() - begin >= longest_said;
    if (end == std::string::npos && !too_long) break;
    const std::size_t size = (too_long ? begin + longest_said : end) - begin;
    if (auto line = line_of(std::string_view(open_).substr(begin, size))) lines.push_back(*std::move(line));
    begin += too_long ? size : size + 1;
  }
  open_.erase(0, begin);
  return lines;
}

std::optional<std::string> HookLines::rest() { return line_of(std::exchange(open_, {})); }

std::optional<std::string> HookLines::line_of(std::string_view text) {
  std::string line = without_controls(without_colors(text), longest_said);
  line.erase(line.find_last_not_of(' ') + 1);
  if (line.empty()) return std::nullopt;
  last_ = line;
  return line;
}

}  // namespace launch
