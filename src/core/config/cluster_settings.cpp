#include "launch/core/config/cluster_settings.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/config/node_settings.hpp"
#include "launch/core/job/endpoint.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

template <class T>
void fill(Setting<T>& setting, T value, const std::string& from) {
  if (!setting.given()) setting = {std::move(value), from, Source::cluster};
}

bool is_c10d(const Options& options) { return options.rdzv_backend.value == "c10d"; }

bool has_endpoint(const Options& options) {
  if (options.rdzv_endpoint.given() && !options.rdzv_endpoint.value.empty()) return true;
  return !is_c10d(options) && options.master_addr.given();
}

// Nothing that a job of several nodes needs is left to be filled.
bool is_complete(const Options& options) {
  return options.nnodes.given() && has_endpoint(options) && (is_c10d(options) || options.node_rank.given());
}

Error too_many(const ClusterStart& start, const Options& options) {
  return usage_error(fmt::format(
      "{}, but the {} has {} ({}); start launch on as many as the job has, leave --nnodes out, or give --cluster=none",
      as_typed(options.nnodes), start.starter, counted(start.nodes, "node"), start.nodes_from));
}

Status check_nodes(const ClusterStart& start, const Options& options) {
  const auto limits = parse_limits(options.nnodes.value);
  if (!options.nnodes.given() || !limits) return {};
  if (limits->min < 1 || limits->min > limits->max) return {};  // settle() refuses it
  const bool fits = is_c10d(options) ? limits->min <= start.nodes : limits->max == start.nodes;
  return fits ? Status{} : Status{too_many(start, options)};
}

Status check_rank(const ClusterStart& start, const Options& options) {
  if (is_c10d(options) || !options.node_rank.given() || options.node_rank.value == start.node_rank.value) return {};
  return usage_error(fmt::format(
      "{}, but {} says that this is node {}; was a variable of Slurm expanded in the batch script, which is on node 0, "
      "or is it the number of a task? Leave --node-rank out",
      as_typed(options.node_rank), start.node_rank_from, start.node_rank.value));
}

// The option that has a host or a port that no other node can use; empty: none.
std::string of_this_machine(const Options& options) {
  const bool by_endpoint = options.rdzv_endpoint.given() && !options.rdzv_endpoint.value.empty();
  const Setting<std::string>& setting = by_endpoint ? options.rdzv_endpoint : options.master_addr;
  const auto endpoint = parse_endpoint(setting.value);
  if (setting.given() && endpoint && (is_loopback(endpoint->host) || endpoint->port == 0)) return as_typed(setting);
  return options.master_port.given() && options.master_port.value == 0 ? as_typed(options.master_port) : "";
}

// The option by which the user means one node, as torchrun understands it; empty: none.
std::string one_node_by(const Options& options) {
  if (options.standalone.value) return options.standalone.origin;
  if (!options.nnodes.given()) return of_this_machine(options);
  const auto limits = parse_limits(options.nnodes.value);
  return limits && limits->max == 1 ? as_typed(options.nnodes) : "";
}

// Why what was found is not used; empty: it is.
std::string reason_to_leave(const ClusterStart& start, const Options& options) {
  const std::string name = fmt::format("{} {}", start.starter, start.id);
  const std::string has = fmt::format("{} has {}", name, counted(start.nodes, "node"));
  if (start.most_per_node > 1 && !is_complete(options))
    return fmt::format(
        "{} has {} tasks on one node, so nothing is taken from it{}; \"srun --ntasks-per-node=1 launch ...\" makes one "
        "job of all nodes",
        name, start.most_per_node,
        options.nnodes.given() ? "" : ", and each of them runs a job of its own, as with torchrun");
  if (const std::string by = one_node_by(options); !by.empty() && start.nodes > 1)
    return fmt::format("{}, and each of them runs a job of its own ({})", has, by);
  return "";
}

std::string told(const ClusterStart& start) {
  if (start.nodes == 1) return fmt::format("{} {}: one node", start.starter, start.id);
  return fmt::format("{} {}: {}, this is node {} ({}), node 0 is {}", start.starter, start.id,
                     counted(start.nodes, "node"), start.node_rank.value, start.names[start.node_rank.index()],
                     start.names.front());
}

// Where the nodes meet. Only a node that the scheduler speaks of can be in such a job, so its run id may be ours, too.
void fill_meeting(const ClusterStart& start, Options& options) {
  if (has_endpoint(options)) return;
  const std::string& host = start.names.front();
  if (is_c10d(options)) {
    fill(options.rdzv_endpoint, fmt::format("{}:{}", host, start.port), start.names_from);
  } else {
    fill(options.master_addr, host, start.names_from);
    fill(options.master_port, static_cast<int>(start.port), start.port_from);
  }
  fill(options.rdzv_id, start.id, "the number of the " + start.starter);
}

// It tells a c10d job which node hosts the store, and nothing else: what the user gives is ignored there.
void fill_rank(const ClusterStart& start, Options& options) {
  if (is_c10d(options)) options.node_rank = {};
  fill(options.node_rank, start.node_rank.value, start.node_rank_from);
}

}  // namespace

Result<ClusterUse> use_cluster(const Environment& env, const ProcessFacts& process, Options& options) {
  if (options.cluster.value == "none") return ClusterUse{};
  const auto view = view_cluster(env, process);
  if (!view && (is_complete(options) || !one_node_by(options).empty()))
    return ClusterUse{"", {}, {view.error().message}};
  if (!view) return view.error();
  if (!view->start && options.cluster.value == "slurm")
    return usage_error(fmt::format("{}: no Slurm step started this launch{}{}", as_typed(options.cluster),
                                   view->found.empty() ? "" : "; ", fmt::join(view->found, "; ")));
  return use_cluster(*view, options);
}

Result<ClusterUse> use_cluster(const ClusterView& view, Options& options) {
  ClusterUse use;
  use.found = view.found;
  if (!view.notice.empty() && !options.nnodes.given() && !options.standalone.value) use.notices.push_back(view.notice);
  if (!view.start) return use;
  const ClusterStart& start = *view.start;
  if (std::string why = reason_to_leave(start, options); !why.empty()) use.notices.push_back(std::move(why));
  // A step of one node has nothing for a line that speaks of several: they are on one machine, as in a test.
  const bool speaks_of_several = options.nnodes.given() || options.node_rank.given();
  if (!use.notices.empty() || is_complete(options) || (start.nodes == 1 && speaks_of_several)) return use;
  if (!one_node_by(options).empty()) return use;
  if (Status fits = check_nodes(start, options); !fits) return fits.error();
  if (Status fits = check_rank(start, options); !fits) return fits.error();
  use.told = told(start);
  // As many workers as devices is what a cluster's user means; torchrun's default of one is for a line with --nnodes.
  if (!options.nnodes.given()) fill(options.nproc_per_node, std::string("auto"), "the " + start.starter);
  fill(options.nnodes, std::to_string(start.nodes), start.nodes_from);
  if (start.nodes == 1) return use;
  fill_rank(start, options);
  fill_meeting(start, options);
  return use;
}

}  // namespace launch
