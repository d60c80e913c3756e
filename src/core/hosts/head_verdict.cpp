#include "launch/core/hosts/head_verdict.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using ProblemsJson = nlohmann::ordered_json;

FailurePlace place_of(const HeadPlan& plan, const std::vector<HostProblem>& problems) {
  if (problems.size() != 1) return {};
  const auto is_it = [&](const HeadNode& node) { return node.host == problems[0].host; };
  const auto node = std::find_if(plan.nodes.begin(), plan.nodes.end(), is_it);
  if (node == plan.nodes.end()) return {};
  return {NodeRank(static_cast<int>(node - plan.nodes.begin())), node->host};
}

}  // namespace

std::string head_verdict(const HeadPlan& plan, const HeadFailure& failure) {
  const FailurePlace place = place_of(plan, failure.problems);
  Verdict verdict;
  verdict.program = plan.program.empty() ? "" : plan.program.front();
  verdict.run_id = plan.run_id;
  verdict.nnodes = static_cast<int>(plan.nodes.size());
  verdict.first.kind = failure.kind;
  verdict.first.exit_code = failure.exit_code;
  verdict.first.node_rank = place.node_rank;
  verdict.first.host = place.host;
  verdict.first.what = failure.what;
  return verdict_with(verdict_json(verdict), failure.problems);
}

void add_end(FinishHead& job, const NodeEnd& node) {
  std::string json(trim(node.json));
  if (!is_whole(json)) json.clear();
  if (job.exit_code == 0) job.exit_code = node.exit_code;
  if (job.report.empty() && !node.report.empty()) {
    job = {node.exit_code, node.report, json.empty() ? job.json : json};
  } else if (job.json.empty() && node.exit_code != 0) {
    job.json = json;
  }
}

bool is_whole(const std::string& json) {
  return !json.empty() && json.back() == '}' && read_json(json, {.size = longest_report}).is_object();
}

std::string verdict_with(std::string json, const std::vector<HostProblem>& losses) {
  ProblemsJson problems = ProblemsJson::array();
  for (const HostProblem& one : losses)
    problems.push_back({{"host", one.host}, {"reason", one.reason}, {"exit_code", one.exit_code}});
  json.back() = json.size() > 2 ? ',' : ' ';  // in place of the brace: the object gets one more member
  return json + "\"problems\":" + problems.dump(-1, ' ', true, ProblemsJson::error_handler_t::replace) + "}";
}

bool blames_the_store(const std::string& json) {
  if (!is_whole(json)) return false;
  const JsonValue verdict = read_json(json, {.size = longest_report});
  return verdict["root_cause"]["kind"].text().value_or("") == "store";
}

std::optional<Failure> cause_of(const std::string& json) {
  auto failure = read_failure(read_json(json, {.size = longest_report})["root_cause"]);
  return failure ? std::optional(*std::move(failure)) : std::nullopt;
}

std::string report_with(std::string report, const std::vector<HostProblem>& losses) {
  while (report.ends_with('\n')) report.pop_back();
  for (const std::string& line : fold_problems(losses)) report += fmt::format("\n  {:<14} {}", "lost", line);
  return report + '\n';
}

}  // namespace launch
