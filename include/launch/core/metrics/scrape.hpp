// What a request by HTTP for --metrics gets: /metrics, /healthz or /readyz, each by GET or HEAD. io/metrics_server
// reads the request and sends the reply, app/metrics_desk puts both together. Anything else gets 404 or 405 and a
// sentence. Pure: any text may come from the client.
#pragma once

#include "launch/core/metrics/metrics.hpp"
#include "launch/core/metrics/metrics_text.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace launch {

struct ScrapeRequest {
  std::string method, target;
  std::string accept;  // all Accept headers, with commas between
};

struct ScrapeReply {
  int status = 200;
  std::string type, body;
};

// OpenMetrics if the header accepts it, and prefers no classic text. Without a header: classic.
MetricsForm form_for(std::string_view accept);

// `write` is called only if metrics are asked for.
ScrapeReply reply_to(const ScrapeRequest& request, const Readiness& readiness,
                     const std::function<std::string(MetricsForm)>& write);

}  // namespace launch
