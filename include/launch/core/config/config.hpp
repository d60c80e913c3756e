// Config: the one checked truth that the rest works from, made by settle() of the user's options and of HostFacts, all
// that is known of this host, which io/host gathers. Types only: nothing of it changes once workers start. Read by
// every room of app. Times are durations; zero has a meaning where the member says so.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/config/elastic_settings.hpp"
#include "launch/core/config/restart_rules.hpp"
#include "launch/core/host/accelerator.hpp"
#include "launch/core/host/binding.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/job/rank.hpp"
#include "launch/core/logs/log_plan.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace launch {

// What the file that the user named looks like.
struct ProgramFacts {
  bool in_working_directory = false;  // the name leads to a file or folder as it stands
  bool folder = false;
  bool executable = false;             // this user may execute it
  std::string first_bytes;             // up to 256 bytes: enough for a shebang line or the ELF magic
  std::optional<std::string> on_path;  // where PATH finds a name without a slash
};

struct HostFacts {
  Environment env;
  std::string hostname;
  int usable_cpus = 1;   // this process may run on
  std::string fresh_id;  // a UUID nobody else has
  ProgramFacts program;
  std::optional<std::string> venv_python;  // bin/python of VIRTUAL_ENV, else of CONDA_PREFIX, if it is there
  std::optional<std::string> path_python;  // python3, else python, on PATH
  std::optional<std::string> exec_python;  // where PATH finds PYTHON_EXEC, when that is a name without a slash
  bool log_dir_is_no_folder = false;       // what --log-dir names is there and something else
  bool log_dir_on_network = false;         // a file system that other machines serve, which may stall
  bool terminal_out = false;               // standard output is a terminal, which knows colours
  bool terminal_err = false;
  // Read only where the options ask for them.
  std::vector<AcceleratorFamily> accelerators;  // all that there are, visible or not
  CpuTopology topology;
  std::vector<int> device_nodes;  // the NUMA node of each visible accelerator
};

// What to execute: `executable` is a path; argv[0] stands in front of the arguments.
struct ProgramCommand {
  std::string executable;
  std::vector<std::string> argv;
  std::string script;  // the file an interpreter is to read; empty when there is none
  std::string name;    // as the user typed it, for reports
};

// How the nodes of the job find each other: there is but one, they know their ranks, or the rendezvous deals ranks out.
struct AloneChoice {
  Endpoint store;  // port 0: a free one
};

struct StaticChoice {
  Endpoint store;  // on node 0
  int nnodes = 2;
  NodeRank node_rank{};
};

struct C10dChoice {
  Endpoint store;
  ElasticSettings settings;     // but for the own NodeDesc
  std::optional<bool> is_host;  // of the store; nullopt: the node that `master` leads to
  std::string address;          // this node's for the others, by --local-addr; empty: to be found out
  bool joins_wait = false;      // who comes while workers run waits until they start again for another reason
};

using MeetingChoice = std::variant<AloneChoice, StaticChoice, C10dChoice>;

// The form of what is said at the end of a failed job.
struct VerdictChoice {
  bool json = false;  // one line in place of the text
  std::string file;   // gets the json as well; empty: none
};

// What is kept of the workers before they are told to end after a failure.
struct EvidenceChoice {
  bool states = true;    // of their processes
  bool stacks = false;   // of Python, always; otherwise only where it smells of a hang
  int stack_signal = 0;  // by which workers print their stacks; 0: none
};

// Who reads the standard input of launch.
struct InputChoice {
  enum class Readers {
    shared,  // whichever worker reads first, as with torchrun
    one,     // the worker of `rank`
    each,    // every worker, a copy of its own
    none,
  };
  Readers readers = Readers::shared;
  GlobalRank rank{};  // of all workers of the job
};

// Where the events of the job are told.
struct EventChoice {
  std::string file;           // our own; "-" is standard output; empty: nowhere
  bool torchelastic = false;  // torchrun's, on standard error
  std::string backend;        // as torchrun names the rendezvous,
  std::string entry_point;    // and the program
};

struct Config {
  int pid = 0;  // of the process that the user started; known when it runs
  MeetingChoice meeting;
  int nproc_per_node = 1;
  RestartRules restarts;
  std::string role;
  std::string run_id;
  bool serves_workers = true;      // false: the worker of rank 0 is to serve the store, at a port that we leave free
  bool identical_workers = false;  // TORCH_ELASTIC_WORKER_IDENTICAL=1: equal nodes, so no exchange of roles
  Duration rendezvous_timeout{};
  Duration heartbeat_timeout{};  // zero: silence is no failure
  Duration shutdown_timeout{};
  Duration kill_grace{};  // after SIGKILL
  VerdictChoice verdict;
  EvidenceChoice evidence;
  std::vector<int> signals;  // that are passed on and end the job
  int preempt_signal = 0;    // is passed on and ends nothing, the first time; 0: none
  std::string hostname;
  std::string parent_error_file;  // where whoever started launch looks for the failure; empty: nobody does
  std::string log_folder;         // where the job's folder is made; empty: a temporary one; /dev/null: none
  std::string timer_file;         // through which workers set watchdog timers; empty: they cannot
  LogChoice logs;
  EventChoice events;
  ProgramCommand program;
  InputChoice input;
  Environment worker_env;                   // what every worker starts from
  std::vector<std::string> virtual_device;  // by local rank, the one device it sees; empty: no virtual local ranks
  std::vector<Binding> bindings;            // by local rank; empty: workers are not bound
  std::vector<std::string> notices;         // one line each, for the log: what was changed or ignored

  int nnodes() const;          // the most, in a c10d job
  NodeRank node_rank() const;  // none() in a c10d job
  // Where the job's store is. But in a c10d job that is MASTER_ADDR and MASTER_PORT.
  const Endpoint& store() const;
  const C10dChoice* c10d() const { return std::get_if<C10dChoice>(&meeting); }  // null: another kind of job
};

// The other nodes form another round when one goes away or is told to stop; otherwise the job ends.
bool goes_on_without_a_node(const Config& config);

}  // namespace launch
