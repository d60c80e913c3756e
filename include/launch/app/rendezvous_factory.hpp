// Which kind of rendezvous a job has: HomeRendezvous for a job of one node, ElasticSession for c10d, StaticSession
// otherwise. The only file that knows all of them. Called once by AgentLoop. It opens nothing: that is
// Rendezvous::open().
#pragma once

#include "launch/app/mailbox.hpp"
#include "launch/app/rendezvous.hpp"
#include "launch/core/config/config.hpp"
#include "launch/io/store_server.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace launch {

// The one that the configuration asks for. All references must outlive it.
std::unique_ptr<Rendezvous> make_rendezvous(const boost::asio::any_io_executor& executor, Config& config,
                                            StoreServer& server, Mailbox& mailbox);

}  // namespace launch
