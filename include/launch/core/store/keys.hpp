// Every key of a job's store that agents write or read: torchrun's and launch's own. No other file spells one out. What
// a key holds, and who writes it, is in docs/store_protocol.md.
//
// `prefix` is what the keys of a round begin with: attempt_prefix() in a static job, round_prefix() in a c10d one, and
// job_prefix() for what belongs to a c10d job as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// ---- what begins the keys of a round

// None has a slash at either end. The prefix of a first attempt is the run id, as in torchrun.
std::string attempt_prefix(const std::string& run_id, int attempt);
std::string job_prefix(const std::string& run_id);
std::string round_prefix(const std::string& run_id, std::int64_t round);

// ---- torchrun's keys

// What a node tells about itself, and the ranks that it is given.
std::string role_info_key(const std::string& prefix, int node);
std::string ranks_key(const std::string& prefix, int node);
// How many nodes have counted themselves in the exit barrier; and the sign that all have done so, or that one has lost
// patience.
std::string ended_count_key(const std::string& prefix);
std::string all_ended_key(const std::string& prefix);
// The state of a c10d job.
std::string state_key(const std::string& run_id);
// All members of the round know that it has formed (core/c10d/quorum). `state`: the key of the job's state.
std::string settled_key(const std::string& state, std::int64_t round);
// Where the workers of a c10d round meet: the host, and the port.
std::vector<std::string> meeting_keys(const std::string& prefix);

// A later job of the same run id would take what this key holds for its own: where workers meet, or why the job ended.
bool misleads_later_jobs(std::string_view key);

// The node that tells about itself under this key; nullopt: it is another key.
std::optional<int> node_of_role_info(std::string_view key, const std::string& prefix);
// The run id of the job that this key proves to be there: a c10d job by its state, a static one by the roles of its
// nodes. nullopt: it is another key.
std::optional<std::string_view> run_id_of(std::string_view key);

// What the key of the state of a c10d rendezvous holds before the first state.
inline constexpr std::string_view no_state = "Y2FuaW1hZGFt";

// Every client of a store may count itself here, as PyTorch's do.
inline constexpr std::string_view client_count_key = "init/";

// Of torchrun's older rendezvous at an etcd (core/c10d/version_rendezvous) these are the paths themselves. `root`: the
// folder of the job, under the prefix that --rdzv-conf gives; no slash at its end.
std::string versions_root(std::string_view prefix, const std::string& run_id);
std::string active_version_key(const std::string& root);
std::string version_counter_key(const std::string& root);
// Lives as long as the agent that has this rank in the version.
std::string lease_key(const std::string& root, std::int64_t version, int rank);
// What the agents of a version keep in their store is in this folder, which ends in a slash.
std::string version_store(const std::string& root, std::int64_t version);

// ---- launch's own keys

// Exists from the start in a store that knows ATTEND and LEAVE_WILL; PyTorch's clients cannot see it.
inline constexpr std::string_view host_key = "launch/host";
// Exists from the start in the one store that has this name (core/c10d/succession).
std::string store_name_key(const std::string& name);
// Is in the folder of all keys of an etcd, so that this is there: torchrun's agents miss what is set in one that they
// have looked for in vain.
inline constexpr std::string_view folder_key = "launch/folder";
// A key that nobody writes.
inline constexpr std::string_view never_key = "launch/never";

// The first failure of the round, for all launch agents; and the sign that a node has read it.
std::string abort_key(const std::string& prefix);
std::string informed_key(const std::string& prefix, int node);
// The launch agent that has claimed this node rank: its value is the agent's identity.
std::string claim_key(const std::string& prefix, int node);
// The number of nodes and the settings that all must agree on.
std::string nnodes_key(const std::string& prefix);
std::string settings_key(const std::string& prefix);
// Exists once node 0 gives ranks to the nodes that have joined. Until then a lost node is only missing.
std::string begun_key(const std::string& prefix);
// How the workers of a node ended, how those of all nodes did, and the sign that a node has read that.
std::string account_key(const std::string& prefix, int node);
std::string together_key(const std::string& prefix);
std::string read_key(const std::string& prefix, int node);
// What a node asks all others of the round, from 1 on; and what another one answers.
std::string ask_key(const std::string& prefix, std::uint64_t number);
std::string answer_key(const std::string& prefix, std::uint64_t number, int node);
// How often a c10d job has been restarted.
std::string restarts_key(const std::string& run_id);

// How the keys begin that survive a fence between two attempts of a static job: everything that agents write.
std::vector<std::string> agent_keys(const std::string& run_id);

}  // namespace launch
