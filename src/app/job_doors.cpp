#include "launch/app/job_doors.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/door.hpp"
#include "launch/io/host.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

using namespace std::chrono_literals;
using Verb = ControlRequest::Verb;

constexpr Duration time_to_answer = 10s;
constexpr Duration patience_for_stacks = 30s;

bool has_joined(const JobAgent& agent) { return agent.node.node_rank >= 0; }

}  // namespace

std::vector<JobAgent> find_agents(const std::string& run_id) {
  ControlRequest request;
  request.verb = Verb::about;
  request.whole_job = false;
  std::vector<JobAgent> agents;
  for (const std::string& door : find_doors(door_folders(read_environment()))) {
    const auto answer = ask_at_door(door, to_json(request), time_to_answer);
    if (!answer) continue;
    auto nodes = parse_node_reports(*answer);
    if (nodes.empty() || nodes[0].pid == 0 || (!run_id.empty() && nodes[0].run_id != run_id)) continue;
    agents.push_back({door, std::move(nodes[0])});
  }
  std::stable_sort(agents.begin(), agents.end(),
                   [](const JobAgent& one, const JobAgent& other) { return comes_before(one.node, other.node); });
  return agents;
}

// A node that has joined knows the others. As long as none has, each is asked.
Result<std::vector<std::string>> find_job(const std::string& run_id) {
  const std::vector<JobAgent> agents = find_agents(run_id);
  if (agents.empty())
    return Error{ErrorCode::system, run_id.empty()
                                        ? "no job of yours runs on this host"
                                        : fmt::format("no job {} of yours runs on this host", shown(run_id))};
  std::vector<std::string> ids;
  std::vector<std::string> doors;
  for (const JobAgent& agent : agents) {
    if (ids.empty() || ids.back() != shown(agent.node.run_id)) ids.push_back(shown(agent.node.run_id));
    doors.push_back(agent.door);
  }
  if (ids.size() > 1)
    return usage_error(fmt::format("several jobs run on this host; say which one: {}", fmt::join(ids, ", ")));
  const auto joined = std::find_if(agents.begin(), agents.end(), has_joined);
  if (joined != agents.end()) doors = {joined->door};
  return doors;
}

Result<std::vector<NodeReport>> ask_job_at(const std::vector<std::string>& doors, const ControlRequest& request,
                                           const AwaitAnswer& await) {
  const Duration patience = request.verb == Verb::stacks ? patience_for_stacks : time_to_answer;
  std::vector<NodeReport> nodes;
  for (const std::string& door : doors) {
    const auto answer = ask_at_door(door, to_json(request), patience, await);
    if (!answer && doors.size() == 1) return answer.error();
    const auto reports = answer ? parse_node_reports(*answer) : std::vector<NodeReport>();
    nodes.insert(nodes.end(), reports.begin(), reports.end());
  }
  sort_by_node(nodes);
  return nodes;
}

}  // namespace launch
