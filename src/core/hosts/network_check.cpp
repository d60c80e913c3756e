#include "launch/core/hosts/network_check.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_fold.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::size_t most_of_all_pairs = 32;  // hosts
constexpr std::size_t most_neighbours = 16;
constexpr std::size_t most_tried_addresses = 8;  // of one host
constexpr std::string_view no_answer = "it has not said so";

std::string_view fault_of_try(const ReachAnswer& answer, std::size_t which) {
  return which < answer.faults.size() ? std::string_view(answer.faults[which]) : no_answer;
}

// How one host was reached, over all of its addresses.
struct PairResult {
  bool reached = false;
  std::string first;   // address and port that were tried first
  std::string reason;  // of that
  int more = 0;        // addresses
};

std::map<int, PairResult> results_of(const std::vector<PairTry>& tries, const ReachAnswer& answer) {
  std::map<int, PairResult> results;
  for (std::size_t i = 0; i < tries.size(); ++i) {
    if (tries[i].by_name) continue;
    const auto [at, fresh] = results.try_emplace(tries[i].node);
    PairResult& result = at->second;
    const std::string_view fault = fault_of_try(answer, i);
    result.reached = result.reached || fault.empty();
    if (fresh) {
      result.first = fmt::format("{} port {}", tries[i].target.address, tries[i].target.port);
      result.reason = fault;
    } else {
      ++result.more;
    }
  }
  return results;
}

bool was_reached(const std::map<int, PairResult>& results, int node) {
  const auto at = results.find(node);
  return at != results.end() && at->second.reached;
}

const std::string& name_of_place(int node, const std::vector<std::string>& names) {
  return names[static_cast<std::size_t>(node)];
}

// Of hosts that are not reached for the same reason.
std::string unreached_text(const std::vector<int>& nodes, const PairResult& first,
                           const std::vector<std::string>& names) {
  std::vector<std::string> hosts;
  hosts.reserve(nodes.size());
  for (const int node : nodes) hosts.push_back(name_of_place(node, names));
  if (hosts.size() > 1) return fmt::format("does not reach {}: {}", fold_hosts(hosts), first.reason);
  const std::string more = first.more == 0 ? "" : fmt::format(", nor at {} other addresses", first.more);
  return fmt::format("does not reach {} at {}{}: {}", hosts.front(), first.first, more, first.reason);
}

}  // namespace

std::vector<PairTry> tries_of(std::size_t from, const std::vector<PairPlace>& places) {
  std::vector<std::size_t> others;
  const std::size_t count = places.size();
  const std::size_t most = count <= most_of_all_pairs ? count - 1 : most_neighbours;
  for (std::size_t step = 1; step <= most; ++step) others.push_back((from + step) % count);
  std::sort(others.begin(), others.end());
  if (from != 0 && !others.empty() && others.front() != 0) others.insert(others.begin(), 0);
  std::vector<PairTry> tries;
  for (const std::size_t other : others) {
    const PairPlace& place = places[other];
    for (std::size_t i = 0; i < std::min(place.addresses.size(), most_tried_addresses); ++i)
      tries.push_back({place.node, false, {place.addresses[i], place.port, place.token}});
  }
  // The number of node 0 may be another one: what counts is which of them others would have to know by its name.
  if (from != 0 && count > 1 && !places.front().hostname.empty())
    tries.push_back({places.front().node, true, {places.front().hostname, places.front().port, places.front().token}});
  if (tries.size() > most_reach_targets) tries.resize(most_reach_targets);
  return tries;
}

ReachQuestion question_of(const std::vector<PairTry>& tries) {
  ReachQuestion question;
  question.targets.reserve(tries.size());
  for (const PairTry& one : tries) question.targets.push_back(one.target);
  return question;
}

std::vector<CheckRow> check_pairs(int node, const std::vector<PairTry>& tries, const ReachAnswer& answer,
                                  const std::vector<std::string>& names) {
  std::vector<CheckRow> rows;
  const auto results = results_of(tries, answer);
  std::map<std::string_view, std::vector<int>> unreached;  // by the reason
  for (const auto& [other, result] : results)
    if (!result.reached) unreached[result.reason].push_back(other);
  rows.reserve(unreached.size() + 2);
  for (const auto& [reason, nodes] : unreached)
    rows.push_back({node, "network", CheckLevel::fault, unreached_text(nodes, results.at(nodes.front()), names)});
  if (unreached.empty() && !results.empty())
    rows.push_back(
        {node, "network", CheckLevel::ok,
         results.size() > 1 ? fmt::format("reaches {} other hosts", results.size()) : "reaches the other host"});
  for (std::size_t i = 0; i < tries.size(); ++i) {
    const PairTry& one = tries[i];
    if (!one.by_name || fault_of_try(answer, i).empty() || !was_reached(results, one.node)) continue;
    rows.push_back({node, "name", CheckLevel::warning,
                    fmt::format("does not reach {} by its own name {}: {}", name_of_place(one.node, names),
                                one.target.address, fault_of_try(answer, i))});
  }
  return rows;
}

std::vector<std::string> reached_addresses(int node, const std::vector<PairTry>& tries, const ReachAnswer& answer) {
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < tries.size(); ++i)
    if (tries[i].node == node && !tries[i].by_name && fault_of_try(answer, i).empty())
      addresses.push_back(tries[i].target.address);
  return addresses;
}

}  // namespace launch
