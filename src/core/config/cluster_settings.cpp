#include "launch/core/config/cluster_settings.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/task_identity.hpp"
#include "launch/core/config/node_settings.hpp"
#include "launch/core/config/store_settings.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/options/key_values.hpp"

#include <algorithm>
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

bool is_c10d(const Options& options) { return is_elastic_backend(options.rdzv_backend.value); }

bool has_endpoint(const Options& options) {
  if (meets_elsewhere(options)) return true;
  if (options.rdzv_endpoint.given() && !options.rdzv_endpoint.value.empty()) return true;
  return !is_c10d(options) && options.master_addr.given();
}

// Nothing that a job of several nodes needs is left to be filled.
bool is_complete(const Options& options) {
  return options.nnodes.given() && has_endpoint(options) && (is_c10d(options) || options.node_rank.given());
}

std::string size_of(const ClusterStart& start) {
  if (!start.place) return counted(start.nodes.value, "node");
  const std::string tasks = counted(start.nodes.value, "task");
  return start.place->nodes == 0 ? tasks : fmt::format("{} on {}", tasks, counted(start.place->nodes, "node"));
}

// The number of machines; 0: not said.
int machines_of(const ClusterStart& start) { return start.place ? start.place->nodes : start.nodes.value; }

// As in "but the Slurm step has".
std::string in_a_sentence(const ClusterStart& start) {
  return start.starter == "Slurm step" ? "the Slurm step" : start.starter;
}

Status check_nodes(const ClusterStart& start, const Options& options) {
  const auto limits = parse_limits(options.nnodes.value);
  const int nodes = machines_of(start);
  if (!options.nnodes.given() || !limits) return {};
  if (limits->min < 1 || limits->min > limits->max) return {};  // settle() refuses it
  const bool fits = nodes == 0         ? start.nodes.value == 0 || limits->max <= start.nodes.value
                    : is_c10d(options) ? limits->min <= nodes
                                       : limits->max == nodes;
  if (fits) return {};
  return usage_error(fmt::format(
      "{}, but {} has {} ({}); start launch on as many as the job has, leave --nnodes out, or give --cluster=none",
      as_typed(options.nnodes), in_a_sentence(start), size_of(start), start.nodes.from));
}

Status check_rank(const ClusterStart& start, const Options& options) {
  const NodeRank rank = start.place ? start.place->node : start.node_rank.value;
  if (is_c10d(options) || !options.node_rank.given() || !rank.known() || options.node_rank.value == rank.value)
    return {};
  return usage_error(fmt::format(
      "{}, but {} says that this is node {}; was a variable expanded in the script that runs on node 0 alone, or is it "
      "the number of a task? Leave --node-rank out",
      as_typed(options.node_rank), start.node_rank.from, rank.value));
}

// The option that has a port that no other node can know; empty: none.
std::string with_any_port(const Options& options) {
  const auto endpoint = parse_endpoint(options.rdzv_endpoint.value);
  if (options.rdzv_endpoint.given() && endpoint && endpoint->port == 0) return as_typed(options.rdzv_endpoint);
  return options.master_port.given() && options.master_port.value == 0 ? as_typed(options.master_port) : "";
}

// The option that has a host that no other machine can use; empty: none.
std::string with_loopback(const Options& options) {
  const bool by_endpoint = options.rdzv_endpoint.given() && !options.rdzv_endpoint.value.empty();
  const Setting<std::string>& setting = by_endpoint ? options.rdzv_endpoint : options.master_addr;
  const auto endpoint = parse_endpoint(setting.value);
  return setting.given() && endpoint && is_loopback(endpoint->host) ? as_typed(setting) : "";
}

// The option by which the user means one node, as torchrun understands it; empty: none. All tasks of a start on one
// machine can use an address of this machine.
std::string one_node_by(const ClusterStart& start, const Options& options) {
  if (options.standalone.value) return options.standalone.origin;
  const bool one_machine = start.place && start.place->nodes == 1;
  if (!options.nnodes.given()) {
    std::string any_port = with_any_port(options);
    return any_port.empty() && !one_machine ? with_loopback(options) : any_port;
  }
  const auto limits = parse_limits(options.nnodes.value);
  return limits && limits->max == 1 ? as_typed(options.nnodes) : "";
}

// Why what was found is not used; empty: it is.
std::string reason_to_leave(const ClusterStart& start, const Options& options) {
  const std::string has = fmt::format("{} has {}", start_name(start), size_of(start));
  if (const std::string by = one_node_by(start, options); !by.empty())
    return start.nodes.value > 1 ? fmt::format("{}, and each of them runs a job of its own ({})", has, by) : "";
  if (start.place && is_c10d(options) && start.knows_places && !is_complete(options))
    return fmt::format("{}, and {} on one node; with c10d nothing is taken from that: start one task on each node", has,
                       start.place->local_tasks);
  if (start.nodes.value == 0 && !options.nnodes.given()) return start.notice;
  return "";
}

std::string told(const ClusterStart& start) {
  const std::string name = start_name(start);
  if (start.nodes.value == 1) return fmt::format("{}: one node", name);
  const auto rank = start.node_rank.value;
  const std::string where = start.host.value.empty() ? "" : fmt::format(", node 0 is {}", start.host.value);
  if (start.place)
    return fmt::format("{}: {}, each with one worker; this is rank {}, number {} on its node{}", name, size_of(start),
                       rank.value, start.place->local_task, where);
  const std::string own = start.names.empty() ? "" : fmt::format(" ({})", start.names[rank.index()]);
  const std::string all = start.nodes.value == 0 ? "" : counted(start.nodes.value, "node") + ", ";
  return fmt::format("{}: {}this is node {}{}{}", name, all, rank.value, own, where);
}

// Where the nodes meet. Only a node that the starter speaks of can be in such a job, so its run id may be ours, too.
Status fill_meeting(const ClusterStart& start, Options& options) {
  if (meets_elsewhere(options)) return {};
  if (options.rdzv_endpoint.given() && !options.rdzv_endpoint.value.empty()) return {};
  const std::string& host = start.host.value;
  if (host.empty() && !has_endpoint(options))
    return usage_error(fmt::format("{} has {}, but does not say where node 0 is: {}", start_name(start),
                                   start.nodes.value == 0 ? "several nodes" : size_of(start), start.host_hint));
  if (is_c10d(options)) {
    fill(options.rdzv_endpoint, to_text(Endpoint{host, start.port.value}), start.host.from);
  } else {
    fill(options.master_addr, host, start.host.from);
    fill(options.master_port, static_cast<int>(start.port.value), start.port.from);
  }
  if (!start.id.empty()) fill(options.rdzv_id, start.id, start.id_from);
  return {};
}

// It tells a c10d job which node hosts the store, and nothing else: what the user gives is ignored there. The user's
// rank is that of a machine, which a task's differs from.
void fill_rank(const ClusterStart& start, Options& options) {
  if (is_c10d(options) || start.place) options.node_rank = {};
  fill(options.node_rank, start.node_rank.value.value, start.node_rank.from);
}

Status fill_all(const ClusterStart& start, Options& options) {
  // As many workers as devices is what a cluster's user means; torchrun's default of one is for a line with --nnodes.
  if (start.place) {
    fill(options.nproc_per_node, std::string("1"), "the tasks of " + in_a_sentence(start));
    options.nnodes = {std::to_string(start.nodes.value), start.nodes.from, Source::cluster};
  } else if (!options.nnodes.given()) {
    fill(options.nproc_per_node, std::string("auto"), in_a_sentence(start));
  }
  if (start.nodes.value > 0) fill(options.nnodes, std::to_string(start.nodes.value), start.nodes.from);
  if (start.nodes.value == 1) return {};
  fill_rank(start, options);
  return fill_meeting(start, options);
}

}  // namespace

Result<ClusterView> find_cluster(const Environment& env, const ProcessFacts& process, const Options& options) {
  const std::string& word = options.cluster.value;
  if (word == "none") return ClusterView{};
  const bool any = word == "auto";
  auto view = view_cluster(env, process, any ? "" : word);
  if (!view && (is_complete(options) || !one_node_by({}, options).empty())) {
    ClusterView nothing = view_surroundings(env, process);
    nothing.found = {view.error().message};
    return nothing;
  }
  if (view && !view->start && !any)
    return usage_error(fmt::format("{}: no such start of this launch was found{}{}", as_typed(options.cluster),
                                   view->found.empty() ? "" : "; ", fmt::join(view->found, "; ")));
  return view;
}

bool must_ask_server(const ClusterView& view, const Options& options) {
  if (!view.start || view.start->server == RankServer::none || view.start->nodes.value < 2) return false;
  if (is_complete(options) || !one_node_by(*view.start, options).empty()) return false;
  // A worker of Open MPI may be the rank itself, unless launch has spoken as that rank before.
  const bool one_machine = view.start->place && view.start->place->nodes == 1;
  if (view.start->server == RankServer::pmix) return !one_machine && !has_endpoint(options);
  // The ranks of an uneven start must know of each other, whatever the user gives, since they decide by it.
  return !view.start->knows_places || !has_endpoint(options);
}

Duration longest_wait(const Options& options) {
  constexpr int usual = 900;
  const auto conf = parse_key_values(options.rdzv_conf.value);
  if (!conf || !conf->contains("timeout")) return std::chrono::seconds(usual);
  return std::chrono::seconds(std::max(1, parse_int(conf->at("timeout")).value_or(usual)));
}

namespace {

void fill_grace(const ClusterView& view, Options& options) {
  if (view.start && view.start->grace > 0) {
    fill(options.shutdown_timeout, view.start->grace, "the time that " + in_a_sentence(*view.start) + " gives");
  } else if (view.in_pod) {
    fill(options.shutdown_timeout, grace_of_pods, "the time that Kubernetes gives");
  }
}

// What is true of each line that this start has started, even of one that describes its job itself.
void fill_surroundings(const ClusterStart& start, bool shares, Options& options) {
  if (!shares) return;
  const std::string local = start.place ? std::to_string(start.place->local_task) : "${local_rank}";
  fill(options.log_line_prefix_template,
       "[${host}:${role_name}" + local + "]:", "the console that all nodes of " + in_a_sentence(start) + " share");
}

Status check_start(const ClusterStart& start, const Options& options) {
  if (start.place && is_c10d(options) && !start.knows_places)
    return usage_error(fmt::format("{}: {} has {}, several of them on this node; with c10d, start one on each node",
                                   as_typed(options.rdzv_backend), start_name(start), size_of(start)));
  if (Status fits = check_nodes(start, options); !fits) return fits;
  return check_rank(start, options);
}

}  // namespace

Result<ClusterUse> use_cluster(const ClusterView& view, Options& options) {
  ClusterUse use;
  use.found = view.found;
  if (!view.job_end.value.empty()) fill(options.job_end, view.job_end.value, view.job_end.from);
  fill_grace(view, options);
  if (!view.notice.empty() && !options.nnodes.given() && !options.standalone.value) use.notices.push_back(view.notice);
  if (!view.start) return use;
  const ClusterStart& start = *view.start;
  if (std::string why = reason_to_leave(start, options); !why.empty()) use.notices.push_back(std::move(why));
  const bool one_node = !one_node_by(start, options).empty();
  // A start of one node has nothing for a line that speaks of several: they are on one machine, as in a test.
  const bool of_one_machine = start.nodes.value == 1 && (options.nnodes.given() || options.node_rank.given());
  use.shares_console = start.shares_console && start.nodes.value > 1 && !one_node && use.notices.empty();
  fill_surroundings(start, use.shares_console && !is_complete(options), options);
  use.strips_identity = start.server == RankServer::pmi;  // a worker has not the descriptor that it would need
  use.has_ranks = start.of_ranks;
  if (!use.notices.empty() || is_complete(options) || of_one_machine || one_node) return use;
  if (Status fits = check_start(start, options); !fits) return fits.error();
  use.told = told(start);
  if (!start.notice.empty() && start.nodes.value > 0) use.notices.push_back(start.notice);
  if (Status filled = fill_all(start, options); !filled) return filled.error();
  use.place = start.place;
  const bool by_start = is_c10d(options) ? options.rdzv_endpoint.source == Source::cluster
                                         : options.master_port.source == Source::cluster;
  if (by_start) use.ports = start.row;
  // The worker of a launch that was started for it alone may be that rank, unless launch has spoken as the rank itself.
  use.strips_identity = !start.place || start.server == RankServer::pmi || start.asked;
  return use;
}

Environment worker_environment(const ClusterUse& use, const Options& options, const Config& config) {
  const bool several = use.has_ranks && config.nproc_per_node > 1;  // which would all be the same rank
  const bool strips = (use.strips_identity || several) && !options.keep_cluster_env.value;
  return strips ? without_identity(config.worker_env) : config.worker_env;
}

Status check_place(const ClusterUse& use, const Options& options, const Config& config) {
  if (!use.place) return {};
  const std::string here = counted(use.place->local_tasks, "launch", "es");
  if (config.nproc_per_node != 1)
    return usage_error(
        fmt::format("{} means {} workers, but there are {} on this node, each of which runs one worker; "
                    "leave it out, start one launch on each node, or give --nnodes=1 for a job of each",
                    as_typed(options.nproc_per_node), config.nproc_per_node, here));
  const auto by_rank = [](const Setting<std::string>& setting) {
    return setting.given() && setting.value.find(':') != std::string::npos;
  };
  std::string given;
  if (options.virtual_local_rank.given() && options.virtual_local_rank.value)
    given = as_typed(options.virtual_local_rank.origin, "");
  if (by_rank(options.redirects)) given = as_typed(options.redirects);
  if (by_rank(options.tee)) given = as_typed(options.tee);
  if (options.local_ranks_filter.given()) given = as_typed(options.local_ranks_filter);
  if (options.numa_binding.given()) given = as_typed(options.numa_binding);
  if (given.empty()) return {};
  return usage_error(
      fmt::format("{} is about several workers of one launch, but there are {} on this node, each of "
                  "which runs one worker; start one launch on each node",
                  given, here));
}

}  // namespace launch
