// What a scheduler, an MPI starter or a platform says of the start of this launch: how many nodes it started launch on,
// which of them this is, and where the first one is. Found in the environment, and held against what is known of this
// process, because variables are inherited for longer than they are true. Pure: io/process_facts looks,
// config/cluster_settings makes settings of it. No program of the scheduler is asked.
//
// Who started this process counts, and not which cluster it is on: the starters are asked from the innermost outwards,
// since below mpirun in a batch script the variables of both are there.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/job/rank.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct Ancestor {
  int pid = 0;
  std::string command;  // its command line, its words separated by blanks; empty if it cannot be read
};

struct ProcessFacts {
  int pid = 0;
  std::vector<Ancestor> ancestors;  // the parent first, as far as they can be seen
  std::string first_command;        // the command line of process 1, as this process sees it
  std::string cgroup;               // the text of /proc/self/cgroup
  std::string hostname;
  std::string full_hostname;    // with its domain, from /etc/hosts; empty: none
  bool sees_whole_host = true;  // it is in the first PID namespace, and not in that of a container
  bool terminal = false;        // it has a controlling terminal, whatever its input is
  bool pmi_socket = false;      // the descriptor that PMI_FD names is an open socket
  bool pmix_folder = false;     // the folder that PMIX_SERVER_TMPDIR names is there
  std::string apinfo;           // the bytes of the file that PALS_APINFO names; empty: there is none to read
  std::string host_file;        // the text of the file that a batch system names (core/cluster/allocation)
};

// A value and the variable that it is from.
template <class T>
struct Said {
  T value{};
  std::string from;
};

// What the starter keeps for its ranks, so that node 0 can tell all others where it is.
enum class RankServer {
  none,
  pmi,  // PMI-1, on a socket that was inherited: core/cluster/pmi_talk
  pmix  // PMIx, by the starter's library
};

struct ClusterStart {
  std::string starter;  // "Slurm step"
  std::string id;       // "8.0", with ".rN" if it was requeued N times: another one for each start; empty: not said
  std::string id_from;
  Said<int> nodes;                 // the launches of the job: one for each node, or one for each task
  Said<NodeRank> node_rank;        // of this launch
  bool of_ranks = false;           // launch was started as a rank, as by MPI
  std::optional<TaskPlace> place;  // there if a launch is a task
  bool knows_places = false;       // `place` is right for all: each launch of the start knows how many are on each node
  std::vector<std::string> names;  // of the machines, in order; may be empty
  Said<std::string> host;          // where node 0 is; empty: not said
  bool shares_console = false;     // what all nodes write ends in one place
  int grace = 0;                   // seconds for workers to exit, before the starter kills launch itself; 0: not known
  RankServer server = RankServer::none;
  bool asked = false;              // by launch, so that no worker can be this rank
  std::string host_hint;           // what the user can do if it is not said
  Said<std::uint16_t> port;        // for node 0
  std::vector<std::uint16_t> row;  // the ports that node 0 may take if that one is busy, it included; may be empty
  std::string notice;              // for the user; or empty
  std::string doubt;               // why it may be none after all; empty: it is one
};

// Seconds for workers to exit in a pod, whose terminationGracePeriodSeconds is usually 30.
constexpr int grace_of_pods = 25;

// "Slurm step 8.0"; without an id, the starter alone.
std::string start_name(const ClusterStart& start);

struct ClusterView {
  std::optional<ClusterStart> start;
  std::string notice;              // for the user; or empty
  bool in_pod = false;             // of Kubernetes, whatever started launch there
  Said<std::string> job_end;       // when the scheduler ends the job, in seconds since 1970; empty: not said
  std::vector<std::string> found;  // one line for each thing that was found, and what became of it
};

// What is true of this process whatever started it: the pod, and the time of the job.
ClusterView view_surroundings(const Environment& env, const ProcessFacts& process);

// What --cluster takes, but for auto and none: "slurm", "openmpi", ...
const std::vector<std::string_view>& cluster_words();

// An error if a start is there, but says nonsense or only half. `word`: only this starter counts; empty: any does.
Result<ClusterView> view_cluster(const Environment& env, const ProcessFacts& process, std::string_view word = {});

// Whether there is anything for which ProcessFacts are needed.
bool may_be_in_cluster(const Environment& env);

}  // namespace launch
