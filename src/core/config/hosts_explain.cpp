#include "launch/core/config/hosts_explain.hpp"

#include "launch/core/base/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using HostsJson = nlohmann::ordered_json;

// NAME=VALUE with the value quoted if need be.
std::string variable_text(const std::string& line) {
  const auto equals = line.find('=');
  return line.substr(0, equals) + "=" + for_shell(std::string_view(line).substr(equals + 1));
}

HostsJson variables_json(const std::vector<std::string>& lines) {
  HostsJson variables = HostsJson::object();
  for (const std::string& line : lines) {
    const auto equals = line.find('=');
    variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return variables;
}

// The line of the launch of each node. What "--" ends are launch's options, if the program may look like one.
std::vector<std::string> common_line(const HeadPlan& head) {
  std::vector<std::string> line{"launch"};
  line.insert(line.end(), head.options.begin(), head.options.end());
  if (!head.program.empty() && head.program.front().starts_with('-')) line.emplace_back("--");
  line.insert(line.end(), head.program.begin(), head.program.end());
  return line;
}

}  // namespace

std::string hosts_text(const HostsPlan& plan) {
  std::string text;
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    const HeadNode& node = plan.head.nodes[i];
    text += fmt::format("node {}  {}\n", i, node.host);
    text += fmt::format("        {}\n", for_shell(start_line(plan.hosts[i], plan.start, false)));
    if (!node.options.empty()) text += fmt::format("        options of this node: {}\n", for_shell(node.options));
    for (const std::string& line : node.env)
      text += fmt::format("        variable of this node: {}\n", variable_text(line));
  }
  text += fmt::format("\non each: {}\n", for_shell(common_line(plan.head)));
  text += fmt::format("in {}\nwith these variables:\n", for_shell(plan.head.folder));
  for (const std::string& line : plan.head.env) text += fmt::format("  {}\n", variable_text(line));
  for (const std::string& notice : plan.notices) text += fmt::format("Note: {}\n", notice);
  return text;
}

std::string hosts_json(const HostsPlan& plan) {
  HostsJson nodes = HostsJson::array();
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    const HeadNode& node = plan.head.nodes[i];
    nodes.push_back({{"node", i},
                     {"host", node.host},
                     {"start", start_line(plan.hosts[i], plan.start, false)},
                     {"options", node.options},
                     {"environment", variables_json(node.env)}});
  }
  const HostsJson all = {{"version", plan.head.version}, {"run_id", plan.head.run_id},
                         {"nnodes", plan.head.nnodes},   {"nodes", nodes},
                         {"options", plan.head.options}, {"program", plan.head.program},
                         {"folder", plan.head.folder},   {"environment", variables_json(plan.head.env)},
                         {"notes", plan.notices}};
  return all.dump(2, ' ', false, HostsJson::error_handler_t::replace) + "\n";
}

}  // namespace launch
