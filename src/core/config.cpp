#include "launch/core/config.hpp"

#include "launch/core/key_values.hpp"
#include "launch/core/program.hpp"
#include "launch/core/text.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

// What the store can hold in one request, and a product that an int holds.
constexpr int max_nodes = 100'000;
constexpr int max_workers_per_node = 16'384;
constexpr int default_master_port = 29'500;
constexpr int default_shutdown_timeout_s = 30;
constexpr double default_rendezvous_timeout_s = 900;
constexpr double max_timeout_s = 1e9;  // thirty years; nanoseconds of it fit into Duration
constexpr const char* local_address = "127.0.0.1";

template <class T>
std::string typed(const Setting<T>& setting) {
  return as_typed(setting.origin, fmt::format("{}", setting.value));
}

Duration seconds(double count) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(count, max_timeout_s)));
}

// N is as good as N:N.
Status settle_nodes(const Options& options, const HostFacts&, Config& config) {
  const std::string_view text = options.nnodes.value;
  const auto colon = text.find(':');
  const auto min = parse_int(text.substr(0, colon));
  const auto max = colon == std::string_view::npos ? min : parse_int(text.substr(colon + 1));
  if (!min || !max) {
    return usage_error(fmt::format("{}: expected a number of nodes, or MIN:MAX", typed(options.nnodes)));
  }
  if (*min < 1 || *max > max_nodes) {
    return usage_error(
        fmt::format("{} is outside 1..{}, the possible numbers of nodes", typed(options.nnodes), max_nodes));
  }
  if (*min > *max) return usage_error(fmt::format("{}: MIN is above MAX; write MIN:MAX", typed(options.nnodes)));
  config.nnodes = *max;
  return {};
}

Status settle_node_rank(const Options& options, const HostFacts&, Config& config) {
  config.node_rank = options.node_rank.value;
  if (config.node_rank >= 0 && config.node_rank < config.nnodes) return {};
  return usage_error(fmt::format("{} is outside 0..{} ({} node{}, counted from 0)", typed(options.node_rank),
                                 config.nnodes - 1, config.nnodes, config.nnodes == 1 ? "" : "s"));
}

Status settle_workers(const Options& options, const HostFacts& facts, Config& config) {
  const Setting<std::string>& count = options.nproc_per_node;
  config.role = options.role.value;
  if (count.value == "cpu" || (count.value == "auto" && facts.gpus == 0)) {
    config.nproc_per_node = facts.usable_cpus;
  } else if (count.value == "auto" || count.value == "gpu") {
    if (facts.gpus == 0) {
      return usage_error(fmt::format("{}: this node has no visible GPU; give a number, cpu or auto", typed(count)));
    }
    config.nproc_per_node = facts.gpus;
  } else if (const auto number = parse_int(count.value); !number) {
    return usage_error(fmt::format("{}: expected a number of workers, auto, cpu or gpu", typed(count)));
  } else if (*number < 1 || *number > max_workers_per_node) {
    return usage_error(fmt::format("{} is outside 1..{}, the possible numbers of workers on a node", typed(count),
                                   max_workers_per_node));
  } else {
    config.nproc_per_node = *number;
  }
  return {};
}

Status check_backend(const Options& options, const HostFacts&, Config&) {
  if (options.rdzv_backend.value == "static" || options.standalone.value) return {};
  return usage_error(
      fmt::format("{}: this version knows only static; leave it out, and give --master-addr, --master-port "
                  "and --node-rank",
                  typed(options.rdzv_backend)));
}

Status settle_rendezvous_timeout(const Options& options, const HostFacts&, Config& config) {
  config.rendezvous_timeout = seconds(default_rendezvous_timeout_s);
  const auto conf = parse_key_values(options.rdzv_conf.value);
  if (!conf) return usage_error(fmt::format("{}: {}", typed(options.rdzv_conf), conf.error().message));
  const auto timeout = conf->find("timeout");
  if (timeout == conf->end()) return {};
  const auto count = parse_decimal(timeout->second);
  if (!count || *count <= 0) {
    return usage_error(fmt::format("{}: expected a timeout above 0 seconds", typed(options.rdzv_conf)));
  }
  config.rendezvous_timeout = seconds(*count);
  return {};
}

// The origins of those settings that were given.
template <class... Settings>
std::vector<std::string> origins(const Settings&... settings) {
  std::vector<std::string> result;
  ((settings.given() ? result.push_back(settings.origin) : void()), ...);
  return result;
}

void notice_ignored(const std::vector<std::string>& ignored, std::string_view reason, Config& config) {
  if (!ignored.empty()) config.notices.push_back(fmt::format("{} ignored: {}", fmt::join(ignored, ", "), reason));
}

// One node that needs nobody to find it.
void meet_at_home(const HostFacts& facts, Config& config) {
  config.master = {local_address, 0};
  config.run_id = facts.fresh_id;
}

Status settle_standalone(const Options& options, const HostFacts& facts, Config& config) {
  if (config.nnodes != 1) {
    return usage_error(fmt::format("{} is for one node, but {} says {}; leave one of them out",
                                   options.standalone.origin, typed(options.nnodes), config.nnodes));
  }
  meet_at_home(facts, config);
  notice_ignored(
      origins(options.rdzv_backend, options.rdzv_endpoint, options.rdzv_id, options.master_addr, options.master_port),
      fmt::format("{} takes {} and a free port", options.standalone.origin, local_address), config);
  return {};
}

Result<std::uint16_t> check_port(int port, const std::string& source, int nnodes) {
  if (port == 0 && nnodes > 1) {
    return usage_error(
        fmt::format("{}: port 0 (any free one) is for one node; give all nodes the same port from 1 to 65535", source));
  }
  if (port < 0 || port > 65'535) return usage_error(fmt::format("{} is outside 1..65535, the possible ports", source));
  return static_cast<std::uint16_t>(port);
}

Result<Endpoint> master_from_endpoint(const Options& options, Config& config) {
  const std::string source = typed(options.rdzv_endpoint);
  const auto text = parse_endpoint(options.rdzv_endpoint.value);
  if (!text) return usage_error(fmt::format("{}: {}", source, text.error().message));
  if (!text->port && config.nnodes > 1) {
    return usage_error(fmt::format("{}: the port is missing; write HOST:PORT, and [ADDRESS]:PORT for IPv6", source));
  }
  const auto port = check_port(text->port.value_or(0), source, config.nnodes);
  if (!port) return port.error();
  notice_ignored(origins(options.master_addr, options.master_port),
                 fmt::format("{} wins", options.rdzv_endpoint.origin), config);
  return Endpoint{text->host, *port};
}

Result<Endpoint> master_from_address(const Options& options, Config& config) {
  const auto address = parse_endpoint(options.master_addr.value);
  if (!address) return usage_error(fmt::format("{}: {}", typed(options.master_addr), address.error().message));
  if (address->port) {
    return usage_error(
        fmt::format("{}: expected a host without a port; --master-port gives the port", typed(options.master_addr)));
  }
  const int number = options.master_port.value.value_or(default_master_port);
  const auto port = check_port(number, as_typed(options.master_port.origin, std::to_string(number)), config.nnodes);
  if (!port) return port.error();
  if (config.nnodes > 1 && !options.master_addr.given()) {
    config.notices.push_back(
        fmt::format("--master-addr is not given: node 0 is sought at {}, on this machine", local_address));
  }
  return Endpoint{address->host, *port};
}

Status settle_run_id(const Options& options, const HostFacts& facts, Config& config) {
  config.run_id = trim(options.rdzv_id.value);
  if (!config.run_id.empty()) return {};
  if (config.nnodes > 1) {
    return usage_error(fmt::format("{} is empty, so each node would take its own id; give all nodes the same one",
                                   options.rdzv_id.origin));
  }
  config.run_id = facts.fresh_id;
  return {};
}

Status settle_shared_master(const Options& options, const HostFacts& facts, Config& config) {
  auto master =
      options.rdzv_endpoint.given() ? master_from_endpoint(options, config) : master_from_address(options, config);
  if (!master) return master.error();
  config.master = *std::move(master);
  return settle_run_id(options, facts, config);
}

Status settle_master(const Options& options, const HostFacts& facts, Config& config) {
  if (options.standalone.value) return settle_standalone(options, facts, config);
  const bool shared = config.nnodes > 1 || options.rdzv_endpoint.given() || options.master_port.given();
  if (shared) return settle_shared_master(options, facts, config);
  meet_at_home(facts, config);
  notice_ignored(origins(options.master_addr),
                 fmt::format("one node without --master-port takes {} and a free port", local_address), config);
  return options.rdzv_id.given() ? settle_run_id(options, facts, config) : Status{};
}

Status settle_stopping(const Options& options, const HostFacts&, Config& config) {
  if (options.monitor_interval.value <= 0) {
    return usage_error(fmt::format("{}: expected seconds above 0", typed(options.monitor_interval)));
  }
  const int shutdown = options.shutdown_timeout.value.value_or(default_shutdown_timeout_s);
  if (shutdown < 0) {
    return usage_error(fmt::format("{}: expected 0 or more seconds",
                                   as_typed(options.shutdown_timeout.origin, std::to_string(shutdown))));
  }
  config.shutdown_timeout = std::chrono::seconds(shutdown);
  return {};
}

Status settle_program(const Options& options, const HostFacts& facts, Config& config) {
  auto program = resolve_program(options, facts);
  if (!program) return program.error();
  config.program = *std::move(program);
  return {};
}

Status settle_environment(const Options&, const HostFacts& facts, Config& config) {
  config.hostname = facts.hostname;
  config.loopback_only = config.nnodes == 1 && is_loopback(config.master.host);
  config.identical_workers = facts.env.get("TORCH_ELASTIC_WORKER_IDENTICAL") == "1";
  config.worker_env = facts.env;
  config.worker_env.set("TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  if (!facts.env.get("TORCH_NCCL_ASYNC_ERROR_HANDLING")) {
    config.worker_env.set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  }
  if (config.nproc_per_node > 1 && !facts.env.get("OMP_NUM_THREADS")) {
    config.worker_env.set("OMP_NUM_THREADS", "1");
    config.notices.push_back(
        fmt::format("OMP_NUM_THREADS is not set: each of the {} workers gets 1, so that they do "
                    "not fight for the CPUs; set it to what suits the program",
                    config.nproc_per_node));
  }
  return {};
}

}  // namespace

Result<Config> settle(const Options& options, const HostFacts& facts) {
  Config config;
  for (const auto step : {settle_nodes, settle_node_rank, settle_workers, check_backend, settle_rendezvous_timeout,
                          settle_master, settle_stopping, settle_program, settle_environment}) {
    if (Status done = step(options, facts, config); !done) return done.error();
  }
  return config;
}

}  // namespace launch
