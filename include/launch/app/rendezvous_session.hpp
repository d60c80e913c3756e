// The conversations of an agent with the store: each carries out one machine of core, or one exchange over a private
// key, on a connection. Nothing here decides.
#pragma once

#include "launch/core/exit_barrier.hpp"
#include "launch/core/failure_report.hpp"
#include "launch/core/static_rendezvous.hpp"
#include "launch/io/store_client.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>

namespace launch {

boost::asio::awaitable<Result<Assignment>> form(StoreClient& client, StaticRendezvous machine,
                                                std::function<void(const Waiting&)> on_waiting);

// False when the time-out came first.
boost::asio::awaitable<Result<bool>> pass(StoreClient& client, ExitBarrier barrier);

// The identity of the agent that has claimed `node`, as soon as there is one.
boost::asio::awaitable<Result<std::string>> await_claim(StoreClient& client, std::string run_id, int node,
                                                        Time deadline);

// Waits for the first failure of the job, for as long as the connection lives, and acknowledges it for this node.
boost::asio::awaitable<Result<Failure>> await_abort(StoreClient& client, std::string run_id, int node_rank);

// Writes the abort key unless somebody has; returns what it then holds.
boost::asio::awaitable<Result<Failure>> tell_abort(StoreClient& client, std::string run_id, Failure failure,
                                                   Time deadline);

// Until every launch agent of the job, as far as the store knows them, has acknowledged the abort.
boost::asio::awaitable<void> await_informed(StoreClient& client, std::string run_id, int nnodes, Time deadline);

}  // namespace launch
