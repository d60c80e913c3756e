#include "launch/core/metrics/scrape.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace launch {
namespace {

constexpr const char* plain_type = "text/plain; charset=utf-8";
constexpr const char* classic_type = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* open_metrics_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";

std::string lower_case(std::string_view text) {
  std::string result(trim(text));
  for (char& letter : result)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter | 0x20);
  return result;
}

// One of the parts of an Accept header.
struct MediaRange {
  std::string type;  // lower case
  std::string version;
  double quality = 1;
};

MediaRange parse_range(std::string_view text) {
  const auto parts = split(text, ';');
  MediaRange range;
  range.type = lower_case(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto equals = parts[i].find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name = lower_case(parts[i].substr(0, equals));
    std::string value = lower_case(parts[i].substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (name == "version") range.version = value;
    if (name == "q") range.quality = std::clamp(parse_decimal(value).value_or(0), 0.0, 1.0);
  }
  return range;
}

}  // namespace

MetricsForm form_for(std::string_view accept) {
  double open = 0;
  double classic = 0;
  for (const std::string_view part : split(accept, ',')) {
    const MediaRange range = parse_range(part);
    const bool known = range.version.empty() || range.version == "1.0.0";
    if (range.type == "application/openmetrics-text" && known) open = std::max(open, range.quality);
    if (range.type == "text/plain") classic = std::max(classic, range.quality);
  }
  return open > 0 && open >= classic ? MetricsForm::open_metrics : MetricsForm::classic;
}

ScrapeReply reply_to(const ScrapeRequest& request, const Readiness& readiness,
                     const std::function<std::string(MetricsForm)>& write) {
  const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  const bool known = path == "/metrics" || path == "/healthz" || path == "/readyz";
  if (!known) return {404, plain_type, "there is only /metrics, /healthz and /readyz\n"};
  if (request.method != "GET" && request.method != "HEAD") return {405, plain_type, "only GET and HEAD are answered\n"};
  if (path == "/healthz") return {200, plain_type, "ok\n"};
  if (path == "/readyz") return {readiness.ready ? 200 : 503, plain_type, readiness.text + "\n"};
  const MetricsForm form = form_for(request.accept);
  return {200, form == MetricsForm::open_metrics ? open_metrics_type : classic_type, write(form)};
}

}  // namespace launch
