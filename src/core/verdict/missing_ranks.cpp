#include "launch/core/verdict/missing_ranks.hpp"

#include "launch/core/verdict/flight_record.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

bool contains(const std::vector<int>& ranks, int rank) { return std::binary_search(ranks.begin(), ranks.end(), rank); }

// Those that ended well before the failure can never come.
std::vector<RankGroup> gone_before(const Account& account) {
  std::vector<RankGroup> groups;
  for (const RankGroup& group : account.ends)
    if (group.what.ends_with(before_the_failure)) groups.push_back(group);
  return groups;
}

// The workers that lived and did not say that they waited for others, by what they did. A place in a program says more
// than a state.
std::vector<RankGroup> silent_workers(const Account& account, int first) {
  std::map<int, std::string> what_by_rank;
  for (const auto* groups : {&account.states, &account.places})
    for (const RankGroup& group : *groups)
      for (const int rank : group.ranks)
        if (rank != first && !contains(account.waited, rank))
          what_by_rank[rank] = groups == &account.states ? "alive, " + group.what : group.what;
  std::vector<RankGroup> all;
  for (const auto& entry : what_by_rank) {
    const auto does_it = [&](const RankGroup& one) { return one.what == entry.second; };
    const auto same = std::find_if(all.begin(), all.end(), does_it);
    if (same == all.end()) {
      all.push_back({entry.second, {entry.first}});
    } else {
      same->ranks.push_back(entry.first);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.ranks.size() < b.ranks.size(); });
  return all;
}

// Whether the first group, the smallest one, is clearly different from the others. If there is no other one, it must be
// small beside those that are known to have waited.
bool stands_out(const std::vector<RankGroup>& groups, std::size_t waited) {
  if (groups.size() == 1) return groups[0].ranks.size() <= waited;
  return groups[0].ranks.size() < groups[1].ranks.size();
}

MissingRanks all_of(std::vector<RankGroup> groups) {
  MissingRanks missing;
  for (const RankGroup& group : groups)
    missing.ranks.insert(missing.ranks.end(), group.ranks.begin(), group.ranks.end());
  std::sort(missing.ranks.begin(), missing.ranks.end());
  missing.doings = std::move(groups);
  return missing;
}

// Those that have begun fewer collectives than another one, by their flight recorders.
std::vector<RankGroup> behind(const Account& account) {
  std::int64_t most = 0;
  for (const RankGroup& group : account.states) most = std::max(most, collectives_in(group.what).value_or(0));
  std::vector<RankGroup> groups;
  for (const RankGroup& group : account.states)
    if (collectives_in(group.what).value_or(most) < most)
      groups.push_back({fmt::format("{}; others have begun {}", group.what, most), group.ranks});
  return groups;
}

// Workers that ended by themselves without a word about others. Those that only ended well after the failure may have
// done so because they were told to; if there are many of them, it is so.
std::optional<MissingRanks> gone_peers(const Account& account) {
  std::size_t all = 0;
  for (const RankGroup& group : account.ends) all += group.ranks.size();
  std::vector<RankGroup> gone;
  for (const RankGroup& group : account.ends) {
    const bool told = group.what == "exit code 0" && group.ranks.size() * 2 >= all;
    if (told || group.what.ends_with(stopped_by_launch)) continue;
    RankGroup left{group.what, {}};
    std::set_difference(group.ranks.begin(), group.ranks.end(), account.waited.begin(), account.waited.end(),
                        std::back_inserter(left.ranks));
    if (!left.ranks.empty()) gone.push_back(std::move(left));
  }
  if (gone.empty()) return std::nullopt;
  MissingRanks missing = all_of(std::move(gone));
  missing.gone = true;
  return missing;
}

MissingRanks those_that_did_not_come(const Verdict& verdict) {
  const Account& account = verdict.account;
  if (auto gone = gone_before(account); !gone.empty()) return all_of(std::move(gone));
  if (auto late = behind(account); !late.empty()) return all_of(std::move(late));
  auto silent = silent_workers(account, verdict.first.rank.value);
  const bool all_reported = static_cast<int>(account.nodes.size()) >= verdict.nnodes;
  if (silent.empty() || !all_reported || !stands_out(silent, account.waited.size() + 1))
    return MissingRanks{{}, std::move(silent)};
  silent.resize(1);
  return all_of(std::move(silent));
}

}  // namespace

std::optional<MissingRanks> missing_ranks(const Verdict& verdict) {
  const bool waited = timed_out(verdict.first);
  if (!waited && !lost_its_peer(verdict.first)) return std::nullopt;
  const std::vector<int>& others = verdict.account.timed_out;
  if (!waited)
    if (auto gone = gone_peers(verdict.account); gone || others.empty()) return gone;
  MissingRanks missing = those_that_did_not_come(verdict);
  missing.waiter = waited ? verdict.first.rank : GlobalRank(others.front());
  return missing;
}

std::vector<RanksOnNode> hosts_to_tell(const std::optional<Failure>& first, RanksOnNode workers) {
  if (!first || !is_due_to_others(*first)) return {};
  return {std::move(workers)};
}

}  // namespace launch
