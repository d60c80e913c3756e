// The verdict on a job that has failed: one screen, the same on every node. The root cause comes first, then how the
// other workers ended, where they were at that time, where their logs are, and what launch did.
//
// Each node tells how its workers ended as an Account, through the store; bytes of other nodes are not trusted.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// How one worker of this node ended.
struct WorkerEnd {
  GlobalRank rank{};
  LocalRank local_rank{};
  ExitStatus status;
  bool stopped_by_us = false;  // it ended by a signal, after launch had sent one
  bool early = false;          // it ended well before anything failed
  Time ended{};
};

inline constexpr std::string_view stopped_by_launch = ", stopped by launch";
inline constexpr std::string_view before_the_failure = " before the failure";  // said of the ends of these

// Workers about which the same can be said.
struct RankGroup {
  std::string what;
  std::vector<int> ranks;  // ascending

  bool operator==(const RankGroup&) const = default;
};

// How the workers of one node ended, or those of several nodes together: some kilobytes, however many nodes there are.
struct Account {
  std::vector<int> nodes;         // the nodes that it is about, by node rank; ascending
  std::vector<RankGroup> ends;    // of their workers, except the first failure of the job
  std::vector<RankGroup> places;  // where they were when the failure was known, as far as launch looked
  std::vector<RankGroup> states;  // what /proc said of all that lived then
  std::vector<int> waited;        // of them, those that ended by a time-out, too, or lost a connection; ascending
  std::int64_t stopped = 0;       // workers that launch ended
  std::int64_t killed = 0;        // how many of these by SIGKILL
  std::vector<std::string> logs;  // "node 0 (host n0): FOLDER", for some of those that have any
  std::int64_t more_logs = 0;     // how many more nodes have logs
  std::vector<std::string> left;  // "on node 0 (host n0): ...": some of the processes that outlived SIGKILL
  std::int64_t more_left = 0;

  bool operator==(const Account&) const = default;
};

// `workers`: all workers of this node except the first failure. `failed_at`: when this node learned of that.
Account sum_up(NodeRank node, const std::vector<WorkerEnd>& workers, Time failed_at = {});
// A line about what is left behind, or where the logs are, on the node of this account.
std::string on_node(NodeRank node, const std::string& host, const std::string& what);
// Adds another account.
void merge(Account& all, const Account& other);

std::string to_json(const Account& account);
Result<Account> parse_account(std::string_view json);

struct Verdict {
  std::string program;
  std::string run_id;
  int nnodes = 1;
  int restarts = 0;  // that the job has had
  Failure first;
  Account account;  // of the nodes that gave one
};

// Several lines without a final newline.
std::string render_verdict(const Verdict& verdict);
// One line of JSON, with all that is in the text.
std::string verdict_json(const Verdict& verdict);

// Ascending numbers as "0-6, 8", and back; what is not a number is left out, and so are numbers from a million on.
std::string as_ranges(const std::vector<int>& numbers);
std::vector<int> from_ranges(std::string_view text);

}  // namespace launch
