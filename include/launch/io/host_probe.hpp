// Looks a host over before a job (launch --check), as its user would by hand: space, limits, names, interfaces, Python,
// GPUs and left-over processes become a survey (core/hosts/host_facts), which is judged elsewhere. Used by
// app/remote_survey on each host. What may hang (a dead file system, a driver, a name server) does so in a process of
// its own, and the survey says which check did not end in time. It changes nothing and ends no process but its own.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/hosts/host_facts.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace launch {

struct ProbeRequest {
  std::string hostname;
  std::string python;            // the path of an interpreter; empty: there is none
  std::string nvidia_smi;        // the path of this program; empty: it is not there
  std::string temp_folder;       // where workers' files go
  std::vector<std::string> env;  // NAME=VALUE, for these programs
};

// Blocks. `tell` gets what is known before each check that may hang, with its name in `unfinished`, and all at the end.
void probe_host(const ProbeRequest& request, const std::function<void(const HostSurvey&)>& tell);

constexpr Duration longest_probe = std::chrono::seconds(50);

// The same in a process of its own, and what is known after so long. This process must have no threads.
boost::asio::awaitable<HostSurvey> survey_host(ProbeRequest request, Duration limit = longest_probe);

}  // namespace launch
