// What a host answers when it is checked (launch --check): could the node of this job start here, and what is the host
// like. app/remote_run calls it in place of the plain question whether the node could start. Decides nothing: what is
// wrong with the answer is said by core/hosts on the head.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/hosts/host_facts.hpp"
#include "launch/core/hosts/host_messages.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace launch {

struct NodeSurvey {
  HostSurvey survey;
  std::string hostname;
};

// In the folder of the job, from now on. `env`: that of the node.
boost::asio::awaitable<NodeSurvey> survey_node(NodeJob job, Environment env);

}  // namespace launch
