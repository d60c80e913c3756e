// How the workers of a node ended, as that node tells it to the others through the store, and the sum of what all nodes
// tell. The verdict is made of it. Bytes of other nodes are not trusted: what is odd in them is left out, what is too
// long is cut.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/job/job.hpp"

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

struct RanksOnNode {
  NodeRank node{};
  std::string host;
  std::vector<int> ranks;  // ascending

  bool operator==(const RanksOnNode&) const = default;
};

// How the workers of one node ended, or those of several nodes together: some kilobytes, however many nodes there are.
struct Account {
  std::vector<int> nodes;          // the nodes that it is about, by node rank; ascending
  std::vector<RankGroup> ends;     // of their workers, except the first failure of the job
  std::vector<RankGroup> places;   // where they were when the failure was known, as far as launch looked
  std::vector<RankGroup> states;   // what /proc said of all that lived then
  std::vector<int> waited;         // of them, those that ended by a time-out, too, or lost a connection; ascending
  std::vector<int> timed_out;      // of those that waited, those whose wait for others timed out; ascending
  std::vector<RanksOnNode> hosts;  // of those for which others may have waited; as JSON the most telling 64
  std::int64_t stopped = 0;        // workers that launch ended
  std::int64_t killed = 0;         // how many of these by SIGKILL
  std::vector<std::string> logs;   // "node 0 (host n0): FOLDER", for some of those that have any
  std::int64_t more_logs = 0;      // how many more nodes have logs
  std::vector<std::string> left;   // "on node 0 (host n0): ...": some of the processes that outlived SIGKILL
  std::int64_t more_left = 0;

  bool operator==(const Account&) const = default;
};

// `workers`: all workers of this node except the first failure. `failed_at`: when this node learned of that.
Account sum_up(NodeRank node, const std::vector<WorkerEnd>& workers, Time failed_at = {});
// Where these workers ran.
RanksOnNode host_of(NodeRank node, std::string host, const std::vector<WorkerEnd>& workers);
// A line about what is left behind, or where the logs are, on the node of this account.
std::string on_node(NodeRank node, const std::string& host, const std::string& what);
// Adds another account.
void merge(Account& all, const Account& other);

std::string to_json(const std::vector<RankGroup>& groups);
std::string to_json(const Account& account);
Result<Account> parse_account(std::string_view json);

}  // namespace launch
