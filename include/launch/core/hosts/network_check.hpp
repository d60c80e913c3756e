// Which host reaches which, when hosts are checked before a job: whom each of them tries, and what its answer means.
// Each host has a port open, and says which addresses it has; the others try them. Used by core/hosts/doctor. Pure.
// Of up to 32 hosts each tries all others; of more, the 16 that follow in the list, and node 0.
#pragma once

#include "launch/core/hosts/check_table.hpp"
#include "launch/core/hosts/host_messages.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace launch {

// A host that has answered, and can be tried.
struct PairPlace {
  int node = 0;
  std::string hostname;  // as it calls itself
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  std::string token;
};

struct PairTry {
  int node = 0;          // that is tried
  bool by_name = false;  // only to learn whether the name is known
  ReachTarget target;
};

// What the host at `from` of these places tries, at most most_reach_targets.
std::vector<PairTry> tries_of(std::size_t from, const std::vector<PairPlace>& places);

ReachQuestion question_of(const std::vector<PairTry>& tries);

// The rows of `node`, which has tried that. A host is reached if one of its addresses is.
std::vector<CheckRow> check_pairs(int node, const std::vector<PairTry>& tries, const ReachAnswer& answer,
                                  const std::vector<std::string>& names);

// By which addresses others reached `node`; empty: by none.
std::vector<std::string> reached_addresses(int node, const std::vector<PairTry>& tries, const ReachAnswer& answer);

}  // namespace launch
