// The verdict on a job that has failed: one screen, the same on every node. The root cause comes first, then how the
// other workers ended, where they stood, where their logs are, and what launch did.
//
// Each node tells how its workers ended as a NodeEnd, by way of the store; bytes of other nodes are not trusted.
#pragma once

#include "launch/core/error.hpp"
#include "launch/core/failure_report.hpp"
#include "launch/core/job.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// How one worker of this node ended.
struct WorkerEnd {
  int rank = 0;
  int local_rank = 0;
  ExitStatus status;
  bool stopped_by_us = false;  // by a signal, after launch had sent one
};

// Workers of which the same is to be said.
struct RankGroup {
  std::string what;
  std::vector<int> ranks;  // ascending

  bool operator==(const RankGroup&) const = default;
};

// What one node adds to the verdict.
struct NodeEnd {
  int node_rank = 0;
  std::string host;
  std::vector<RankGroup> ends;    // of its workers, but for the first failure of the job
  std::vector<RankGroup> places;  // where they stood when the failure was known, as far as that was looked for
  int stopped = 0;                // workers that launch ended
  int killed = 0;                 // of these, by SIGKILL
  std::string logs;               // the folder that holds them; empty: none does
  std::vector<std::string> left;  // processes that outlived SIGKILL

  bool operator==(const NodeEnd&) const = default;
};

// `workers`: all of this node but the first failure.
NodeEnd sum_up(const std::vector<WorkerEnd>& workers);

std::string to_json(const std::vector<NodeEnd>& nodes);
Result<std::vector<NodeEnd>> parse_node_ends(std::string_view json);

struct Verdict {
  std::string program;
  std::string run_id;
  int nnodes = 1;
  int restarts = 0;  // that the job has had
  Failure first;
  std::vector<NodeEnd> nodes;  // those that gave account
};

// Several lines without a final newline.
std::string render_verdict(const Verdict& verdict);
// One line of JSON, with all that is in the text.
std::string verdict_json(const Verdict& verdict);

// Ascending numbers as "0-6, 8".
std::string as_ranges(const std::vector<int>& numbers);

}  // namespace launch
