// The verdict on a job that has failed: one screen, the same on every node. The root cause comes first, then how the
// other workers ended, where they were at that time, where their logs are, and what launch did. It decides nothing but
// the words: what it shows is in the account of all nodes.
#pragma once

#include "launch/core/verdict/account.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <string>
#include <string_view>

namespace launch {

struct Verdict {
  std::string program;
  std::string run_id;
  int nnodes = 1;
  int restarts = 0;  // that the job has had
  Failure first;
  Account account;        // of the nodes that gave one
  std::string time_left;  // until the scheduler ends the job; empty: not known
};

// Several lines without a final newline.
std::string render_verdict(const Verdict& verdict);
// For consoles that all nodes share: whether this node shows the whole verdict, or render_briefly() is enough. The node
// of the failure does, and the first of those that gave an account.
bool shows_whole(const Verdict& verdict, NodeRank own);
// One line.
std::string render_briefly(const Verdict& verdict);
// One line of JSON, with all that is in the text.
std::string verdict_json(const Verdict& verdict);
// Whether that is about a job that was told to stop, and has not failed.
bool was_told_to_stop(std::string_view json);

}  // namespace launch
