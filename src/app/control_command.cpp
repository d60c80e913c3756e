#include "launch/app/control_command.hpp"

#include "launch/app/control_watch.hpp"
#include "launch/app/job_doors.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/control/control_completion.hpp"
#include "launch/core/control/control_line.hpp"
#include "launch/core/control/startup_report.hpp"
#include "launch/core/control/status_screen.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/host.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

using Verb = ControlRequest::Verb;

constexpr std::size_t usual_columns = 80;
constexpr std::size_t no_limit = 100'000;  // columns, for what is no terminal

std::string screen_of(const ControlCommand& command, const Screen& screen) {
  if (command.list) return jobs_screen(screen);
  switch (command.request.verb) {
    case Verb::about:
    case Verb::quiet:
    case Verb::status:
    case Verb::logs:
      return status_screen(screen);
    case Verb::stacks:
      return stacks_screen(screen);
    case Verb::timeline:
      return timeline_screen(screen);
    case Verb::signal:
    case Verb::stop:
    case Verb::restart:
    case Verb::drain:
    case Verb::filter:
      return done_screen(screen);
  }
  return "";
}

int print(const ControlCommand& command, const std::vector<NodeReport>& nodes) {
  std::string text;
  if (command.json) {
    for (const NodeReport& node : nodes) text += to_json(node) + '\n';
  } else {
    const std::size_t columns = columns_of(STDOUT_FILENO);
    const bool piped = columns == 0 && ::isatty(STDOUT_FILENO) == 0;
    Screen screen;
    screen.nodes = nodes;
    screen.columns = piped ? no_limit : std::max(columns, usual_columns);
    text = screen_of(command, screen);
  }
  return write_all(STDOUT_FILENO, text) ? 0 : 1;
}

int list_jobs(const ControlCommand& command) {
  std::vector<NodeReport> nodes;
  for (JobAgent& agent : find_agents(command.job)) nodes.push_back(std::move(agent.node));
  return print(command, nodes);
}

Result<std::vector<NodeReport>> ask_who(const std::vector<std::string>& doors) {
  ControlRequest who;
  who.verb = Verb::about;
  return ask_job_at(doors, who);
}

// The rank of the node that is meant, and the round in which it has it.
Status choose_node(const std::vector<std::string>& doors, const std::string& word, ControlRequest& request) {
  const auto nodes = ask_who(doors);
  if (!nodes) return nodes.error();
  const auto node = find_node(*nodes, word);
  if (!node) return node.error();
  request.node = *node;
  for (const NodeReport& one : *nodes)
    if (one.node_rank == *node && one.pid != 0) request.round = one.round;
  return {};
}

// What to say if nothing was done.
std::string why_not_done(const ControlCommand& command) {
  if (command.request.rank) return fmt::format("rank {} does not run", *command.request.rank);
  const bool of_workers = command.request.verb == Verb::signal || command.request.verb == Verb::stop;
  return of_workers ? "no worker runs" : "nothing was done";
}

int ask_once(const ControlCommand& command, const std::vector<std::string>& doors) {
  const auto nodes = ask_job_at(doors, command.request);
  if (!nodes) return refuse(nodes.error());
  const bool done =
      std::any_of(nodes->begin(), nodes->end(), [](const NodeReport& node) { return !node.done.empty(); });
  const bool of_start = command.json && command.request.verb == Verb::timeline;
  const int code = print(command, of_start ? with_store_ages(*nodes) : *nodes);
  if (done || !is_deed(command.request.verb)) return code;
  return refuse(Error{ErrorCode::system, why_not_done(command)});
}

// Of those on this host, and what they know of others. Quietly: a key was pressed.
int print_names(const std::string& which) {
  std::vector<NodeReport> nodes;
  for (const JobAgent& agent : find_agents("")) nodes.push_back(agent.node);
  if (which == "jobs") return write_all(STDOUT_FILENO, completed_jobs(nodes)) ? 0 : 1;
  const auto doors = find_job("");
  const auto all = doors ? ask_who(*doors) : Result<std::vector<NodeReport>>(nodes);
  return write_all(STDOUT_FILENO, completed_nodes(all ? *all : nodes)) ? 0 : 1;
}

int ask_job(ControlCommand command) {
  const auto doors = find_job(command.job);
  if (!doors) return refuse(doors.error());
  if (!command.node.empty()) {
    const Status chosen = choose_node(*doors, command.node, command.request);
    if (!chosen) return refuse(chosen.error());
  }
  if (command.live) return watch_job(command, *doors);
  if (command.request.verb == Verb::logs) return read_job_logs(command, *doors);
  return ask_once(command, *doors);
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
  auto& command = std::get<ControlCommand>(*parsed);
  if (!command.names.empty()) return print_names(command.names);
  return command.list ? list_jobs(command) : ask_job(std::move(command));
}

}  // namespace launch
