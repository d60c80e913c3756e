// The conversations of an agent with the store: each carries out one machine of core, or one exchange over a private
// key, on a connection. Nothing here decides. A connection belongs to one conversation at a time. Errors of the network
// are returned, not repeated.
#pragma once

#include "launch/app/mailbox.hpp"
#include "launch/core/rendezvous/exit_barrier.hpp"
#include "launch/core/rendezvous/static_rendezvous.hpp"
#include "launch/core/verdict/failure_report.hpp"
#include "launch/io/store_client.hpp"
#include "launch/io/store_server.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace launch {

inline constexpr Duration quick_answer = std::chrono::seconds(2);     // what a live store needs for a round trip
inline constexpr Duration peers_patience = std::chrono::seconds(30);  // torchrun's agents take seconds to end
inline constexpr Duration silent_farewell = std::chrono::seconds(1);  // waiting for peers to end without a word

// To a store that has answered before: nothing is said of failed tries.
boost::asio::awaitable<Result<StoreClient>> connect_quietly(Endpoint endpoint, Time deadline, Random& random);

// The store is to listen there, and the last user of the port has ended.
void announce_wait_for_port(std::uint16_t port);

// `fence` removes what the workers of earlier rounds left in the store.
boost::asio::awaitable<Result<Round>> form(StoreClient& client, StaticRendezvous& machine,
                                           std::function<void(const Waiting&)> on_waiting, std::function<void()> fence);

// False when the time-out came first. `on_counted`: the others know that this node has ended.
boost::asio::awaitable<Result<bool>> pass(StoreClient& client, ExitBarrier barrier, std::function<void()> on_counted,
                                          std::function<void(int)> on_waiting);

// The identity of the agent that has claimed `node`, as soon as there is one.
boost::asio::awaitable<Result<std::string>> await_claim(StoreClient& client, std::string run_id, int node,
                                                        Time deadline);

// The first failure of the job, which is there, acknowledged for this node.
boost::asio::awaitable<Result<Failure>> learn_abort(StoreClient& client, std::string run_id, int node_rank,
                                                    Time deadline);

// What the abort key holds by now, if anything; does not acknowledge it.
boost::asio::awaitable<std::optional<Failure>> look_for_abort(StoreClient& client, std::string run_id, Time deadline);

// Writes the abort key unless somebody has; returns what it then holds.
boost::asio::awaitable<Result<Failure>> tell_abort(StoreClient& client, std::string run_id, Failure failure,
                                                   Time deadline);

// Those of `nnodes` nodes that launch agents have claimed.
boost::asio::awaitable<std::vector<int>> claimed_nodes(StoreClient& client, std::string run_id, int nnodes,
                                                       Time deadline);

// Until these nodes have acknowledged the abort, but for the one whose loss it tells of.
boost::asio::awaitable<void> await_informed(StoreClient& client, std::string run_id, std::vector<int> nodes,
                                            Time deadline);

// After an attempt to tell the others: the first failure, ahead of what waits, or a warning.
void pass_on(Mailbox& mailbox, const Result<Failure>& first);

// Until nobody talks to our store any more; says so when it takes long. `start`: since when this has been waited for.
boost::asio::awaitable<void> see_talkers_off(StoreServer& server, Time start);

// Ids of other jobs that use this store, as text for a line to the user who waits; empty when there is none. Asked only
// where few nodes have arrived: then the others may be elsewhere, and many must not ask.
boost::asio::awaitable<std::string> other_jobs(Endpoint store, std::string run_id, int arrived, Random& random);

// Removes all keys of a store that is not ours.
boost::asio::awaitable<Status> remove_all_keys(StoreClient& client, Time deadline);

}  // namespace launch
