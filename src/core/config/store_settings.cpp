#include "launch/core/config/store_settings.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/job/endpoint_list.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::uint16_t default_etcd_port = 2379;
constexpr const char* default_prefix = "/torchelastic/p2p";

std::string in_lower_case(std::string_view text) {
  std::string result(trim(text));
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool meets_in_file(const Options& options) {
  if (options.rdzv_backend.value != "c10d") return false;
  const auto conf = parse_key_values(options.rdzv_conf.value);
  const auto type = conf ? conf->find("store_type") : KeyValues::const_iterator();
  return conf && type != conf->end() && in_lower_case(type->second) == "file";
}

// A scheduler names a host, which is neither an etcd nor a file.
bool has_own_endpoint(const Options& options) {
  const auto& endpoint = options.rdzv_endpoint;
  return endpoint.source != Source::initial && endpoint.source != Source::cluster && !endpoint.value.empty();
}

std::string folder_of(const Options& options) {
  if (!is_older_backend(options.rdzv_backend.value)) return "";
  const auto conf = parse_key_values(options.rdzv_conf.value);
  const auto prefix = conf->find("etcd_prefix");
  return prefix == conf->end() ? default_prefix : prefix->second;
}

Result<Endpoint> etcd_of(const Options& options) {
  std::string folder = folder_of(options);
  if (!has_own_endpoint(options)) return Endpoint{"localhost", default_etcd_port, StoreKind::etcd, std::move(folder)};
  const auto endpoint = parse_endpoint(options.rdzv_endpoint.value);
  if (!endpoint) return usage_error(fmt::format("{}: {}", as_typed(options.rdzv_endpoint), endpoint.error().message));
  if (endpoint->port == 0)
    return usage_error(fmt::format("{}: an etcd has no port 0; leave the port out if it is the usual one, {}",
                                   as_typed(options.rdzv_endpoint), default_etcd_port));
  return Endpoint{endpoint->host, endpoint->port.value_or(default_etcd_port), StoreKind::etcd, std::move(folder)};
}

}  // namespace

bool is_etcd_backend(std::string_view backend) { return backend == "etcd-v2" || is_older_backend(backend); }

bool is_older_backend(std::string_view backend) { return backend == "etcd"; }

bool is_elastic_backend(std::string_view backend) { return backend == "c10d" || is_etcd_backend(backend); }

Error backend_error(const Options& options) {
  return usage_error(fmt::format("{}: must be static, c10d, etcd-v2 or etcd", as_typed(options.rdzv_backend)));
}

bool meets_elsewhere(const Options& options) {
  return is_etcd_backend(options.rdzv_backend.value) || meets_in_file(options);
}

std::vector<std::string> https_keys(std::string_view backend) {
  if (is_older_backend(backend)) return {"cert", "key", "cacert"};
  return {"ssl_cert", "ssl_cert_key", "ca_cert"};
}

std::vector<std::string> etcd_keys(std::string_view backend) {
  if (!is_etcd_backend(backend)) return {};
  std::vector<std::string> keys = https_keys(backend);
  keys.emplace_back("protocol");
  if (is_older_backend(backend)) keys.insert(keys.end(), {"etcd_prefix", "last_call_timeout"});
  return keys;
}

Status check_etcd_keys(const Options& options, const KeyValues& conf) {
  const auto given = conf.find("protocol");
  const std::string spoken = given == conf.end() ? "http" : in_lower_case(given->second);
  if (spoken == "https")
    return usage_error(
        fmt::format("{}: launch speaks to an etcd by http only; give protocol=http and an endpoint that "
                    "serves it, or take c10d, which needs no etcd",
                    as_typed(options.rdzv_conf)));
  if (spoken != "http") return usage_error(fmt::format("{}: protocol must be http", as_typed(options.rdzv_conf)));
  return {};
}

bool lists_hosts(const Options& options) {
  return has_own_endpoint(options) && !meets_in_file(options) && is_endpoint_list(options.rdzv_endpoint.value);
}

Status check_hosts(const Options& options) {
  if (!lists_hosts(options)) return {};
  const std::string given = as_typed(options.rdzv_endpoint);
  const std::string& quorum = options.quorum.value;
  if (is_etcd_backend(options.rdzv_backend.value))
    return usage_error(fmt::format("{}: an etcd is one host; name one of its members", given));
  if (options.rdzv_backend.value != "c10d" || (quorum != "host" && quorum != "majority"))
    return usage_error(fmt::format(
        "{}: several hosts need --rdzv-backend=c10d and --quorum=majority or host, by which another one hosts the "
        "store when the first is lost; give all nodes these, or name one host",
        given));
  if (!options.rdzv_id.given() || options.rdzv_id.value == "none")
    return usage_error(
        fmt::format("{}: several hosts need --rdzv-id, by which a job is found; give all nodes the same "
                    "one, which no other job has",
                    given));
  const auto conf = parse_key_values(options.rdzv_conf.value);
  if (conf && conf->contains("is_host"))
    return usage_error(
        fmt::format("{}: is_host is for one host; the first one in --rdzv-endpoint founds the job, so "
                    "leave is_host out",
                    as_typed(options.rdzv_conf)));
  const auto places = parse_endpoint_list(options.rdzv_endpoint.value, default_c10d_port);
  if (!places) return usage_error(fmt::format("{}: {}", given, places.error().message));
  return {};
}

std::vector<Endpoint> listed_hosts(const Options& options) {
  return *parse_endpoint_list(options.rdzv_endpoint.value, default_c10d_port);
}

Result<Endpoint> settle_store_elsewhere(const Options& options) {
  if (is_etcd_backend(options.rdzv_backend.value)) return etcd_of(options);
  if (has_own_endpoint(options)) return Endpoint{options.rdzv_endpoint.value, 0, StoreKind::file};
  return usage_error(
      fmt::format("{}: the file is missing; give all nodes its path by --rdzv-endpoint", as_typed(options.rdzv_conf)));
}

}  // namespace launch
