// What to execute for one worker: executable, argv and the whole environment (torchrun's table of variables). Nothing
// is executed or opened here. The environment starts from launch's own; tests check which variables are set in which
// case against the record of torchrun (tests/data).
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/logs/line_prefix.hpp"

#include <string>
#include <vector>

namespace launch {

// What a worker has as its standard input.
enum class WorkerInput {
  inherited,  // launch's own, as it is
  copy,       // its own copy of all that comes to launch's input
  nothing,    // /dev/null
};

struct WorkerSpec {
  LocalRank local_rank{};
  GlobalRank global_rank{};
  std::string executable;
  std::vector<std::string> argv;
  std::vector<std::string> env;  // NAME=VALUE
  std::string error_file;        // where the worker may leave error.json; empty: nowhere
  WorkerInput input = WorkerInput::inherited;
  WorkerLogs logs;  // where its output goes
  Binding binding;  // processors and memory; empty: the same as launch itself
};

// One spec per local rank, in order. `folder` is that of the attempt, with a folder per local rank in it; empty: there
// is none.
// Macros in arguments: ${local_rank} and $local_rank; $$ is $; any other $x stays.
std::vector<WorkerSpec> make_worker_specs(const Config& config, const Round& round, const std::string& folder);

// What identifies the workers of this node in the prefix of their lines.
PrefixFacts prefix_facts(const Config& config, const Round& round);

}  // namespace launch
