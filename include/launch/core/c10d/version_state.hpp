// What the agents of a job share at an etcd in torchrun's older rendezvous (--rdzv-backend=etcd): the JSON text of
// `active_version`, as torchrun 2.13's etcd_rendezvous.py reads and writes it. Values only: VersionRendezvous decides
// who writes them and when. torchrun keeps members of the object that it does not know; by some of these launch agents
// know each other.
//
// The text comes from outside: it is bounded, and what is no state is an error, a clause that says so.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/node_desc.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct VersionState {
  enum class Status {
    absent,    // there is none, since nobody has begun or the last one was given up
    setup,     // somebody is about to number a version
    joinable,  // nodes join
    frozen,    // each that has joined confirms that
    final,     // all have; its workers run
    closed,    // for good
  };
  Status status = Status::absent;
  std::int64_t version = 0;              // from 1 on; 0: it has none yet
  int participants = 0;                  // their ranks are 0, 1, ... in the order in which they came
  std::vector<std::string> keep_alives;  // the leases of those that have confirmed
  int waiting = 0;                       // nodes that want the next version; each has counted itself
  std::map<int, NodeDesc> launch;        // the launch agents among the participants, by rank
  std::set<NodeDesc> launch_waiting;     // those among the nodes that wait
  std::optional<NodeDesc> founder;       // the launch agent that is about to number a version

  bool all_launch() const { return static_cast<int>(launch.size()) == participants; }
  bool operator==(const VersionState&) const = default;
};

// An empty text: absent.
Result<VersionState> read_version_state(std::string_view text);
std::string write_version_state(const VersionState& state);

// The participants whose leases this one looks at: those behind it, up to the next launch agent, which looks further.
// So a launch agent that lives sees it if any other node is lost.
std::vector<int> neighbours(const VersionState& state, int rank);
std::vector<int> all_ranks(const VersionState& state);
std::optional<int> rank_of(const VersionState& state, const NodeDesc& node);
// Of the nodes that wait in `state` those that are in `members`, as far as one can tell: agents of torchrun have no
// names, so that each that waits counts.
int members_that_wait(const VersionState& state, const VersionState& members);
// For people: "n1 (pid 42)"; torchrun's agents have no names.
std::string name_of(const VersionState& state, int rank);

}  // namespace launch
