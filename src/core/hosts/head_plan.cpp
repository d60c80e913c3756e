#include "launch/core/hosts/head_plan.hpp"

#include <fmt/format.h>

namespace launch {

std::vector<std::string> node_line(const HeadPlan& plan, int node, const Endpoint& store) {
  std::vector<std::string> args = plan.options;
  const auto& own = plan.nodes[static_cast<std::size_t>(node)].options;
  args.insert(args.end(), own.begin(), own.end());
  args.emplace_back("--cluster=none");
  args.push_back("--rdzv-id=" + plan.run_id);
  args.push_back("--nnodes=" + plan.nnodes);
  if (plan.nodes.size() > 1 && plan.c10d) {
    args.push_back("--rdzv-endpoint=" + to_text(store));
  } else if (plan.nodes.size() > 1) {
    args.push_back(fmt::format("--node-rank={}", node));
    args.push_back("--master-addr=" + store.host);
    args.push_back(fmt::format("--master-port={}", store.port));
  } else if (plan.port != 0 && !plan.c10d) {
    args.push_back(fmt::format("--master-port={}", plan.port));
  }
  args.emplace_back("--");  // which is dropped, and no other
  args.insert(args.end(), plan.program.begin(), plan.program.end());
  return args;
}

std::string token_of(const HeadPlan& plan, int node) {
  return plan.check ? fmt::format("{}-{}", plan.run_id, node) : plan.run_id;
}

NodeJob node_job(const HeadPlan& plan, int node) {
  NodeJob job;
  job.node = node;
  job.nodes = static_cast<int>(plan.nodes.size());
  job.args = node_line(plan, node, {"127.0.0.1", 1});
  job.env = plan.env;
  const auto& own = plan.nodes[static_cast<std::size_t>(node)].env;
  job.env.insert(job.env.end(), own.begin(), own.end());
  job.folder = plan.folder;
  job.umask = plan.umask;
  job.keeps_output = plan.keeps_output;
  job.gathers_logs = plan.gathers_logs;
  job.logs = plan.nodes[static_cast<std::size_t>(node)].logs;
  job.port = plan.port;
  job.silence_ms = std::chrono::duration_cast<std::chrono::milliseconds>(plan.silence).count();
  job.token = token_of(plan, node);
  job.checks = plan.check.has_value();
  return job;
}

}  // namespace launch
