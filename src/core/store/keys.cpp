#include "launch/core/store/keys.hpp"

#include "launch/core/base/text.hpp"

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view elastic_begin = "/torch.rendezvous.";
constexpr std::string_view address_end = "/MASTER_ADDR";
constexpr std::string_view port_end = "/MASTER_PORT";
constexpr std::string_view role_info = "/torchelastic/role_info/";
constexpr std::string_view own_part = "/launch/";
constexpr std::string_view abort_end = "/launch/abort";
constexpr std::string_view torchrun_part = "/torchelastic/";

std::string own(const std::string& prefix, std::string_view rest) {
  return fmt::format("/{}{}{}", prefix, own_part, rest);
}

std::string own(const std::string& prefix, std::string_view what, int node) {
  return fmt::format("/{}{}{}/{}", prefix, own_part, what, node);
}

std::string exit_barrier(const std::string& prefix, std::string_view rest) {
  return fmt::format("/{}/torchelastic/agent/terminal_state/{}", prefix, rest);
}

}  // namespace

// ---- what begins the keys of a round

std::string attempt_prefix(const std::string& run_id, int attempt) {
  return attempt == 0 ? run_id : fmt::format("{}/launch/attempt/{}", run_id, attempt);
}

std::string job_prefix(const std::string& run_id) { return "torch.rendezvous." + run_id; }

std::string round_prefix(const std::string& run_id, std::int64_t round) {
  return fmt::format("{}.{}", job_prefix(run_id), round);
}

// ---- torchrun's keys

std::string role_info_key(const std::string& prefix, int node) {
  return fmt::format("/{}{}{}", prefix, role_info, node);
}

std::string ranks_key(const std::string& prefix, int node) {
  return fmt::format("/{}/torchelastic/assigned_ranks/{}", prefix, node);
}

std::string ended_count_key(const std::string& prefix) { return exit_barrier(prefix, "num_members"); }

std::string all_ended_key(const std::string& prefix) { return exit_barrier(prefix, "last_member"); }

std::string state_key(const std::string& run_id) { return "/" + job_prefix(run_id); }

std::string settled_key(const std::string& state, std::int64_t round) {
  return fmt::format("launch/settled{}/{}", state, round);
}

std::vector<std::string> meeting_keys(const std::string& prefix) {
  return {fmt::format("/{}{}", prefix, address_end), fmt::format("/{}{}", prefix, port_end)};
}

bool misleads_later_jobs(std::string_view key) {
  return key.ends_with(address_end) || key.ends_with(port_end) || key.ends_with(abort_end);
}

std::optional<int> node_of_role_info(std::string_view key, const std::string& prefix) {
  if (!key.starts_with('/') || !key.substr(1).starts_with(prefix)) return std::nullopt;
  key.remove_prefix(1 + prefix.size());
  if (!key.starts_with(role_info)) return std::nullopt;
  return parse_int(key.substr(role_info.size()));
}

std::optional<std::string_view> run_id_of(std::string_view key) {
  if (key.starts_with(elastic_begin)) {
    key.remove_prefix(elastic_begin.size());
    const bool of_a_round = key.find(own_part) != key.npos || key.find(torchrun_part) != key.npos ||
                            key.ends_with(address_end) || key.ends_with(port_end);
    return of_a_round ? std::nullopt : std::optional(key);
  }
  const std::size_t end = key.find(role_info);
  if (!key.starts_with('/') || end == key.npos || key.find("/launch/attempt/") != key.npos) return std::nullopt;
  return key.substr(1, end - 1);
}

std::string versions_root(std::string_view prefix, const std::string& run_id) {
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  return fmt::format("{}{}/run_{}", prefix.empty() || prefix.starts_with('/') ? "" : "/", prefix, run_id);
}

std::string active_version_key(const std::string& root) { return root + "/rdzv/active_version"; }

std::string version_counter_key(const std::string& root) { return root + "/rdzv/version_counter"; }

std::string lease_key(const std::string& root, std::int64_t version, int rank) {
  return fmt::format("{}/rdzv/v_{}/rank_{}", root, version, rank);
}

std::string version_store(const std::string& root, std::int64_t version) {
  return fmt::format("{}/rdzv/v_{}/kv/", root, version);
}

// ---- launch's own keys

std::string store_name_key(const std::string& name) { return fmt::format("{}/{}", host_key, name); }
std::string abort_key(const std::string& prefix) { return fmt::format("/{}{}", prefix, abort_end); }
std::string informed_key(const std::string& prefix, int node) { return own(prefix, "informed", node); }
std::string claim_key(const std::string& prefix, int node) { return own(prefix, "node", node); }
std::string nnodes_key(const std::string& prefix) { return own(prefix, "nnodes"); }
std::string settings_key(const std::string& prefix) { return own(prefix, "settings"); }
std::string begun_key(const std::string& prefix) { return own(prefix, "begun"); }
std::string account_key(const std::string& prefix, int node) { return own(prefix, "ended", node); }
std::string together_key(const std::string& prefix) { return own(prefix, "verdict"); }
std::string read_key(const std::string& prefix, int node) { return own(prefix, "read", node); }
std::string ask_key(const std::string& prefix, std::uint64_t number) {
  return own(prefix, fmt::format("ask/{}", number));
}
std::string answer_key(const std::string& prefix, std::uint64_t number, int node) {
  return own(prefix, fmt::format("answer/{}", number), node);
}
std::string restarts_key(const std::string& run_id) { return own(job_prefix(run_id), "restarts"); }

std::vector<std::string> agent_keys(const std::string& run_id) {
  return {fmt::format("/{}{}", run_id, torchrun_part), own(run_id, ""), "launch/"};
}

}  // namespace launch
