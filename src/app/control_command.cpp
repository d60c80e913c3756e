#include "launch/app/control_command.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/control/control_line.hpp"
#include "launch/core/control/status_screen.hpp"
#include "launch/io/door.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/host.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;
using Verb = ControlRequest::Verb;

constexpr Duration time_to_answer = 5s;
constexpr Duration patience_for_stacks = 20s;
constexpr std::size_t usual_columns = 80;
constexpr std::size_t no_limit = 100'000;  // columns, for what is no terminal

struct Agent {
  std::string door;
  NodeReport node;
};

int refuse(const Error& error) {
  write_all(STDERR_FILENO, fmt::format("launch-ctl: {}\n", error.message));
  return exit_code(error.code);
}

bool has_joined(const Agent& agent) { return agent.node.node_rank >= 0; }

// One for each job and node: several nodes of a job may be on this host.
std::vector<Agent> find_agents(const std::string& run_id) {
  ControlRequest request;
  request.verb = Verb::about;
  request.whole_job = false;
  std::vector<Agent> agents;
  for (const std::string& door : find_doors(door_folders(read_environment()))) {
    const auto answer = ask_at_door(door, to_json(request), time_to_answer);
    if (!answer) continue;
    auto nodes = parse_node_reports(*answer);
    if (nodes.empty() || nodes[0].pid == 0 || (!run_id.empty() && nodes[0].run_id != run_id)) continue;
    agents.push_back({door, std::move(nodes[0])});
  }
  std::stable_sort(agents.begin(), agents.end(), [](const Agent& one, const Agent& other) {
    return std::pair(one.node.run_id, one.node.node_rank) < std::pair(other.node.run_id, other.node.node_rank);
  });
  return agents;
}

// A node that has joined knows the others. As long as none has, each is asked.
Result<std::vector<std::string>> choose_doors(const std::vector<Agent>& agents, const std::string& run_id) {
  if (agents.empty())
    return Error{ErrorCode::system, run_id.empty()
                                        ? "no job of yours runs on this host"
                                        : fmt::format("no job {} of yours runs on this host", shown(run_id))};
  std::vector<std::string> ids;
  std::vector<std::string> doors;
  for (const Agent& agent : agents) {
    if (ids.empty() || ids.back() != shown(agent.node.run_id)) ids.push_back(shown(agent.node.run_id));
    doors.push_back(agent.door);
  }
  if (ids.size() > 1)
    return usage_error(fmt::format("several jobs run on this host; say which one: {}", fmt::join(ids, ", ")));
  const auto joined = std::find_if(agents.begin(), agents.end(), has_joined);
  if (joined != agents.end()) doors = {joined->door};
  return doors;
}

std::string screen_of(const ControlCommand& command, const Screen& screen) {
  if (command.list) return jobs_screen(screen);
  switch (command.request.verb) {
    case Verb::about:
    case Verb::quiet:
    case Verb::status:
      return status_screen(screen);
    case Verb::stacks:
      return stacks_screen(screen);
    case Verb::signal:
    case Verb::stop:
      return done_screen(screen);
  }
  return "";
}

int print(const ControlCommand& command, std::vector<NodeReport> nodes) {
  std::stable_sort(nodes.begin(), nodes.end(), [](const NodeReport& one, const NodeReport& other) {
    return std::pair(one.run_id, one.node_rank) < std::pair(other.run_id, other.node_rank);
  });
  std::string text;
  if (command.json) {
    for (const NodeReport& node : nodes) text += to_json(node) + '\n';
  } else {
    const std::size_t columns = columns_of(STDOUT_FILENO);
    const bool piped = columns == 0 && ::isatty(STDOUT_FILENO) == 0;
    text = screen_of(command, {nodes, piped ? no_limit : std::max(columns, usual_columns)});
  }
  return write_all(STDOUT_FILENO, text) ? 0 : 1;
}

int list_jobs(const ControlCommand& command) {
  std::vector<NodeReport> nodes;
  for (Agent& agent : find_agents(command.job)) nodes.push_back(std::move(agent.node));
  return print(command, std::move(nodes));
}

bool is_deed(const ControlRequest& request) { return request.verb == Verb::signal || request.verb == Verb::stop; }

// What all of them answer; an error only if there is one door, and it stays shut.
Result<std::vector<NodeReport>> ask_doors(const std::vector<std::string>& doors, const ControlRequest& request) {
  const Duration patience = request.verb == Verb::stacks ? patience_for_stacks : time_to_answer;
  std::vector<NodeReport> nodes;
  for (const std::string& door : doors) {
    const auto answer = ask_at_door(door, to_json(request), patience);
    if (!answer && doors.size() == 1) return answer.error();
    const auto reports = answer ? parse_node_reports(*answer) : std::vector<NodeReport>();
    nodes.insert(nodes.end(), reports.begin(), reports.end());
  }
  return nodes;
}

int ask_job(const ControlCommand& command) {
  const auto doors = choose_doors(find_agents(command.job), command.job);
  if (!doors) return refuse(doors.error());
  auto nodes = ask_doors(*doors, command.request);
  if (!nodes) return refuse(nodes.error());
  const bool done =
      std::any_of(nodes->begin(), nodes->end(), [](const NodeReport& node) { return !node.done.empty(); });
  const int code = print(command, *std::move(nodes));
  if (done || !is_deed(command.request)) return code;
  const std::string whom =
      command.request.rank ? fmt::format("rank {} does not run", *command.request.rank) : std::string("no worker runs");
  return refuse(Error{ErrorCode::system, whom});
}

}  // namespace

bool is_control_name(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return name.substr(slash == name.npos ? 0 : slash + 1) == "launch-ctl";
}

int run_control(const std::vector<std::string>& args) {
  hold_standard_streams();
  auto parsed = parse_control_line(args);
  if (!parsed) return refuse(parsed.error());
  if (const auto* text = std::get_if<ControlText>(&*parsed)) return write_all(STDOUT_FILENO, text->text) ? 0 : 1;
  const auto& command = std::get<ControlCommand>(*parsed);
  return command.list ? list_jobs(command) : ask_job(command);
}

}  // namespace launch
