// What launch-ctl asks of a running job, as a value, and as the line of JSON in which it goes to the agent's door and
// from there to the other nodes. The texts come from outside: parsing bounds them, and refuses what it does not know.
// Nothing is carried out here.
#pragma once

#include "launch/core/base/error.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace launch {

struct ControlRequest {
  enum class Verb {
    about,   // who the node is, and which workers it has; nothing is looked at
    status,  // the same, and what its workers do
    stacks,  // the same, with the Python stacks of its workers
    quiet,   // who the node is, and how long it has been quiet (--hang-timeout)
    signal,  // `signal` goes to its workers
    stop,    // the node stops as it does at SIGTERM
  };
  Verb verb = Verb::status;
  bool whole_job = true;    // of all nodes; false: only of the node that is asked
  std::optional<int> rank;  // only this worker; stacks and signal alone
  int signal = 0;
  int asker = 0;  // the pid of launch-ctl on the host where it runs, for messages

  bool operator==(const ControlRequest&) const = default;
};

std::string to_json(const ControlRequest& request);
// The error says what is wrong with the text.
Result<ControlRequest> parse_request(std::string_view json);

}  // namespace launch
