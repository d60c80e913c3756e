// What launch-ctl asks of a running job, as a value, and as the line of JSON in which it goes to the agent's door and
// from there to the other nodes. The texts come from outside: parsing bounds them, and refuses what it does not know.
// Nothing is carried out here.
#pragma once

#include "launch/core/base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct ControlRequest {
  enum class Verb {
    about,     // who the node is, and which workers it has; nothing is looked at
    status,    // the same, and what its workers do
    stacks,    // the same, with the Python stacks of its workers
    timeline,  // the same as about, and when its workers started, and who has come to a store that it serves
    quiet,     // who the node is, and how long it has been quiet (--hang-timeout)
    signal,    // `signal` goes to its workers
    stop,      // the node stops as it does at SIGTERM
    restart,   // all nodes of the job restart their workers; the node that is asked tells the others
    drain,     // node `node` leaves the job, and the others go on
    logs,      // what its workers have written to files
    filter,    // its console shows only the workers with `local_ranks`; empty: all
  };
  Verb verb = Verb::status;
  bool whole_job = true;                // of all nodes; false: only of the node that is asked
  std::optional<int> rank;              // only this worker; stacks, signal and logs alone
  std::optional<int> node;              // only this node, by its rank; nullopt: all
  std::optional<std::int64_t> round{};  // in which `node` has this rank
  int signal = 0;
  std::vector<int> local_ranks{};
  // Of logs: a node gives each line once to each reader. A reader that asks for the step again that it has asked for
  // last gets the same lines again.
  std::int64_t reader = 0;
  int step = 0;
  int lines = 0;                    // at the first step: how many of the last ones of each file; -1: all
  std::optional<double> since_s{};  // at the first step: only what was written in the last so many seconds
  bool ends = false;                // the reader does not wait for more: a line that has no end yet is given, too
  int asker = 0;                    // the pid of launch-ctl,
  std::string asker_host{};         // on the host where it runs; for messages

  bool operator==(const ControlRequest&) const = default;
};

// For messages: "launch-ctl (pid 7 on n1)".
std::string asker_text(const ControlRequest& request);
// Something is done; the others only look.
bool is_deed(ControlRequest::Verb verb);
std::string_view name_of(ControlRequest::Verb verb);

std::string to_json(const ControlRequest& request);
// The error says what is wrong with the text.
Result<ControlRequest> parse_request(std::string_view json);

}  // namespace launch
