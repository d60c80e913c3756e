#include "launch/core/c10d/version_state.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"

#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using StateJson = nlohmann::json;
using VersionStatus = VersionState::Status;

constexpr int most_participants = 1'000'000;
constexpr int most_versions = 100'000'000;
constexpr std::size_t longest_text_in_state = 4096;
constexpr JsonBounds state_bounds{.size = std::size_t{8} * 1024 * 1024};

constexpr std::array<std::pair<VersionStatus, const char*>, 5> statuses{{{VersionStatus::setup, "setup"},
                                                                         {VersionStatus::joinable, "joinable"},
                                                                         {VersionStatus::frozen, "frozen"},
                                                                         {VersionStatus::final, "final"},
                                                                         {VersionStatus::closed, "closed"}}};

VersionStatus status_of(const JsonValue& json) {
  const auto text = json.text(longest_text_in_state);
  for (const auto& [status, name] : statuses)
    if (text == name) return status;
  return VersionStatus::absent;
}

NodeDesc read_launch_node(Needed& need, const JsonValue& json) {
  return {need(json["addr"].text(longest_text_in_state)),
          need(json["pid"].whole64(0, std::numeric_limits<std::int64_t>::max())), launch_local_id};
}

StateJson launch_node(const NodeDesc& node) { return {{"addr", node.addr}, {"pid", node.pid}}; }

// torchrun writes the number as a text.
std::optional<int> read_version(const JsonValue& json) {
  if (const auto text = json.text(longest_text_in_state)) {
    const auto number = parse_int(*text);
    return number && *number > 0 && *number <= most_versions ? number : std::nullopt;
  }
  return json.whole(1, most_versions);
}

// A state may have been closed before it had these.
void read_members(Needed& need, const JsonValue& json, VersionState& state) {
  if (json["version"].present()) state.version = need(read_version(json["version"]));
  if (const JsonValue all = json["participants"]; all.present())
    state.participants = static_cast<int>(need(all.list()).size());
  if (json["keep_alives"].present()) state.keep_alives = need(json["keep_alives"].texts());
  if (json["num_workers_waiting"].present()) state.waiting = need(json["num_workers_waiting"].whole(0, most_versions));
}

void read_launch_agents(Needed& need, const JsonValue& json, VersionState& state) {
  if (json["launch"].present())
    for (const auto& [rank, node] : need(json["launch"].members())) {
      const auto number = parse_int(rank);
      state.launch[need(number && *number >= 0 && *number < state.participants ? number : std::nullopt)] =
          read_launch_node(need, node);
    }
  if (json["launch_waiting"].present())
    for (const JsonValue& node : need(json["launch_waiting"].list()))
      state.launch_waiting.insert(read_launch_node(need, node));
  if (json["launch_founder"].present()) state.founder = read_launch_node(need, json["launch_founder"]);
}

bool has_what_it_needs(const VersionState& state) {
  if (state.participants > most_participants) return false;
  const bool forms = state.status == VersionStatus::joinable || state.status == VersionStatus::frozen;
  return (!forms && state.status != VersionStatus::final) || state.version > 0;
}

}  // namespace

Result<VersionState> read_version_state(std::string_view text) {
  if (text.empty()) return VersionState();
  const JsonValue json = read_json(text, state_bounds);
  VersionState state;
  state.status = status_of(json["status"]);
  Needed need;
  read_members(need, json, state);
  read_launch_agents(need, json, state);
  if (state.status == VersionStatus::absent || !need.met() || !has_what_it_needs(state))
    return protocol_error("what it holds is no state of torchrun's older etcd rendezvous: " +
                          shown(text.substr(0, 100)));
  return state;
}

std::string write_version_state(const VersionState& state) {
  if (state.status == VersionStatus::absent) return "";
  StateJson json = StateJson::object();
  for (const auto& [status, name] : statuses)
    if (status == state.status) json["status"] = name;
  if (state.founder) json["launch_founder"] = launch_node(*state.founder);
  if (state.version > 0) {
    json["version"] = std::to_string(state.version);
    json["participants"] = StateJson::array();
    for (int rank = 0; rank < state.participants; ++rank) json["participants"].push_back(rank);
    for (const auto& [rank, node] : state.launch) json["launch"][std::to_string(rank)] = launch_node(node);
    const bool confirms = state.status != VersionStatus::joinable;
    if (confirms) json["keep_alives"] = state.keep_alives;
    if (state.status == VersionStatus::final || state.waiting > 0) json["num_workers_waiting"] = state.waiting;
    for (const NodeDesc& node : state.launch_waiting) json["launch_waiting"].push_back(launch_node(node));
  }
  return json.dump(-1, ' ', true, StateJson::error_handler_t::replace);
}

std::vector<int> neighbours(const VersionState& state, int rank) {
  std::vector<int> ranks;
  for (int step = 1; step < state.participants; ++step) {
    ranks.push_back((rank + step) % state.participants);
    if (state.launch.contains(ranks.back())) break;
  }
  return ranks;
}

std::vector<int> all_ranks(const VersionState& state) {
  std::vector<int> ranks(static_cast<std::size_t>(state.participants));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::optional<int> rank_of(const VersionState& state, const NodeDesc& node) {
  for (const auto& [rank, agent] : state.launch)
    if (agent == node) return rank;
  return std::nullopt;
}

int members_that_wait(const VersionState& state, const VersionState& members) {
  int count = state.waiting;
  for (const NodeDesc& node : state.launch_waiting)
    if (!rank_of(members, node)) --count;
  return count;
}

std::string name_of(const VersionState& state, int rank) {
  const auto node = state.launch.find(rank);
  if (node != state.launch.end()) return to_text(node->second);
  return fmt::format("node {}, an agent of torchrun,", rank);
}

}  // namespace launch
