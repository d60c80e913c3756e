#include "referee.hpp"

#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace launch::sim {

void Referee::fault(std::string what) {
  world_.note("FAULT " + what);
  faults_.push_back(std::move(what));
}

void Referee::formed(const NodeDesc& who, const Member& member, const RoundFormed& told) {
  const std::string name = to_text(who);
  world_.note(fmt::format("{} is rank {} of {} in round {}", name, told.rank, told.nnodes, told.round));
  const auto [entry, first] = rounds_.try_emplace(told.round, Told{told, {}, {}, 0, {}, {}});
  Told& known = entry->second;
  if (known.first.nnodes != told.nnodes || known.first.leader != told.leader || known.first.torchrun != told.torchrun)
    fault(fmt::format("round {} has two memberships", told.round));
  if (told.rank < 0 || told.rank >= told.nnodes) fault(name + " has a rank out of range");
  const auto [seat, free] = known.nodes.try_emplace(told.rank, who);
  if (!free && seat->second != who) fault(fmt::format("{} and {} have one rank", name, to_text(seat->second)));
  if ((told.rank == 0) != (told.leader == who)) fault(name + " is told of a wrong leader");
  if (told.nnodes < limits_.min || told.nnodes > limits_.max) fault(fmt::format("a round of {} nodes", told.nnodes));
  if (known.first.assignment.has_value() != told.assignment.has_value()) fault("some nodes only have an assignment");
  if (told.assignment) check_assignment(known, member, told);
  const auto before = last_round_.find(who);
  if (before != last_round_.end() && before->second >= told.round) fault(name + " is in an old round again");
  last_round_[who] = told.round;
}

void Referee::listed(std::int64_t round, const std::vector<NodeDesc>& members) {
  const auto known = rounds_.find(round);
  if (known == rounds_.end()) return;
  for (const auto& [rank, node] : known->second.nodes)
    if (rank >= static_cast<int>(members.size()) || members[static_cast<std::size_t>(rank)] != node)
      fault(fmt::format("torchrun sees another membership of round {}", round));
}

void Referee::check_assignment(Told& known, const Member& member, const RoundFormed& told) {
  const Assignment& own = *told.assignment;
  const int workers = member.local_world_size;
  if (own.group_rank != told.rank || own.group_world_size != told.nnodes) fault("an assignment of another node");
  if (own.world_size != known.first.assignment->world_size) fault("a round has two world sizes");
  if (told.rank == 0 && own.base_global_rank != 0) fault("the first rank is not 0");
  if (own.base_global_rank + workers > own.world_size) fault("a rank beyond the world size");
  if (told.rank == told.nnodes - 1 && own.base_global_rank + workers != own.world_size) fault("ranks without a worker");
  const bool first_told = !known.shares.contains(told.rank);
  check_share(known.shares, told.rank, {own.base_global_rank, workers}, "ranks");
  check_share(known.roles[member.role], told.rank, {own.base_role_rank, workers}, "ranks of a role");
  known.workers += first_told ? workers : 0;
  const bool all_told = static_cast<int>(known.shares.size()) == told.nnodes;
  if (all_told && known.workers != own.world_size) fault("a world of another size than its nodes");
  const int role_size = known.role_sizes.try_emplace(member.role, own.role_world_size).first->second;
  if (role_size != own.role_world_size) fault("a role has two sizes");
  if (own.base_role_rank + workers > own.role_world_size) fault("a rank beyond the size of its role");
}

void Referee::check_share(Shares& shares, int rank, Share share, const std::string& what) {
  const auto own = shares.insert_or_assign(rank, share).first;
  if (own != shares.begin()) {
    const auto before = std::prev(own);
    const int end = before->second.base + before->second.count;
    if (end > share.base) fault(what + " that two nodes have");
  }
  if (const auto after = std::next(own); after != shares.end() && share.base + share.count > after->second.base)
    fault(what + " that two nodes have");
}

void Referee::run(std::int64_t round) {
  ++running_[round];
  if (running_.size() > 1)
    fault(fmt::format("workers run in rounds {} and {} at once", running_.begin()->first, running_.rbegin()->first));
  if (running_[round] > limits_.max) fault("a spare runs");
}

void Referee::rest(std::int64_t round) {
  if (--running_[round] == 0) running_.erase(round);
}

}  // namespace launch::sim
