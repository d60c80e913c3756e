// Config: all settings, checked; the rest of the program works from it. settle() makes it from the user's options and
// from HostFacts, which is all that io/host finds out about this host. Types only: nothing in it changes once workers
// start. Read everywhere in app. Times are durations; zero has a meaning if the member says so.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/config/elastic_settings.hpp"
#include "launch/core/config/metrics_settings.hpp"
#include "launch/core/config/preemption.hpp"
#include "launch/core/config/restart_rules.hpp"
#include "launch/core/config/timeline_settings.hpp"
#include "launch/core/host/accelerator.hpp"
#include "launch/core/host/binding.hpp"
#include "launch/core/host/kernel_lack.hpp"
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
  bool in_working_directory = false;  // the name, as typed, leads to a file or folder
  bool folder = false;
  bool main_inside = false;            // a folder with __main__.py, which Python runs
  bool executable = false;             // this user may execute it
  std::string first_bytes;             // up to 256 bytes: enough for a shebang line or the ELF magic
  std::optional<std::string> on_path;  // where PATH finds a name without a slash
};

struct HostFacts {
  Environment env;
  std::string hostname;
  int usable_cpus = 1;   // that this process may run on
  std::string fresh_id;  // a UUID that nobody else has
  ProgramFacts program;
  std::optional<std::string> venv_python;  // bin/python of VIRTUAL_ENV, else of CONDA_PREFIX, if it is there
  std::optional<std::string> path_python;  // python3, else python, on PATH
  std::optional<std::string> exec_python;  // where PATH finds PYTHON_EXEC, when that is a name without a slash
  bool log_dir_is_no_folder = false;       // what --log-dir names exists and is not a folder
  bool log_dir_on_network = false;         // it is on a file system that other machines serve, which may stall
  bool terminal_out = false;               // standard output is a terminal, which knows colours
  bool terminal_err = false;
  // Read only if the options ask for them.
  std::vector<AcceleratorFamily> accelerators;  // all of this host, visible or not
  CpuTopology topology;
  std::vector<int> device_nodes;  // the NUMA node of each visible accelerator
  std::vector<KernelLack> kernel_lacks;
};

// What to execute: `executable` is a path; `argv` has argv[0] first, then the arguments.
struct ProgramCommand {
  std::string executable;
  std::vector<std::string> argv;
  std::string script;   // the file that an interpreter reads; empty if there is none
  std::string name;     // as the user typed it, for reports
  std::string fault{};  // why it cannot be started, as far as that can be seen now; empty: nothing is known against it
};

// How the nodes of the job find each other: there is only one, they know their ranks, or the rendezvous assigns ranks.
struct AloneChoice {
  Endpoint store;  // port 0: a free one
};

struct StaticChoice {
  Endpoint store;  // on node 0
  int nnodes = 2;
  NodeRank node_rank{};
  // If nobody has given the port: those that node 0 may take, that of `store` first; the others look for it there.
  std::vector<std::uint16_t> ports{};
};

struct C10dChoice {
  Endpoint store;
  ElasticSettings settings;     // without this node's own NodeDesc
  std::optional<bool> is_host;  // whether it hosts the store; nullopt: the node that `store` leads to does
  std::string address;          // this node's, for the others, from --local-addr; empty: it must be found out
  bool joins_wait = false;      // a node that joins while workers run waits until they restart for another reason
  bool host_moves = false;      // when the node that hosts the store has ended, another one hosts it
  bool by_majority = false;     // and also if it is silent: a part of the nodes goes on that is more than half of them
  std::vector<std::uint16_t> ports{};  // as in StaticChoice; there if it is known which node hosts the store
  // If --rdzv-endpoint lists several: all places at which the store may be. The job is founded at the first, `store`.
  std::vector<Endpoint> places{};
};

using MeetingChoice = std::variant<AloneChoice, StaticChoice, C10dChoice>;

// The form of the report at the end of a failed job.
struct VerdictChoice {
  bool json = false;            // one line instead of the text
  bool shared_console = false;  // all nodes write to one: a few of them show all of it
  std::string file;             // gets the json as well; empty: none
  std::string text_file;        // gets the text in place of the console; empty: it is shown there
  bool logs_pass = false;       // logs of a job that was told to stop will be removed, so they are not named
  bool hosted = false;          // this is a node of launch --hosts
};

// What is recorded about the workers after a failure, before they are told to exit.
struct EvidenceChoice {
  bool states = true;    // of their processes
  bool stacks = false;   // of Python, always; otherwise only when a hang is suspected
  int stack_signal = 0;  // at which workers print their stacks; 0: none
};

// Which workers read the standard input of launch.
struct InputChoice {
  enum class Readers {
    shared,  // whichever worker reads first, as with torchrun
    one,     // the worker of `rank`
    each,    // every worker gets a copy of its own
    none,
  };
  Readers readers = Readers::shared;
  GlobalRank rank{};  // among all workers of the job
};

// What each node runs by /bin/sh around its workers, at every start of them.
struct HookChoice {
  std::string before{};  // before they start; empty: nothing
  std::string after{};   // when they have ended; empty: nothing
  Duration timeout{};    // of each; zero: no limit
  // How long a restart waits, at most, for the memory that the workers had on GPUs; zero: not at all.
  Duration wait_gpu_memory{};
};

// How much launch says about what it does. The report on a failure is always shown.
enum class Verbosity {
  quiet,    // only what is wrong
  hosted,   // and what `launch --hosts`, which speaks for this node, does not know
  usual,    // and what the user may want to know
  verbose,  // and each step, with the time
};

// Workers that do not get on.
struct HangChoice {
  enum class Deed {
    report,   // a warning
    restart,  // and the workers are restarted
    fail,     // and the job ends
  };
  Duration timeout{};  // after so much quiet of all nodes; zero: nobody looks
  Deed deed = Deed::report;
};

// Where the events of the job are written.
struct EventChoice {
  std::string file;           // for our own events; "-" is standard output; empty: nowhere
  bool torchelastic = false;  // torchrun's events are written to standard error
  std::string backend;        // the rendezvous, as torchrun names it
  std::string entry_point;    // the program, as torchrun names it
};

struct Config {
  int pid = 0;  // of the process that the user started; known once it runs
  MeetingChoice meeting;
  int nproc_per_node = 1;
  RestartRules restarts;
  std::string role;
  std::string run_id;
  bool serves_workers = true;      // false: the worker of rank 0 must serve the store, at a port that we leave free
  bool identical_workers = false;  // TORCH_ELASTIC_WORKER_IDENTICAL=1: nodes are equal and exchange no roles
  Duration rendezvous_timeout{};
  Duration heartbeat_timeout{};  // zero: silence is not a failure
  Duration shutdown_timeout{};
  Duration kill_grace{};  // after SIGKILL
  VerdictChoice verdict;
  EvidenceChoice evidence;
  std::vector<int> signals;  // that are passed on and end the job
  Preemption preemption;
  std::string hostname;
  std::string parent_error_file;  // where the process that started launch looks for the failure; empty: it does not
  std::string log_folder;         // where the job's folder is made; empty: a temporary one; /dev/null: none
  std::string timer_file;         // through which workers set watchdog timers; empty: they cannot
  Verbosity verbosity = Verbosity::usual;
  LogChoice logs;
  EventChoice events;
  MetricsChoice metrics;
  TimelineChoice timeline;
  HangChoice hang;
  ProgramCommand program;
  InputChoice input;
  HookChoice hooks;
  Environment worker_env;                   // the base of every worker's environment
  std::vector<std::string> virtual_device;  // by local rank: the one device that it sees; empty: no virtual local ranks
  std::optional<TaskPlace> place;           // there if this launch is one of several on its machine, with one worker
  bool started_as_rank = false;             // by a starter that does not tell each rank how many are on other machines
  std::vector<Binding> bindings;            // by local rank; empty: workers are not bound
  std::string start;                        // one line on the scheduler's start of this node; empty: none was used
  std::vector<std::string> found;           // what was found of a scheduler, for --explain
  bool answers_asks = false;                // nodes of the job may ask each other while it runs
  std::vector<std::string> notices;         // one line each, for the log: what was changed or ignored

  int nnodes() const;          // the maximum, in a c10d job
  NodeRank node_rank() const;  // none() in a c10d job
  // Where the job's store is. Except in a c10d job, that is also MASTER_ADDR and MASTER_PORT.
  const Endpoint& store() const;
  std::string store_text() const;  // as --rdzv-endpoint says it: all places, if there are several
  const C10dChoice* c10d() const { return std::get_if<C10dChoice>(&meeting); }  // null: another kind of job
};

// The row of ports that the store may have, if it has one and several nodes meet there.
void set_ports(Config& config, std::vector<std::uint16_t> ports);

// The other nodes form another round if one is lost or told to stop; otherwise the job ends.
bool goes_on_without_a_node(const Config& config);
// Whether a majority of the nodes decides who goes on, with --quorum=majority: silence must be a failure.
bool serves_majority(const Config& config);

}  // namespace launch
