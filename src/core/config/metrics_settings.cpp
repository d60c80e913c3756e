#include "launch/core/config/metrics_settings.hpp"

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

#include <fmt/format.h>

namespace launch {
namespace {

constexpr const char* usual_host = "127.0.0.1";

Result<Endpoint> read_place(const std::string& text) {
  auto place = parse_endpoint(text.starts_with(':') && !text.starts_with("::") ? usual_host + text : text);
  if (!place) return place.error();
  if (!place->port) return usage_error("the port is missing; write :PORT for this host alone, or HOST:PORT");
  if (!is_ip_address(place->host) && place->host != "localhost")
    return usage_error(
        fmt::format("{} is not an address; write one of this host, as in 127.0.0.1:{}, 0.0.0.0:{} for "
                    "all of them, or [::1]:{}",
                    place->host, *place->port, *place->port, *place->port));
  return Endpoint{place->host, *place->port};
}

}  // namespace

Status settle_metrics(const Options& options, const HostFacts& /*facts*/, Config& config) {
  config.metrics.file = options.metrics_file.value;
  if (!options.metrics.given()) return {};
  const auto place = read_place(options.metrics.value);
  if (!place) return usage_error(fmt::format("{}: {}", as_typed(options.metrics), place.error().message));
  config.metrics.listen = *place;
  return {};
}

}  // namespace launch
