#include "launch/app/remote_survey.hpp"

#include "launch/app/settle_line.hpp"
#include "launch/core/config/program.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/host.hpp"
#include "launch/io/host_probe.hpp"
#include "launch/io/remote_place.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace launch {
namespace {

struct NodeLook {
  std::vector<SurveyFault> faults;
  HostFacts facts;
  std::string python;
};

std::string python_to_ask(const HostFacts& facts, const Environment& env) {
  if (const auto named = env.get("PYTHON_EXEC"); named && named->find('/') != std::string::npos) return *named;
  if (facts.exec_python) return *facts.exec_python;
  if (facts.venv_python) return *facts.venv_python;
  if (facts.path_python) return *facts.path_python;
  return find_on_path("python3", env.get("PATH").value_or("")).value_or("");
}

// As the ordinary launch would settle its line. A check needs no program.
Result<ProgramCommand> settle_program_of(const NodeJob& job, const Environment& env, HostFacts& facts) {
  std::vector<std::string> args = job.args;
  args.insert(args.begin(), "--check");
  auto command = parse_command(args, env);
  if (!command) return command.error();
  auto* options = std::get_if<Options>(&*command);
  if (options == nullptr) return usage_error("it is not the line of a job");
  auto config = settle_line(*options, facts, env);
  if (!config) return config.error();
  if (!config->program.fault.empty()) return usage_error(config->program.fault);
  return std::move(config->program);
}

void look_at_line(const NodeJob& job, const Environment& env, NodeLook& look) {
  const auto program = settle_program_of(job, env, look.facts);
  if (program) look.python = interpreter_of(*program);
  if (look.python.empty()) look.python = python_to_ask(look.facts, env);
  if (!program) look.faults.push_back({look.python.empty() ? "python" : "job", program.error().message});
}

}  // namespace

boost::asio::awaitable<NodeSurvey> survey_node(NodeJob job, Environment env) {
  const Instant asked = instant();
  NodeLook look;
  if (const Status entered = enter_folder(job.folder, job.umask); !entered) {
    look.faults.push_back({"folder", entered.error().message});
    look.python = python_to_ask({}, env);
  } else {
    look_at_line(job, env, look);
  }
  ProbeRequest request;
  request.hostname = own_hostname();
  request.python = look.python;
  request.nvidia_smi = find_on_path("nvidia-smi", env.get("PATH").value_or("")).value_or("");
  request.temp_folder = temp_folder();
  request.env = env.lines();
  auto probing = survey_host(std::move(request));
  NodeSurvey found;
  found.survey = co_await std::move(probing);
  found.hostname = own_hostname();
  found.survey.faults = std::move(look.faults);
  found.survey.asked_us = asked.wall.time_since_epoch().count();
  co_return found;
}

}  // namespace launch
