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

std::vector<JobAgent> find_agent_of(const std::string& pid) {
  std::vector<JobAgent> agents = find_agents("");
  std::erase_if(agents, [&pid](const JobAgent& agent) { return std::to_string(agent.node.pid) != pid; });
  return agents;
}

// Which of several jobs is meant cannot be told: of other ids, or of the same one.
Status expect_one_job(const std::vector<JobAgent>& agents) {
  std::vector<std::string> ids;
  std::vector<int> pids;
  for (const JobAgent& agent : agents) {
    if (ids.empty() || ids.back() != shown(agent.node.run_id)) ids.push_back(shown(agent.node.run_id));
    pids.push_back(agent.node.pid);
  }
  if (ids.size() > 1)
    return usage_error(fmt::format("several jobs run on this host; say which one: {}", fmt::join(ids, ", ")));
  const auto twin = std::adjacent_find(agents.begin(), agents.end(), [](const JobAgent& one, const JobAgent& other) {
    return are_of_two_jobs(one.node, other.node);
  });
  if (twin == agents.end()) return {};
  return usage_error(fmt::format("several jobs called {} run on this host; say which one by the pid of its launch: {}",
                                 ids.front(), fmt::join(pids, ", ")));
}

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
Result<std::vector<std::string>> find_job(const std::string& job) {
  std::vector<JobAgent> agents = find_agents(job);
  if (agents.empty()) agents = find_agent_of(job);
  if (agents.empty())
    return Error{ErrorCode::system, job.empty() ? "no job of yours runs on this host"
                                                : fmt::format("no job {} of yours runs on this host", shown(job))};
  if (Status one = expect_one_job(agents); !one) return one.error();
  const auto joined = std::find_if(agents.begin(), agents.end(), has_joined);
  if (joined != agents.end()) return std::vector<std::string>{joined->door};
  std::vector<std::string> doors;
  doors.reserve(agents.size());
  for (const JobAgent& agent : agents) doors.push_back(agent.door);
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
