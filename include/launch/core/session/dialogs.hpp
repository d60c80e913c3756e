// What agents say to each other by way of a store: each function is one exchange over torchrun's or a private key, or
// carries out one small machine, on a link that nobody else uses meanwhile. Used by the sessions. Nothing of the job is
// decided here; errors of the network are returned, and nothing is repeated.
#pragma once

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
inline constexpr Duration silent_farewell = std::chrono::seconds(1);  // waiting for peers to end without a word

// A Fence, which only the node asks for that hosts the store, is carried out there.
Talk<Result<Round>> form(StoreLink& link, StaticRendezvous& machine, std::function<void(const Waiting&)> on_waiting);

// `on_counted`: the others know that this node has ended.
Talk<Result<BarrierPassed>> pass(StoreLink& link, ExitBarrier barrier, std::function<void()> on_counted);

// The identity of the agent that has claimed `node`, as soon as there is one.
Talk<Result<std::string>> await_claim(StoreLink& link, std::string run_id, NodeRank node, Time deadline);

// The first failure of the job, which is there, acknowledged for this node.
Talk<Result<Failure>> learn_abort(StoreLink& link, std::string prefix, NodeRank own, Time deadline);

// What the abort key holds by now, if anything; does not acknowledge it.
Talk<std::optional<Failure>> look_for_abort(StoreLink& link, std::string prefix, Time deadline);

// Writes the abort key unless somebody has; returns what it then holds.
Talk<Result<Failure>> tell_abort(StoreLink& link, std::string prefix, Failure failure, Time deadline);

// Those of `nnodes` nodes that launch agents have claimed.
Talk<std::vector<NodeRank>> claimed_nodes(StoreLink& link, std::string run_id, int nnodes, Time deadline);

// Until these nodes have acknowledged the abort, except for the one whose loss it tells of.
Talk<void> await_informed(StoreLink& link, std::string prefix, std::vector<NodeRank> nodes, Time deadline);

// A store of this node must listen there, and connections that have ended keep the port.
void say_wait_for_port(Stage& stage, std::uint16_t port);

// After an attempt to tell the others: the first failure, ahead of what waits, or a warning.
void pass_on(Stage& stage, const Result<Failure>& first);

// Until nobody talks to our store any more; says so if it takes long. `start`: since when this has been waited for.
Talk<void> see_talkers_off(Stage& stage, Time start);

// Ids of other jobs that use this store, as text for a line to the user who waits; empty if there is none. Asked only
// if few nodes have arrived: then the others may be elsewhere, and many must not ask.
Talk<std::string> other_jobs(Stage& stage, Endpoint store, std::string run_id, int arrived);

// Removes all keys of a store that is not ours.
Talk<Status> remove_all_keys(StoreLink& link, Time deadline);

}  // namespace launch
