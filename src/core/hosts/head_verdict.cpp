#include "launch/core/hosts/head_verdict.hpp"

#include "launch/core/verdict/verdict.hpp"

#include <algorithm>

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
  ProblemsJson problems = ProblemsJson::array();
  for (const HostProblem& one : failure.problems)
    problems.push_back({{"host", one.host}, {"reason", one.reason}, {"exit_code", one.exit_code}});
  std::string json = verdict_json(verdict);
  json.back() = ',';  // in place of the brace: the object gets one more member
  return json + "\"problems\":" + problems.dump(-1, ' ', true, ProblemsJson::error_handler_t::replace) + "}";
}

}  // namespace launch
