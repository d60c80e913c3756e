// What agents say to each other through a store. Each function is one exchange over a key of torchrun's or launch's
// own, or carries out one small machine, on a link that nobody else uses meanwhile. Used by the sessions. Nothing about
// the job is decided here; network errors are returned, and nothing is repeated.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/rendezvous/exit_barrier.hpp"
#include "launch/core/rendezvous/static_rendezvous.hpp"
#include "launch/core/session/store_link.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace launch {

inline constexpr Duration quick_answer = std::chrono::seconds(2);     // what a live store needs for a round trip
inline constexpr Duration peers_patience = std::chrono::seconds(30);  // torchrun's agents take seconds to end
inline constexpr Duration silent_farewell = std::chrono::seconds(1);  // wait for peers to end, without telling the user

// Only the node that hosts the store asks for a Fence, which is carried out in its own store.
Talk<Result<Round>> form(StoreLink& link, StaticRendezvous& machine, std::function<void(const Waiting&)> on_waiting);

// `on_counted`: called when the others know that this node has ended.
Talk<Result<BarrierPassed>> pass(StoreLink& link, ExitBarrier barrier, std::function<void()> on_counted);

// For the user, while a host waits for members of the last round that have not come since the host of that was lost.
std::string wait_for_others(const RoundWaits& waits);

// The identity of the agent that has claimed `node`, as soon as there is one.
Talk<Result<std::string>> await_claim(StoreLink& link, std::string run_id, NodeRank node, Time deadline);

// Reads the first failure of the job, which must be there, and acknowledges it for this node.
Talk<Result<Failure>> learn_abort(StoreLink& link, std::string prefix, NodeRank own, Time deadline);

// What the abort key holds by now, if anything; does not acknowledge it.
Talk<std::optional<Failure>> look_for_abort(StoreLink& link, std::string prefix, Time deadline);

// The same by a connection of its own.
Talk<std::optional<Failure>> read_abort(Stage& stage, Endpoint store, std::string prefix);

// Whether all nodes of the round have reached the exit barrier: then nodes that are lost or join change nothing.
Talk<bool> have_all_ended(Stage& stage, Endpoint store, std::string prefix);

// Waits until all members know the round: those who know only the one before must not go on by themselves while workers
// of this one run (core/c10d/quorum). Says now and then that it waits.
Talk<Status> await_settled(StoreLink& link, std::string run_id, std::int64_t round, Time deadline);

// Writes the abort key unless somebody has; returns what it then holds.
Talk<Result<Failure>> tell_abort(StoreLink& link, std::string prefix, Failure failure, Time deadline);

// The same by a connection of its own, for what each node may find out by itself. `failure` if the store gives no
// answer.
Talk<Failure> agree_on_first(Stage& stage, Endpoint store, std::string prefix, Failure failure);

// The nodes, out of `nnodes`, whose ranks launch agents have claimed.
Talk<std::vector<NodeRank>> claimed_nodes(StoreLink& link, std::string run_id, int nnodes, Time deadline);

// Waits until these nodes have acknowledged the abort, except the one whose loss it reports.
Talk<void> await_informed(StoreLink& link, std::string prefix, std::vector<NodeRank> nodes, Time deadline);

// Tells the user that this node's store must listen there, and that connections that have ended keep the port.
void say_wait_for_port(Stage& stage, std::uint16_t port);

struct RestartsSoFar {
  std::string run_id;
  std::int64_t round = 0;
  int known = 0;  // if the store does not tell
};
// How often the workers of a c10d job have restarted before this round. The failure that led to it has the count, too:
// the node that wrote it may have had no time to write the key. If this round has failed already, the key has the count
// of the next one.
Talk<int> count_restarts(StoreLink& control, RestartsSoFar so_far);

// After an attempt to tell the others: passes on the first failure, before the events that wait, or a warning.
void pass_on(Stage& stage, const Result<Failure>& first);

// Waits for those who need our store; says so if it takes long. `until`: what it waits for, as in "until ...".
Talk<void> see_off(Stage& stage, AwaitNoClients wait, std::string until);

// Waits until nobody talks to our store any more; says so if it takes long. `start`: when this wait began.
Talk<void> see_talkers_off(Stage& stage, Time start);

// Ids of other jobs that use this store, as text for a line to the user who waits; empty if there are none. Asks the
// store only if few nodes have arrived: then the others may be elsewhere. If many have arrived, they must not all ask.
Talk<std::string> other_jobs(Stage& stage, Endpoint store, std::string run_id, int arrived);

// Removes all keys of a store that is not ours.
Talk<Status> remove_all_keys(StoreLink& link, Time deadline);

}  // namespace launch
