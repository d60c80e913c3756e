#include "launch/core/verdict/account.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::size_t most_logs_named = 8;  // all must fit on one screen
constexpr std::size_t most_left_named = 6;
constexpr std::size_t most_groups = 64;  // that are written or read as JSON
constexpr std::size_t most_hosts = 64;
constexpr int most_nodes = 1'000'000;
constexpr std::int64_t most_counted = 1'000'000'000;
constexpr std::size_t longest_line = 300;                               // of what comes from another node
constexpr std::size_t longest_account = std::size_t{16} * 1024 * 1024;  // room for a million ranks with gaps, and more

std::string as_line(std::string_view text) { return without_controls(text, longest_line); }

std::int64_t count_of(const JsonValue& value) { return value.count(most_counted).value_or(0); }

std::vector<int> ranks_of(const JsonValue& value) { return from_ranges(value.text().value_or("")); }

std::vector<RankGroup> read_groups(const JsonValue& list) {
  std::vector<RankGroup> groups;
  for (const JsonValue& one : list.list().value_or(std::vector<JsonValue>()))
    if (const auto what = one["what"].text(); what && groups.size() < most_groups)
      groups.push_back({as_line(*what), ranks_of(one["ranks"])});
  return groups;
}

Ordered write_groups(const std::vector<RankGroup>& groups) {
  Ordered list = Ordered::array();
  for (std::size_t i = 0; i < groups.size() && i < most_groups; ++i)
    list.push_back({{"what", groups[i].what}, {"ranks", as_ranges(groups[i].ranks)}});
  return list;
}

std::vector<RanksOnNode> read_hosts(const JsonValue& list) {
  std::vector<RanksOnNode> hosts;
  for (const JsonValue& one : list.list().value_or(std::vector<JsonValue>()))
    if (const auto node = one["node"].whole(0, most_nodes); node && hosts.size() < most_hosts)
      hosts.push_back({NodeRank(*node), as_line(one["host"].text().value_or("")), ranks_of(one["ranks"])});
  return hosts;
}

Ordered write_hosts(const std::vector<RanksOnNode>& hosts) {
  Ordered list = Ordered::array();
  for (const RanksOnNode& one : hosts)
    list.push_back({{"node", one.node.value}, {"host", one.host}, {"ranks", as_ranges(one.ranks)}});
  return list;
}

// Whose nodes must be known: ranks about which something is said that is said of few.
std::vector<RanksOnNode> most_telling_hosts(const Account& account) {
  std::vector<RanksOnNode> hosts = account.hosts;
  if (hosts.size() <= most_hosts) return hosts;
  std::map<int, std::size_t> alike;  // by rank: how many ranks are in its smallest group
  for (const auto* groups : {&account.ends, &account.places, &account.states})
    for (const RankGroup& group : *groups)
      for (const int rank : group.ranks) {
        std::size_t& least = alike.try_emplace(rank, group.ranks.size()).first->second;
        least = std::min(least, group.ranks.size());
      }
  const auto rarity = [&](const RanksOnNode& one) {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const int rank : one.ranks)
      if (const auto found = alike.find(rank); found != alike.end()) least = std::min(least, found->second);
    return least;
  };
  std::stable_sort(hosts.begin(), hosts.end(),
                   [&](const RanksOnNode& a, const RanksOnNode& b) { return rarity(a) < rarity(b); });
  hosts.resize(most_hosts);
  std::sort(hosts.begin(), hosts.end(),
            [](const RanksOnNode& a, const RanksOnNode& b) { return a.node.value < b.node.value; });
  return hosts;
}

std::string in_one_line(const Ordered& value) { return value.dump(-1, ' ', true, Ordered::error_handler_t::replace); }

void merge_numbers(std::vector<int>& all, const std::vector<int>& others) {
  std::vector<int> merged;
  std::set_union(all.begin(), all.end(), others.begin(), others.end(), std::back_inserter(merged));
  all = std::move(merged);
}

// Each rank is under one text; the same text is there once.
void merge_groups(std::vector<RankGroup>& all, const std::vector<RankGroup>& others) {
  for (const RankGroup& other : others) {
    auto same = std::find_if(all.begin(), all.end(), [&](const RankGroup& one) { return one.what == other.what; });
    if (same == all.end()) {
      all.push_back(other);
      continue;
    }
    merge_numbers(same->ranks, other.ranks);
  }
}

// Returns how many of `others` had no room.
std::int64_t merge_lines(std::vector<std::string>& all, const std::vector<std::string>& others, std::size_t most) {
  const std::size_t room = all.size() < most ? most - all.size() : 0;
  const std::size_t taken = std::min(room, others.size());
  all.insert(all.end(), others.begin(), others.begin() + static_cast<std::ptrdiff_t>(taken));
  return static_cast<std::int64_t>(others.size() - taken);
}

// In whole seconds, so that workers that ended together are one group.
std::string lead_of(const WorkerEnd& worker, Time failed_at) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(failed_at - worker.ended);
  return seconds.count() < 1 ? "less than 1 s" : to_text(seconds);
}

}  // namespace

Account sum_up(NodeRank node, const std::vector<WorkerEnd>& workers, Time failed_at) {
  Account account;
  account.nodes = {node.value};
  std::map<std::string, std::vector<int>> ranks_by_end;
  for (const WorkerEnd& worker : workers) {
    const bool killed = worker.stopped_by_us && worker.status.value == SIGKILL;
    account.stopped += worker.stopped_by_us ? 1 : 0;
    account.killed += killed ? 1 : 0;
    std::string how = to_text(worker.status);
    if (worker.stopped_by_us) how += stopped_by_launch;
    if (worker.early) how += fmt::format(", {}{}", lead_of(worker, failed_at), before_the_failure);
    ranks_by_end[how].push_back(worker.rank.value);
  }
  for (auto& [how, ranks] : ranks_by_end) account.ends.push_back({how, std::move(ranks)});
  return account;
}

RanksOnNode host_of(NodeRank node, std::string host, const std::vector<WorkerEnd>& workers) {
  RanksOnNode one{node, std::move(host), {}};
  for (const WorkerEnd& worker : workers) one.ranks.push_back(worker.rank.value);
  std::sort(one.ranks.begin(), one.ranks.end());
  return one;
}

std::string on_node(NodeRank node, const std::string& host, const std::string& what) {
  return fmt::format("node {} (host {}): {}", node.value, host, what);
}

void merge(Account& all, const Account& other) {
  merge_numbers(all.nodes, other.nodes);
  merge_groups(all.ends, other.ends);
  merge_groups(all.places, other.places);
  merge_groups(all.states, other.states);
  merge_numbers(all.waited, other.waited);
  merge_numbers(all.timed_out, other.timed_out);
  all.hosts.insert(all.hosts.end(), other.hosts.begin(), other.hosts.end());
  all.stopped += other.stopped;
  all.killed += other.killed;
  all.more_logs += other.more_logs + merge_lines(all.logs, other.logs, most_logs_named);
  all.more_left += other.more_left + merge_lines(all.left, other.left, most_left_named);
}

std::string to_json(const std::vector<RankGroup>& groups) { return in_one_line(write_groups(groups)); }

std::string to_json(const Account& account) {
  return in_one_line({{"nodes", as_ranges(account.nodes)},
                      {"ends", write_groups(account.ends)},
                      {"places", write_groups(account.places)},
                      {"states", write_groups(account.states)},
                      {"waited", as_ranges(account.waited)},
                      {"timed_out", as_ranges(account.timed_out)},
                      {"hosts", write_hosts(most_telling_hosts(account))},
                      {"stopped", account.stopped},
                      {"killed", account.killed},
                      {"logs", account.logs},
                      {"more_logs", account.more_logs},
                      {"left", account.left},
                      {"more_left", account.more_left}});
}

Result<Account> parse_account(std::string_view json) {
  const JsonValue object = read_json(json, {.size = longest_account});
  if (!object.is_object()) return Error{ErrorCode::protocol, "what a node reports of its end is not a report"};
  Account account;
  account.nodes = ranks_of(object["nodes"]);
  account.ends = read_groups(object["ends"]);
  account.places = read_groups(object["places"]);
  account.states = read_groups(object["states"]);
  account.waited = ranks_of(object["waited"]);
  account.timed_out = ranks_of(object["timed_out"]);
  account.hosts = read_hosts(object["hosts"]);
  account.stopped = count_of(object["stopped"]);
  account.killed = count_of(object["killed"]);
  account.logs = object["logs"].lines(most_logs_named, longest_line);
  account.more_logs = count_of(object["more_logs"]);
  account.left = object["left"].lines(most_left_named, longest_line);
  account.more_left = count_of(object["more_left"]);
  return account;
}

}  // namespace launch
