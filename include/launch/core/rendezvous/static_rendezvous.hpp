// The rendezvous of nodes that know their rank. It uses torchrun's keys in torchrun's order (docs/store_protocol.md),
// so that a torchrun agent can be any node of the job, plus private keys by which launch agents notice contradictions.
//
// A machine: start() and on() say what to do next; deadline() bounds the operation under way. It never restarts by
// itself.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/config/common_settings.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/store/store_operation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace launch {

struct StaticJob {
  std::string run_id;  // the beginning of the keys, between slashes
  int nnodes = 1;
  Member self;                     // group_rank is the node rank
  bool identical_workers = false;  // nodes are alike: ranks are computed, and roles are not exchanged
  Duration timeout{};
  bool found = false;   // c10d: the nodes have found each other, and only exchange their ranks
  bool fence = false;   // node 0 asks for a Fence before it lets the workers start
  bool survey = false;  // finds out whether all nodes are launch agents
  int restarts = 0;     // restarts before this round, for Round
  Duration report_interval = std::chrono::seconds(30);  // between two lines to the user
  CommonSettings common{};                              // settings that the nodes should agree on
  std::string identity;  // this agent, unique: "host n0 (pid 123, 0a1b2c3d)"; shown to a node that claims the same rank
};

// The identity of an agent that claims a node rank; `salt` tells agents with the same pid apart.
std::string agent_identity(const std::string& host, int pid, std::uint32_t salt);
// nullopt: the agent is of another host.
std::optional<int> pid_of_agent(std::string_view identity, const std::string& host);

// Still waiting: for a line to the user.
struct Waiting {
  int arrived = 0;
  std::vector<int> missing;  // node ranks, if they can be known
  Duration left{};
};

// Every node has joined, so no worker of an earlier round lives, and no worker of this one does yet. What the earlier
// workers left in the store must now be removed. Answered by Done.
struct Fence {};

// Next: an operation on the store, or the end.
struct RendezvousStep {
  std::variant<Operation, Fence, Round, Error> next;
  std::optional<Waiting> waiting;
  std::vector<std::string> warnings{};  // for the user
};

class StaticRendezvous {
 public:
  explicit StaticRendezvous(StaticJob job) : job_(std::move(job)) {}

  RendezvousStep start(Time now);
  // REQUIRES: the outcome of the operation that the last step asked for.
  RendezvousStep on(const Outcome& outcome, Time now);
  // When the operation under way must be given up: with WaitExpired (AwaitKeys), or with an error (any other).
  Time deadline() const;
  // The other agent that claims this node's rank, which is the error; empty if there is none.
  const std::string& holder() const { return holder_; }

 private:
  enum class State {
    agreeing,     // on the number of nodes
    comparing,    // other settings
    claiming,     // the node rank
    counting,     // ADD init/
    gathering,    // identical workers, node 0: until all nodes have counted themselves
    introducing,  // itself: it writes its role_info
    waiting,      // for all role_info (node 0), or for this node's assigned_ranks
    beginning,    // node 0: from now on the loss of a node ends the job
    taking_back,  // node 0: what it began, since a node was lost just before
    looking,      // which role_info is missing
    reading,      // the values that it has waited for
    fencing,
    publishing,  // assigned_ranks, by node 0
    surveying,   // which ranks launch agents have claimed
  };

  bool leads() const { return job_.self.group_rank == NodeRank(0); }
  KeyList role_keys() const;
  RendezvousStep go(State state, Operation operation);
  RendezvousStep agreed(const Outcome& outcome);
  RendezvousStep compared(const Outcome& outcome);
  RendezvousStep claim();
  RendezvousStep claimed(const Outcome& outcome);
  RendezvousStep counted();
  RendezvousStep gathered(const Outcome& outcome, Time now);
  RendezvousStep wait_for_peers();
  RendezvousStep read_role_infos();
  RendezvousStep waited(const Outcome& outcome);
  RendezvousStep looked(const Outcome& outcome, Time now);
  RendezvousStep read(const Outcome& outcome);
  RendezvousStep assign(const std::vector<std::string>& role_infos);
  RendezvousStep formed(Assignment assignment);
  Round make_round(bool can_restart) const;

  StaticJob job_;
  State state_ = State::agreeing;
  Time give_up_ = never;
  Time look_ = never;    // when to look which nodes are missing
  Time report_ = never;  // when to tell the user of a count (identical workers)
  Assignment own_;
  std::vector<std::string> role_infos_;  // kept until the fence is done
  std::string holder_;
};

// Asks which nodes are launch agents: one answer per node.
CheckKeys check_claims(const std::string& run_id, int nnodes);

// The error, on either side, when two agents claim one node rank.
Error rank_used_twice(const StaticJob& job, const std::string& other);

}  // namespace launch
