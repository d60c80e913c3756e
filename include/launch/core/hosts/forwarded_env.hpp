// Which variables of the head's environment a worker on another host gets: all except those of the host, of the session
// and of the scheduler's task (tables in the .cpp file), and what --env and --env-none say. Used by launch --hosts. It
// changes no environment. Errors are those of --env.
//
// The remote's own HOME, USER, LOGNAME, SHELL, TMPDIR and the like stay as that login has them. A host that is this
// machine has no login: what one would have is picked out of the head's environment.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/options/option_table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct EnvironmentChoice {
  bool none = false;               // --env-none: nothing but what `named` says (PATH is kept)
  std::vector<std::string> named;  // NAME: as here, even if it would stay; NAME=VALUE: this value. The last of a name
};

// Reads --env: each use of the option is one entry, and a comma may be in a value. An error if a name is empty, is none
// ("A,B=1"), or has no value here nor in the option.
Status check_named(const EnvironmentChoice& choice, const Environment& env);

// The text of a file of variables, as DeepSpeed's .deepspeed_env: a line NAME=VALUE for each, as --env takes it; blank
// lines and those that begin with # are left out. An error names the line, and not the file (usage).
Result<std::vector<std::string>> parse_variables(std::string_view text);

// --name=value of each option that a variable gives, for hosts that do not get the variables.
std::vector<std::string> options_of_variables(const Environment& env, bool (*is_left_out)(const OptionRow& row));

// NAME=VALUE lines in order of name. REQUIRES: check_named() has accepted them; what it refuses is left out.
std::vector<std::string> forwarded(const Environment& env, const EnvironmentChoice& choice);

// What a node on this machine has before it gets what is forwarded: the variables of a login, and the choice of this
// host's devices, which --env-none leaves out. NAME=VALUE lines in order of name.
std::vector<std::string> local_login(const Environment& env, const EnvironmentChoice& choice);

// Whether it stays on the host that it speaks of.
bool stays_here(std::string_view name);

}  // namespace launch
