// A command of the user that a node runs before its workers start or after they have ended: what to execute, with which
// environment, and what its end means. Pure: app/hooks runs it, in io. Errors are texts for people. It never decides
// when a hook runs: core/agent and the start of the workers do.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/workers/worker_spec.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

enum class HookMoment {
  before_workers,
  after_workers,
};

struct HookTimes {
  Duration limit{};       // then it is killed; zero: never
  Duration kill_grace{};  // after which one that SIGKILL does not end is given up
};

struct HookSpec {
  HookMoment moment = HookMoment::before_workers;
  std::string executable;
  std::vector<std::string> argv;
  std::vector<std::string> env;  // NAME=VALUE
  std::string log_file;          // its output goes there, too; empty: it is only shown
  HookTimes times{};
};

// nullopt: the user wants none. `env` is that of local rank 0 of this node; `folder` that of the attempt, if output is
// kept there. `exit_code`: how the workers ended; the hook after them gets it as LAUNCH_EXIT_CODE.
std::optional<HookSpec> hook_before(const HookChoice& choice, std::vector<std::string> env, const std::string& folder);
std::optional<HookSpec> hook_after(const HookChoice& choice, std::vector<std::string> env, const std::string& folder,
                                   int exit_code);

// The command line of a hook, for --explain.
std::vector<std::string> hook_command(std::string_view command);

// How a hook ended.
struct HookEnd {
  ExitStatus status{};
  bool timed_out = false;     // and was killed for that
  bool outlives = false;      // SIGKILL has not ended it
  std::string not_started{};  // why it could not be; empty: it was
};

// What is wrong with this end, as the cause of a failure or for a warning; empty: nothing. `last_line` is the last that
// the hook said.
std::string fault_of_hook(const HookSpec& spec, const HookEnd& end, std::string_view last_line);

// Its name in messages: "before-workers".
std::string_view name_of(HookMoment moment);

// Makes of the bytes that a hook writes the lines that are shown: whole, of bounded length, without control characters.
// Lines without a visible character are left out.
class HookLines {
 public:
  // The lines that end in `bytes`.
  std::vector<std::string> take(std::string_view bytes);
  // What comes after the last end of a line, as a line; nullopt: nothing. No more bytes will come.
  std::optional<std::string> rest();
  // The last line so far; empty: there was none.
  const std::string& last() const { return last_; }

 private:
  std::optional<std::string> line_of(std::string_view text);

  std::string open_;
  std::string last_;
};

}  // namespace launch
