#include "launch/core/config/node_settings.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/config/store_settings.hpp"
#include "launch/core/options/key_values.hpp"
#include "launch/core/options/nearest_name.hpp"
#include "launch/core/options/option_table.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr int max_nodes = 100'000;     // what the store can hold in one request
constexpr double max_timeout_s = 1e9;  // thirty years; as nanoseconds it still fits into Duration
constexpr const char* local_address = "127.0.0.1";

// Keys of --rdzv-conf whose values are whole numbers.
constexpr std::array<const char*, 7> c10d_counts{"join_timeout",      "last_call_timeout",   "close_timeout",
                                                 "heartbeat_timeout", "keep_alive_interval", "keep_alive_max_attempt",
                                                 "read_timeout"};

Result<NodeLimits> read_range(const Options& options) {
  const auto range = parse_limits(options.nnodes.value);
  if (!range) {
    return usage_error(fmt::format("{}: expected a number of nodes, or MIN:MAX", as_typed(options.nnodes)));
  }
  if (range->min < 1 || range->max > max_nodes) {
    return usage_error(
        fmt::format("{} is not a possible number of nodes (1 to {})", as_typed(options.nnodes), max_nodes));
  }
  if (range->min > range->max)
    return usage_error(fmt::format("{}: MIN is above MAX; write MIN:MAX", as_typed(options.nnodes)));
  return *range;
}

Status check_node_rank(const Options& options, int nnodes) {
  if (options.node_rank.value >= 0 && options.node_rank.value < nnodes) return {};
  return usage_error(fmt::format("{} is outside 0..{} ({} node{}, counted from 0)", as_typed(options.node_rank),
                                 nnodes - 1, nnodes, nnodes == 1 ? "" : "s"));
}

// These keys have options of their own, and torchrun refuses them.
Status check_keys(const Options& options, const KeyValues& conf) {
  constexpr std::array<std::string_view, 6> taken{"backend",   "endpoint",  "run_id",
                                                  "min_nodes", "max_nodes", "local_addr"};
  for (const auto& [key, value] : conf) {
    if (std::find(taken.begin(), taken.end(), key) == taken.end()) continue;
    return usage_error(fmt::format("{}: {} has an option of its own", as_typed(options.rdzv_conf), key));
  }
  return {};
}

void notice_unknown_keys(const Options& options, const KeyValues& conf, Config& config) {
  std::vector<std::string> known = {"timeout", "rank", "is_host", "store_type"};
  known.insert(known.end(), c10d_counts.begin(), c10d_counts.end());
  const std::vector<std::string> of_etcd = etcd_keys(options.rdzv_backend.value);
  known.insert(known.end(), of_etcd.begin(), of_etcd.end());
  for (const auto& [key, value] : conf) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto nearest = nearest_name(key, known);
    config.notices.push_back(fmt::format("{}: {} is no key that launch knows, and has no effect{}",
                                         as_typed(options.rdzv_conf), shown(key),
                                         nearest ? fmt::format("; did you mean {}?", *nearest) : std::string()));
  }
}

Status settle_rendezvous_timeout(const Options& options, Config& config) {
  const auto seconds = [](double count) { return of_seconds(std::min(count, max_timeout_s)); };
  auto conf = parse_key_values(options.rdzv_conf.value);
  if (!conf) return usage_error(fmt::format("{}: {}", as_typed(options.rdzv_conf), conf.error().message));
  if (Status fits = check_keys(options, *conf); !fits) return fits;
  notice_unknown_keys(options, *conf, config);
  conf->merge(*parse_key_values(row_of(&Options::rdzv_conf).initial));  // it has the timeout, if the user gave none
  const auto count = parse_decimal((*conf)["timeout"]);
  if (!count || *count <= 0) {
    return usage_error(fmt::format("{}: expected a timeout above 0 seconds", as_typed(options.rdzv_conf)));
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

// One node that no other node must find. torchrun makes that a c10d job, whichever options led here.
void meet_at_home(const Options& options, const HostFacts& facts, Config& config) {
  Endpoint store{local_address, 0};
  if (options.local_addr.given()) store.host = parse_endpoint(options.local_addr.value)->host;
  config.meeting = AloneChoice{std::move(store)};
  config.run_id = facts.fresh_id;
  config.serves_workers = facts.env.get("TORCH_DISABLE_SHARE_RDZV_TCP_STORE") != "1";
}

Status check_local_address(const Options& options) {
  if (!options.local_addr.given()) return {};
  const auto address = parse_endpoint(options.local_addr.value);
  if (!address) return usage_error(fmt::format("{}: {}", as_typed(options.local_addr), address.error().message));
  if (!address->port) return {};
  return usage_error(fmt::format("{}: expected a host without a port", as_typed(options.local_addr)));
}

Status settle_standalone(const Options& options, const HostFacts& facts, const NodeLimits& range, Config& config) {
  if (range.min != 1) {
    return usage_error(fmt::format("{} is for one node, but {} says {}; leave one of them out",
                                   options.standalone.origin, as_typed(options.nnodes), range.min));
  }
  meet_at_home(options, facts, config);
  notice_ignored(origins(options.rdzv_backend, options.rdzv_endpoint, options.rdzv_id, options.node_rank,
                         options.master_addr, options.master_port),
                 fmt::format("{} takes {} and a free port", options.standalone.origin, config.store().host), config);
  return {};
}

Status settle_run_id(const Options& options, const HostFacts& facts, Config& config) {
  config.run_id = options.rdzv_id.value;
  if (!config.run_id.empty()) return {};
  if (config.nnodes() > 1) {
    return usage_error(
        fmt::format("{} is empty, so that each node would make up its own id; give all nodes the same one",
                    options.rdzv_id.origin));
  }
  config.run_id = facts.fresh_id;
  return {};
}

Error key_error(const Options& options, std::string_view key, std::string_view expected) {
  return usage_error(fmt::format("{}: {} must be {}", as_typed(options.rdzv_conf), key, expected));
}

// 0 is possible, if torchrun's older etcd takes it.
Status check_count(const Options& options, const KeyValues& conf, const std::string& key) {
  const auto it = conf.find(key);
  if (it == conf.end()) return {};
  const auto number = parse_int(it->second);
  const bool zero = is_older_backend(options.rdzv_backend.value) && key == "last_call_timeout";
  if (!number || *number < (zero ? 0 : 1))
    return key_error(options, key, zero ? "a whole number, 0 or above" : "a whole number above 0");
  const int most = key.starts_with("keep_alive") ? 10'000 : 10'000'000;
  if (*number > most) return key_error(options, key, fmt::format("{} at most", most));
  return {};
}

// Values that torchrun's c10d backend refuses, although a single node does not use them.
Status check_c10d_keys(const Options& options) {
  const auto conf = parse_key_values(options.rdzv_conf.value);
  const auto fault = [&](std::string_view key, std::string_view expected) { return key_error(options, key, expected); };
  for (const char* key : c10d_counts)
    if (Status fits = check_count(options, *conf, key); !fits) return fits;
  constexpr std::string_view letters = "tTyYfFnN";
  if (const auto it = conf->find("is_host"); it != conf->end() && !parse_bool(it->second))
    if (it->second.size() != 1 || letters.find(it->second[0]) == std::string_view::npos)
      return fault("is_host", "true or false");
  if (const auto it = conf->find("store_type"); it != conf->end() && it->second != "tcp" && it->second != "file")
    return fault("store_type", "tcp or file");
  return {};
}

// Of those keys the older backend has two. Values of the others are as good as unknown keys.
Status check_older_keys(const Options& options) {
  const auto conf = parse_key_values(options.rdzv_conf.value);
  if (Status fits = check_count(options, *conf, "last_call_timeout"); !fits) return fits;
  return check_count(options, *conf, "close_timeout");
}

// REQUIRES: check_elastic_keys has accepted the values.
C10dChoice read_c10d(const Options& options, KeyValues conf, const NodeLimits& range) {
  if (is_older_backend(options.rdzv_backend.value))
    for (const char* key : {"join_timeout", "keep_alive_interval", "keep_alive_max_attempt"}) conf.erase(key);
  C10dChoice choice;
  ElasticSettings& settings = choice.settings;
  settings.nodes = range;
  const auto seconds = [&](const char* key, Duration& value) {
    if (const auto it = conf.find(key); it != conf.end()) value = std::chrono::seconds(*parse_int(it->second));
  };
  seconds("join_timeout", settings.join_timeout);
  seconds("last_call_timeout", settings.last_call_timeout);
  seconds("close_timeout", settings.close_timeout);
  seconds("keep_alive_interval", settings.keep_alive_interval);
  if (const auto it = conf.find("keep_alive_max_attempt"); it != conf.end())
    settings.keep_alive_max_attempt = *parse_int(it->second);
  if (const auto it = conf.find("is_host"); it != conf.end())
    choice.is_host = parse_bool(it->second).value_or(it->second.find_first_of("tTyY") == 0);
  if (options.local_addr.given()) choice.address = parse_endpoint(options.local_addr.value)->host;
  return choice;
}

// Where the node is that hosts the store.
Status choose_host(const Options& options, const NodeLimits& range, C10dChoice& choice, Config& config) {
  choice.store = {"localhost", default_c10d_port};
  if (lists_hosts(options)) {
    choice.places = listed_hosts(options);
    choice.store = choice.places.front();
    return {};
  }
  if (options.rdzv_endpoint.source != Source::initial && !options.rdzv_endpoint.value.empty()) {
    // The scheduler that knows the host of the store also knows which node this is.
    if (options.rdzv_endpoint.source == Source::cluster && !choice.is_host)
      choice.is_host = options.node_rank.value == 0;
    const auto endpoint = parse_endpoint(options.rdzv_endpoint.value);
    const int number = endpoint->port.value_or(default_c10d_port);
    // If one node is enough, no other node needs to know the port.
    const auto port = check_port(number, as_typed(options.rdzv_endpoint), range.min);
    if (!port) return port.error();
    choice.store = {endpoint->host, *port};
  } else {
    config.notices.push_back(fmt::format("--rdzv-endpoint is not given; expecting the other nodes on this machine ({})",
                                         to_text(choice.store)));
  }
  return {};
}

Status choose_elsewhere(const Options& options, const KeyValues& conf, C10dChoice& choice, Config& config) {
  const auto store = settle_store_elsewhere(options);
  if (!store) return store.error();
  choice.store = *store;
  if (std::exchange(choice.is_host, false))
    config.notices.push_back(fmt::format("{}: is_host has no effect: no node hosts the store at {}",
                                         as_typed(options.rdzv_conf), to_text(choice.store)));
  std::vector<std::string> idle;
  for (const std::string& key : https_keys(options.rdzv_backend.value))
    if (conf.contains(key)) idle.push_back(key);
  if (!idle.empty() && choice.store.kind == StoreKind::etcd)
    config.notices.push_back(fmt::format("{}: {} {} no effect with http", as_typed(options.rdzv_conf),
                                         fmt::join(idle, ", "), idle.size() == 1 ? "has" : "have"));
  return {};
}

// Its agents have no store that could serve the workers, and its leases are as long as torchrun has them.
void suit_older_backend(C10dChoice& choice, Config& config) {
  config.serves_workers = false;
  choice.settings.join_timeout = config.rendezvous_timeout;
  choice.settings.keep_alive_interval = std::chrono::seconds(5);
  choice.settings.keep_alive_max_attempt = 2;
}

Status settle_elastic(const Options& options, const HostFacts& facts, const NodeLimits& range, Config& config) {
  const auto conf = parse_key_values(options.rdzv_conf.value);
  C10dChoice choice = read_c10d(options, *conf, range);
  config.serves_workers = facts.env.get("TORCH_DISABLE_SHARE_RDZV_TCP_STORE") != "1";
  Status chosen = meets_elsewhere(options) ? choose_elsewhere(options, *conf, choice, config)
                                           : choose_host(options, range, choice, config);
  if (!chosen) return chosen;
  if (is_older_backend(options.rdzv_backend.value)) suit_older_backend(choice, config);
  config.meeting = std::move(choice);
  notice_ignored(
      origins(options.node_rank, options.master_addr, options.master_port),
      fmt::format("{} assigns ranks and chooses where the workers meet by itself", as_typed(options.rdzv_backend)),
      config);
  return settle_run_id(options, facts, config);
}

Status check_elastic_keys(const Options& options) {
  const bool older = is_older_backend(options.rdzv_backend.value);
  if (Status fits = older ? check_older_keys(options) : check_c10d_keys(options); !fits) return fits;
  if (!is_etcd_backend(options.rdzv_backend.value)) return {};
  return check_etcd_keys(options, *parse_key_values(options.rdzv_conf.value));
}

Status settle_c10d(const Options& options, const HostFacts& facts, const NodeLimits& range, Config& config) {
  if (Status fits = check_elastic_keys(options); !fits) return fits;
  const bool several = lists_hosts(options);
  const auto endpoint = parse_endpoint(options.rdzv_endpoint.value);
  const bool is_place = is_etcd_backend(options.rdzv_backend.value) || !meets_elsewhere(options);
  if (is_place && !several && options.rdzv_endpoint.given() && !options.rdzv_endpoint.value.empty() && !endpoint)
    return usage_error(fmt::format("{}: {}", as_typed(options.rdzv_endpoint), endpoint.error().message));
  if (range.max > 1) return settle_elastic(options, facts, range, config);
  meet_at_home(options, facts, config);
  notice_ignored(origins(options.node_rank, options.master_addr, options.master_port),
                 fmt::format("{} chooses address, port and ranks by itself", as_typed(options.rdzv_backend)), config);
  return settle_run_id(options, facts, config);
}

Result<Endpoint> store_from_endpoint(const Options& options, int nnodes, Config& config) {
  const std::string source = as_typed(options.rdzv_endpoint);
  const auto text = parse_endpoint(options.rdzv_endpoint.value);
  if (!text) return usage_error(fmt::format("{}: {}", source, text.error().message));
  if (!text->port) {
    return usage_error(fmt::format("{}: the port is missing; write HOST:PORT, and [ADDRESS]:PORT for IPv6", source));
  }
  const auto port = check_port(*text->port, source, nnodes);
  if (!port) return port.error();
  notice_ignored(origins(options.master_addr, options.master_port),
                 fmt::format("{} wins", options.rdzv_endpoint.origin), config);
  return Endpoint{text->host, *port};
}

Result<Endpoint> store_from_address(const Options& options, int nnodes, Config& config) {
  const auto address = parse_endpoint(options.master_addr.value);
  if (!address) return usage_error(fmt::format("{}: {}", as_typed(options.master_addr), address.error().message));
  if (address->port) {
    return usage_error(
        fmt::format("{}: expected a host without a port; --master-port gives the port", as_typed(options.master_addr)));
  }
  const auto port = check_port(options.master_port.value, as_typed(options.master_port), nnodes);
  if (!port) return port.error();
  if (nnodes > 1 && options.master_addr.source == Source::initial) {
    config.notices.push_back(
        fmt::format("--master-addr is not given, so all nodes are expected on this machine ({})", local_address));
  }
  return Endpoint{address->host, *port};
}

Status settle_static(const Options& options, const HostFacts& facts, const NodeLimits& range, Config& config) {
  const bool shared = range.max > 1 || options.rdzv_endpoint.given() || options.master_port.given();
  if (!shared) {
    meet_at_home(options, facts, config);
    notice_ignored(origins(options.node_rank, options.master_addr),
                   fmt::format("one node without --master-port takes {} and a free port", config.store().host), config);
    return options.rdzv_id.given() ? settle_run_id(options, facts, config) : Status{};
  }
  if (Status rank = check_node_rank(options, range.max); !rank) return rank;
  auto store = options.rdzv_endpoint.given() ? store_from_endpoint(options, range.max, config)
                                             : store_from_address(options, range.max, config);
  if (!store) return store.error();
  if (range.max == 1) {
    config.meeting = AloneChoice{*std::move(store)};
  } else {
    config.meeting = StaticChoice{*std::move(store), range.max, NodeRank(options.node_rank.value)};
  }
  return settle_run_id(options, facts, config);
}

// A wrong value is an error even if nodes cannot join or leave.
Status settle_join(const Options& options, Config& config) {
  if (Status fits = check_choice(options, &Options::join); !fits) return fits;
  if (Status fits = check_choice(options, &Options::quorum); !fits) return fits;
  if (auto* const choice = std::get_if<C10dChoice>(&config.meeting)) {
    choice->joins_wait = options.join.value == "between-restarts";
    const bool hosted = choice->store.kind == StoreKind::tcp;
    choice->by_majority = options.quorum.value == "majority" && hosted;
    choice->host_moves = choice->by_majority || (options.quorum.value == "host" && hosted);
    if (!hosted) notice_ignored(origins(options.quorum), "no node hosts the store", config);
  } else {
    notice_ignored(origins(options.join, options.quorum, options.max_membership_restarts),
                   "nodes join and leave only in a job of several nodes with --rdzv-backend c10d", config);
  }
  return {};
}

Status settle_meeting(const Options& options, const HostFacts& facts, const NodeLimits& range, Config& config) {
  if (options.standalone.value) return settle_standalone(options, facts, range, config);
  if (Status fits = check_hosts(options); !fits) return fits;
  if (options.rdzv_backend.value == "static") return settle_static(options, facts, range, config);
  if (is_elastic_backend(options.rdzv_backend.value)) return settle_c10d(options, facts, range, config);
  return backend_error(options);
}

}  // namespace

Result<std::uint16_t> check_port(int port, const std::string& source, int nnodes) {
  if (port == 0 && nnodes > 1) {
    return usage_error(
        fmt::format("{}: port 0 (any free one) is for one node; give all nodes the same port from 1 to 65535", source));
  }
  if (port < 0 || port > 65'535) return usage_error(fmt::format("{} is not a possible port (1 to 65535)", source));
  return static_cast<std::uint16_t>(port);
}

Status settle_nodes(const Options& options, const HostFacts& facts, Config& config) {
  const auto range = read_range(options);
  if (!range) return range.error();
  if (Status timeout = settle_rendezvous_timeout(options, config); !timeout) return timeout;
  if (Status local = check_local_address(options); !local) return local;
  if (Status meeting = settle_meeting(options, facts, *range, config); !meeting) return meeting;
  if (Status join = settle_join(options, config); !join) return join;
  return {};
}

std::optional<NodeLimits> parse_limits(std::string_view text) {
  const auto colon = text.find(':');
  const auto min = parse_int(text.substr(0, colon));
  const auto max = colon == std::string_view::npos ? min : parse_int(text.substr(colon + 1));
  if (!min || !max) return std::nullopt;
  return NodeLimits{*min, *max};
}

bool is_c10d_key(std::string_view key) {
  return key == "is_host" || key == "store_type" ||
         std::find(c10d_counts.begin(), c10d_counts.end(), key) != c10d_counts.end();
}

}  // namespace launch
