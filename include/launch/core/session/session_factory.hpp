// Which kind of session a job has: HomeSession for a job of one node, ElasticSession for c10d, StaticSession otherwise.
// The only room that knows all of them. It opens nothing: that is OpenSession. Called once, by app/agent_loop and by
// each node of the simulator.
#pragma once

#include "launch/core/session/session.hpp"

#include <memory>

namespace launch {

// The one that the configuration asks for, which must outlive it.
std::unique_ptr<Session> make_session(const Config& config, const SessionFacts& facts);

}  // namespace launch
