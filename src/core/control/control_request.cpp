#include "launch/core/control/control_request.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"

#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Verb = ControlRequest::Verb;

constexpr int most_of_any = std::numeric_limits<int>::max();
constexpr int most_signal = 64;
constexpr int most_lines = 100'000;
constexpr double longest_ago_s = 5e9;
constexpr std::size_t longest_host = 255;
constexpr JsonBounds request_bounds{.size = 4096, .depth = 2};
constexpr std::array<std::pair<Verb, std::string_view>, 11> verbs = {{{Verb::about, "about"},
                                                                      {Verb::status, "status"},
                                                                      {Verb::stacks, "stacks"},
                                                                      {Verb::timeline, "timeline"},
                                                                      {Verb::quiet, "quiet"},
                                                                      {Verb::signal, "signal"},
                                                                      {Verb::stop, "stop"},
                                                                      {Verb::restart, "restart"},
                                                                      {Verb::drain, "drain"},
                                                                      {Verb::logs, "logs"},
                                                                      {Verb::filter, "filter"}}};

std::optional<Verb> verb_of(const std::optional<std::string>& name) {
  for (const auto& [verb, known] : verbs)
    if (name == known) return verb;
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Verb verb) {
  for (const auto& [known, name] : verbs)
    if (known == verb) return name;
  return "";
}

bool is_deed(Verb verb) {
  return verb == Verb::signal || verb == Verb::stop || verb == Verb::restart || verb == Verb::drain ||
         verb == Verb::filter;
}

std::string asker_text(const ControlRequest& request) {
  return fmt::format("launch-ctl (pid {} on {})", request.asker, without_controls(request.asker_host, longest_host));
}

std::string to_json(const ControlRequest& request) {
  nlohmann::json json = {{"verb", name_of(request.verb)}, {"whole_job", request.whole_job}, {"asker", request.asker}};
  if (request.rank) json["rank"] = *request.rank;
  if (request.node) json["node"] = *request.node;
  if (request.round) json["round"] = *request.round;
  if (request.signal != 0) json["signal"] = request.signal;
  if (!request.asker_host.empty()) json["asker_host"] = request.asker_host;
  if (!request.local_ranks.empty()) json["local_ranks"] = request.local_ranks;
  if (request.verb == Verb::logs) {
    json["reader"] = request.reader;
    json["step"] = request.step;
    json["lines"] = request.lines;
    if (request.since_s) json["since_s"] = *request.since_s;
    json["ends"] = request.ends;
  }
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Result<ControlRequest> parse_request(std::string_view text) {
  const JsonValue json = read_json(text, request_bounds);
  if (!json.is_object()) return Error{ErrorCode::protocol, "the request is not a JSON object of at most 4 KiB"};
  const auto verb = verb_of(json["verb"].text());
  if (!verb) return Error{ErrorCode::protocol, "this launch does not know such a request; another version asks"};
  ControlRequest request;
  request.verb = *verb;
  request.whole_job = json["whole_job"].flag().value_or(true);
  request.asker = json["asker"].whole(0, most_of_any).value_or(0);
  request.rank = json["rank"].whole(0, most_of_any);
  if (json["rank"].present() && !request.rank) return Error{ErrorCode::protocol, "the rank is not a whole number"};
  request.node = json["node"].whole(0, most_of_any);
  if (json["node"].present() && !request.node) return Error{ErrorCode::protocol, "the node is not a whole number"};
  request.signal = json["signal"].whole(1, most_signal).value_or(0);
  if (request.verb == Verb::signal && request.signal == 0)
    return Error{ErrorCode::protocol, "the signal is no number from 1 to 64"};
  if (request.verb == Verb::drain && !request.node) return Error{ErrorCode::protocol, "the node to drain is missing"};
  for (const JsonValue& rank : json["local_ranks"].list().value_or(std::vector<JsonValue>())) {
    const auto number = rank.whole(0, most_of_any);
    if (!number) return Error{ErrorCode::protocol, "the local ranks are not whole numbers"};
    request.local_ranks.push_back(*number);
  }
  request.round = json["round"].whole64(0, std::numeric_limits<std::int64_t>::max());
  request.asker_host = json["asker_host"].text(longest_host).value_or("");
  request.reader = json["reader"].whole64(0, std::numeric_limits<std::int64_t>::max()).value_or(0);
  request.step = json["step"].whole(0, most_of_any).value_or(0);
  request.lines = json["lines"].whole(-1, most_lines).value_or(0);
  request.since_s = json["since_s"].number();
  if (json["since_s"].present() && !(request.since_s && *request.since_s >= 0 && *request.since_s <= longest_ago_s))
    return Error{ErrorCode::protocol, "the time since which logs are asked for is no age in seconds"};
  request.ends = json["ends"].flag().value_or(false);
  return request;
}

}  // namespace launch
