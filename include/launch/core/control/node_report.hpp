// What one node of a running job says of itself and of its workers when launch-ctl asks, and its line of JSON. The
// names in the JSON are part of the interface (docs/control.md) and stay. Texts of workers may hold anything: whoever
// shows them takes out what a terminal would obey. It looks at nothing itself.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/startup/startup_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// Whole lines of one stream, each with its end.
struct LogPiece {
  std::string stream;  // "stdout" or "stderr"
  std::string text;
};

// When the worker has started: seconds ago. Only if the request asks for it.
struct WorkerStartup {
  std::vector<int> pids{};  // its own and those of its descendants
  std::optional<double> started_age_s{}, first_output_age_s{}, first_step_age_s{};
  std::optional<double> store_age_s{};  // since its first connection to the store; known when all nodes have answered
};

// What the node knows of the start of the job, if the request asks for it.
struct NodeStartup {
  std::vector<std::string> addresses{};  // of its interfaces
  std::vector<StartupClient> clients{};  // of a store that it serves
  int clients_left_out = 0;
};

// What is not known is absent.
struct WorkerReport {
  int rank = 0;
  int local_rank = 0;
  int pid = 0;
  std::string state;                             // starting, running or ended
  std::string end;                               // how it ended: "exit code 3"
  std::optional<double> cpu_percent;             // of one processor, with its children
  std::optional<std::int64_t> memory_bytes;      // resident, with its children
  std::optional<std::int64_t> gpu_memory_bytes;  // on GPUs of NVIDIA, with its children
  std::string last_line;                         // of what it wrote, if launch has that in a file
  std::optional<double> last_line_age_s;         // since that file has changed
  std::optional<double> step;                    // by --progress
  std::optional<double> rate;                    // steps per second
  std::optional<double> step_age_s;              // since the step has changed
  std::optional<double> step_jump;               // what it was before that is so much less
  std::vector<std::string> stack;                // innermost frame first
  std::vector<LogPiece> log;                     // what is new in its files
  WorkerStartup startup{};
};

struct NodeReport {
  int node_rank = -1;  // -1: it has none yet
  std::string host;
  std::string run_id;
  std::string program;
  int pid = 0;        // of launch
  std::string state;  // joining, running, stopping, ...
  std::string since;  // when the workers were started, in local time; empty: not yet
  double age_s = 0;   // how long ago that was; without workers: how long launch runs
  std::int64_t round = 0;
  int restart = 0;  // how many the job has had
  int nnodes = 0;   // of the round; 0: there is none
  int world_size = 0;
  std::optional<double> quiet_s;  // since a worker made progress; only if the request asks for it
  bool quiet_by_steps = false;    // that is since the last step
  std::string done;               // what was done because of the request
  std::string fault;              // why the node has not answered, or not done it
  std::string note;               // what to know about the answer
  bool more = false;              // its workers have written more than this
  NodeStartup startup{};
  std::vector<WorkerReport> workers;
};

// One line, without its end.
std::string to_json(const NodeReport& report);
// The error says that it is no such report.
Result<NodeReport> parse_node_report(std::string_view json);
// Though their run ids are equal: nodes of one job have different ranks in a round, and do not run in two at once.
bool are_of_two_jobs(const NodeReport& one, const NodeReport& other);
// By job, then by rank.
bool comes_before(const NodeReport& one, const NodeReport& other);
void sort_by_node(std::vector<NodeReport>& nodes);
// The rank of the node that a user means by its rank or its host. The error has code usage and says which nodes there
// are.
Result<int> find_node(const std::vector<NodeReport>& nodes, const std::string& word);
// As many lines as there are nodes; those that are no report are left out.
std::vector<NodeReport> parse_node_reports(std::string_view lines);

}  // namespace launch
