// Which kind of session a job has: HomeSession for a job of one node, ElasticSession for c10d, StaticSession otherwise.
// Only this file knows all of them. It opens nothing: OpenSession does that. Called once, by app/agent_loop and by each
// node of the simulator.
#pragma once

#include "launch/core/session/session.hpp"

#include <memory>

namespace launch {

// The session that the configuration asks for; the configuration must outlive it.
std::unique_ptr<Session> make_session(const Config& config, const SessionFacts& facts);

}  // namespace launch
