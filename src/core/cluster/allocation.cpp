#include "launch/core/cluster/allocation.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace launch {
namespace {

struct System {
  std::string_view name;
  std::string_view job;   // the variable with its number
  std::string_view file;  // the one that names the file of hosts; or empty
  std::string_view list;  // or the one that has them, each with its slots: "n1 8 n2 8"
};

constexpr std::array systems{
    System{"PBS", "PBS_JOBID", "PBS_NODEFILE", ""}, System{"LSF", "LSB_JOBID", "", "LSB_MCPU_HOSTS"},
    System{"SGE", "JOB_ID", "PE_HOSTFILE", ""}, System{"Cobalt", "COBALT_JOBID", "COBALT_NODEFILE", ""},
    System{"OAR", "OAR_JOB_ID", "OAR_NODEFILE", ""}};

bool speaks(const System& system, const Environment& env) {
  return env.get(system.job) && env.get(system.file.empty() ? system.list : system.file);
}

const System* system_of(const Environment& env) {
  const auto it = std::find_if(systems.begin(), systems.end(), [&](const System& one) { return speaks(one, env); });
  return it == systems.end() ? nullptr : &*it;
}

// The first word of each line; a host has as many lines as slots.
std::set<std::string_view> hosts_in_lines(std::string_view text) {
  std::set<std::string_view> hosts;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view host = trim(line.substr(0, line.find_first_of(" \t")));
    if (!host.empty()) hosts.insert(host);
  }
  return hosts;
}

// PBS numbers its tasks in hexadecimal digits; the script is the first one.
bool is_task_of_pbs(const Environment& env) {
  const std::string number = env.get("PBS_TASKNUM").value_or("");
  return env.get("PBS_JOBID") && !number.empty() && number.find_first_not_of('0') != std::string::npos &&
         number.substr(number.find_first_not_of('0')) != "1";
}

}  // namespace

std::vector<std::string> hosts_of_lsf(const Environment& env) {
  const std::string list = env.get("LSB_MCPU_HOSTS").value_or("");
  std::vector<std::string> hosts;
  std::size_t position = 0;
  for (const std::string_view word : split(trim(list), ' ')) {
    if (word.empty()) continue;
    if (position++ % 2 == 0) hosts.emplace_back(word);
  }
  return hosts;
}

std::vector<std::string> working_hosts_of_lsf(const Environment& env) {
  std::vector<std::string> hosts = hosts_of_lsf(env);
  if (env.get("LSB_DJOB_RANKFILE") && hosts.size() > 1) hosts.erase(hosts.begin());
  return hosts;
}

bool speaks_of_allocation(const Environment& env) { return system_of(env) != nullptr || is_task_of_pbs(env); }

std::string host_file(const Environment& env) {
  const System* const system = system_of(env);
  return system == nullptr || system->file.empty() ? "" : env.get(system->file).value_or("");
}

ClusterView view_allocation(const Environment& env, const ProcessFacts& process) {
  ClusterView view;
  if (is_task_of_pbs(env)) {
    view.notice = fmt::format(
        "PBS started this launch as a task of job {}, and tells a task neither the number of nodes nor the first host, "
        "so it starts one node; mpiexec starts ranks that know both, and --nnodes=1 says that one node is meant",
        env.get("PBS_JOBID").value_or(""));
    view.found = {view.notice};
    return view;
  }
  const System* const system = system_of(env);
  if (system == nullptr) return view;
  const std::vector<std::string> list = working_hosts_of_lsf(env);
  const auto hosts =
      system->file.empty() ? std::set<std::string_view>(list.begin(), list.end()) : hosts_in_lines(process.host_file);
  const std::string job = fmt::format("{} job {}", system->name, env.get(system->job).value_or(""));
  view.found = {fmt::format("{}: nothing was started on its other nodes, so launch starts one node", job)};
  if (hosts.size() < 2) return view;
  view.notice = fmt::format(
      "{} has {} nodes, and this launch uses one of them, as torchrun would; \"launch --hosts=auto ...\" uses all, as "
      "does \"mpiexec -n {} -ppn 1 launch ...\" (with Open MPI \"mpirun -N 1 launch ...\"), and --nnodes=1 says that "
      "one is meant",
      job, hosts.size(), hosts.size());
  return view;
}

}  // namespace launch
