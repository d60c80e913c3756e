// Who was in which round, as each agent has been told; and what must never be.
#pragma once

#include "world.hpp"

#include "launch/core/c10d/elastic_machine.hpp"

#include <map>
#include <string>
#include <vector>

namespace launch::sim {

class Referee {
 public:
  // lenient: torchrun's agents are not judged.
  Referee(World& world, NodeLimits limits, bool lenient) : world_(world), limits_(limits), lenient_(lenient) {}

  bool judges(const NodeDesc& node) const { return is_launch(node) || !lenient_; }
  void formed(const NodeDesc& who, const Member& member, const RoundFormed& told);
  // torchrun's agents see everybody, in order of ranks.
  void listed(std::int64_t round, const std::vector<NodeDesc>& members);

  // A node's workers; not those of a machine that stands still.
  void run(std::int64_t round);
  void rest(std::int64_t round);

  void fault(std::string what);
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  // Ranks of workers that nodes have, by the node's rank: each comes after those of the nodes before it.
  struct Share {
    int base = 0;
    int count = 0;
  };
  using Shares = std::map<int, Share>;
  struct Told {
    RoundFormed first;              // as somebody was told first
    std::map<int, NodeDesc> nodes;  // by rank
    Shares shares;
    int workers = 0;  // in them
    std::map<std::string, Shares> roles;
    std::map<std::string, int> role_sizes;
  };
  void check_assignment(Told& known, const Member& member, const RoundFormed& told);
  void check_share(Shares& shares, int rank, Share share, const std::string& what);

  World& world_;
  NodeLimits limits_;
  bool lenient_;
  std::map<std::int64_t, Told> rounds_;
  std::map<NodeDesc, std::int64_t> last_round_;
  std::map<std::int64_t, int> running_;  // nodes whose workers run, by round
  std::vector<std::string> faults_;
};

}  // namespace launch::sim
